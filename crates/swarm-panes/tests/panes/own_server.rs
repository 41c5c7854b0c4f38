//! swarm's own server, outside tmux.

use std::os::unix::net::UnixListener;

use swarm_panes::{BackendRequest, OWN_SESSION, OWN_WINDOW, PaneBackend, TerminalFacts, choose};

use crate::rig::{
    OwnServer, Terminal, assert_readable, geometry, join_all, open_sleeper, sh, spec, team,
    tell_title, tmux, tmux_program, until,
};

fn window_size(server: &OwnServer) -> String {
    let format = "#{window_width}x#{window_height}";
    tmux(
        &server.socket,
        &["display-message", "-p", "-t", "%0", format],
    )
}

#[tokio::test]
async fn the_first_teammate_uses_the_first_pane() {
    let server = OwnServer::new();
    let (_, pane) = open_sleeper(&server.backend(), "ada").await;
    assert_eq!(pane.socket.as_deref(), Some(server.socket.as_path()));
    let format = "#{session_name} #{window_name} #{pane_id}";
    let all = tmux(&server.socket, &["list-panes", "-a", "-F", format]);
    assert_eq!(all, format!("{OWN_SESSION} {OWN_WINDOW} {}", pane.id));
}

#[tokio::test]
async fn s8_five_panes_are_readable_without_a_client_and_with_a_tiny_one() {
    let server = OwnServer::new();
    let backend = server.backend();
    for n in 0..5 {
        open_sleeper(&backend, &format!("mate-{n}")).await;
    }
    assert_readable(&server.socket, None);
    let before = geometry(&server.socket);
    let tiny = Terminal::attach(&server.directory, &server.socket, 2, 1);
    until("the tiny client is attached", || {
        tmux(
            &server.socket,
            &["list-clients", "-F", "#{client_width}x#{client_height}"],
        ) == "2x1"
    })
    .await;
    assert_eq!(geometry(&server.socket), before);
    open_sleeper(&backend, "mate-5").await;
    assert_readable(&server.socket, None);
    drop(tiny);
}

#[tokio::test]
async fn a_large_enough_client_is_filled() {
    let server = OwnServer::new();
    let backend = server.backend();
    for n in 0..3 {
        open_sleeper(&backend, &format!("mate-{n}")).await;
    }
    let _client = Terminal::attach(&server.directory, &server.socket, 110, 40);
    until("the window has the client's size", || {
        window_size(&server) == "110x39"
    })
    .await;
    assert_readable(&server.socket, None);
    // There is room for one more; the next one goes to another window instead of making this one larger than the
    // screen.
    open_sleeper(&backend, "mate-3").await;
    open_sleeper(&backend, "mate-4").await;
    assert_eq!(window_size(&server), "110x39");
    assert_readable(&server.socket, None);
    let windows = tmux(
        &server.socket,
        &["list-windows", "-a", "-F", "#{window_name}"],
    );
    assert_eq!(windows, format!("{OWN_WINDOW}\n{OWN_WINDOW}-2"));
}

#[tokio::test]
async fn thirty_mates_are_readable() {
    let server = OwnServer::new();
    let backend = server.backend();
    for n in 0..30 {
        backend.open(&spec(&format!("mate-{n}"))).await.unwrap();
    }
    assert_readable(&server.socket, None);
    assert_eq!(backend.panes(&team()).await.unwrap().len(), 30);
    assert_eq!(backend.view(&team()).await.unwrap().len(), 3);
}

#[tokio::test]
async fn the_server_exits_with_its_last_pane_and_can_be_restarted() {
    let server = OwnServer::new();
    for _ in 0..3 {
        let backend = server.backend();
        let (spec, pane) = open_sleeper(&backend, "ada").await;
        let (other, second) = open_sleeper(&backend, "bob").await;
        backend.close(&pane, &spec.spawn_id).await.unwrap();
        backend.close(&second, &other.spawn_id).await.unwrap();
    }
    assert!(!server.socket.exists());
}

/// Opens a pane through each of so many backends in parallel.
async fn open_in_parallel(server: &OwnServer, count: usize) {
    let backends: Vec<_> = (0..count).map(|_| server.backend()).collect();
    let specs: Vec<_> = (0..count).map(|n| spec(&format!("mate-{n}"))).collect();
    let opened = backends
        .iter()
        .zip(&specs)
        .map(|(backend, spec)| backend.open(spec));
    for opened in join_all(opened).await {
        opened.unwrap();
    }
}

#[tokio::test]
async fn panes_opened_concurrently_are_all_readable() {
    let server = OwnServer::new();
    for n in 0..11 {
        let spec = spec(&format!("first-{n}"));
        server.backend().open(&spec).await.unwrap();
    }
    open_in_parallel(&server, 4).await;
    assert_readable(&server.socket, None);
}

