//! A person's session with a lead and three teammates, from the first prompt to the last.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use swarm_tests::fake_api::{Ask, Block, Reply};

use super::run_in_pane::RunInPane;
use crate::scene::{wait_for_state, wait_until_gone};

const MATES: [&str; 3] = ["alice", "bob", "carol"];

fn brain(ask: &Ask) -> Reply {
    let bash = |id: &str, command: String| Reply::tool(id, "Bash", json!({"command": command}));
    let agent = ask.agent.as_str();
    if ask.news_has("Touch your file") {
        bash(&format!("touch-{agent}"), format!("touch by-{agent}"))
    } else if ask.news_has("Ask me") {
        let options = json!([{"label": "Postgres", "description": "big"}, {"label": "SQLite", "description": "small"}]);
        let question =
            json!({"question": "Which database?", "header": "Database", "options": options});
        Reply::tool(
            "question",
            "AskUserQuestion",
            json!({"questions": [question]}),
        )
    } else if ask.news_has("Plan it") {
        Reply::tool("enter", "EnterPlanMode", json!({}))
    } else if ask.result_of("enter").is_some() && ask.result_of("plan").is_none() {
        Reply::tool(
            "plan",
            "ExitPlanMode",
            json!({"plan": "# The plan of carol\n1. rest"}),
        )
    } else if ask.news_has("gather a team") {
        Reply::blocks(MATES.map(|name| {
            let input = json!({"name": name, "description": "work", "prompt": "hello"});
            Block::tool(format!("spawn-{name}"), "Agent", input)
        }))
    } else if ask.news_has("write the notes") {
        let input = json!({"file_path": "notes.txt", "content": "first line\nsecond line\n"});
        Reply::tool("write", "Write", input)
    } else if ask.news_has("work for long") {
        bash("long", "sleep 600".to_owned())
    } else if ask.news_has("are you there") {
        Reply::text("**still here**")
    } else {
        Reply::text("understood")
    }
}

impl RunInPane {
    /// Answers a dialog with a key. Keys do not count in the first half second, and the input line
    /// must be empty.
    pub(super) fn answer(&self, question: &str, key: &str, is_done: impl Fn() -> bool) {
        self.shows(question);
        self.world.wait_until(question, || {
            self.press("C-u");
            self.press(key);
            is_done()
        });
        self.press("C-u");
    }

    fn resize(&self, columns: u16, rows: u16) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let resize = [
            "resize-window",
            "-t",
            &self.pane,
            "-x",
            &columns,
            "-y",
            &rows,
        ];
        self.inside.tmux().run(&resize);
    }

    /// Waits for a text on the visible screen.
    fn shows_now(&self, text: &str) {
        self.world.wait_until(text, || {
            self.inside.tmux().screen(&self.pane).contains(text)
        });
    }
}

/// A lead of the team `demo`, from which requests can be answered.
fn lead() -> RunInPane {
    let run = RunInPane::shell("sh", brain);
    run.world.swarm(&["team", "create", "demo"]).ok();
    run.line("unset TMUX TMUX_PANE; clear");
    run.swarm("lead --team demo --mode default --backend headless; echo code $?");
    run.shows("team-lead >");
    run
}

#[test]
fn a_session_with_three_teammates_all_dialogs_a_resize_and_a_killed_lead() {
    let run = lead();
    let file = |name: &str| run.world.project().join(name);
    run.line("hello");
    run.shows("understood");
    run.line("gather a team");
    for name in MATES {
        wait_for_state(&run.world, name, "idle");
    }
    run.shows("alice idle");

    members_ask(&run);
    // The lead's own call, with its change.
    run.line("write the notes");
    run.shows("+ second line");
    run.answer("team-lead asks: Write notes.txt", "1", || {
        file("notes.txt").exists()
    });
    // A call that is denied.
    run.line("/send bob \"Touch your file\"");
    run.answer("bob asks: Bash touch by-bob", "3", || {
        run.inside.tmux().screen(&run.pane).contains("reason >")
    });
    run.line("not that file");
    (run.api).wait_for("the reason", "bob", |ask| ask.has_seen("not that file"));
    wait_for_state(&run.world, "bob", "idle");
    assert!(!file("by-bob").exists());

    views(&run);
    edits_and_interrupts(&run);
    rewinds(&run);
    is_killed_and_continued(&run);
    run.press("C-d");
    run.shows("ended 0");
    run.world.wait_until("no agent is left", || {
        let processes = run.world.processes();
        let is_agent =
            |line: &str| line.contains("swarm-teammate") || line.contains("lead --model");
        !processes.iter().any(|(_, line)| is_agent(line))
    });
}

