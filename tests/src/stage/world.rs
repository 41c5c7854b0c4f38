//! A private world for one test.

use std::fs::File;
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::marked::{end_all, marked};
use super::report::report;
use super::run::{Finished, Running};
use super::stable::stable;
use super::sweep::{LOCK, PREFIX, sweep};
use super::team::Team;
use super::tmux::Tmux;
use crate::fake_api::FakeApi;
use crate::guard::note;
use crate::wait::{wait_for, wait_until};

/// Parent of worlds: sockets are in them, and a socket path is limited to about a hundred bytes.
const PLACE: &str = "/tmp";
/// Time for processes to exit after a test. Only a failing test reaches it.
const ENDING: Duration = Duration::from_secs(30);

/// A private world: home, config directory, temporary directory, project directory, sockets and
/// programs. On drop, no process of it may remain.
#[derive(Debug)]
pub struct World {
    directory: PathBuf,
    programs: PathBuf,
    variables: Vec<(String, String)>,
    started: AtomicUsize,
    ending: Duration,
    _lock: File,
}

/// Removes the worlds of killed tests, with their processes.
pub(crate) fn sweep_worlds() {
    sweep(Path::new(PLACE));
}

impl World {
    /// Creates a world. `swarm` is the program under test, which plays `swarm` or `swarm-teammate`
    /// depending on its name; `programs` is a directory on the same file system for both names.
    ///
    /// # Panics
    /// If directories cannot be created, or would be in the user's own config directory.
    pub fn new(swarm: &Path, programs: &Path) -> Self {
        sweep_worlds();
        let directory = tempfile::Builder::new()
            .prefix(&format!("{PREFIX}{}.", std::process::id()))
            .tempdir_in(PLACE)
            .expect("a directory for the world")
            .keep();
        let lock = File::create(directory.join(LOCK)).expect("the world's lock file");
        lock.lock().expect("the world's lock");
        refuse_real_home(&directory);
        let name = directory.file_name().unwrap_or_default();
        let world = Self {
            programs: programs.join(name),
            variables: Vec::new(),
            started: AtomicUsize::new(0),
            ending: ENDING,
            _lock: lock,
            directory,
        };
        for part in ["home", "root", "tmp", "sockets", "project", "out"] {
            make_private(&world.directory.join(part));
        }
        note(&world.programs);
        make_private(&world.programs);
        world.install("swarm", swarm);
        world.install("swarm-teammate", swarm);
        world.write(
            "home/.gitconfig",
            // Prevents background work of git after a command.
            "[user]\nname = Tester\nemail = tester@example.org\n[init]\ndefaultBranch = main\n\
             [gc]\nauto = 0\n[maintenance]\nauto = false\n",
        );
        world
    }

    /// Replaces `swarm-teammate` by another program.
    ///
    /// # Panics
    /// If the program cannot be linked.
    #[must_use]
    pub fn with_teammate(self, program: &Path) -> Self {
        std::fs::remove_file(self.programs.join("swarm-teammate")).expect("the teammate's link");
        self.install("swarm-teammate", program);
        self
    }

    /// Configures this server as the model provider of every program of this world.
    #[must_use]
    pub fn with_api(self, api: &FakeApi) -> Self {
        self.with_variable("ANTHROPIC_BASE_URL", &api.base_url())
            .with_variable("ANTHROPIC_API_KEY", "sk-test-not-a-key")
    }

    /// Configures this server as a keyless provider of the chat completions API, like a local model
    /// server.
    #[must_use]
    pub fn with_chat_api(self, api: &FakeApi) -> Self {
        self.with_variable("OPENAI_BASE_URL", &api.base_url())
    }

    /// Adds an environment variable for programs started from now on.
    #[must_use]
    pub fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    fn install(&self, name: &str, program: &Path) {
        // A hard link, because the program finds its neighbours by its own path with symbolic links
        // resolved.
        let link = self.programs.join(name);
        let installed = std::fs::canonicalize(program).and_then(|program| {
            let linked = std::fs::hard_link(&program, &link);
            linked.or_else(|_| std::fs::copy(&program, &link).map(drop))
        });
        installed.unwrap_or_else(|error| panic!("{} cannot be linked: {error}", program.display()));
    }

    /// Returns its directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the config directory, `CLAUDE_CONFIG_DIR`.
    pub fn root(&self) -> PathBuf {
        self.directory.join("root")
    }

    /// Returns the directory in which commands are started.
    pub fn project(&self) -> PathBuf {
        self.directory.join("project")
    }

