//! Starting programs in panes: without a shell, byte for byte, with exactly the given environment.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use swarm_panes::{
    Pane, PaneBackend, PaneCommand, PaneError, PanePlacement, PaneStatus, PaneText, TmuxBackend,
};

use crate::rig::{
    Directory, OwnServer, Terminal, UserServer, kill_server, sh, spec, tmux, until, within,
};

/// Writes its arguments to the file named first, each terminated by NUL, atomically.
const RECORD_ARGUMENTS: &str = "out=$0; for word; do printf '%s\\0' \"$word\"; done >\"$out.part\"; \
                                mv \"$out.part\" \"$out\"; exec sleep 1000000";

fn recorder(out: &Path, words: &[OsString]) -> PaneCommand {
    let mut command = sh(RECORD_ARGUMENTS, &[out.to_str().unwrap()]);
    command.args.extend(words.iter().cloned());
    command
}

fn recorded(out: &Path) -> Vec<OsString> {
    let bytes = std::fs::read(out).unwrap();
    let mut words: Vec<_> = bytes
        .split(|byte| *byte == 0)
        .map(|word| OsString::from_vec(word.to_vec()))
        .collect();
    assert_eq!(words.pop(), Some(OsString::new()), "the last NUL");
    words
}

#[tokio::test]
async fn s1_a_slow_shell_delays_no_start() {
    let directory = Directory::new();
    let shell = directory.script(
        "shell",
        "#!/bin/sh\nsleep 600\ncat >/dev/null\nsleep 1000000\n",
    );
    let server = UserServer::start_with(200, 50, &[("default-shell", shell.to_str().unwrap())]);
    let backend = server.backend(PanePlacement::Auto);
    let marks: Vec<PathBuf> = (0..20)
        .map(|n| directory.path(&format!("mark-{n}")))
        .collect();
    for (n, mark) in marks.iter().enumerate() {
        let pane = backend.open(&spec(&format!("mate-{n}"))).await.unwrap();
        let command = sh(": >\"$0\"; exec sleep 1000000", &[mark.to_str().unwrap()]);
        backend.start(&pane, &command).await.unwrap();
    }
    // Long before the shell would read them.
    until("20 of 20 children have started", || {
        marks.iter().all(|mark| mark.exists())
    })
    .await;
}

#[tokio::test]
async fn s2_arguments_arrive_byte_for_byte_with_any_shell() {
    let directory = Directory::new();
    let canary = directory.path("canary");
    let server = UserServer::start_with(200, 50, &[("default-shell", "/bin/false")]);
    let backend = server.backend(PanePlacement::Auto);
    let touch = format!("touch {}", canary.display());
    let words: Vec<OsString> = vec![
        OsString::new(),
        format!("$({touch}) && {touch};").into(),
        ";".into(),
        "\\;".into(),
        "a;".into(),
        "a\\;".into(),
        "two\nlines\n".into(),
        format!("#({touch})").into(),
        "#{E:pane_title} #[fg=red] %H ~ $HOME `id` 'q' \"q\" {curly} # %0".into(),
        "-t%0".into(),
        OsString::from_vec(vec![0xff, b'\t', 0x1b, b';']),
        "x".repeat(8 * 1024).into(),
    ];
    let spawn = async |n: usize| {
        let out = directory.path(&format!("words-{n}"));
        let pane = backend.open(&spec(&format!("mate-{n}"))).await.unwrap();
        backend.start(&pane, &recorder(&out, &words)).await.unwrap();
        out
    };
    let outs = tokio::join!(
        spawn(0),
        spawn(1),
        spawn(2),
        spawn(3),
        spawn(4),
        spawn(5),
        spawn(6),
        spawn(7),
        spawn(8),
        spawn(9),
    );
    let outs: [PathBuf; 10] = outs.into();
    until("ten children have written their arguments", || {
        outs.iter().all(|out| out.exists())
    })
    .await;
    for out in &outs {
        assert_eq!(recorded(out), words);
    }
    assert!(!canary.exists());
}

#[tokio::test]
async fn a_program_without_arguments_is_not_run_by_a_shell() {
    let directory = Directory::new();
    let server = UserServer::start_with(200, 50, &[("default-shell", "/bin/false")]);
    let mark = directory.path("mark");
    let text = format!("#!/bin/sh\n: >'{}'\nexec sleep 1000000\n", mark.display());
    let program = directory.script("a program; with $(odd) name", &text);
    let backend = server.backend(PanePlacement::Auto);
    let pane = backend.open(&spec("ada")).await.unwrap();
    let command = PaneCommand {
        program,
        args: Vec::new(),
        ..sh("", &[])
    };
    backend.start(&pane, &command).await.unwrap();
    until("the program runs", || mark.exists()).await;
}

