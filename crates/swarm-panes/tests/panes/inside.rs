//! Panes in the user's tmux: next to the lead, readable, without moving the focus.

use std::collections::BTreeSet;

use swarm_panes::{PaneBackend, PaneError, PanePlacement};
use swarm_protocol::ErrorKind;

use crate::rig::{
    LEAD, Terminal, UserServer, assert_readable, close_all, geometry, join_all, open_sleeper, team,
    tell_title, until,
};

fn window_of(server: &UserServer, pane: &str) -> String {
    let format = "#{pane_id} #{window_id}";
    let all = server.run(&["list-panes", "-a", "-F", format]);
    let line = all
        .lines()
        .find(|line| line.split(' ').next() == Some(pane));
    line.unwrap().split(' ').nth(1).unwrap().to_owned()
}

/// Returns the active pane of every window and the current window of every session.
fn focus(server: &UserServer) -> BTreeSet<String> {
    let format = "#{session_id} #{window_id} #{window_active} #{pane_id} #{pane_active}";
    server
        .run(&["list-panes", "-a", "-F", format])
        .lines()
        .filter(|line| line.ends_with(" 1"))
        .map(str::to_owned)
        .collect()
}

#[tokio::test]
async fn the_lead_keeps_the_left_30_percent_and_teammates_are_stacked_next_to_it() {
    let (server, backend) = UserServer::with_backend(200, 50);
    for member in ["ada", "bob", "cyd", "dan", "eve"] {
        open_sleeper(&backend, member).await;
        let all = geometry(&server.socket);
        let [left, _, columns, rows] = all[0].1;
        assert_eq!((left, columns, rows), (0, 60, 49), "{all:?}");
        for (id, [left, _, columns, _]) in &all[1..] {
            assert_eq!((*left, *columns), (61, 139), "{id}");
        }
        let heights = || all[1..].iter().map(|(_, geometry)| geometry[3]);
        let (low, high) = (heights().min().unwrap(), heights().max().unwrap());
        assert!(high - low <= 1, "evenly: {all:?}");
    }
    let tops: Vec<u16> = geometry(&server.socket)[1..]
        .iter()
        .map(|(_, g)| g[1])
        .collect();
    assert!(
        tops.is_sorted() && tops.len() == 5,
        "in the order of their spawns: {tops:?}"
    );
}

#[tokio::test]
async fn more_teammates_than_a_stack_holds_are_in_a_grid_next_to_the_lead() {
    let (server, backend) = UserServer::with_backend(200, 50);
    let mut opened = Vec::new();
    for n in 0..10 {
        opened.push(open_sleeper(&backend, &format!("mate-{n}")).await);
        assert_eq!(geometry(&server.socket).len(), n + 2);
        assert_eq!(
            window_of(&server, LEAD),
            window_of(&server, opened[n].1.id.as_str())
        );
        assert_readable(&server.socket, Some(LEAD));
    }
    let all = geometry(&server.socket);
    assert_eq!(all[0].1, [0, 1, 60, 49]);
    let lefts: BTreeSet<u16> = all[1..].iter().map(|(_, geometry)| geometry[0]).collect();
    assert_eq!(lefts, BTreeSet::from([61, 131]), "{all:?}");
    let order: Vec<&str> = all[1..].iter().map(|(id, _)| id.as_str()).collect();
    let spawned: Vec<&str> = opened.iter().map(|(_, pane)| pane.id.as_str()).collect();
    assert_eq!(order, spawned);
    for (spec, pane) in &opened[5..] {
        backend.close(pane, &spec.spawn_id).await.unwrap();
    }
    let all = geometry(&server.socket);
    assert!(
        all[1..].iter().all(|(_, geometry)| geometry[2] == 139),
        "{all:?}"
    );
}

