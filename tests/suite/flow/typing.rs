//! A person types into the pane of a teammate.

use serde_json::json;
use swarm_tests::fake_api::{Ask, Gate, Reply};
use swarm_tests::stage::{InsideTmux, World};

use super::run_in_pane::{RunInPane, press, type_in};
use crate::pains::guards::kernel_has_none;
use crate::scene::{MODEL, team_with, wait_for_state};

/// Bob in a pane of the user's tmux, idle after his first turn; and that pane.
fn bob_in_a_pane(world: &World) -> (InsideTmux, String) {
    let inside = InsideTmux::start(world, 200, 50);
    let pane = spawn_bob(world, &inside, &[]);
    (inside, pane)
}

/// Spawns Bob, waits until he is idle, and returns his pane.
fn spawn_bob(world: &World, inside: &InsideTmux, more: &[&str]) -> String {
    let fixed = [
        "spawn",
        "bob",
        "--model",
        MODEL,
        "--mode",
        "bypassPermissions",
        "--prompt",
        "hello",
    ];
    let arguments = [&fixed[..], more].concat();
    world.start_with(&arguments, inside.variables()).wait().ok();
    wait_for_state(world, "bob", "idle");
    let pane = world.team("demo").member("bob").expect("bob")["tmuxPaneId"].clone();
    pane.as_str().expect("a pane").to_owned()
}

fn brain(ask: &Ask) -> Reply {
    if ask.news_has("work for long") {
        Reply::tool("t1", "Bash", json!({"command": "sleep 600"}))
    } else if ask.news_has("work a little") {
        Reply::tool(
            "t2",
            "Bash",
            json!({"command": "echo seen > /dev/tty; sleep 1"}),
        )
    } else {
        Reply::text("heard")
    }
}

#[test]
fn d7_typed_input_reaches_the_model_when_idle_and_between_two_calls() {
    let (api, world) = team_with(brain);
    let (inside, pane) = bob_in_a_pane(&world);
    inside.tmux().wait_for_text(&pane, "bob >");
    type_in(&inside, &pane, "worky a little 日本");
    for key in [
        "BSpace", "BSpace", "BSpace", "C-a", "Right", "Right", "Right", "Right", "DC",
    ] {
        press(&inside, &pane, key);
    }
    press(&inside, &pane, "Enter");
    let ask = api.wait_for("the line", "bob", |ask| ask.news_has("work a little\n</"));
    assert!(ask.ask.news_has("teammate_id=\"team-lead\""));
    inside.tmux().run(&["set-buffer", "and then\nstop"]);
    inside.tmux().run(&["paste-buffer", "-p", "-t", &pane]);
    inside
        .tmux()
        .wait_for_text(&pane, "bob > and then\n      stop");
    press(&inside, &pane, "Enter");
    let both = api.wait_for("both lines of the paste beside the result", "bob", |ask| {
        ask.result_of("t2").is_some() && ask.news_has("and then\nstop")
    });
    let told = both.ask.result_of("t2").expect("the result").0;
    assert!(
        told.contains("/dev/tty: No such device"),
        "the shell has no terminal: {told}"
    );
    wait_for_state(&world, "bob", "idle");
    inside.tmux().wait_for_text(&pane, "from you");

    let queued = world.team("demo").events("queued");
    let typed = queued
        .iter()
        .filter(|event| event["to"] == "bob" && event["from"] == "team-lead");
    assert_eq!(typed.count(), 3, "the prompt and two lines: {queued:?}");
    let log = std::fs::read_to_string(
        world
            .team("demo")
            .member_directory("bob")
            .join("output.log"),
    );
    let log = log.expect("bob's output");
    assert!(
        log.contains("work a little") && log.contains("heard"),
        "{log}"
    );
    assert!(!log.contains("bob >") && !log.contains("worky"), "{log}");
    press(&inside, &pane, "C-d");
    world.wait_until("bob has ended in order", || {
        world.team("demo").state("bob")["state"] == "stopped"
    });
    world.wait_until("and is no process any more", || {
        world
            .processes()
            .iter()
            .all(|(_, line)| !line.contains("swarm-teammate"))
    });
    // It was stopped by a person, so it did not crash.
    let resumed = world.swarm(&["resume", "demo", "--respawn", "--json"]);
    let document = resumed.json();
    assert_eq!(document["respawned"], serde_json::json!([]), "{document}");
    assert_eq!(document["dead"][0]["name"], "bob", "{document}");
    assert_eq!(document["dead"][0]["stoppedByPerson"], true, "{document}");
}

