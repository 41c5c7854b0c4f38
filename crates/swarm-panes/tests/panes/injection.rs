//! tmux does not interpret displayed text.

use swarm_panes::{PaneBackend, PanePlacement, PaneSpec};

use crate::rig::{Terminal, UserServer, open_sleeper, sh, spec, tell_title, until};

#[tokio::test]
async fn titles_and_states_execute_nothing_when_a_client_draws_them() {
    let server = UserServer::start(200, 50);
    let canary = server.directory.path("canary");
    let touch = format!("touch {}", canary.display());
    let texts = [
        format!("#({touch})"),
        format!("##({touch})"),
        format!("a; run-shell '{touch}'"),
        format!("x\nrun-shell '{touch}'"),
        format!("#{{E:@x}}#{{T:@x}}#[fg=red]#({touch})"),
        format!("$({touch})`{touch}`"),
        format!("#{{?1,#({touch}),}}"),
        format!("%H#({touch});"),
        "-dkill".to_owned(),
        "evil;".to_owned(),
        "\\;".to_owned(),
        ";".to_owned(),
        "#".to_owned(),
        String::new(),
    ];
    let terminal = Terminal::attach(&server.directory, &server.socket, 200, 51);
    until("the client is attached", || {
        !server
            .run(&["list-clients", "-F", "#{client_name}"])
            .is_empty()
    })
    .await;
    let backend = server.backend(PanePlacement::Auto);
    for (n, text) in texts.iter().enumerate() {
        let member = format!("mate-{n}");
        let spec = PaneSpec {
            title: text.clone(),
            ..spec(&member)
        };
        let pane = backend.open(&spec).await.unwrap();
        let sleeper = sh("exec sleep 1000000", &[]);
        backend.start(&pane, &sleeper).await.unwrap();
        assert_eq!(
            server
                .run(&["list-panes", "-a", "-F", "#{pane_id}"])
                .lines()
                .count(),
            2,
            "{text}"
        );
        // A program may set any title; tmux expands the whole title.
        let text = text.replace('\n', " ");
        let start: String = text.chars().take(30).collect();
        for (title, mark) in [
            (format!("mate · drawn{n}x {text}"), format!("drawn{n}x")),
            (format!("{start} · {start}end{n}x"), format!("end{n}x")),
        ] {
            tell_title(&server.socket, &pane, &title);
            until(&format!("the border shows {title:?}"), || {
                terminal.drawn().contains(&mark)
            })
            .await;
        }
        backend.close(&pane, &spec.spawn_id).await.unwrap();
    }
    assert!(!canary.exists());
}

#[tokio::test]
async fn a_title_is_shown_verbatim() {
    let server = UserServer::start(200, 50);
    let terminal = Terminal::attach(&server.directory, &server.socket, 200, 51);
    let backend = server.backend(PanePlacement::Auto);
    let title = "fix #12 [red] 100% #[fg=red] #{x}";
    let spec = PaneSpec {
        title: title.to_owned(),
        ..spec("ada")
    };
    backend.open(&spec).await.unwrap();
    until("the border shows the title", || {
        terminal.drawn().contains(title)
    })
    .await;
    let panes = backend.panes(&spec.team).await.unwrap();
    assert_eq!(panes[0].title, title);
}

#[tokio::test]
async fn a_program_cannot_rename_the_border_of_its_pane() {
    let (server, backend) = UserServer::with_backend(200, 50);
    let spec = spec("ada");
    let pane = backend.open(&spec).await.unwrap();
    let script = "printf '\\033]2;team-lead\\007'; echo done; exec sleep 1000000";
    backend
        .start(&pane, &crate::rig::sh(script, &[]))
        .await
        .unwrap();
    let format = "#{pane_title}";
    until("tmux has read the new title", || {
        server.run(&["display-message", "-p", "-t", pane.id.as_str(), format]) == "team-lead"
    })
    .await;
    let terminal = Terminal::attach(&server.directory, &server.socket, 200, 51);
    until("the border is drawn", || terminal.drawn().contains(" ada ")).await;
    assert_eq!(backend.panes(&spec.team).await.unwrap()[0].title, "ada");
}

#[tokio::test]
async fn each_border_has_its_members_colour() {
    use swarm_protocol::Color;
    let server = UserServer::start(200, 50);
    let terminal = Terminal::attach(&server.directory, &server.socket, 200, 51);
    let backend = server.backend(PanePlacement::Auto);
    for (member, color) in [("ada", Color::Orange), ("bob", Color::Pink)] {
        let spec = PaneSpec {
            color: Some(color),
            ..spec(member)
        };
        backend.open(&spec).await.unwrap();
    }
    for colour in ["38;5;208", "38;5;205"] {
        until("the border has the colour", || {
            terminal.drawn().contains(colour)
        })
        .await;
    }
    let style = |pane: &str| {
        // The border style, expanded for that pane.
        server.run(&[
            "display-message",
            "-p",
            "-t",
            pane,
            "#{E:pane-border-style}",
        ])
    };
    assert_eq!(style("%1"), "fg=colour208");
    assert_eq!(style("%2"), "fg=colour205");
    assert_eq!(
        style("%0"),
        "default",
        "the lead's own pane keeps the user's"
    );
}

#[tokio::test]
async fn a_pane_id_from_a_roster_is_checked_before_it_reaches_tmux() {
    let (_server, backend) = UserServer::with_backend(200, 50);
    let (spec, pane) = open_sleeper(&backend, "ada").await;
    for bad in [
        "",
        "%",
        "leader",
        "%0;kill-server",
        "%1 ",
        "-a",
        "=work",
        "%01x",
    ] {
        let pane = swarm_panes::Pane {
            id: swarm_protocol::PaneId::new(bad),
            ..pane.clone()
        };
        assert!(backend.status(&pane).await.is_err(), "{bad}");
        assert!(backend.close(&pane, &spec.spawn_id).await.is_err(), "{bad}");
        assert!(backend.attach_command(&pane).await.is_empty(), "{bad}");
    }
}
