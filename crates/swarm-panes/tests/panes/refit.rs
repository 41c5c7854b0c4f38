//! The windows around a lead follow a client that is resized.

use std::process::Command;

use swarm_panes::{PanePlacement, Size};

use crate::rig::{LEAD, Terminal, UserServer, assert_readable, geometry, open_sleeper, until};

/// Resizes the only client and waits until the window has the size, without the status line.
async fn resize(server: &UserServer, columns: u16, rows: u16) {
    let tty = server.run(&["list-clients", "-F", "#{client_tty}"]);
    let (width, height) = (columns.to_string(), (rows + 1).to_string());
    let resized = Command::new("stty")
        .args(["-F", tty.trim(), "cols", &width, "rows", &height])
        .status();
    assert!(resized.unwrap().success());
    let size = format!("{columns}x{rows}");
    let format = "#{window_width}x#{window_height}";
    until("the window is resized", || {
        let shown = server.run(&["display-message", "-p", "-t", LEAD, format]);
        shown.trim() == size
    })
    .await;
}

fn windows(server: &UserServer) -> usize {
    let all = server.run(&["list-windows", "-t", "work", "-F", "#{window_panes}"]);
    all.lines().count()
}

/// Columns of each pane in the lead's window, the lead's first.
fn columns(server: &UserServer) -> Vec<u16> {
    let all = server.run(&["list-panes", "-t", LEAD, "-F", "#{pane_width}"]);
    all.lines().map(|line| line.parse().unwrap()).collect()
}

#[tokio::test]
async fn the_lead_keeps_its_share_and_teammates_without_room_move_to_further_windows() {
    let server = UserServer::start(200, 50);
    let _client = Terminal::attach(&server.directory, &server.socket, 200, 51);
    until("the client is attached", || {
        !server
            .run(&["list-clients", "-F", "#{client_name}"])
            .is_empty()
    })
    .await;
    resize(&server, 200, 50).await;
    let backend = server.backend(PanePlacement::Auto);
    for member in ["ada", "bob", "cyd"] {
        open_sleeper(&backend, member).await;
    }
    let mut size = backend.refit(None, None).await.unwrap();
    assert_eq!(size, Some(Size::new(200, 50)));

    resize(&server, 160, 40).await;
    assert_ne!(columns(&server)[0], 60, "tmux shrinks every pane");
    size = backend.refit(None, size).await.unwrap();
    assert_eq!(columns(&server), [60, 99, 99, 99]);
    let heights: Vec<u16> = geometry(&server.socket)[1..]
        .iter()
        .map(|(_, g)| g[3])
        .collect();
    assert!(
        heights.iter().all(|rows| (12..=13).contains(rows)),
        "{heights:?}"
    );

    resize(&server, 130, 23).await;
    size = backend.refit(None, size).await.unwrap();
    assert_eq!(columns(&server), [60, 69, 69], "two have room");
    assert_eq!(windows(&server), 2);
    assert_readable(&server.socket, Some(LEAD));

    resize(&server, 100, 40).await;
    size = backend.refit(None, size).await.unwrap();
    assert_eq!(columns(&server), [100], "none has room");
    assert_eq!(windows(&server), 2);
    assert_readable(&server.socket, Some(LEAD));

    resize(&server, 200, 50).await;
    size = backend.refit(None, size).await.unwrap();
    open_sleeper(&backend, "dan").await;
    server.run(&["resize-pane", "-t", LEAD, "-x", "90"]);
    assert_eq!(backend.refit(None, size).await.unwrap(), size);
    assert_eq!(columns(&server), [90, 109], "a person chose this");
}
