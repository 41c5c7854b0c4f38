//! Requests of earlier members, and forms of MCP servers, in the terminal of a lead. The dialog about
//! trust is in `claude_settings`.

use serde_json::{Value, json};
use swarm_tests::fake_api::{Ask, Reply};

use super::run_in_pane::RunInPane;
use crate::scene::{spawn_with, wait_for_state};

fn brain(ask: &Ask) -> Reply {
    let asks = |id: &str| Reply::tool(id, "mcp__kit__ask", json!({"text": ""}));
    if ask.agent == "bob" && ask.result_of("made").is_none() {
        Reply::tool("made", "Bash", json!({"command": "touch made"}))
    } else if ask.news_has("plan the trip") {
        asks("trip")
    } else if ask.news_has("plan another one") {
        asks("another")
    } else {
        Reply::text("understood")
    }
}

/// A lead with a server that asks for input, and a team, whose queue has the requests.
fn lead() -> RunInPane {
    let run = RunInPane::shell("sh", brain);
    run.world.swarm(&["team", "create", "demo"]).ok();
    let server = json!({"command": env!("CARGO_BIN_EXE_serves-mcp"), "args": ["--mode", "rich"]});
    let servers = json!({"mcpServers": {"kit": server}}).to_string();
    let file = run.world.write("servers.json", &servers);
    run.line("unset TMUX TMUX_PANE; clear");
    run.swarm(&format!(
        "lead --team demo --mode default --backend headless --mcp-config '{}'; echo code $?",
        file.display()
    ));
    run.shows("team-lead >");
    run.line("/mode bypassPermissions");
    run.shows("permission mode: bypassPermissions");
    run
}

/// Returns the result of a call of the lead.
fn result(run: &RunInPane, id: &str) -> Value {
    let asked = run
        .api
        .wait_for("the result", "team-lead", |ask| ask.result_of(id).is_some());
    let (text, is_error) = asked.ask.result_of(id).expect("the result");
    assert!(!is_error, "{text}");
    serde_json::from_str(&text).expect("the answer to the server")
}

#[test]
fn a_form_of_a_server_is_answered_or_declined_in_the_lead() {
    let run = lead();
    run.line("plan the trip");
    run.shows("A trip?");
    let screen = || run.inside.tmux().screen(&run.pane);
    let types = || screen().contains("answer >");
    // Questions without options have no numbers.
    run.answer("(1 of 3)", "x", types);
    run.line("Rome");
    run.shows("(2 of 3)");
    run.line("12");
    run.shows("(3 of 3)");
    run.press("2");
    run.shows("send these answers?");
    run.press("Enter");
    let answer = result(&run, "trip");
    assert_eq!(answer["action"], "accept", "{answer}");
    let content = json!({"city": "Rome", "nights": 12, "room": "double"});
    assert_eq!(answer["content"], content);
    run.shows("understood");

    run.line("plan another one");
    run.answer("(1 of 3)", "Right", || !screen().contains("(1 of 3)"));
    run.press("Right");
    run.press("Right");
    run.shows("send these answers?");
    run.press("0");
    run.shows("reason >");
    run.line("not this week");
    assert_eq!(result(&run, "another")["action"], "decline");
    run.press("C-d");
}

#[test]
fn a_request_that_waited_before_the_lead_came_is_shown_when_it_starts() {
    let run = RunInPane::shell("sh", brain);
    run.world.swarm(&["team", "create", "demo"]).ok();
    spawn_with(&run.world, "bob", &["--prompt", "go"]);
    wait_for_state(&run.world, "bob", "waiting-permission");
    run.line("unset TMUX TMUX_PANE; clear");
    run.swarm("lead --team demo --mode default --backend headless");
    let made = run.world.project().join("made");
    run.answer("bob asks: Bash touch made", "1", || made.exists());
    run.press("C-d");
    run.shows("1 turn");
}