#[test]
fn esc_and_ctrl_c_interrupt_a_long_call_and_notify_the_lead() {
    let (api, world) = team_with(brain);
    let (inside, pane) = bob_in_a_pane(&world);
    // At rest there is nothing to interrupt. A key that is read together with Esc is one with Alt held, so the next one
    // is a key that does nothing either way.
    press(&inside, &pane, "Escape");
    press(&inside, &pane, "Enter");
    for (count, key) in [(1, "Escape"), (2, "C-c")] {
        type_in(&inside, &pane, "work for long");
        press(&inside, &pane, "Enter");
        inside.tmux().wait_for_text(&pane, "Bash sleep 600");
        wait_for_state(&world, "bob", "working");
        press(&inside, &pane, key);
        world.wait_until("the lead is told", || {
            let notices = world.team("demo").frames("team-lead", "idle_notification");
            let interrupted = notices
                .iter()
                .filter(|notice| notice["idleReason"] == "interrupted");
            interrupted.count() == count
        });
        wait_for_state(&world, "bob", "idle");
        inside.tmux().run(&["clear-history", "-t", &pane]);
        inside.tmux().run(&["send-keys", "-R", "-t", &pane]);
    }
    let heard = |ask: &Ask| ask.news_has("are you well?");
    world.swarm(&["send", "bob", "are you well?"]).ok();
    api.wait_for("the next message", "bob", heard);
    world.swarm(&["shutdown", "bob"]).ok();
}

#[test]
fn a_pane_shows_how_long_a_call_takes_and_recalls_lines_of_an_earlier_process() {
    let (_api, world) = team_with(brain);
    let (inside, pane) = bob_in_a_pane(&world);
    type_in(&inside, &pane, "work for long");
    press(&inside, &pane, "Enter");
    world.wait_until("the row counts seconds", || {
        let screen = inside.tmux().screen(&pane);
        let mut rows = screen.lines().map(str::trim_end);
        rows.any(|row| row.contains(" Bash ") && row.ends_with(" s") && !row.ends_with(" 0 s"))
    });
    press(&inside, &pane, "Escape");
    wait_for_state(&world, "bob", "idle");
    world.swarm(&["shutdown", "bob", "--force"]).ok();
    let directory = world.team("demo").member_directory("bob");
    let log = std::fs::read_to_string(directory.join("output.log")).expect("bob's output");
    assert!(
        log.contains("sleep 600") && !log.contains("Bash 1 s"),
        "{log}"
    );
    let pane = spawn_bob(&world, &inside, &["--fresh"]);
    inside.tmux().wait_for_text(&pane, "bob >");
    press(&inside, &pane, "Up");
    inside.tmux().wait_for_text(&pane, "bob > work for long");
    world.swarm(&["kill", "bob"]).ok();
}

/// Bob in a pane of the user's tmux, who asks before he makes a file, with these variables of the
/// spawner.
fn bob_asks_in_a_pane(world: &World, variables: &[(String, String)]) -> (InsideTmux, String) {
    let inside = InsideTmux::start(world, 200, 50);
    let fixed = ["spawn", "bob", "--model", MODEL, "--mode", "default"];
    let arguments = [&fixed[..], &["--prompt", "make it"]].concat();
    let variables = [inside.variables(), variables].concat();
    world.start_with(&arguments, &variables).wait().ok();
    let pane = world.team("demo").member("bob").expect("bob")["tmuxPaneId"].clone();
    let pane = pane.as_str().expect("a pane").to_owned();
    inside.tmux().wait_for_text(&pane, "needs an answer");
    (inside, pane)
}

