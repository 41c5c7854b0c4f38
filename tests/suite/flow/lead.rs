//! A person leads a team in a terminal: `swarm lead`.

use serde_json::json;
use swarm_tests::fake_api::{Ask, Gate, Reply};

use super::run_in_pane::RunInPane;
use crate::pains::guards::kernel_has_none;

/// Takes the shell out of tmux, as far as swarm can tell: requests are answered in place only there.
const OUTSIDE: &str = "unset TMUX TMUX_PANE; clear";

fn brain(ask: &Ask) -> Reply {
    if ask.news_has("make it") {
        Reply::tool("t1", "Bash", json!({"command": "touch made"}))
    } else if ask.news_has("count") {
        Reply::tool("t2", "Bash", json!({"command": "seq 1 20"}))
    } else if ask.news_has("fail") {
        Reply::refusal(400)
    } else {
        Reply::text("understood")
    }
}

#[test]
fn a_person_talks_to_a_lead_answers_its_request_in_place_and_continues_the_next_day() {
    let run = RunInPane::shell("sh", brain);
    run.line(OUTSIDE);
    run.swarm("lead --mode default; echo code $?");
    run.shows("team-lead >");
    run.line("hello");
    let ask = run
        .api
        .wait_for("the prompt", "team-lead", |ask| ask.news_has("hello"));
    assert!(!ask.ask.news_has("teammate_id"), "a prompt, not a message");
    run.shows("understood");
    run.line("/status");
    run.shows("this lead has no team yet");

    run.line("make it");
    run.shows("team-lead asks: Bash touch made");
    run.shows("1: yes, this once");
    run.allows_call_that_makes("made");
    run.shows("may make this call once");
    run.press("C-u");
    // The request has created a team.
    run.line("/permissions");
    run.shows("permission mode: default");
    run.line("/ls");
    run.shows("OPEN TASKS");
    run.line("fail now");
    run.shows("turn failed");
    run.press("C-d");
    run.shows("code 0");

    run.line("clear");
    run.swarm("lead --continue --mode default; echo code $?");
    run.shows("continuing");
    run.line("and again");
    let ask = run
        .api
        .wait_for("the prompt", "team-lead", |ask| ask.news_has("and again"));
    assert!(ask.ask.has_seen("hello"), "the conversation goes on");
    run.press("Up");
    run.press("Up");
    run.shows("team-lead > fail now");
    run.press("C-c");
    run.ends_in("team-lead >");
    run.line("/quit");
    run.shows("code 0");
}

#[test]
fn prompts_typed_during_a_turn_wait_for_its_end_and_survive_the_end_of_the_lead() {
    let (gate, held) = Gate::pair();
    let run = RunInPane::shell("sh", move |ask: &Ask| {
        let reply = Reply::text("understood");
        if ask.news_has("begin") || ask.news_has("publish it") {
            reply.held_by(&held, 1)
        } else {
            reply
        }
    });
    run.swarm("lead --mode default; echo code $?");
    run.shows("team-lead >");
    run.line("begin");
    let asked = |text: &str| {
        (run.api).wait_for("the prompt", "team-lead", |ask| ask.news_has(text));
    };
    asked("begin");
    run.line("check the notes");
    run.shows("queued: check the notes");
    run.line("delete the notes");
    run.shows("queued: delete the notes (Up: edit, Ctrl-S: send now)");
    run.press("Up");
    run.ends_in("team-lead > delete the notes");
    run.press("C-u");
    run.keys("publish it");
    run.press("C-s");
    run.shows("you: publish it (read between two calls)");
    gate.open();
    asked("publish it");
    asked("check the notes");
    run.shows("understood");
    let asks = run.api.requests();
    assert!(!asks.iter().any(|ask| ask.ask.has_seen("delete the notes")));
    run.press("C-d");
    run.shows("code 0");
}

#[test]
fn a_queued_prompt_is_a_draft_after_the_end_of_the_lead() {
    let (gate, held) = Gate::pair();
    let run = RunInPane::shell("sh", move |_: &Ask| {
        Reply::text("understood").held_by(&held, 1)
    });
    run.swarm("lead --mode default; echo code $?");
    run.shows("team-lead >");
    run.line("begin");
    (run.api).wait_for("the prompt", "team-lead", |ask| ask.news_has("begin"));
    run.line("check the notes");
    run.shows("queued: check the notes");
    run.press("C-d");
    run.shows("code 0");
    gate.open();
    run.line("clear");
    run.swarm("lead --mode default; echo code $?");
    run.ends_in("team-lead > check the notes");
    run.press("C-u");
    run.press("C-d");
    run.shows("code 0");
}