#[tokio::test]
async fn s5_panes_open_in_the_leads_window_whatever_clients_look_at() {
    let server = UserServer::start(400, 120);
    server.run(&["set-option", "-w", "-t", "%0", "window-size", "manual"]);
    server.run_line("new-session -d -s other -x 100 -y 30 -- sleep 99999");
    server.run(&["new-window", "-d", "-t", "work:", "--", "sleep", "99999"]);
    let first = Terminal::attach(&server.directory, &server.socket, 80, 24);
    let second = Terminal::attach(&server.directory, &server.socket, 100, 30);
    until("two clients are attached", || {
        server
            .run(&["list-clients", "-F", "#{client_name}"])
            .lines()
            .count()
            == 2
    })
    .await;
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let switching = {
        let (stop, socket) = (stop.clone(), server.socket.clone());
        let client = server.run(&["list-clients", "-F", "#{client_name}"]);
        let client = client.lines().next().unwrap().to_owned();
        std::thread::spawn(move || {
            let mut rounds = 0;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                crate::rig::tmux(&socket, &["switch-client", "-c", &client, "-t", "other"]);
                crate::rig::tmux(&socket, &["switch-client", "-c", &client, "-t", "work"]);
                crate::rig::tmux(&socket, &["next-window", "-t", "work"]);
                rounds += 1;
            }
            rounds
        })
    };
    let backend = server.backend(PanePlacement::Auto);
    let lead_window = window_of(&server, LEAD);
    for n in 0..10 {
        let (_, pane) = open_sleeper(&backend, &format!("mate-{n}")).await;
        assert_eq!(window_of(&server, pane.id.as_str()), lead_window);
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(switching.join().unwrap() > 0);
    drop((first, second));
}

#[tokio::test]
async fn s7_twelve_mates_are_readable_and_overflow_into_further_windows() {
    let (server, backend) = UserServer::with_backend(200, 50);
    let before = focus(&server);
    let mut windows = BTreeSet::new();
    for n in 0..12 {
        let (_, pane) = open_sleeper(&backend, &format!("mate-{n}")).await;
        windows.insert(window_of(&server, pane.id.as_str()));
        assert_readable(&server.socket, Some("%0"));
    }
    assert_eq!(windows.len(), 2);
    assert!(focus(&server).is_superset(&before), "the focus moved");
    assert_eq!(
        server.run(&["list-sessions", "-F", "#{session_name}"]),
        "work"
    );
}

#[tokio::test]
async fn s7_capacity_holds_in_windows_of_any_size() {
    for (columns, rows) in [(120, 40), (100, 30), (161, 37), (250, 70), (90, 20)] {
        let server = UserServer::start(columns, rows);
        let backend = server.backend(PanePlacement::Auto);
        for n in 0..9 {
            open_sleeper(&backend, &format!("mate-{n}")).await;
            assert_readable(&server.socket, Some("%0"));
        }
    }
}

#[tokio::test]
async fn s7_a_window_with_other_panes_is_not_rearranged() {
    let server = UserServer::start(200, 50);
    server.run_line("split-window -d -t %0 -h -l 33 -- sleep 99999");
    server.run_line("split-window -d -t %0 -v -l 7 -- sleep 99999");
    let layout = || server.run(&["display-message", "-p", "-t", "%0", "#{window_layout}"]);
    let options = || server.run(&["show-options", "-w", "-t", "%0"]);
    let before = (layout(), options(), focus(&server));
    let backend = server.backend(PanePlacement::Auto);
    for n in 0..3 {
        let (_, pane) = open_sleeper(&backend, &format!("mate-{n}")).await;
        assert_ne!(
            window_of(&server, pane.id.as_str()),
            window_of(&server, "%0")
        );
    }
    close_all(&backend, &team()).await;
    assert_eq!((layout(), options()), (before.0, before.1));
    assert!(focus(&server).is_superset(&before.2));
}

/// Splits the lead's pane as a user does: a pane of nine rows below it.
fn split_nine_rows(server: &UserServer) {
    let split = ["split-window", "-d", "-t", "%0", "-v", "-l", "9"];
    server.run(&[&split[..], &["--", "sleep", "99999"]].concat());
}