fn makes_a_file(ask: &Ask) -> Reply {
    if ask.news_has("make it") {
        Reply::tool("t1", "Bash", json!({"command": "touch made"}))
    } else {
        Reply::text("understood")
    }
}

#[test]
fn a_key_in_a_teammates_own_pane_answers_its_request() {
    if kernel_has_none() {
        return;
    }
    let (_api, world) = team_with(makes_a_file);
    let (inside, pane) = bob_asks_in_a_pane(&world, &[]);
    inside
        .tmux()
        .wait_for_text(&pane, "bob asks: Bash touch made");
    inside
        .tmux()
        .wait_for_text(&pane, "3: no; you can type a reason");
    press(&inside, &pane, "Escape");
    inside
        .tmux()
        .wait_for_text(&pane, "1 request postponed; Esc shows it");
    let is_shown = || inside.tmux().screen(&pane).contains("1: yes, this once");
    assert!(!is_shown());
    press(&inside, &pane, "Escape");
    world.wait_until("the request is shown again", is_shown);
    let made = world.project().join("made");
    world.wait_until("the call that was allowed by a key", || {
        press(&inside, &pane, "C-u");
        press(&inside, &pane, "1");
        made.exists()
    });
    wait_for_state(&world, "bob", "idle");
    let answered = world.team("demo").events("request_answered");
    assert_eq!(answered.len(), 1, "{answered:?}");
    assert_eq!(answered[0]["by"], "person", "{answered:?}");
    world.swarm(&["shutdown", "bob"]).ok();
}

#[test]
fn no_key_in_a_teammates_own_pane_answers_where_its_shell_could_type() {
    let (_api, world) = team_with(makes_a_file);
    let off = ("SWARM_SANDBOX_BASH".to_owned(), "off".to_owned());
    let (inside, pane) = bob_asks_in_a_pane(&world, &[off]);
    press(&inside, &pane, "1");
    inside.tmux().wait_for_text(&pane, "bob > 1");
    let requests = world.swarm(&["requests", "--json"]).json();
    let id = requests[0]["id"].as_str().expect("the request still waits");
    world.swarm(&["deny", id]).ok();
    wait_for_state(&world, "bob", "idle");
    assert!(!world.project().join("made").exists());
    world.swarm(&["kill", "bob"]).ok();
}

#[test]
fn d14_text_in_a_pane_changes_no_state() {
    let (api, world) = team_with(brain);
    let (inside, pane) = bob_in_a_pane(&world);
    let tty = inside
        .tmux()
        .run(&["display-message", "-p", "-t", &pane, "#{pane_tty}"]);
    let strings = [
        "\u{276f} ",
        "> ",
        "$ ",
        "\u{273b} Thinking\u{2026} (12s \u{b7} \u{2191} 1.2k tokens \u{b7} esc to interrupt)",
        "\u{23f5}\u{23f5} bypass permissions on (shift+tab to cycle)",
        "Do you want to proceed?\n\u{276f} 1. Yes\n  2. No (esc)",
        "Context left until auto-compact: 4%",
        "\u{280b} Working (3s \u{2022} esc to interrupt)",
        "? for shortcuts",
        "rate limit reached, resets 3pm",
        "[Process completed]",
    ];
    let report = |world: &World| world.team("demo").state("bob").to_string();
    let print = || {
        let text = strings.join("\r\n") + "\r\n";
        std::fs::write(tty.trim(), text).expect("the pane's terminal");
        inside.tmux().wait_for_text(&pane, "[Process completed]");
        inside.tmux().run(&["clear-history", "-t", &pane]);
    };
    let before = report(&world);
    print();
    let status = world.swarm(&["status", "--json"]).json();
    assert_eq!(status["members"][1]["state"], "idle");
    assert_eq!(report(&world), before);

    world.swarm(&["send", "bob", "work for long"]).ok();
    wait_for_state(&world, "bob", "working");
    api.wait_for("the call", "bob", |ask| ask.news_has("work for long"));
    let before = world.wait_for("the call runs", || {
        let report = report(&world);
        let shown = inside.tmux().whole_text(&pane).contains("sleep 600");
        (shown && report.contains("sleep 600")).then_some(report)
    });
    print();
    let sent = world
        .swarm(&["send", "bob", "take your time", "--json"])
        .json();
    assert!(sent.to_string().contains("working"), "{sent}");
    assert_eq!(report(&world), before);
    world.swarm(&["kill", "bob"]).ok();
}

