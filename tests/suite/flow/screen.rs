//! Views of a lead's terminal that cover it.

use rustix::process::Signal;
use serde_json::json;
use swarm_tests::fake_api::{Ask, Reply};

use super::run_in_pane::RunInPane;
use crate::machines::server_of;
use crate::pains::guards::kernel_has_none;
use crate::scene::{MODEL, team_with, wait_for_state};

fn brain(ask: &Ask) -> Reply {
    if ask.news_has("count") {
        Reply::tool("t1", "Bash", json!({"command": "seq 1 200"}))
    } else if ask.news_has("write it") {
        let file = json!({"file_path": "written.txt", "content": "by the lead\n"});
        Reply::tool("t3", "Write", file)
    } else if ask.news_has("publish") {
        Reply::tool("t2", "Bash", json!({"command": "touch published"}))
    } else {
        Reply::text("understood")
    }
}

/// A lead that requests can be answered from: as far as swarm can tell, it is not in tmux.
fn lead() -> RunInPane {
    let run = RunInPane::shell("sh", brain);
    run.line("unset TMUX TMUX_PANE; clear");
    run.swarm("lead --mode default; echo code $?");
    run.shows("team-lead >");
    run
}

#[test]
fn the_pager_shows_the_whole_conversation_and_its_keys_reach_nobody_else() {
    let run = lead();
    run.line("/mode bypassPermissions");
    run.shows("permission mode: bypassPermissions");
    run.line("count to 200");
    run.shows("… +195 lines (Ctrl-O)");
    run.shows("understood");
    run.press("C-o");
    run.shows("transcript · end");
    run.keys("g");
    run.shows("from you: count to 200");
    run.shows("● Bash seq 1 200");
    // A long search text, so that no row of the status shows it.
    run.line("/150");
    run.shows("    150\n");
    run.line("/no such text");
    run.shows("not found below: no such text");
    run.keys("q");
    run.ends_in("team-lead >");
    run.shows("… +195 lines (Ctrl-O)");

    run.line("/help");
    run.shows("help · ");
    run.press("C-c");
    run.ends_in("team-lead >");
    run.line("/task create --help");
    run.shows("/task create --help · ");
    run.keys("q");
    run.shows("lines, shown in the pager");
    run.press("C-d");
    run.shows("code 0");
    let asks = run.api.requests();
    let spoken = |text: &str| asks.iter().any(|ask| ask.ask.has_seen(text));
    assert!(
        !spoken("no such text") && !spoken("gq"),
        "keys of the pager are not prompts"
    );
}

#[test]
fn a_question_that_arrives_in_the_pager_is_announced_and_not_answered_by_its_keys() {
    let run = lead();
    run.line("publish it");
    run.shows("1: yes, this once");
    run.press("C-o");
    run.shows("▲ team-lead asks: Bash touch published");
    run.shows("q close");
    run.keys("1");
    run.keys("q");
    let made = run.world.project().join("published");
    run.shows("1: yes, this once");
    assert!(!made.exists());
    run.allows_call_that_makes("published");
    run.press("C-u");
    run.press("C-d");
    run.shows("code 0");
}

#[test]
fn the_team_panel_shows_members_and_sends_them_messages() {
    let run = RunInPane::shell("sh", brain);
    run.world.swarm(&["team", "create", "demo"]).ok();
    run.world
        .swarm(&["spawn", "bob", "--model", MODEL, "--prompt", "hello bob"])
        .ok();
    wait_for_state(&run.world, "bob", "idle");
    run.line("clear");
    run.swarm("lead --team demo; echo code $?");
    run.shows("bob idle");
    run.press("C-t");
    run.shows("MEMBER");
    run.shows("> team-lead");
    run.press("Down");
    run.shows("> bob");
    run.press("Enter");
    run.shows("transcript of bob · ");
    run.shows("hello bob");
    run.keys("q");
    run.keys("m");
    run.shows("to bob (Esc: back) >");
    run.line("a word from the panel");
    run.api.wait_for("the message", "bob", |ask| {
        ask.news_has("a word from the panel")
    });
    run.shows("team-lead >");
    // The panel is still open, and a second Ctrl-T closes it.
    run.press("C-t");
    run.keys("p");
    run.shows("bob paused");
    run.keys("p");
    run.shows("bob idle");
    run.press("C-t");
    run.line("hello");
    run.api.wait_for("a line for the lead", "team-lead", |ask| {
        ask.news_has("hello")
    });
    run.press("C-d");
    run.shows("code 0");
}

#[test]
fn a_person_interrupts_a_turn_and_is_told_if_there_is_none() {
    let (api, world) = team_with(|ask: &Ask| {
        if ask.news_has("work for long") {
            Reply::tool("t1", "Bash", json!({"command": "sleep 600"}))
        } else {
            Reply::text("heard")
        }
    });
    let spawn = [
        "spawn",
        "bob",
        "--model",
        MODEL,
        "--mode",
        "bypassPermissions",
        "--prompt",
        "work for long",
    ];
    world.swarm(&spawn).ok();
    wait_for_state(&world, "bob", "working");
    let told = world.swarm(&["interrupt", "bob", "--json"]).json();
    assert_eq!(told, json!({"member": "bob", "interrupted": true}));
    wait_for_state(&world, "bob", "idle");
    world.swarm(&["interrupt", "bob", "--json"]).error(4);
    let asks = api.requests();
    assert!(
        !asks.iter().any(|ask| ask.ask.has_seen("interrupt_request")),
        "the model does not see it"
    );
    world.swarm(&["interrupt", "team-lead", "--json"]).error(2);
    world.swarm(&["kill", "bob"]).ok();
}

