//! Border texts.

use rustix::process::{Pid, Signal, kill_process};
use swarm_panes::{Pane, PaneBackend, PanePlacement, PaneSpec, PaneStatus};

use crate::rig::{
    LEAD, Terminal, UserServer, close_all, open_sleeper, sh, spec, team, tell_title, until, within,
};

/// Returns the border text of a pane without colours.
fn border(server: &UserServer, pane: &str) -> String {
    let words = server.run(&[
        "display-message",
        "-p",
        "-t",
        pane,
        "#{E:pane-border-format}",
    ]);
    let mut plain = String::new();
    let mut rest = words.as_str();
    while let Some((before, style)) = rest.split_once("#[") {
        plain += before;
        rest = style.split_once(']').map_or("", |(_, after)| after);
    }
    plain + rest
}

async fn expect_border(server: &UserServer, pane: &Pane, words: &str) {
    let id = pane.id.as_str();
    until(words, || border(server, id).trim() == words).await;
}

#[tokio::test]
async fn a_border_shows_the_members_state_and_its_exit_status() {
    let server = UserServer::start(200, 50);
    let terminal = Terminal::attach(&server.directory, &server.socket, 200, 51);
    let backend = server.backend(PanePlacement::Auto);
    let spec = spec("ada");
    let pane = backend.open(&spec).await.unwrap();
    expect_border(&server, &pane, "ada · starting").await;
    let script = "printf '\\033]2;ada · working · Bash\\007'; read -r _; exit 7";
    backend.start(&pane, &sh(script, &[])).await.unwrap();
    expect_border(&server, &pane, "ada · working · Bash").await;
    for (exit_receiver, shown) in [
        ("ada · idle", "ada · idle"),
        (
            "ada · NEEDS AN ANSWER · Bash rm",
            "ada · NEEDS AN ANSWER · Bash rm",
        ),
        // Another program has set the title: the name remains the member's.
        ("vim notes.txt", "ada"),
        ("team-lead · idle", "ada · idle"),
    ] {
        tell_title(&server.socket, &pane, exit_receiver);
        expect_border(&server, &pane, shown).await;
    }
    server.run(&["send-keys", "-t", pane.id.as_str(), "Enter"]);
    let ended = within("the end is seen", backend.exited(&pane)).await;
    assert!(matches!(ended.unwrap(), PaneStatus::Dead { .. }));
    expect_border(&server, &pane, "ada · exited with status 7").await;
    let drawn = || terminal.drawn();
    until("the end is drawn without anybody's doing", || {
        drawn().contains("exited with status 7")
    })
    .await;
}

#[tokio::test]
async fn the_border_of_a_killed_member_names_the_signal() {
    let (server, backend) = UserServer::with_backend(200, 50);
    let pane = backend.open(&spec("ada")).await.unwrap();
    backend
        .start(&pane, &sh("kill -KILL $$", &[]))
        .await
        .unwrap();
    within("the end is seen", backend.exited(&pane))
        .await
        .unwrap();
    let id = pane.id.as_str();
    until("the signal is named", || {
        border(&server, id)
            .trim()
            .starts_with("ada · exited on signal ")
    })
    .await;
}

#[tokio::test]
async fn a_border_shows_an_exit_before_tmux_knows_its_status() {
    let (server, backend) = UserServer::with_backend(200, 50);
    let pane = backend.open(&spec("ada")).await.unwrap();
    // For tmux a program without a terminal is one that has ended and whose status nobody has collected. It is not to end by
    // the loss of its terminal.
    let silent = "trap '' HUP; exec sleep 600 <&- >&- 2>&-";
    backend.start(&pane, &sh(silent, &[])).await.unwrap();
    let child = server.run(&[
        "display-message",
        "-p",
        "-t",
        pane.id.as_str(),
        "#{pane_pid}",
    ]);
    expect_border(&server, &pane, "ada · exited").await;
    let child = child.trim().parse().ok().and_then(Pid::from_raw);
    kill_process(child.expect("a pid"), Signal::KILL).unwrap();
    close_all(&backend, &team()).await;
}

#[tokio::test]
async fn the_leads_border_is_labelled_while_teammates_exist() {
    let server = UserServer::start(200, 50);
    let before = border(&server, LEAD);
    let backend = server.backend(PanePlacement::Auto);
    open_sleeper(&backend, "ada").await;
    assert_eq!(border(&server, LEAD).trim(), "team-lead · alpha");
    close_all(&backend, &team()).await;
    assert_eq!(border(&server, LEAD), before);
    assert_eq!(server.run(&["show-options", "-p", "-t", LEAD]), "");
}

#[tokio::test]
async fn custom_border_texts_are_kept() {
    let own = " mine #{pane_index} ";
    let server = UserServer::start_with(200, 50, &[("pane-border-format", own)]);
    let backend = server.backend(PanePlacement::Auto);
    open_sleeper(&backend, "ada").await;
    assert_eq!(border(&server, LEAD).trim(), "mine 0");
}

#[tokio::test]
async fn without_colours_borders_have_no_colour() {
    let server = UserServer::start_with(200, 50, &[("pane-border-style", "fg=green")]);
    let backend = server.backend(PanePlacement::Auto);
    let spec = PaneSpec {
        color: None,
        ..spec("ada")
    };
    let pane = backend.open(&spec).await.unwrap();
    let drawn = |what: &str| {
        let format = format!("#{{E:{what}}}");
        server.run(&["display-message", "-p", "-t", pane.id.as_str(), &format])
    };
    assert!(
        !drawn("pane-border-format").contains("fg="),
        "{}",
        drawn("pane-border-format")
    );
    assert_eq!(drawn("pane-border-style"), "fg=green", "the user's own");
}
