//! Actions of the user: typing, closing, respawning, moving panes.

use std::io::Write;

use rustix::process::{Pid, Signal, kill_process};
use swarm_panes::{
    BackendRequest, PaneBackend, PanePlacement, PaneStatus, TerminalFacts, TmuxBackend,
    backend_for_pane, choose,
};
use swarm_protocol::{BackendType, ErrorKind};

use crate::rig::{
    LEAD, OwnServer, Terminal, UserServer, open_sleeper, sh, spec, team, tell_title, tmux_program,
    until, within,
};

#[tokio::test]
async fn s6_typed_keys_reach_the_same_pane_during_spawns_and_state_changes() {
    let server = UserServer::start(200, 50);
    let typed = server.directory.path("typed");
    let ready = server.directory.path("ready");
    let script = "stty raw -echo; : >\"$1\"; exec cat >\"$0\"";
    let (typed_word, ready_word) = (typed.to_str().unwrap(), ready.to_str().unwrap());
    server.run(&[
        "respawn-pane",
        "-k",
        "-t",
        "%0",
        "--",
        "/bin/sh",
        "-c",
        script,
        typed_word,
        ready_word,
    ]);
    until("the lead's pane reads keys", || ready.exists()).await;
    let mut terminal = Terminal::attach(&server.directory, &server.socket, 200, 51);
    until("the client is attached", || {
        !server
            .run(&["list-clients", "-F", "#{client_name}"])
            .is_empty()
    })
    .await;
    let text: String = ('a'..='z').cycle().take(2000).collect();
    let mut pieces = text.as_bytes().chunks(20);
    let mut type_some = || {
        terminal
            .keys
            .write_all(pieces.next().unwrap_or_default())
            .unwrap();
        terminal.keys.flush().unwrap();
    };
    let backend = server.backend(PanePlacement::Auto);
    let looks_at = || server.run(&["list-clients", "-F", "#{window_id} #{pane_id}"]);
    let before = looks_at();
    for n in 0..10 {
        type_some();
        let (_, pane) = open_sleeper(&backend, &format!("mate-{n}")).await;
        for state in ["working", "waiting", "idle", "working", "idle"] {
            type_some();
            tell_title(&server.socket, &pane, &format!("mate · {state}"));
        }
        assert_eq!(looks_at(), before, "after mate-{n}");
    }
    for _ in 0..40 {
        type_some();
    }
    until("all 2000 characters have arrived", || {
        std::fs::metadata(&typed).unwrap().len() >= 2000
    })
    .await;
    assert_eq!(std::fs::read_to_string(&typed).unwrap(), text);
}

#[tokio::test]
async fn a_pane_that_the_user_closes_is_gone_and_reported() {
    let (server, backend) = UserServer::with_backend(200, 50);
    let (_, pane) = open_sleeper(&backend, "ada").await;
    let (status, ()) = tokio::join!(within("the end is seen", backend.exited(&pane)), async {
        server.run(&["kill-pane", "-t", pane.id.as_str()]);
    });
    assert_eq!(status.unwrap(), PaneStatus::Gone);
}