fn environment_of(out: &Path) -> BTreeMap<String, String> {
    let text = std::fs::read(out).unwrap();
    String::from_utf8(text)
        .unwrap()
        .split_terminator('\0')
        .map(|line| line.split_once('=').unwrap())
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn environment_recorder(out: &Path) -> PaneCommand {
    let mut command = sh(
        "env -0 >\"$0.part\"; mv \"$0.part\" \"$0\"; exec sleep 1000000",
        &[out.to_str().unwrap()],
    );
    command.env.extend([
        ("FOO".to_owned(), "a b;$x\nz;".to_owned()),
        ("HASH".to_owned(), "#{pane_id} #(id) %H".to_owned()),
        ("TERM".to_owned(), "of-the-lead".to_owned()),
    ]);
    command
}

/// Runs a program in a new pane that writes its environment to the file `out`.
async fn environment_in_pane(
    backend: &TmuxBackend,
    out: &Path,
) -> (Pane, BTreeMap<String, String>) {
    let pane = backend.open(&spec("ada")).await.unwrap();
    backend
        .start(&pane, &environment_recorder(out))
        .await
        .unwrap();
    until("the environment is written", || out.exists()).await;
    (pane, environment_of(out))
}

#[tokio::test]
async fn s11_the_environment_arrives_exactly() {
    let server = UserServer::start(200, 50);
    let out = server.directory.path("env");
    let (pane, found) = environment_in_pane(&server.backend(PanePlacement::Auto), &out).await;
    assert_eq!(found["FOO"], "a b;$x\nz;");
    assert_eq!(found["HASH"], "#{pane_id} #(id) %H");
    assert_ne!(found["TERM"], "of-the-lead");
    assert_eq!(found["TMUX_PANE"], pane.id.as_str());
}

#[tokio::test]
async fn s11_on_our_own_server_nothing_of_the_leads_or_a_clients_environment_leaks() {
    let server = OwnServer::new();
    let backend = server.backend();
    backend.open(&spec("first")).await.unwrap();
    let _client = Terminal::attach(&server.directory, &server.socket, 200, 51);
    until("the client is attached", || {
        !tmux(&server.socket, &["list-clients", "-F", "#{client_name}"]).is_empty()
    })
    .await;
    let out = server.directory.path("env");
    let (_pane, found) = environment_in_pane(&backend, &out).await;
    let mut names: Vec<_> = found.keys().map(String::as_str).collect();
    // Variables of the shell that runs the script, and of tmux as the terminal.
    let of_the_terminal = [
        "COLORTERM",
        "OLDPWD",
        "PWD",
        "SHELL",
        "SHLVL",
        "TERM",
        "TERM_PROGRAM",
        "TERM_PROGRAM_VERSION",
        "TMUX",
        "TMUX_PANE",
        "_",
    ];
    names.retain(|name| !of_the_terminal.contains(name));
    assert_eq!(names, ["FOO", "HASH", "PATH"]);
    assert_eq!(found["FOO"], "a b;$x\nz;");
}

type Change = fn(&mut PaneCommand);

#[tokio::test]
async fn commands_that_cannot_run_are_rejected_before_tmux_hides_the_error() {
    let (_server, backend) = UserServer::with_backend(200, 50);
    let pane = backend.open(&spec("ada")).await.unwrap();
    let good = sh("true", &[]);
    let changes: [(&str, Change); 5] = [
        ("program", |c| c.program = "/nonexistent/program".into()),
        ("program", |c| c.program = "sh".into()),
        ("working directory", |c| c.cwd = "/nonexistent".into()),
        ("environment variable", |c| {
            c.env.push(("A B".into(), "x".into()));
        }),
        ("argument", |c| c.args.push("nul\0".into())),
    ];
    for (what, change) in changes {
        let mut command = good.clone();
        change(&mut command);
        let refused = backend.start(&pane, &command).await.unwrap_err();
        assert!(refused.to_string().contains(what), "{refused}");
    }
    let mut long = good.clone();
    long.args.push("x".repeat(20_000).into());
    let refused = backend.start(&pane, &long).await.unwrap_err();
    assert!(matches!(refused, PaneError::TooLong { .. }), "{refused}");
    assert_eq!(backend.status(&pane).await.unwrap(), PaneStatus::Empty);
}

#[tokio::test]
async fn a_directory_name_with_a_command_executes_nothing() {
    let server = UserServer::start(200, 50);
    let canary = server.directory.path("canary");
    let name = "#(touch canary) #{pane_id} #[fg=red] ##[x] ###[y] ##z# %H ;";
    let cwd = server.directory.path(name);
    std::fs::create_dir(&cwd).unwrap();
    let out = server.directory.path("cwd");
    let backend = server.backend(PanePlacement::Auto);
    let pane = backend.open(&spec("ada")).await.unwrap();
    let mut command = sh(
        "pwd >\"$0.part\"; mv \"$0.part\" \"$0\"; exec sleep 1000000",
        &[out.to_str().unwrap()],
    );
    command.cwd.clone_from(&cwd);
    backend.start(&pane, &command).await.unwrap();
    until("the directory is written", || out.exists()).await;
    let found = std::fs::read_to_string(&out).unwrap();
    assert_eq!(Path::new(found.trim_end_matches('\n')), cwd);
    assert!(!canary.exists());
}

/// Waits until the program of a pane has ended.
async fn end_of(backend: &dyn PaneBackend, pane: &Pane) -> PaneStatus {
    let exited = within("the end is seen", backend.exited(pane)).await;
    exited.unwrap()
}

#[tokio::test]
async fn s16_the_output_is_kept_in_a_file_after_the_pane_is_gone() {
    let (server, backend) = UserServer::with_backend(200, 50);
    let spec = spec("ada");
    let pane = backend.open(&spec).await.unwrap();
    let log = server.directory.path("it's 100% #1 #[x] ##[y].log");
    let mut command = sh("echo first; echo last; exit 7", &[]);
    command.log = Some(log.clone());
    backend.start(&pane, &command).await.unwrap();
    assert_eq!(end_of(&backend, &pane).await, PaneStatus::exited(7));
    let text = backend.capture(&pane, PaneText::last(10)).await.unwrap();
    assert!(
        text.contains("first\nlast") && text.contains("status 7"),
        "{text:?}"
    );
    backend.close(&pane, &spec.spawn_id).await.unwrap();
    until("the file holds the last line", || {
        std::fs::read_to_string(&log).unwrap().contains("last")
    })
    .await;
    let mode = std::fs::metadata(&log).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn twenty_programs_that_exit_immediately_leave_their_status() {
    let (_server, backend) = UserServer::with_backend(200, 50);
    for n in 0..20 {
        let spec = spec(&format!("mate-{n}"));
        let pane = backend.open(&spec).await.unwrap();
        backend.start(&pane, &sh("exit 7", &[])).await.unwrap();
        assert_eq!(end_of(&backend, &pane).await, PaneStatus::exited(7), "{n}");
        backend.close(&pane, &spec.spawn_id).await.unwrap();
    }
}

#[tokio::test]
async fn the_signal_of_a_killed_program_is_reported() {
    let (_server, backend) = UserServer::with_backend(200, 50);
    let pane = backend.open(&spec("ada")).await.unwrap();
    backend.start(&pane, &sh("kill -9 $$", &[])).await.unwrap();
    let status = end_of(&backend, &pane).await;
    let PaneStatus::Dead {
        code: None,
        signal: Some(signal),
    } = status
    else {
        panic!("{status:?}");
    };
    assert!(signal.contains('9') || signal.contains("KILL"), "{signal}");
}

#[tokio::test]
async fn an_exit_is_noticed_while_a_grandchild_holds_the_terminal() {
    let (server, backend) = UserServer::with_backend(200, 50);
    let spec = spec("ada");
    let pane = backend.open(&spec).await.unwrap();
    // It ignores SIGHUP and exits when the test opens the pipe.
    let pipe = server.directory.fifo("pipe");
    let script = "trap '' HUP; cat \"$0\" & exit 5";
    let command = sh(script, &[pipe.to_str().unwrap()]);
    backend.start(&pane, &command).await.unwrap();
    assert_eq!(end_of(&backend, &pane).await, PaneStatus::exited(5));
    backend.close(&pane, &spec.spawn_id).await.unwrap();
    let opened = tokio::task::spawn_blocking(move || {
        std::fs::OpenOptions::new().write(true).open(pipe).unwrap()
    });
    within("the grandchild lives", opened).await.unwrap();
}

#[tokio::test]
async fn panes_of_a_killed_server_are_gone() {
    let (server, backend) = UserServer::with_backend(200, 50);
    let pane = backend.open(&spec("ada")).await.unwrap();
    backend
        .start(&pane, &sh("exec sleep 1000000", &[]))
        .await
        .unwrap();
    let (status, ()) = tokio::join!(within("the end is seen", backend.exited(&pane)), async {
        kill_server(&server.socket);
    });
    assert_eq!(status.unwrap(), PaneStatus::Gone);
    let refused = backend.open(&spec("bob")).await.unwrap_err();
    assert!(
        matches!(refused, PaneError::LeadPaneGone { .. }),
        "{refused}"
    );
}

#[tokio::test]
async fn a_foreign_pane_is_neither_started_nor_closed() {
    let server = UserServer::start(200, 50);
    let id = tmux(
        &server.socket,
        &[
            "split-window",
            "-d",
            "-P",
            "-F",
            "#{pane_id}",
            "--",
            "sleep",
            "99999",
        ],
    );
    let backend = server.backend(PanePlacement::Auto);
    let pane = swarm_panes::Pane::new(swarm_protocol::PaneId::new(id.clone()), None);
    let refused = backend.start(&pane, &sh("true", &[])).await.unwrap_err();
    assert!(matches!(refused, PaneError::Unowned(_)), "{refused}");
    let refused = backend
        .close(&pane, &swarm_protocol::SpawnId::random())
        .await
        .unwrap_err();
    assert!(matches!(refused, PaneError::Foreign { .. }), "{refused}");
    assert!(
        server
            .run(&["list-panes", "-a", "-F", "#{pane_id}"])
            .contains(&id)
    );
}
