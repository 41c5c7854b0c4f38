//! A pane and its program at once: how often the tmux program is run for it, and what is left when it fails.

use std::ffi::OsString;
use std::path::PathBuf;

use swarm_panes::{Pane, PaneBackend, PaneCommand, PaneError, PaneStatus, Place, TmuxBackend};

use crate::rig::{
    Directory, LEAD, OwnServer, UserServer, assert_readable, geometry, join_all, sh, spec, team,
    tmux_program, until, within,
};

/// A tmux program that writes down each of its calls.
struct Counted {
    program: PathBuf,
    list: PathBuf,
}

impl Counted {
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

    /// How many calls were made since the last look.
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
        TmuxBackend::inside(self.program.clone(), &env, LEAD, Place::Auto).unwrap()
    }
}

/// Waits in a pipe and ends with status 7 once it is opened.
fn ends_when_told(directory: &Directory, name: &str) -> (PaneCommand, PathBuf) {
    let pipe = directory.fifo(name);
    let command = sh("cat \"$0\"; exit 7", &[pipe.to_str().unwrap()]);
    (command, pipe)
}

async fn tell(pipe: PathBuf) {
    let opened = tokio::task::spawn_blocking(move || {
        std::fs::OpenOptions::new().write(true).open(pipe).unwrap()
    });
    drop(within("the program reads", opened).await.unwrap());
}

#[tokio::test]
async fn a_first_pane_with_its_program_takes_two_calls_and_a_further_one_three() {
    let server = OwnServer::new();
    let tmux = Counted::new(&server.directory);
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
        assert_eq!(tmux.calls(), 3, "{name} beside the lead");
    }
    let rows = user.run(&["list-panes", "-F", "#{@swarm_member} #{pane_pid}"]);
    let running = |name| {
        rows.lines()
            .any(|row| row.starts_with(name) && !row.ends_with(" 0"))
    };
    assert!(running("ada") && running("bob"), "{rows}");
}

#[tokio::test]
async fn panes_that_are_asked_for_in_parallel_take_two_calls_each() {
    let server = OwnServer::new();
    let tmux = Counted::new(&server.directory);
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
async fn a_program_that_lives_is_waited_for_without_tmux() {
    let server = OwnServer::new();
    let tmux = Counted::new(&server.directory);
    let backend = tmux.on(&server);
    let (command, pipe) = ends_when_told(&server.directory, "pipe");
    let pane = backend.launch(&spec("ada"), &command).await.unwrap();
    tmux.calls();
    let told = async {
        // The waiting has begun by now, and what it may ask would be asked before these.
        for _ in 0..3 {
            let status = backend.status(&pane).await.unwrap();
            assert!(matches!(status, PaneStatus::Running { .. }), "{status:?}");
        }
        assert_eq!(tmux.calls(), 3, "ours alone");
        tell(pipe).await;
    };
    let (ended, ()) = tokio::join!(within("its end", backend.exited(&pane)), told);
    let failed = PaneStatus::Dead {
        code: Some(7),
        signal: None,
    };
    assert_eq!(ended.unwrap(), failed);
}

#[tokio::test]
async fn another_program_in_its_place_is_waited_for_too() {
    let server = OwnServer::new();
    let backend = server.backend();
    let (command, _never) = ends_when_told(&server.directory, "first");
    let pane = backend.launch(&spec("ada"), &command).await.unwrap();
    let (command, pipe) = ends_when_told(&server.directory, "second");
    backend.start(&pane, &command).await.unwrap();
    tell(pipe).await;
    let ended = within("its end", backend.exited(&pane)).await.unwrap();
    assert!(matches!(ended, PaneStatus::Dead { code: Some(7), .. }));
}

#[tokio::test]
async fn a_program_that_cannot_be_started_leaves_no_pane() {
    let server = UserServer::start(200, 50);
    let before = geometry(&server.socket);
    let backend = server.backend(Place::Auto);
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
async fn words_that_fill_a_call_by_themselves_get_one_of_their_own() {
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