#[test]
fn a_call_is_changed_in_the_persons_editor_before_it_is_allowed() {
    let run = RunInPane::shell("sh", brain);
    run.line(OUTSIDE);
    run.line("export EDITOR='sed -i s/made/edited/'; clear");
    run.swarm("lead --mode default; echo code $?");
    run.shows("team-lead >");
    run.rules_are_shown();
    run.line("make it");
    run.shows("4: change it in your editor, then allow it");
    let edited = run.world.project().join("edited");
    run.world.wait_until("the call that was changed", || {
        run.press("C-u");
        run.press("4");
        edited.exists()
    });
    assert!(!run.world.project().join("made").exists());
    run.press("C-u");
    run.shows("may make this call as you changed it");
    run.press("C-d");
    run.shows("code 0");
}

#[test]
fn an_editor_that_is_suspended_and_resumed_keeps_the_terminal() {
    let run = RunInPane::shell("bash --norc --noprofile -i", brain);
    let editor = "echo editor-$((1+1)); kill -TSTP 0; echo back-$((2+2)); read line; echo \"$line\" > \"$1\"";
    run.world.write("project/editor.sh", editor);
    run.line("export EDITOR='sh editor.sh'; clear");
    run.swarm("lead --mode default");
    run.shows("team-lead >");
    run.press("C-g");
    run.shows("editor-2");
    run.shows("Stopped");
    run.line("clear; fg; echo ended $?");
    run.shows("back-4");
    let screen = run.inside.tmux().screen(&run.pane);
    assert!(!screen.contains("team-lead >"), "{screen}");
    run.line("typed in the editor");
    run.ends_in("team-lead > typed in the editor");
    run.press("C-u");
    run.press("C-d");
    run.shows("ended 0");
}

#[test]
fn a_terminal_without_cursor_control_gets_whole_lines() {
    let run = RunInPane::shell("sh", brain);
    run.line(OUTSIDE);
    run.line("export TERM=dumb");
    run.swarm("lead --mode default; echo code $?");
    run.shows("Ctrl-C interrupts, Ctrl-D ends the session");
    run.line("hello");
    run.shows("understood");
    run.line("/rewind");
    run.shows("/rewind is available only in a terminal with a screen");
    run.line("/help");
    run.shows("/quit ");
    run.line("make it");
    run.shows("team-lead asks: Bash touch made");
    run.shows("type a number and Enter to answer");
    let made = run.world.project().join("made");
    run.world.wait_until("the call that was allowed", || {
        run.line("1");
        made.exists()
    });
    let text = run.inside.tmux().whole_text(&run.pane);
    for other in ["team-lead >", "Shift-Tab", "Esc"] {
        assert!(!text.contains(other), "{other}: {text}");
    }
    run.press("C-d");
    run.shows("code 0");
    run.swarm("run hello --mode default; echo code $?");
    run.shows("type a line to the lead; /help lists commands, Ctrl-D stops the run");
}

#[test]
fn a_run_in_a_terminal_is_answered_in_place_too() {
    let run = RunInPane::shell("sh", brain);
    run.line(OUTSIDE);
    run.swarm("run 'make it' --mode default; echo code $?");
    run.shows("team-lead asks: Bash touch made");
    run.allows_call_that_makes("made");
    run.shows("code 0");
}

#[test]
fn a_command_as_the_first_prompt_is_expanded_like_a_typed_one() {
    let run = RunInPane::shell("sh", brain);
    let command = "project/.claude/commands/greet.md";
    run.world.write(command, "Greet $ARGUMENTS politely.");
    run.line(OUTSIDE);
    run.swarm("lead '/greet Ada' --mode default; echo code $?");
    let ask = run.api.wait_for("the prompt", "team-lead", |ask| {
        ask.news_has("Greet Ada politely.")
    });
    assert!(!ask.ask.has_seen("/greet"), "{}", ask.ask.news());
    run.shows("understood");
    run.press("C-d");
    run.shows("code 0");
}

