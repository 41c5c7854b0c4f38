//! Launching a pane with its program: number of tmux calls, and cleanup after failures.

use std::ffi::OsString;
use std::path::PathBuf;

use swarm_panes::{
    Pane, PaneBackend, PaneCommand, PaneError, PanePlacement, PaneStatus, TmuxBackend,
};

use crate::rig::{
    Directory, LEAD, OwnServer, UserServer, assert_readable, geometry, join_all, sh, spec, team,
    tmux_program, until, within,
};

/// A tmux program that counts its calls.
struct CountingTmux {
    program: PathBuf,
    list: PathBuf,
}

impl CountingTmux {
    fn new(directory: &Directory) -> Self {
        let list = directory.path("calls");
        let text = format!(
            "#!/bin/sh\necho call >>'{}'\nexec {} \"$@\"\n",
            list.display(),
            tmux_program().display()
        );
        let program = directory.script("tmux", &text);
        Self { program, list }
    }

    /// Returns the number of calls since the last query.
    fn calls(&self) -> usize {
        let calls = std::fs::read_to_string(&self.list).unwrap_or_default();
        std::fs::remove_file(&self.list).ok();
        calls.lines().count()
    }

    fn on(&self, server: &OwnServer) -> TmuxBackend {
        let environment = vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())];
        TmuxBackend::own(self.program.clone(), server.socket.clone(), environment).unwrap()
    }

    fn inside(&self, server: &UserServer) -> TmuxBackend {
        let env = format!("{},1,0", server.socket.display());
        TmuxBackend::inside(self.program.clone(), &env, LEAD, PanePlacement::Auto).unwrap()
    }
}

/// Waits at a pipe and exits with status 7 once it is opened.
fn exits_on_signal(directory: &Directory, name: &str) -> (PaneCommand, PathBuf) {
    let pipe = directory.fifo(name);
    let command = sh("cat \"$0\"; exit 7", &[pipe.to_str().unwrap()]);
    (command, pipe)
}

async fn exit_sender(pipe: PathBuf) {
    let opened = tokio::task::spawn_blocking(move || {
        std::fs::OpenOptions::new().write(true).open(pipe).unwrap()
    });
    drop(within("the program reads", opened).await.unwrap());
}

#[tokio::test]
async fn launching_takes_two_calls_for_the_first_pane_and_three_for_later_ones() {
    let server = OwnServer::new();
    let tmux = CountingTmux::new(&server.directory);
    let backend = tmux.on(&server);
    let command = sh("exec sleep 1000000", &[]);
    backend.launch(&spec("ada"), &command).await.unwrap();
    assert_eq!(tmux.calls(), 2, "the server's first pane");
    for name in ["bob", "cleo"] {
        backend.launch(&spec(name), &command).await.unwrap();
        assert_eq!(tmux.calls(), 3, "{name}");
    }
    let user = UserServer::start(200, 50);
    let backend = tmux.inside(&user);
    for name in ["ada", "bob"] {
        backend.launch(&spec(name), &command).await.unwrap();
        assert_eq!(tmux.calls(), 3, "{name} next to the lead");
    }
    let rows = user.run(&["list-panes", "-F", "#{@swarm_member} #{pane_pid}"]);
    let running = |name| {
        rows.lines()
            .any(|row| row.starts_with(name) && !row.ends_with(" 0"))
    };
    assert!(running("ada") && running("bob"), "{rows}");
}

#[tokio::test]
async fn panes_launched_in_parallel_take_two_calls_each() {
    let server = OwnServer::new();
    let tmux = CountingTmux::new(&server.directory);
    let backends = [tmux.on(&server), tmux.on(&server), tmux.on(&server)];
    let specs = ["ada", "bob", "cleo"].map(spec);
    let command = sh("exec sleep 1000000", &[]);
    let launched = backends
        .iter()
        .zip(&specs)
        .map(|(backend, spec)| backend.launch(spec, &command));
    for launched in join_all(launched).await {
        launched.unwrap();
    }
    assert_eq!(tmux.calls(), 6);
    assert_readable(&server.socket, None);
}

#[tokio::test]
async fn waiting_for_a_running_program_needs_no_tmux_calls() {
    let server = OwnServer::new();
    let tmux = CountingTmux::new(&server.directory);
    let backend = tmux.on(&server);
    let (command, pipe) = exits_on_signal(&server.directory, "pipe");
    let pane = backend.launch(&spec("ada"), &command).await.unwrap();
    tmux.calls();
    let exit_receiver = async {
        // The wait has started by now, and any call of it would precede these.
        for _ in 0..3 {
            let status = backend.status(&pane).await.unwrap();
            assert!(matches!(status, PaneStatus::Running { .. }), "{status:?}");
        }
        assert_eq!(tmux.calls(), 3, "ours alone");
        exit_sender(pipe).await;
    };
    let (ended, ()) = tokio::join!(within("its end", backend.exited(&pane)), exit_receiver);
    let failed = PaneStatus::exited(7);
    assert_eq!(ended.unwrap(), failed);
}

#[tokio::test]
async fn a_respawned_program_is_awaited_too() {
    let server = OwnServer::new();
    let backend = server.backend();
    let (command, _never) = exits_on_signal(&server.directory, "first");
    let pane = backend.launch(&spec("ada"), &command).await.unwrap();
    let (command, pipe) = exits_on_signal(&server.directory, "second");
    backend.start(&pane, &command).await.unwrap();
    exit_sender(pipe).await;
    let ended = within("its end", backend.exited(&pane)).await.unwrap();
    assert!(matches!(ended, PaneStatus::Dead { code: Some(7), .. }));
}

#[tokio::test]
async fn a_program_that_cannot_be_started_leaves_no_pane() {
    let server = UserServer::start(200, 50);
    let before = geometry(&server.socket);
    let backend = server.backend(PanePlacement::Auto);
    let mut long = sh("exec sleep 1000000", &[]);
    long.args.push(OsString::from("x".repeat(20_000)));
    let refused = backend.launch(&spec("ada"), &long).await.unwrap_err();
    assert!(matches!(refused, PaneError::TooLong { .. }), "{refused}");
    let nowhere = PaneCommand {
        cwd: server.directory.path("nowhere"),
        ..sh("exec sleep 1000000", &[])
    };
    let refused = backend.launch(&spec("ada"), &nowhere).await.unwrap_err();
    assert!(matches!(refused, PaneError::Invalid { .. }), "{refused}");
    assert!(backend.panes(&team()).await.unwrap().is_empty());
    assert_eq!(geometry(&server.socket), before);
}

#[tokio::test]
async fn arguments_that_fill_a_call_get_a_separate_call() {
    let server = OwnServer::new();
    let out = server.directory.path("length");
    let script = "printf %s \"$1\" | wc -c >\"$0.part\"; mv \"$0.part\" \"$0\"; exec sleep 1000000";
    let long = "x".repeat(15_000);
    let command = sh(script, &[out.to_str().unwrap(), &long]);
    let backend = server.backend();
    let launched: Result<Pane, _> = backend.launch(&spec("ada"), &command).await;
    launched.unwrap();
    until("the program has its words", || out.exists()).await;
    assert_eq!(std::fs::read_to_string(&out).unwrap().trim(), "15000");
}