/// Prints 1 and 1 where a terminal reads whole lines and shows what is typed.
const MODES: &str = "stty -a | grep -c ' icanon'; stty -a | grep -c ' echo '";

fn held_by(gate: &Gate) -> impl Fn(&Ask) -> Reply + use<> {
    let held = gate.clone();
    move |_: &Ask| Reply::text("the report").held_by(&held, 1)
}

#[test]
fn what_is_typed_into_the_terminal_of_a_run_reaches_its_lead_and_never_the_shell() {
    let gate = Gate::closed();
    let run = RunInPane::start("sh", &format!("; {MODES}"), held_by(&gate));
    run.shows("team-lead >");
    run.line("and the tests, too");
    run.shows("you: and the tests, too");
    run.keys("touch typed-ahead");
    run.shows("team-lead > touch typed-ahead");
    gate.open();
    let heard = run.api.wait_for("the line", "team-lead", |ask| {
        ask.news_has("and the tests, too")
    });
    assert!(heard.ask.news_has("teammate_id=\"user\""));
    run.shell_is_as_before();
}

#[test]
fn a_run_in_the_foreground_resets_terminal_modes_of_the_shells_editor() {
    let gate = Gate::closed();
    let shell = "bash --norc --noprofile -i";
    let run = RunInPane::start(shell, "&", held_by(&gate));
    run.line(&format!("fg; {MODES}"));
    run.keys("touch typed-ahead");
    run.shows("team-lead > touch typed-ahead");
    gate.open();
    run.shell_is_as_before();
}

#[test]
fn a_suspended_run_returns_the_terminal_to_the_shell_and_takes_it_back() {
    let gate = Gate::closed();
    let shell = "bash --norc --noprofile -i";
    let run = RunInPane::start(shell, "", held_by(&gate));
    run.shows("team-lead >");
    run.keys("half a line");
    run.shows("team-lead > half a line");
    run.press("C-z");
    run.shows("Stopped");
    run.line("echo in-the-$((1+1)); bg");
    run.shows("in-the-2");
    // The run is in the background, and these keys are the shell's.
    run.line("echo still-$((2+2))");
    run.shows("still-4");
    // Later than the run leaves the shell's input alone: nothing but `fg` tells it of its return.
    run.line("sleep 1.5; echo rested-$((3+3))");
    run.shows("rested-6");
    run.keys(&format!("fg; {MODES}"));
    run.shows(&format!("fg; {MODES}"));
    run.press("Enter");
    run.keys(" more");
    run.shows("team-lead > half a line more");
    gate.open();
    run.shell_is_as_before();
}

#[test]
fn esc_interrupts_a_lead_which_then_waits_and_ctrl_d_quits() {
    let model = |ask: &Ask| {
        if ask.news_has("do this instead") {
            Reply::tool("t2", "Bash", json!({"command": "sleep 601"}))
        } else {
            Reply::tool("t1", "Bash", json!({"command": "sleep 600"}))
        }
    };
    let run = RunInPane::start("sh", &format!("; echo code $?; {MODES}"), model);
    run.shows("Bash sleep 600");
    run.press("Escape");
    run.shows("type what to do instead");
    run.line("do this instead");
    run.shows("Bash sleep 601");
    // Ctrl-C only clears a line that has text.
    run.keys("half a line");
    run.shows("team-lead > half a line");
    run.press("C-c");
    run.ends_in("team-lead >");
    run.press("C-d");
    run.shows("stopping the team");
    run.shows("code 130");
    run.shell_is_as_before();
}