    /// Returns the program under one of its two names.
    pub fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    /// Writes a file below the world's directory and creates its parent directories.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.directory.join(path);
        let above = path.parent().expect("a path below the world");
        std::fs::create_dir_all(above).expect("the file's directory");
        std::fs::write(&path, text).expect("a file of the world");
        path
    }

    /// Makes the project directory a git repository with one commit of its content.
    ///
    /// # Panics
    /// If git fails.
    pub fn commit_project(&self) {
        for arguments in [
            &["init", "-q"][..],
            &["add", "-A"],
            &["commit", "-q", "--allow-empty", "-m", "begin"],
        ] {
            self.finish("git", Command::new("git").args(arguments)).ok();
        }
    }

    /// Returns the environment of every program of this world, including the user's tmux server.
    fn surroundings(&self) -> Vec<(String, String)> {
        let path =
            std::env::var("PATH").unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin".to_owned());
        let below = |part: &str| self.directory.join(part).display().to_string();
        [
            ("PATH", format!("{}:{path}", self.programs.display())),
            ("HOME", below("home")),
            ("CLAUDE_CONFIG_DIR", below("root")),
            ("TMPDIR", below("tmp")),
            ("TMUX_TMPDIR", below("sockets")),
            ("XDG_RUNTIME_DIR", below("sockets")),
            ("TERM", "xterm-256color".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
            // The tests may be run by an agent: commands must not inspect its ancestors.
            ("SWARM_LINEAGE_END", std::process::id().to_string()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    /// Creates a command of this world.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .envs(self.surroundings())
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(self.project())
            .stdin(Stdio::null());
        command
    }

    /// Runs `swarm` and waits for it.
    ///
    /// # Panics
    /// If it cannot be started or does not exit.
    #[track_caller]
    pub fn swarm(&self, arguments: &[&str]) -> Finished {
        self.start(arguments).wait()
    }

    /// Runs `swarm` with a text on its stdin.
    ///
    /// # Panics
    /// If it cannot be started or does not exit.
    #[track_caller]
    pub fn swarm_reading(&self, arguments: &[&str], input: &str) -> Finished {
        let number = self.started.load(Ordering::SeqCst);
        let input = self.write(&format!("out/{number}.stdin"), input);
        let mut command = self.command(self.program("swarm"));
        command
            .args(arguments)
            .stdin(File::open(input).expect("the input file"));
        self.spawn(command, line("swarm", arguments)).wait()
    }

    /// Starts `swarm`.
    ///
    /// # Panics
    /// If it cannot be started.
    #[track_caller]
    pub fn start(&self, arguments: &[&str]) -> Running {
        self.start_with(arguments, &[])
    }

    /// Starts `swarm` with further variables, such as those of a tmux pane.
    ///
    /// # Panics
    /// If it cannot be started.
    #[track_caller]
    pub fn start_with(&self, arguments: &[&str], variables: &[(String, String)]) -> Running {
        let mut command = self.command(self.program("swarm"));
        command
            .args(arguments)
            .envs(variables.iter().map(|(name, value)| (name, value)));
        self.spawn(command, line("swarm", arguments))
    }

    /// Starts `swarm` under another program with these arguments, such as a tracer.
    ///
    /// # Panics
    /// If that cannot be started.
    #[track_caller]
    pub fn start_under(
        &self,
        words: &[&str],
        arguments: &[&str],
        variables: &[(String, String)],
    ) -> Running {
        let mut command = self.command(words[0]);
        command
            .args(&words[1..])
            .arg(self.program("swarm"))
            .args(arguments)
            .envs(variables.iter().map(|(name, value)| (name, value)));
        self.spawn(
            command,
            format!("{} {}", words.join(" "), line("swarm", arguments)),
        )
    }

    /// Starts any program of this world.
    ///
    /// # Panics
    /// If it cannot be started.
    #[track_caller]
    pub fn start_program(&self, program: &str, arguments: &[&str]) -> Running {
        let mut command = self.command(program);
        command.args(arguments);
        self.spawn(command, line(program, arguments))
    }

    /// Runs any program of this world; the environment of `command` is added to the world's.
    #[track_caller]
    fn finish(&self, program: &str, command: &mut Command) -> Finished {
        let mut ours = self.command(program);
        ours.args(command.get_args());
        let arguments: Vec<_> = command
            .get_args()
            .map(|word| word.to_string_lossy())
            .collect();
        self.spawn(ours, format!("{program} {}", arguments.join(" ")))
            .wait()
    }

    #[track_caller]
    fn spawn(&self, mut command: Command, line: String) -> Running {
        let number = self.started.fetch_add(1, Ordering::SeqCst);
        // Files, not pipes: the test does not wait for the output of remaining children.
        let stdout = self.directory.join(format!("out/{number}.stdout"));
        let stderr = self.directory.join(format!("out/{number}.stderr"));
        let child = command
            .stdout(File::create(&stdout).expect("a file for stdout"))
            .stderr(File::create(&stderr).expect("a file for stderr"))
            // A separate process group, as created by a shell: its signals reach no other process.
            .process_group(0)
            .spawn()
            .unwrap_or_else(|error| panic!("{line}: {error}"));
        Running {
            line,
            child,
            stdout,
            stderr,
        }
    }

    /// Returns the files of a team.
    pub fn team(&self, name: &str) -> Team {
        Team::new(&self.root(), name)
    }

    /// Returns the tmux server on a socket.
    pub fn tmux_at(&self, socket: &Path) -> Tmux {
        Tmux::new(socket.to_owned(), self.surroundings())
    }

    /// Returns swarm's own tmux servers.
    pub fn own_servers(&self) -> Vec<Tmux> {
        let mut servers = Vec::new();
        let mut directories = vec![
            self.directory.join("sockets"),
            self.directory.join("tmp"),
            self.root(),
        ];
        while let Some(directory) = directories.pop() {
            for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => directories.push(entry.path()),
                    // Sockets of leads, for other sessions, are not tmux servers.
                    Ok(kind) if is_socket(kind) && !is_of_session(&entry.file_name()) => {
                        servers.push(self.tmux_at(&entry.path()));
                    }
                    _ => {}
                }
            }
        }
        servers
    }

    /// Waits until `condition` returns a value.
    ///
    /// # Panics
    /// On timeout; shows a report of this world.
    #[track_caller]
    pub fn wait_for<T>(&self, what: &str, condition: impl FnMut() -> Option<T>) -> T {
        wait_for(what, || self.report(), condition)
    }

    /// Waits until `condition` is true.
    ///
    /// # Panics
    /// If it does not become true in time.
    #[track_caller]
    pub fn wait_until(&self, what: &str, mut condition: impl FnMut() -> bool) {
        self.wait_for(what, || condition().then_some(()));
    }

    /// Kills every process of this world, for tests that leave members running deliberately.
    ///
    /// # Panics
    /// If some cannot be killed.
    pub fn end_all(&self) {
        end_all(&self.directory);
    }

    /// Returns the processes of this world with their command lines.
    pub fn processes(&self) -> Vec<(i32, String)> {
        let processes = marked(&self.directory).into_iter();
        processes
            .map(|process| (process.pid, process.command))
            .collect()
    }

    /// A text with paths, ids, process ids, dates and durations replaced by words, for snapshots.
    pub fn stable(&self, text: &str) -> String {
        stable(self, text)
    }

    /// Returns a report of this world: processes, file contents, and panes.
    pub fn report(&self) -> String {
        report(self)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let mut left = None;
        if !std::thread::panicking() {
            let ended = wait_until("every process of the world has ended", self.ending, || {
                marked(&self.directory).is_empty().then_some(())
            });
            left = ended.err().map(|_| (self.processes(), self.report()));
        }
        end_all(&self.directory);
        // A later test removes the rest.
        drop(std::fs::remove_dir_all(&self.programs));
        drop(std::fs::remove_dir_all(&self.directory));
        if let Some((processes, report)) = left {
            panic!("the test left processes behind: {processes:?}\n{report}");
        }
    }
}

fn line(program: &str, arguments: &[&str]) -> String {
    format!("{program} {}", arguments.join(" "))
}

fn make_private(directory: &Path) {
    let made = std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory);
    made.unwrap_or_else(|error| panic!("{} cannot be made: {error}", directory.display()));
}

fn is_socket(kind: std::fs::FileType) -> bool {
    std::os::unix::fs::FileTypeExt::is_socket(&kind)
}

fn is_of_session(name: &std::ffi::OsStr) -> bool {
    name.to_string_lossy().starts_with("peer-")
}

/// A world must not touch the data of the user of this machine.
fn refuse_real_home(directory: &Path) {
    let home = std::env::var_os("HOME")
        .map(PathBuf::from)
        .unwrap_or_default();
    let real =
        std::env::var_os("CLAUDE_CONFIG_DIR").map_or_else(|| home.join(".claude"), PathBuf::from);
    let inside = |outer: &Path| !outer.as_os_str().is_empty() && directory.starts_with(outer);
    assert!(
        !inside(&real),
        "{} lies in the user's own config directory",
        directory.display()
    );
}

#[cfg(test)]
#[path = "world_tests.rs"]
mod tests;