#[tokio::test]
async fn s7_a_pane_that_the_user_adds_later_keeps_its_size() {
    let (server, backend) = UserServer::with_backend(200, 50);
    let (spec, pane) = open_sleeper(&backend, "ada").await;
    split_nine_rows(&server);
    let user = |all: Vec<(String, [u16; 4])>| all.into_iter().find(|(id, _)| id == "%2").unwrap().1;
    let before = user(geometry(&server.socket));
    open_sleeper(&backend, "bob").await;
    assert_eq!(user(geometry(&server.socket)), before);
    backend.close(&pane, &spec.spawn_id).await.unwrap();
    let after = user(geometry(&server.socket));
    assert_eq!(after[3], before[3], "rows");
}

#[tokio::test]
async fn s7_the_place_can_be_chosen() {
    let server = UserServer::start(200, 50);
    split_nine_rows(&server);
    let lead_window = window_of(&server, "%0");
    let (_, pane) = open_sleeper(&server.backend(PanePlacement::Split), "ada").await;
    assert_eq!(window_of(&server, pane.id.as_str()), lead_window);
    let (_, pane) = open_sleeper(&server.backend(PanePlacement::Split), "bob").await;
    assert_eq!(window_of(&server, pane.id.as_str()), lead_window);
    let (_, pane) = open_sleeper(&server.backend(PanePlacement::Window), "cyd").await;
    assert_ne!(window_of(&server, pane.id.as_str()), lead_window);
    let user = geometry(&server.socket)
        .into_iter()
        .find(|(id, _)| id == "%1")
        .unwrap();
    assert_eq!(user.1[3], 9, "the user's pane keeps its rows");
}

#[tokio::test]
async fn s9_a_zoomed_window_stays_zoomed() {
    let (server, backend) = UserServer::with_backend(200, 50);
    let (_, ada) = open_sleeper(&backend, "ada").await;
    server.run(&["resize-pane", "-Z", "-t", ada.id.as_str()]);
    let zoomed = || server.run(&["display-message", "-p", "-t", "%0", "#{window_zoomed_flag}"]);
    assert_eq!(zoomed(), "1");
    let (spec, bob) = open_sleeper(&backend, "bob").await;
    tell_title(&server.socket, &ada, "ada · working");
    assert_eq!(zoomed(), "1");
    assert_ne!(
        window_of(&server, bob.id.as_str()),
        window_of(&server, "%0")
    );
    backend.close(&bob, &spec.spawn_id).await.unwrap();
    assert_eq!(zoomed(), "1");
}

#[tokio::test]
async fn s9_closing_a_hidden_pane_restores_the_zoom() {
    let (server, backend) = UserServer::with_backend(200, 50);
    let mut mates = Vec::new();
    for member in ["ada", "bob", "cyd"] {
        mates.push(open_sleeper(&backend, member).await);
    }
    server.run(&["resize-pane", "-Z", "-t", LEAD]);
    let focus_before = focus(&server);
    let zoomed = || server.run(&["display-message", "-p", "-t", LEAD, "#{window_zoomed_flag}"]);
    backend
        .close(&mates[1].1, &mates[1].0.spawn_id)
        .await
        .unwrap();
    assert_eq!(zoomed(), "1");
    assert_eq!(focus(&server), focus_before);
    server.run(&["resize-pane", "-Z", "-t", LEAD]);
    let rows: Vec<u16> = geometry(&server.socket)[1..]
        .iter()
        .map(|(_, g)| g[3])
        .collect();
    assert!(
        rows[0].abs_diff(rows[1]) <= 1,
        "the hole is closed: {rows:?}"
    );
    // The zoomed pane itself is closed: there is no zoom to restore.
    server.run(&["resize-pane", "-Z", "-t", mates[0].1.id.as_str()]);
    backend
        .close(&mates[0].1, &mates[0].0.spawn_id)
        .await
        .unwrap();
    assert_eq!(zoomed(), "0");
}