#[test]
fn an_earlier_conversation_is_picked_from_a_list() {
    let run = lead();
    run.line("the first conversation");
    run.shows("understood");
    run.press("C-d");
    run.shows("code 0");
    run.line("clear");
    run.swarm("lead --mode default; echo code $?");
    run.shows("team-lead >");
    run.line("the second one");
    run.shows("understood");
    run.line("/resume");
    run.shows("Continue a conversation");
    run.shows("the first conversation");
    run.line("first");
    run.shows("continuing: the first conversation");
    run.line("go on");
    let ask = run
        .api
        .wait_for("the prompt", "team-lead", |ask| ask.news_has("go on"));
    assert!(ask.ask.has_seen("the first conversation") && !ask.ask.has_seen("the second one"));
    run.press("C-d");
    run.shows("code 0");
    run.line("clear");
    run.swarm("lead --resume; echo code $?");
    run.shows("Continue a conversation");
    run.press("Escape");
    run.shows("code 0");
}

#[test]
fn the_lead_continues_before_an_earlier_prompt_with_or_without_the_files() {
    let run = lead();
    run.line("/mode acceptEdits");
    run.shows("permission mode: acceptEdits");
    run.line("the first prompt");
    run.shows("understood");
    for (number, file) in [
        (2, "conversation, keep the files"),
        (3, "conversation and restore"),
    ] {
        run.line("write it, second prompt");
        run.shows(&format!("idle · {number} turns"));
        run.ends_in("team-lead >");
        run.line("/rewind");
        run.shows("Continue before an earlier prompt");
        run.keys("second");
        run.shows("1 of 2");
        run.press("Enter");
        run.shows("Return to before: write it, second prompt");
        run.shows("written.txt: was created and can be removed");
        run.keys(file);
        run.shows("1 of 4");
        run.press("Enter");
        run.shows("conversation rewound");
        run.ends_in("team-lead > write it, second prompt");
        let written = run.world.project().join("written.txt");
        run.world.wait_until("the file as it was, or kept", || {
            written.exists() == (number == 2)
        });
        run.press("C-u");
        if number == 2 {
            // The lead reads the file before it writes it again.
            std::fs::remove_file(written).expect("the file");
        }
    }
    run.line("another prompt");
    let ask = run.api.wait_for("the prompt", "team-lead", |ask| {
        ask.news_has("another prompt")
    });
    assert!(ask.ask.has_seen("the first prompt") && !ask.ask.has_seen("second prompt"));
    run.press("C-d");
    run.shows("code 0");
}

#[test]
fn requests_are_answered_one_by_one_outside_the_lead_where_no_agent_can_type() {
    if kernel_has_none() {
        return;
    }
    let run = RunInPane::shell("sh", brain);
    run.world.swarm(&["team", "create", "demo"]).ok();
    run.world
        .swarm(&[
            "spawn",
            "bob",
            "--model",
            MODEL,
            "--mode",
            "default",
            "--prompt",
            "publish it",
        ])
        .ok();
    let watch = format!(
        "clear; '{}' requests --watch; echo code $?",
        run.world.program("swarm").display()
    );
    run.world.swarm(&["team", "add", "carl", "--external"]).ok();
    run.line(&watch);
    run.shows("this terminal is in tmux, where the shell of carl can");
    run.shows("code 5");
    run.world.swarm(&["team", "remove", "carl"]).ok();
    run.line(&watch);
    run.shows("1 request in the team demo");
    run.shows("bob asks: Bash touch published");
    run.press("Escape");
    run.shows("1 postponed (Esc shows it)");
    run.press("Escape");
    run.allows_call_that_makes("published");
    run.shows("no requests wait in the team demo");
    run.press("C-u");
    run.press("C-d");
    run.shows("code 0");
    run.world.swarm(&["kill", "bob"]).ok();
}

#[test]
fn a_terminal_that_answers_requests_says_that_the_hub_does_not_answer_and_goes_on() {
    let run = RunInPane::shell("sh", brain);
    let Some(hub) = server_of(&run.world, None) else {
        return;
    };
    let swarm = run.world.program("swarm");
    run.line(&format!(
        "clear; '{}' requests --watch; echo code $?",
        swarm.display()
    ));
    run.shows("no requests wait in the team demo");
    hub.signal(Signal::STOP);
    run.shows("does not answer · Ctrl-C exits");
    hub.signal(Signal::CONT);
    run.shows("no requests wait in the team demo");
    run.press("C-d");
    run.shows("code 0");
}

#[test]
fn doctor_in_a_lead_checks_the_model_of_the_lead() {
    let run = RunInPane::shell("sh", brain);
    let settings = "[model]\ndefault = \"openai/gpt-oss:20b\"\n";
    run.world.write("root/swarm.toml", settings);
    run.swarm("lead --mode default; echo code $?");
    run.shows("team-lead >");
    run.line("/doctor");
    run.shows("model: anthropic/claude-sonnet-4-6, ANTHROPIC_API_KEY is set");
    // The findings may be in the pager.
    run.keys("q");
    run.press("C-u");
    run.press("C-d");
    run.shows("code 0");
}

#[test]
fn a_difference_is_shown_in_colours() {
    let run = lead();
    run.world.write("project/kept.txt", "one\n");
    run.world.commit_project();
    run.world.write("project/kept.txt", "two\n");
    run.line("/diff");
    run.shows("+two");
    let screen = ["capture-pane", "-p", "-e", "-t", &run.pane];
    let screen = run.inside.tmux().run(&screen).replace("\u{1b}[49m", "");
    for line in ["\u{1b}[31m-one", "\u{1b}[32m+two"] {
        assert!(screen.contains(line), "{line:?} in {screen:?}");
    }
    run.press("C-d");
    run.shows("code 0");
}