#[tokio::test]
async fn two_processes_that_start_the_server_concurrently_share_it() {
    let server = OwnServer::new();
    let (one, two) = (server.backend(), server.backend());
    let opened = tokio::join!(open_sleeper(&one, "ada"), open_sleeper(&two, "bob"));
    assert_ne!(opened.0.1.id, opened.1.1.id);
    assert_eq!(one.panes(&team()).await.unwrap().len(), 2);
    assert_eq!(
        tmux(&server.socket, &["list-sessions", "-F", "#{session_name}"]),
        OWN_SESSION
    );
}

#[tokio::test]
async fn sixteen_spawns_of_one_team_in_parallel_share_one_server() {
    let server = OwnServer::new();
    std::fs::create_dir_all(server.socket.parent().unwrap()).unwrap();
    // The stale socket of a killed server.
    drop(UnixListener::bind(&server.socket).unwrap());
    open_in_parallel(&server, 16).await;
    assert_eq!(server.backend().panes(&team()).await.unwrap().len(), 16);
    assert_readable(&server.socket, None);
}

#[tokio::test]
async fn the_socket_is_in_a_private_directory() {
    use std::os::unix::fs::PermissionsExt;
    let server = OwnServer::new();
    open_sleeper(&server.backend(), "ada").await;
    let directory = server.socket.parent().unwrap();
    let mode = std::fs::metadata(directory).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let name = server.socket.file_name().unwrap().to_str().unwrap();
    assert_eq!(name, format!("claude-swarm-{}", std::process::id()));
}

#[tokio::test]
async fn the_view_shows_the_content_of_the_panes() {
    let server = OwnServer::new();
    let backend = server.backend();
    let shown = spec("ada");
    let pane = backend.open(&shown).await.unwrap();
    backend
        .start(
            &pane,
            &sh("printf '\\033[31mred\\033[0m\\n'; exec sleep 1000000", &[]),
        )
        .await
        .unwrap();
    tell_title(&server.socket, &pane, "ada · working · Bash");
    open_sleeper(&backend, "bob").await;
    let text = async || {
        let views = backend.view(&team()).await.unwrap();
        views[0].panes[0].content.clone()
    };
    while !text().await.contains("red") {
        tokio::task::yield_now().await;
    }
    let state = async || {
        backend.view(&team()).await.unwrap()[0].panes[0]
            .state
            .clone()
    };
    while state().await == "starting" {
        tokio::task::yield_now().await;
    }
    let views = backend.view(&team()).await.unwrap();
    assert_eq!(views.len(), 1);
    let panes = &views[0].panes;
    assert_eq!(panes.len(), 2);
    assert!(
        panes[0].content.contains("\u{1b}[31mred"),
        "{:?}",
        panes[0].content
    );
    assert_eq!(panes[0].member.as_ref(), Some(&shown.member));
    assert_eq!(
        (panes[0].title.as_str(), panes[0].state.as_str()),
        ("ada", "working · Bash")
    );
    assert_eq!(panes[0].color, shown.color);
    assert!(panes[0].top >= 1, "the row of its title");
    for pane in panes {
        assert!(pane.left + pane.size.columns <= views[0].size.columns);
        assert!(pane.top + pane.size.rows <= views[0].size.rows);
    }
}

#[tokio::test]
async fn attaching_selects_the_requested_pane() {
    let server = OwnServer::new();
    let backend = server.backend();
    open_sleeper(&backend, "ada").await;
    let (_, bob) = open_sleeper(&backend, "bob").await;
    let words = backend.attach_command(&bob).await;
    let words: Vec<_> = words.iter().map(|word| word.to_str().unwrap()).collect();
    let socket = server.socket.to_str().unwrap();
    let program = tmux_program();
    let expected = [
        program.to_str().unwrap(),
        "-u",
        "-S",
        socket,
        "attach-session",
        "-t",
        bob.id.as_str(),
    ];
    assert_eq!(words, expected);
    let nested = server.backend().nested(true).attach_command(&bob).await;
    assert_eq!(nested[..3], ["env", "-u", "TMUX"]);
}

#[tokio::test]
async fn auto_outside_tmux_selects_swarms_own_server_with_a_reason() {
    let server = OwnServer::new();
    let mut facts = TerminalFacts {
        tmux_program: Some(tmux_program()),
        own_socket_dir: server.directory.path("sockets"),
        server_number: std::process::id(),
        ..TerminalFacts::default()
    };
    let (backend, chosen) = choose(&BackendRequest::default(), &facts).await.unwrap();
    assert!(chosen.why.contains("not inside tmux"), "{}", chosen.why);
    let (_, pane) = open_sleeper(&*backend, "ada").await;
    assert_eq!(pane.socket.as_deref(), Some(server.socket.as_path()));
    facts.tmux_env = Some("/nonexistent/tmux,1,0".to_owned());
    facts.tmux_pane = Some("%0".to_owned());
    let (_, chosen) = choose(&BackendRequest::default(), &facts).await.unwrap();
    assert!(
        chosen.why.contains("does not contain this pane"),
        "{}",
        chosen.why
    );
}