#[tokio::test]
async fn r2_a_requested_split_succeeds_or_fails() {
    let server = UserServer::start(200, 50);
    let backend = server.backend(PanePlacement::Split);
    for n in 0..10 {
        open_sleeper(&backend, &format!("mate-{n}")).await;
    }
    let before = geometry(&server.socket);
    let refused = backend.open(&crate::rig::spec("late")).await.unwrap_err();
    assert!(matches!(refused, PaneError::NoSplit(_)), "{refused}");
    assert_eq!(refused.kind(), ErrorKind::Environment);
    assert_eq!(geometry(&server.socket), before);
    close_all(&backend, &team()).await;
    server.run(&["split-window", "-d", "-t", LEAD, "--", "sleep", "99999"]);
    server.run(&["resize-pane", "-Z", "-t", LEAD]);
    let refused = backend.open(&crate::rig::spec("late")).await.unwrap_err();
    assert!(refused.to_string().contains("is zoomed"), "{refused}");
}

#[tokio::test]
async fn opening_a_pane_reports_its_position_and_why_it_is_not_next_to_the_lead() {
    let server = UserServer::start(200, 50);
    let open = async |place: PanePlacement, member: &str| {
        let pane = server.backend(place).open(&crate::rig::spec(member)).await;
        pane.unwrap().position.unwrap()
    };
    assert_eq!(open(PanePlacement::Auto, "ada").await, "next to the lead");
    for (place, why) in [
        (PanePlacement::Window, "tmux.place"),
        (PanePlacement::Auto, "contains other panes"),
    ] {
        if place == PanePlacement::Auto {
            server.run(&["split-window", "-d", "-t", LEAD, "--", "sleep", "99999"]);
        }
        let position = open(place, "bob").await;
        assert!(
            position.starts_with("in background window swarm-alpha"),
            "{position}"
        );
        assert!(position.contains(why), "{position}");
    }
}

#[tokio::test]
async fn the_room_of_a_closed_pane_is_distributed_evenly() {
    let (server, backend) = UserServer::with_backend(200, 50);
    let (spec, pane) = open_sleeper(&backend, "ada").await;
    open_sleeper(&backend, "bob").await;
    open_sleeper(&backend, "cyd").await;
    backend.close(&pane, &spec.spawn_id).await.unwrap();
    let rows: Vec<u16> = geometry(&server.socket)[1..]
        .iter()
        .map(|(_, g)| g[3])
        .collect();
    assert_eq!(rows.len(), 2);
    assert!(rows[0].abs_diff(rows[1]) <= 1, "{rows:?}");
    assert_eq!(geometry(&server.socket)[0].1[2], 60, "the lead's columns");
}

#[tokio::test]
async fn panes_opened_concurrently_are_all_readable() {
    let server = UserServer::start(200, 50);
    server.run_line("new-session -d -s other -x 200 -y 50 -- sleep 99999");
    for n in 0..4 {
        open_sleeper(&server.backend(PanePlacement::Auto), &format!("first-{n}")).await;
    }
    // There is room for one more next to the lead, and all see it. Each backend has a lock of its own, as processes
    // have.
    let backends: Vec<_> = (0..4)
        .map(|_| server.backend(PanePlacement::Auto))
        .collect();
    let opened = backends
        .iter()
        .enumerate()
        .map(|(n, backend)| async move { open_sleeper(backend, &format!("mate-{n}")).await });
    let opened = join_all(opened).await;
    assert_eq!(opened.len(), 4);
    assert_readable(&server.socket, Some("%0"));
    let others = server.run(&["list-panes", "-s", "-t", "other", "-F", "#{pane_id}"]);
    assert_eq!(others.lines().count(), 1, "the lead's session only");
}