#[test]
fn a_conversation_is_open_in_one_process_only() {
    let run = RunInPane::shell("bash --norc --noprofile -i", brain);
    run.swarm("lead --mode default");
    run.shows("team-lead >");
    run.line("hello");
    run.shows("understood");
    run.press("C-z");
    run.shows("Stopped");
    run.swarm("lead --continue --mode default; echo code $?");
    run.shows("is open in another process");
    run.shows("code 4");
    run.line("clear; fg; echo ended $?");
    run.shows("team-lead >");
    run.press("C-d");
    run.shows("ended 0");
    run.line("clear");
    run.swarm("lead --continue --mode default; echo code $?");
    run.shows("team-lead >");
    run.press("C-d");
    run.shows("code 0");
}

#[test]
fn in_tmux_requests_are_answered_while_the_sandbox_confines_every_shell() {
    if kernel_has_none() {
        return;
    }
    let run = RunInPane::shell("sh", brain);
    run.swarm("lead --mode default; echo code $?");
    run.shows("team-lead >");
    run.line("make it");
    run.shows("team-lead asks: Bash touch made");
    run.allows_call_that_makes("made");
    run.press("C-u");
    run.line("!echo mine-$((1+1))");
    run.shows("mine-2");
    run.press("C-d");
    run.shows("code 0");
}

#[test]
fn in_tmux_requests_are_not_answered_where_an_agents_shell_could_type_too() {
    refuses_keys_with(
        "SWARM_SANDBOX_BASH=off",
        "no keys here: this terminal is in tmux, where the lead's",
    );
}

#[test]
fn in_a_terminal_that_listens_on_tcp_requests_are_not_answered_with_an_open_network() {
    refuses_keys_with(
        "SWARM_SANDBOX_NETWORK=open KITTY_LISTEN_ON=tcp:localhost:9",
        "no keys here: this terminal is in kitty",
    );
}

/// Checks that a lead with these variables shows a request without keys, with these words.
fn refuses_keys_with(variables: &str, refusal: &str) {
    let run = RunInPane::shell("sh", brain);
    run.line(&format!("export {variables}; clear"));
    run.swarm("lead --mode default; echo code $?");
    run.shows("team-lead >");
    run.line("make it");
    run.shows("team-lead asks: Bash touch made");
    run.shows(refusal);
    run.shows("in a terminal outside:");
    run.shows("swarm approve p1 --team ");
    run.shows("swarm deny p1 --team ");
    let screen = run.inside.tmux().screen(&run.pane);
    assert!(!screen.contains("1: yes"), "{screen}");
    run.line("/approve p1");
    run.shows("`swarm approve` is not accepted here");
    let requests = run.world.swarm(&["requests", "--json"]).json();
    let id = requests[0]["id"].as_str().expect("the request still waits");
    run.world.swarm(&["deny", id]).ok();
    run.shows("understood");
    run.press("C-d");
    run.shows("code 0");
}

#[test]
fn a_prompt_of_a_server_is_typed_as_a_command_and_a_wrong_one_says_why() {
    let run = RunInPane::shell("sh", brain);
    let program = env!("CARGO_BIN_EXE_serves-mcp");
    let kit = json!({"command": program, "args": ["--mode", "rich"]});
    let servers = json!({"mcpServers": {"kit": kit}});
    run.world.write("root/.mcp.json", &servers.to_string());
    run.swarm("lead --mode default; echo code $?");
    run.shows("team-lead >");
    run.line("/mcp__kit__review");
    run.shows("missing argument `file`");
    run.line("/mcp__kit__rewrite a");
    run.shows("available prompts: review");
    run.line("/mcp__kit__review a.rs very kind");
    let ask = run.api.wait_for("the prompt", "team-lead", |ask| {
        ask.news_has("<command-name>/mcp__kit__review</command-name>")
    });
    let text = r#"Review {\"file\":\"a.rs\",\"tone\":\"very kind\"}"#;
    let said = ask.ask.body["messages"].to_string();
    assert!(said.contains(text), "{said}");
    run.shows("understood");
    run.press("C-d");
    run.shows("code 0");
}

#[test]
fn the_rules_of_a_lead_whose_servers_are_starting_are_not_shown_as_none() {
    let run = RunInPane::shell("sh", brain);
    let program = env!("CARGO_BIN_EXE_serves-mcp");
    // It starts when somebody writes into the pipe.
    let line = format!("read go < go; exec '{program}' --mode rich");
    let servers = json!({"mcpServers": {"kit": {"command": "sh", "args": ["-c", line]}}});
    run.world.write("root/.mcp.json", &servers.to_string());
    run.line("mkfifo go");
    run.swarm("lead --mode default; echo code $?");
    run.shows("team-lead >");
    run.line("/permissions");
    run.shows("the lead is still starting");
    std::fs::write(run.world.project().join("go"), "\n").unwrap();
    run.rules_are_shown();
    run.press("C-d");
    run.shows("code 0");
}