#[tokio::test]
async fn a_pane_respawned_by_the_user_is_still_watched() {
    let (server, backend) = UserServer::with_backend(200, 50);
    let spec = spec("ada");
    let pane = backend.open(&spec).await.unwrap();
    let started = backend
        .start(&pane, &sh("exec sleep 1000000", &[]))
        .await
        .unwrap();
    // The watch may start before or after a respawn; with another one it has seen one.
    let watched = within("the end is seen", backend.exited(&pane));
    let respawn = async {
        loop {
            server.run(&[
                "respawn-pane",
                "-k",
                "-t",
                pane.id.as_str(),
                "--",
                "sleep",
                "99999",
            ]);
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    let status = tokio::select! {
        status = watched => status,
        () = respawn => unreachable!("it never ends"),
    };
    let status = status.unwrap();
    let PaneStatus::Running { pid } = status else {
        panic!("it runs again: {status:?}");
    };
    assert_ne!(Some(pid), started.pid);
}

#[tokio::test]
async fn a_pane_moved_by_the_user_is_still_found() {
    let (server, backend) = UserServer::with_backend(200, 50);
    let (spec, pane) = open_sleeper(&backend, "ada").await;
    server.run(&["break-pane", "-d", "-s", pane.id.as_str()]);
    assert_eq!(backend.panes(&team()).await.unwrap()[0].pane.id, pane.id);
    backend.close(&pane, &spec.spawn_id).await.unwrap();
    assert_eq!(backend.panes(&team()).await.unwrap(), []);
}

#[tokio::test]
async fn any_process_with_the_socket_can_access_the_pane() {
    let server = UserServer::start(200, 50);
    let (spec, pane) = open_sleeper(&server.backend(PanePlacement::Auto), "ada").await;
    let facts = TerminalFacts {
        tmux_program: Some(tmux_program()),
        ..TerminalFacts::default()
    };
    let for_server = backend_for_pane(&BackendType::Tmux, pane.socket.as_deref(), &facts).unwrap();
    assert!(matches!(
        for_server.status(&pane).await.unwrap(),
        PaneStatus::Running { .. }
    ));
    let words = for_server.attach_command(&pane).await;
    assert!(
        words.iter().any(|word| word == "attach-session"),
        "{words:?}"
    );
    let refused = for_server.open(&crate::rig::spec("bob")).await.unwrap_err();
    assert!(refused.to_string().contains("no lead pane"), "{refused}");
    for_server.close(&pane, &spec.spawn_id).await.unwrap();
    assert_eq!(for_server.status(&pane).await.unwrap(), PaneStatus::Gone);
}

/// What a program in the lead's pane finds in its environment.
fn facts_in_lead_pane(server: &UserServer) -> TerminalFacts {
    TerminalFacts {
        tmux_env: Some(format!("{},1,0", server.socket.display())),
        tmux_pane: Some(LEAD.to_owned()),
        tmux_program: Some(tmux_program()),
        own_socket_dir: server.directory.path("sockets"),
        server_number: 1,
        ..TerminalFacts::default()
    }
}

#[tokio::test]
async fn inside_tmux_auto_selects_the_users_server_and_hidden_does_not() {
    let server = UserServer::start(200, 50);
    let facts = facts_in_lead_pane(&server);
    let (backend, chosen) = choose(&BackendRequest::default(), &facts).await.unwrap();
    assert!(chosen.why.contains("this tmux"), "{}", chosen.why);
    let (_, pane) = open_sleeper(&*backend, "ada").await;
    assert_eq!(pane.socket.as_deref(), Some(server.socket.as_path()));
    let words = backend.attach_command(&pane).await;
    assert!(
        words.iter().any(|word| word == "switch-client"),
        "{words:?}"
    );
    let hidden = BackendRequest {
        place: PanePlacement::Hidden,
        ..BackendRequest::default()
    };
    let (_, chosen) = choose(&hidden, &facts).await.unwrap();
    assert!(chosen.why.contains("hidden"), "{}", chosen.why);
}

/// A server that is stopped (SIGSTOP) until this is dropped.
struct Stopped(Pid);

impl Stopped {
    fn server(server: &UserServer) -> Self {
        let pid = server.run(&["display-message", "-p", "#{pid}"]);
        let pid = Pid::from_raw(pid.parse().unwrap()).unwrap();
        kill_process(pid, Signal::STOP).unwrap();
        Self(pid)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        kill_process(self.0, Signal::CONT).ok();
    }
}

#[tokio::test]
async fn a_stopped_server_is_reported_and_blocks_nothing_else() {
    let server = UserServer::start(200, 50);
    let facts = facts_in_lead_pane(&server);
    let stopped = Stopped::server(&server);
    let request = BackendRequest::default();
    let chosen = choose(&request, &facts);
    tokio::pin!(chosen);
    tokio::select! {
        biased;
        _ = &mut chosen => panic!("it waits on the thread that everything else needs"),
        // It has been polled once without blocking the thread.
        () = tokio::task::yield_now() => {}
    }
    let error = chosen.await.expect_err("nobody answers");
    drop(stopped);
    assert_eq!(error.kind(), ErrorKind::Environment);
    let exit_receiver = error.to_string();
    let socket = server.socket.to_str().unwrap();
    assert!(
        exit_receiver.contains(socket) && exit_receiver.contains("does not answer"),
        "{exit_receiver}"
    );
}

#[tokio::test]
async fn the_users_server_is_never_mistaken_for_swarms() {
    let server = UserServer::start(200, 50);
    let before = server.run(&["show-options", "-g"]);
    let refused = TmuxBackend::own(tmux_program(), server.socket.clone(), Vec::new());
    assert!(refused.is_err());
    // A lead outside tmux, in a team whose first member was opened inside.
    let facts = TerminalFacts {
        tmux_program: Some(tmux_program()),
        own_socket_dir: server.directory.path("sockets"),
        server_number: 1,
        own_socket: Some(server.socket.clone()),
        ..TerminalFacts::default()
    };
    let (backend, chosen) = choose(&BackendRequest::default(), &facts).await.unwrap();
    assert!(chosen.why.contains("claude-swarm-1"), "{}", chosen.why);
    let (spec, pane) = open_sleeper(&*backend, "ada").await;
    assert_eq!(server.run(&["show-options", "-g"]), before);
    assert_ne!(pane.socket.as_deref(), Some(server.socket.as_path()));
    backend.close(&pane, &spec.spawn_id).await.unwrap();
}

#[tokio::test]
async fn closing_on_the_users_server_from_outside_does_not_change_sizes() {
    let server = UserServer::start(200, 50);
    let inside = server.backend(PanePlacement::Window);
    let (spec, pane) = open_sleeper(&inside, "ada").await;
    open_sleeper(&inside, "bob").await;
    let own = OwnServer::new();
    own.backend().close(&pane, &spec.spawn_id).await.unwrap();
    let format = "#{window_name} #{window-size} #{@swarm_tiled_rows}";
    let windows = server.run(&["list-windows", "-t", "work", "-F", format]);
    let untouched = |line: &str| line.trim_end() == "swarm-alpha latest";
    assert!(windows.lines().any(untouched), "{windows}");
    let left = inside.panes(&team()).await.unwrap();
    assert_eq!(left.len(), 1);
}