/// A permission, a question with options, and a plan.
fn members_ask(run: &RunInPane) {
    let file = run.world.project().join("by-alice");
    run.line("/send alice \"Touch your file\"");
    run.answer("alice asks: Bash touch by-alice", "1", || file.exists());
    run.line("/send bob \"Ask me\"");
    let told = |agent: &str, id: &str, words: &str| {
        let asks = run.api.requests();
        asks.iter().any(|ask| {
            let result = ask.ask.result_of(id).map(|(text, _)| text);
            ask.ask.agent == agent && result.is_some_and(|text| text.contains(words))
        })
    };
    run.answer("bob asks: Which database?", "2", || {
        told("bob", "question", "SQLite")
    });
    run.line("/send carol \"Plan it\"");
    run.answer("The plan of carol", "1", || {
        told("carol", "plan", "approved")
    });
    for name in MATES {
        wait_for_state(&run.world, name, "idle");
    }
}

/// The team panel, the transcript, help, and several sizes of the terminal.
fn views(run: &RunInPane) {
    run.press("C-t");
    run.shows_now("> team-lead");
    // Members are listed in the order in which they joined.
    let first = run.world.team("demo").names().swap_remove(1);
    run.press("Down");
    run.shows_now(&format!("> {first}"));
    run.press("Enter");
    run.shows_now(&format!("transcript of {first}"));
    run.keys("q");
    run.press("C-t");
    run.line("/tasks");
    run.shows_now("t members");
    run.press("C-t");
    for (columns, rows) in [(60, 20), (80, 24), (120, 40), (200, 50)] {
        run.resize(columns, rows);
        run.ends_in("team-lead >");
        run.press("C-o");
        run.shows_now("transcript · end");
        run.keys("q");
        run.ends_in("team-lead >");
    }
    run.line("/help");
    run.shows_now("help · ");
    run.keys("q");
    run.ends_in("team-lead >");
}

/// History, completion, several lines, the mode, and a turn that is interrupted.
fn edits_and_interrupts(run: &RunInPane) {
    run.press("C-r");
    run.keys("gath");
    run.shows_now("team-lead > gather a team");
    run.press("Escape");
    run.ends_in("team-lead >");
    run.keys("/contex");
    run.press("Tab");
    run.ends_in("team-lead > /context");
    run.press("Enter");
    run.shows("of the context window is used");
    run.keys("one");
    run.press("M-Enter");
    run.keys("two");
    run.shows_now("team-lead > one\n            two");
    run.press("Enter");
    run.api
        .wait_for("both lines", "team-lead", |ask| ask.news_has("one\ntwo"));
    run.line("/plan /plan count the files");
    run.shows_now("takes a task, not another `/plan`");
    run.line("/plan");
    run.shows_now("permission mode: plan");
    run.line("/mode bypassPermissions");
    run.shows_now("permission mode: bypassPermissions");
    run.line("work for long");
    run.shows("Bash sleep 600");
    run.press("Escape");
    run.shows("interrupted");
    run.line("/mode default");
    run.ends_in("team-lead >");
}

/// The conversation and the file return.
fn rewinds(run: &RunInPane) {
    let written = run.world.project().join("notes.txt");
    assert!(written.exists());
    run.press("Escape");
    run.press("Escape");
    run.shows_now("Continue before an earlier prompt");
    run.keys("write the notes");
    run.shows_now("1 of ");
    run.press("Enter");
    run.shows_now("notes.txt: was created and can be removed");
    run.press("Enter");
    run.shows("removed notes.txt");
    run.ends_in("team-lead > write the notes");
    assert!(!written.exists());
    run.press("C-u");
}

/// The lead is killed. The next one continues its conversation and takes up its team.
fn is_killed_and_continued(run: &RunInPane) {
    let team = run.world.team("demo");
    let processes = || MATES.map(|name| team.hello(name)["pid"].clone());
    let before = processes();
    let status = run.world.swarm(&["status", "--json"]).json();
    let lead = status["leadProcess"]["pid"].as_i64().expect("a lead");
    let lead = Pid::from_raw(i32::try_from(lead).expect("a pid")).expect("a pid");
    kill_process(lead, Signal::KILL).expect("a running lead");
    wait_until_gone(&run.world, lead);
    run.shows("code 137");
    // A killed program cannot restore the terminal, in which Enter ends no line now.
    run.keys("stty sane; echo sane-$((40+2))");
    run.press("C-j");
    run.shows("sane-42");
    let clear = ["clear-history", "-t", &run.pane];
    run.inside.tmux().run(&clear);
    run.inside.tmux().run(&["send-keys", "-R", "-t", &run.pane]);

    run.swarm("lead --continue --mode default --backend headless; echo ended $?");
    run.shows("continuing: hello");
    run.ends_in("team-lead >");
    run.press("C-o");
    run.shows_now("transcript · end");
    run.keys("g");
    run.shows_now("gather a team");
    run.keys("q");
    run.line("are you there");
    run.shows("still here");
    let asked = (run.api).wait_for("the prompt", "team-lead", |ask| {
        ask.news_has("are you there")
    });
    assert!(
        asked.ask.has_seen("gather a team"),
        "the conversation goes on"
    );
    assert_eq!(processes(), before, "the teammates were taken up");
    run.line("/send alice \"hello again\"");
    (run.api).wait_for("the message", "alice", |ask| ask.news_has("hello again"));
    for name in MATES {
        wait_for_state(&run.world, name, "idle");
    }
    run.ends_in("team-lead >");
}