#[test]
fn a_person_sees_results_changes_the_mode_and_runs_commands() {
    let run = RunInPane::shell("sh", brain);
    let commands = run.world.project().join(".claude/commands");
    std::fs::create_dir_all(&commands).unwrap();
    std::fs::write(commands.join("greet.md"), "Say hello to $1.").unwrap();
    std::fs::write(commands.join("review.md"), "Look at $1 as I like it.").unwrap();
    run.line(OUTSIDE);
    run.swarm("lead --mode default; echo code $?");
    run.shows("team-lead >");
    run.shows("default · ");
    run.press("BTab");
    run.shows("permission mode: acceptEdits");
    run.shows("acceptEdits · ");
    run.line("/mode bypassPermissions");
    run.shows("permission mode: bypassPermissions");
    run.line("count");
    run.shows("… +15 lines (Ctrl-O)");
    run.shows("understood");
    run.press("C-o");
    run.shows("    7\n");
    run.shows("transcript · end");
    run.press("q");
    run.line("/greet ada");
    run.api
        .wait_for("the prompt of the file", "team-lead", |ask| {
            ask.news_has("Say hello to ada.")
        });
    run.shows("understood");
    run.line("/review a.rs");
    run.api
        .wait_for("the prompt of the file", "team-lead", |ask| {
            ask.news_has("Look at a.rs as I like it.")
        });
    run.line("!echo on my $((40 + 2)) own");
    run.shows("on my 42 own");
    run.line("/cost");
    run.shows("· /cost");
    run.shows("CACHE READ");
    run.line("what did I run?");
    run.api
        .wait_for("the output of the person's command", "team-lead", |ask| {
            ask.news_has("<bash-stdout>on my 42 own</bash-stdout>")
                && ask.news_has("what did I run?")
        });
    run.line("/stauts");
    run.shows("unknown command /stauts: did you mean /status?");
    run.line("!");
    run.shows("type a command after `!`");
    run.line("/clear");
    run.shows("conversation cleared");
    run.line("anew");
    let ask = run
        .api
        .wait_for("the prompt", "team-lead", |ask| ask.news_has("anew"));
    assert!(!ask.ask.has_seen("what did I run?"), "it was cleared");
    run.shows("understood");
    run.press("C-d");
    run.shows("code 0");
}

#[test]
fn in_tmux_nothing_runs_and_no_mode_rises_that_an_agent_could_type() {
    let run = RunInPane::shell("sh", brain);
    run.line("export SWARM_SANDBOX_BASH=off; clear");
    run.swarm("lead --mode default; echo code $?");
    run.shows("team-lead >");
    run.line("!touch made");
    run.shows("was not run: this terminal is in tmux");
    run.line("/diff");
    run.shows("`/diff` was not run: this terminal is in tmux");
    run.line("/tasks now");
    run.shows("unexpected argument 'now' found");
    run.line("/mode bypassPermissions");
    run.shows("is above default");
    run.press("BTab");
    run.shows("permission mode: plan");
    assert!(!run.world.project().join("made").exists());
    run.press("C-d");
    run.shows("code 0");
}

#[test]
fn the_first_prompt_is_shown_and_the_last_answer_is_shown_as_markdown_when_it_continues() {
    let run = RunInPane::shell("sh", |_: &Ask| Reply::text("a **bold** word"));
    run.swarm("lead 'explain the test' --mode default; echo code $?");
    run.shows("you: explain the test");
    run.shows("a bold word");
    run.press("C-d");
    run.shows("code 0");
    run.line("clear");
    run.swarm("lead --continue -p 'and the next one' --mode default; echo code $?");
    run.shows("continuing: explain the test");
    run.shows("you: and the next one");
    let asked = (run.api).wait_for("the prompt", "team-lead", |ask| {
        ask.news_has("and the next one")
    });
    assert!(asked.ask.has_seen("explain the test"));
    // The answers to both prompts.
    let screen = || run.inside.tmux().screen(&run.pane);
    run.world.wait_until("both answers", || {
        screen().matches("a bold word").count() == 2
    });
    assert!(!screen().contains("**"), "{}", screen());
    run.press("C-d");
    run.shows("code 0");
}
