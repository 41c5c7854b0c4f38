//! Test support: private directories, private tmux servers, terminals, and waiting for named conditions.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use swarm_panes::{Pane, PaneBackend, PaneCommand, PanePlacement, PaneSpec, TmuxBackend};
use swarm_protocol::{Color, MemberName, SpawnId, TeamName};

/// Timeout of every wait; only a failing test reaches it.
const DEADLINE: Duration = Duration::from_mins(1);

/// Search path of the programs that the tests run.
pub(crate) const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A directory that is removed with the test.
pub(crate) struct Directory(PathBuf);

impl Directory {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("swarm-panes-{}-{n}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o700)).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        let mut file = File::create(&path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file.set_permissions(PermissionsExt::from_mode(0o755))
            .unwrap();
        path
    }

    /// Creates a named pipe: a reader blocks until a writer opens it.
    pub(crate) fn fifo(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        let made = Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

pub(crate) fn tmux_program() -> PathBuf {
    [
        "/usr/bin/tmux",
        "/usr/local/bin/tmux",
        "/opt/homebrew/bin/tmux",
    ]
    .into_iter()
    .map(PathBuf::from)
    .find(|path| path.is_file())
    .expect("these tests need tmux")
}

/// The first pane of a user's server, used as the lead's.
pub(crate) const LEAD: &str = "%0";

/// A user's server with one session and a pane for the lead. Killed on drop.
pub(crate) struct UserServer {
    pub(crate) directory: Directory,
    pub(crate) socket: PathBuf,
}

impl UserServer {
    /// Starts a server with a session of this size.
    pub(crate) fn start(columns: u16, rows: u16) -> Self {
        Self::start_with(columns, rows, &[])
    }

    /// Also returns the backend of a lead in the session's pane.
    pub(crate) fn with_backend(columns: u16, rows: u16) -> (Self, TmuxBackend) {
        let server = Self::start(columns, rows);
        let backend = server.backend(PanePlacement::Auto);
        (server, backend)
    }

    /// Like [`Self::start`], with global options set before the session is created.
    pub(crate) fn start_with(columns: u16, rows: u16, options: &[(&str, &str)]) -> Self {
        let directory = Directory::new();
        let socket = directory.path("user");
        let server = Self { directory, socket };
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let mut words = vec!["start-server"];
        for (option, value) in options {
            words.extend([";", "set-option", "-g", option, value]);
        }
        let session = [
            ";",
            "new-session",
            "-d",
            "-s",
            "work",
            "-x",
            &columns,
            "-y",
            &rows,
            "--",
            "sleep",
            "1000000",
        ];
        words.extend(session);
        server.run(&words);
        server
    }

    /// Runs a tmux command and returns its output.
    pub(crate) fn run(&self, words: &[&str]) -> String {
        tmux(&self.socket, words)
    }

    /// Like [`Self::run`], with the words of a line.
    pub(crate) fn run_line(&self, line: &str) -> String {
        self.run(&line.split(' ').collect::<Vec<_>>())
    }

    /// Returns the backend of a lead in that pane.
    pub(crate) fn backend(&self, place: PanePlacement) -> TmuxBackend {
        let env = format!("{},1,0", self.socket.display());
        TmuxBackend::inside(tmux_program(), &env, LEAD, place).unwrap()
    }
}

impl Drop for UserServer {
    fn drop(&mut self) {
        kill_server(&self.socket);
    }
}

/// Runs a tmux command that must succeed and returns its output.
pub(crate) fn tmux(socket: &Path, words: &[&str]) -> String {
    let output = Command::new(tmux_program())
        .args(["-u", "-f", "/dev/null", "-S"])
        .arg(socket)
        .args(words)
        .env_remove("TMUX")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{words:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout)
        .unwrap()
        .trim_end()
        .to_owned()
}

/// Kills a server if it is running.
pub(crate) fn kill_server(socket: &Path) {
    Command::new(tmux_program())
        .arg("-S")
        .arg(socket)
        .arg("kill-server")
        .stderr(Stdio::null())
        .status()
        .ok();
}

/// swarm's own server in a directory; killed on drop.
pub(crate) struct OwnServer {
    pub(crate) directory: Directory,
    pub(crate) socket: PathBuf,
}

impl OwnServer {
    pub(crate) fn new() -> Self {
        let directory = Directory::new();
        let socket = swarm_panes::own_socket(&directory.path("sockets"), std::process::id());
        Self { directory, socket }
    }

    pub(crate) fn backend(&self) -> TmuxBackend {
        let environment = vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())];
        TmuxBackend::own(tmux_program(), self.socket.clone(), environment).unwrap()
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        kill_server(&self.socket);
    }
}

/// A client with a terminal of a given size, by script(1). Killed on drop.
pub(crate) struct Terminal {
    process: Child,
    pub(crate) keys: ChildStdin,
    screen: PathBuf,
}

