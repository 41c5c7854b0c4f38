//! The user's server: exactly the panes of members are closed, and settings are as before.

use swarm_panes::{Pane, PaneBackend, PanePlacement, PaneSpec, PaneStatus, PaneText, TmuxBackend};

use crate::rig::{LEAD, UserServer, close_all, geometry, open_sleeper, team, tell_title, until};

/// Returns the settings that must be equal before and after: all global and server options, hooks, keys and the lead's window options.
fn settings(server: &UserServer) -> String {
    [
        &["show-options", "-s"][..],
        &["show-options", "-g"],
        &["show-options", "-gw"],
        &["show-options", "-t", "work"],
        &["show-hooks", "-g"],
        &["show-hooks", "-gw"],
        &["list-keys"],
        &["show-environment", "-g"],
        &["show-environment", "-t", "work"],
    ]
    .map(|words| server.run(words))
    .join("\n---\n")
}

/// Starts a member that prints its name; returns its process too.
async fn mate(
    server: &UserServer,
    backend: &TmuxBackend,
    name: &str,
) -> (String, PaneSpec, Pane, u32) {
    let spec = crate::rig::spec(name);
    let pane = backend.open(&spec).await.unwrap();
    let script = "echo \"I am $0\"; exec sleep 1000000";
    let started = backend
        .start(&pane, &crate::rig::sh(script, &[name]))
        .await
        .unwrap();
    until("it says who it is", || {
        let text = server.run(&["capture-pane", "-p", "-t", pane.id.as_str()]);
        !text.trim().is_empty()
    })
    .await;
    (name.to_owned(), spec, pane, started.pid.unwrap())
}

async fn has_ended(pid: u32) {
    until("exactly that process has ended", || {
        !std::path::Path::new(&format!("/proc/{pid}")).exists()
    })
    .await;
}

#[tokio::test]
async fn s9_the_right_pane_is_addressed_regardless_of_indexes() {
    let server = UserServer::start_with(250, 80, &[("base-index", "1"), ("pane-base-index", "1")]);
    let backend = server.backend(PanePlacement::Auto);
    let mut mates = Vec::new();
    for n in 0..5 {
        mates.push(mate(&server, &backend, &format!("mate-{n}")).await);
    }
    let third = &mates[2].2.id;
    server.run_line(&format!("split-window -d -t {third} -- sleep 99999"));
    for round in 0..20 {
        let (a, b) = (&mates[round % 5].2, &mates[(round * 3 + 1) % 5].2);
        if a.id != b.id {
            server.run(&["swap-pane", "-d", "-s", a.id.as_str(), "-t", b.id.as_str()]);
        }
        server.run(&["resize-pane", "-Z", "-t", a.id.as_str()]);
        let split = format!("split-window -d -P -F #{{pane_id}} -t {LEAD} -- sleep 99999");
        let added = server.run_line(&split);
        for (name, _, pane, pid) in &mates {
            let expected = PaneStatus::Running { pid: *pid };
            assert_eq!(backend.status(pane).await.unwrap(), expected);
            let text = backend.capture(pane, PaneText::last(5)).await.unwrap();
            assert_eq!(text, format!("I am {name}"));
        }
        server.run(&["kill-pane", "-t", added.trim()]);
        // Replaces a member by another one with its name at another position.
        let (name, spec, pane, pid) = mates.remove(round % 5);
        backend.close(&pane, &spec.spawn_id).await.unwrap();
        has_ended(pid).await;
        for (_, _, pane, pid) in &mates {
            let expected = PaneStatus::Running { pid: *pid };
            assert_eq!(
                backend.status(pane).await.unwrap(),
                expected,
                "after {name} was closed"
            );
        }
        mates.push(mate(&server, &backend, &name).await);
    }
    for (_, spec, pane, pid) in &mates {
        backend.close(pane, &spec.spawn_id).await.unwrap();
        has_ended(*pid).await;
    }
    assert_eq!(
        geometry(&server.socket).len(),
        2,
        "the lead's and the user's are left"
    );
}

#[tokio::test]
async fn the_users_server_is_restored() {
    let server = UserServer::start_with(
        200,
        50,
        &[
            ("pane-border-style", "fg=red,bg=black"),
            ("main-pane-width", "77"),
        ],
    );
    server.run(&["set-hook", "-g", "pane-exited", "display-message x"]);
    let window_options = || server.run(&["show-options", "-w", "-t", "%0"]);
    let before = (settings(&server), window_options());
    let backend = server.backend(PanePlacement::Auto);
    let mut last = None;
    for n in 0..7 {
        let opened = open_sleeper(&backend, &format!("mate-{n}")).await;
        tell_title(&server.socket, &opened.1, "mate · working");
        last = Some(opened);
    }
    assert_eq!(settings(&server), before.0, "while teammates are there");
    let (spec, pane) = last.unwrap();
    backend.close(&pane, &spec.spawn_id).await.unwrap();
    close_all(&backend, &team()).await;
    assert_eq!(settings(&server), before.0);
    assert_eq!(window_options(), before.1);
    assert_eq!(
        geometry(&server.socket),
        [("%0".to_owned(), [0, 0, 200, 50])]
    );
}

#[tokio::test]
async fn the_users_window_options_are_kept() {
    let server = UserServer::start(200, 50);
    let set = ["set-option", "-w", "-t", "%0"];
    server.run(&[&set[..], &["pane-border-status", "bottom"]].concat());
    server.run(&[&set[..], &["pane-active-border-style", "fg=red"]].concat());
    let options = || server.run(&["show-options", "-w", "-t", "%0"]);
    let before = options();
    let backend = server.backend(PanePlacement::Auto);
    open_sleeper(&backend, "ada").await;
    let during = options();
    assert!(during.contains("pane-border-status bottom"), "{during}");
    assert!(
        during.contains("pane-active-border-style fg=red"),
        "{during}"
    );
    close_all(&backend, &team()).await;
    assert_eq!(options(), before);
}