impl Terminal {
    /// Attaches to a server.
    pub(crate) fn attach(directory: &Directory, socket: &Path, columns: u16, rows: u16) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let screen = directory.path(&format!("screen-{n}"));
        let command = format!(
            "stty cols {columns} rows {rows}; exec '{}' -u -S '{}' attach-session",
            tmux_program().display(),
            socket.display()
        );
        let mut process = Command::new("script")
            .args(["-q", "-f", "-c", &command])
            .arg(&screen)
            .env("TERM", "xterm-256color")
            .env("SHELL", "/bin/sh")
            // tmux copies this variable to sessions by default.
            .env("SSH_AUTH_SOCK", "/of/the/client")
            .env_remove("TMUX")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let keys = process.stdin.take().unwrap();
        Self {
            process,
            keys,
            screen,
        }
    }

    /// Returns all output so far.
    pub(crate) fn drawn(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.screen).unwrap_or_default()).into_owned()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// Waits until a condition holds; `name` is used in the failure message.
pub(crate) async fn until(name: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < DEADLINE, "timed out waiting for: {name}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Awaits a future with a timeout.
pub(crate) async fn within<T>(name: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, future)
        .await
        .unwrap_or_else(|_| panic!("timed out waiting for: {name}"))
}

/// Runs futures concurrently.
pub(crate) async fn join_all<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut pinned: Vec<_> = futures.map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(move |cx| {
        for (future, output) in &mut pinned {
            if output.is_none()
                && let std::task::Poll::Ready(value) = future.as_mut().poll(cx)
            {
                *output = Some(value);
            }
        }
        if pinned.iter().all(|(_, output)| output.is_some()) {
            let outputs = pinned.iter_mut().filter_map(|(_, output)| output.take());
            return std::task::Poll::Ready(outputs.collect());
        }
        std::task::Poll::Pending
    })
    .await
}

pub(crate) fn team() -> TeamName {
    TeamName::parse("alpha").unwrap()
}

pub(crate) fn spec(member: &str) -> PaneSpec {
    PaneSpec {
        team: team(),
        member: MemberName::parse(member).unwrap(),
        spawn_id: SpawnId::random(),
        root: "/home/tester/#{pane_id};.claude".into(),
        title: member.to_owned(),
        color: Some(Color::Purple),
    }
}

/// Returns a shell script as a program with arguments, independent of tmux's shell.
pub(crate) fn sh(script: &str, args: &[&str]) -> PaneCommand {
    let mut words = vec!["-c".into(), script.into()];
    words.extend(args.iter().map(std::convert::Into::into));
    PaneCommand {
        program: PathBuf::from("/bin/sh"),
        args: words,
        env: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        cwd: PathBuf::from("/"),
        log: None,
    }
}

/// Opens a pane and starts a program that runs until it is killed.
pub(crate) async fn open_sleeper(backend: &dyn PaneBackend, member: &str) -> (PaneSpec, Pane) {
    let spec = spec(member);
    let pane = backend.open(&spec).await.unwrap();
    backend
        .start(&pane, &sh("exec sleep 1000000", &[]))
        .await
        .unwrap();
    (spec, pane)
}

/// Sets the terminal title as the program in a pane would.
pub(crate) fn tell_title(socket: &Path, pane: &Pane, title: &str) {
    let format = "#{pane_tty}";
    let tty = tmux(
        socket,
        &[
            "list-panes",
            "-a",
            "-f",
            &format!("#{{==:#{{pane_id}},{}}}", pane.id),
            "-F",
            format,
        ],
    );
    let mut tty = File::options().write(true).open(tty).unwrap();
    write!(tty, "\x1b]2;{title}\x07").unwrap();
}

/// Returns left, top, columns and rows of every pane of a server, by id.
pub(crate) fn geometry(socket: &Path) -> Vec<(String, [u16; 4])> {
    let format = "#{pane_id} #{pane_left} #{pane_top} #{pane_width} #{pane_height}";
    tmux(socket, &["list-panes", "-a", "-F", format])
        .lines()
        .map(|line| {
            let mut words = line.split(' ');
            let id = words.next().unwrap().to_owned();
            let numbers: Vec<u16> = words.map(|word| word.parse().unwrap()).collect();
            (id, numbers.try_into().unwrap())
        })
        .collect()
}

/// Asserts that every pane except `lead` is readable.
pub(crate) fn assert_readable(socket: &Path, lead: Option<&str>) {
    for (id, [_, _, columns, rows]) in geometry(socket) {
        if Some(id.as_str()) != lead {
            assert!(columns >= 60 && rows >= 8, "{id} is {columns}x{rows}");
        }
    }
}

/// Closes every pane of a team.
pub(crate) async fn close_all(backend: &(impl PaneBackend + ?Sized), team: &TeamName) {
    for tagged in backend.panes(team).await.unwrap() {
        backend.close(&tagged.pane, &tagged.spawn_id).await.unwrap();
    }
}
