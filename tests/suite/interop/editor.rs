//! `swarm acp`: a lead for an editor, which is a client of the Agent Client Protocol here.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};
use swarm_tests::fake_api::{Ask, Gate, Reply};
use swarm_tests::stage::{MODEL, World};

use crate::scene::{spawns, wait_for_no_process, world, world_with};

/// How long the editor waits for a message.
const PATIENCE: Duration = Duration::from_mins(1);

/// An editor with `swarm acp`.
struct Editor {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    /// What was received so far.
    seen: Vec<Value>,
    next_id: u64,
}

impl Editor {
    fn start(world: &World, arguments: &[&str]) -> Self {
        let mut command = world.command(world.program("swarm"));
        command.args(["acp", "--model", MODEL, "--backend", "headless"]);
        command.args(arguments);
        let log = world.write("out/editor.stderr", "");
        let log = std::fs::File::create(log).expect("a log");
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log);
        let mut child = command.spawn().expect("swarm acp");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line);
                sender
                    .send(message.unwrap_or_else(|error| panic!("{line}: {error}")))
                    .ok();
            }
        });
        let mut editor = Self {
            input: child.stdin.take(),
            child,
            messages,
            seen: Vec::new(),
            next_id: 0,
        };
        let hello = json!({"protocolVersion": 1, "clientCapabilities": {}});
        let agent = editor.call("initialize", &hello);
        assert_eq!(agent["protocolVersion"], 1);
        assert_eq!(agent["agentCapabilities"]["loadSession"], true);
        editor
    }

    fn send(&mut self, message: &Value) {
        let input = self.input.as_mut().expect("an open input");
        writeln!(input, "{message}").expect("a reading agent");
    }

    fn request(&mut self, method: &str, params: &Value) -> u64 {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Receives messages until one fits.
    #[track_caller]
    fn wait(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.messages.recv_timeout(PATIENCE);
            let message = message.unwrap_or_else(|_| panic!("no {what}: {:#?}", self.seen));
            self.seen.push(message.clone());
            if fits(&message) {
                return message;
            }
        }
    }

    #[track_caller]
    fn response(&mut self, id: u64) -> Value {
        self.wait("response", |message| {
            message["method"].is_null() && message["id"] == id
        })
    }

    #[track_caller]
    fn call(&mut self, method: &str, params: &Value) -> Value {
        let id = self.request(method, params);
        let response = self.response(id);
        assert!(response["result"].is_object(), "{method}: {response}");
        response["result"].clone()
    }

    #[track_caller]
    fn error(&mut self, method: &str, params: &Value) -> String {
        let id = self.request(method, params);
        let error = self.response(id)["error"].clone();
        assert!(error["code"].is_i64(), "{method} succeeded");
        error["message"].as_str().unwrap_or_default().to_owned()
    }

    fn open(&mut self, cwd: &Path) -> String {
        let place = json!({"cwd": cwd, "mcpServers": []});
        let opened = self.call("session/new", &place);
        let id = opened["sessionId"].as_str().expect("an id");
        id.to_owned()
    }

    fn prompt(&mut self, session: &str, text: &str) -> u64 {
        let prompt = json!([{"type": "text", "text": text}]);
        self.request(
            "session/prompt",
            &json!({"sessionId": session, "prompt": prompt}),
        )
    }

    #[track_caller]
    fn ends(&mut self, id: u64, reason: &str) {
        let response = self.response(id);
        assert_eq!(response["result"]["stopReason"], reason, "{response}");
    }

    /// Waits for a question and answers it with the option of this kind.
    #[track_caller]
    fn answer(&mut self, kind: &str) -> Value {
        let asked = self.wait("question", |message| {
            message["method"] == "session/request_permission"
        });
        let options = asked["params"]["options"].as_array().expect("options");
        let option = options.iter().find(|option| option["kind"] == kind);
        let option = option.unwrap_or_else(|| panic!("no option {kind}: {asked}"));
        let outcome = json!({"outcome": "selected", "optionId": option["optionId"]});
        self.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"outcome": outcome}}));
        asked["params"]["toolCall"].clone()
    }

    /// The updates of a kind that were received so far.
    fn updates(&self, kind: &str) -> Vec<&Value> {
        let updates = self.seen.iter().map(|message| &message["params"]["update"]);
        updates
            .filter(|update| update["sessionUpdate"] == kind)
            .collect()
    }

    /// The text of the messages that were received so far.
    fn text(&self, kind: &str) -> String {
        let chunks = self.updates(kind).into_iter();
        chunks
            .filter_map(|chunk| chunk["content"]["text"].as_str())
            .collect()
    }

    /// Closes the connection and waits for the end of the process.
    fn leave(mut self) -> Option<i32> {
        self.input = None;
        self.child.wait().expect("its end").code()
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        // A failed test leaves no process.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn touch(id: &str, file: &str) -> Reply {
    Reply::tool(id, "Bash", json!({"command": format!("touch {file}")}))
}

fn brain(ask: &Ask) -> Reply {
    if ask.news_has("make it") {
        touch("t1", "made")
    } else if ask.news_has("make that") {
        touch("t2", "that")
    } else if ask.news_has("fail") {
        Reply::refusal(400)
    } else {
        Reply::text("understood")
    }
}

#[test]
fn a_prompt_streams_its_answer_calls_and_questions() {
    let (_api, world) = world_with(brain);
    let mut editor = Editor::start(&world, &[]);
    let session = editor.open(&world.project());

    let prompt = editor.prompt(&session, "hello");
    editor.ends(prompt, "end_turn");
    assert_eq!(editor.text("agent_message_chunk"), "understood");

    let prompt = editor.prompt(&session, "make it");
    let call = editor.answer("allow_once");
    assert_eq!(call["toolCallId"], "t1");
    assert_eq!(call["title"], "team-lead asks: Bash touch made");
    editor.ends(prompt, "end_turn");
    assert!(world.project().join("made").exists());
    assert_eq!(editor.updates("tool_call")[0]["kind"], "execute");
    assert_eq!(editor.updates("tool_call_update")[0]["status"], "completed");

    let prompt = editor.prompt(&session, "make that");
    editor.answer("reject_once");
    editor.ends(prompt, "end_turn");
    assert!(!world.project().join("that").exists());
    assert_eq!(editor.updates("tool_call_update")[1]["status"], "failed");

    let mode = json!({"sessionId": session, "modeId": "acceptEdits"});
    editor.call("session/set_mode", &mode);
    editor.wait("mode", |message| {
        message["params"]["update"]["currentModeId"] == "acceptEdits"
    });
    let prompt = editor.prompt(&session, "/mode");
    editor.ends(prompt, "end_turn");
    assert!(editor.text("agent_message_chunk").contains("acceptEdits"));

    let prompt = editor.prompt(&session, "fail now");
    let failed = editor.response(prompt);
    assert_eq!(failed["error"]["code"], -32603, "{failed}");
    assert_eq!(editor.leave(), Some(0));
    wait_for_no_process(&world);
}

#[test]
fn a_cancelled_turn_ends_and_the_session_goes_on() {
    let gate = Gate::closed();
    let held = Reply::text("too late").held_by(&gate, 1);
    let (api, world) = world_with(move |ask: &Ask| {
        if ask.news_has("wait") {
            held.clone()
        } else {
            brain(ask)
        }
    });
    let mut editor = Editor::start(&world, &[]);
    let session = editor.open(&world.project());
    let cancel =
        json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}});

    let prompt = editor.prompt(&session, "wait");
    api.wait_for("the prompt", "team-lead", |ask| ask.news_has("wait"));
    let second = editor.error(
        "session/prompt",
        &json!({"sessionId": session, "prompt": [{"type": "text", "text": "x"}]}),
    );
    assert!(second.contains("still being answered"), "{second}");
    // A command runs meanwhile.
    let command = editor.prompt(&session, "/rewind");
    editor.ends(command, "end_turn");
    let text = editor.text("agent_message_chunk");
    assert!(text.contains("/rewind is available only in"), "{text}");
    editor.send(&cancel);
    editor.ends(prompt, "cancelled");

    // A cancellation that overtakes the turn counts too.
    let prompt = editor.prompt(&session, "wait again");
    editor.send(&cancel);
    editor.ends(prompt, "cancelled");

    // The client cancels its open question.
    let prompt = editor.prompt(&session, "make it");
    let asked = editor.wait("question", |message| {
        message["method"] == "session/request_permission"
    });
    editor.send(&cancel);
    editor.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"outcome": {"outcome": "cancelled"}}}));
    editor.ends(prompt, "cancelled");
    assert!(!world.project().join("made").exists());

    let prompt = editor.prompt(&session, "hello");
    editor.ends(prompt, "end_turn");
    gate.open();
    assert_eq!(editor.leave(), Some(0));
}

#[test]
fn plan_with_a_task_switches_the_mode_and_sends_the_task() {
    let (api, world) = world_with(brain);
    world.write("project/.claude/commands/greet.md", "Greet $ARGUMENTS.");
    let mut editor = Editor::start(&world, &["--mode", "default"]);
    let session = editor.open(&world.project());
    let prompt = editor.prompt(&session, "/plan /greet Ada");
    editor.wait("mode", |message| {
        message["params"]["update"]["currentModeId"] == "plan"
    });
    editor.ends(prompt, "end_turn");
    let asked = api.wait_for("the task", "team-lead", |ask| ask.news_has("Greet Ada."));
    assert!(!asked.ask.has_seen("/greet"), "{}", asked.ask.news());

    let prompt = json!([{"type": "text", "text": "/plan /mcp__a__b hi"}]);
    let why = editor.error(
        "session/prompt",
        &json!({"sessionId": session, "prompt": prompt}),
    );
    assert!(why.starts_with("/mcp__a__b"), "{why}");
    let prompt = editor.prompt(&session, "/plan");
    editor.ends(prompt, "end_turn");
    assert_eq!(editor.leave(), Some(0));
}

#[test]
fn a_prompt_of_an_unknown_server_is_refused_and_the_session_goes_on() {
    let (_api, world) = world_with(brain);
    let mut editor = Editor::start(&world, &[]);
    let session = editor.open(&world.project());
    let prompt = json!([{"type": "text", "text": "/mcp__a__b hi"}]);
    let why = editor.error(
        "session/prompt",
        &json!({"sessionId": session, "prompt": prompt}),
    );
    assert!(why.starts_with("/mcp__a__b"), "{why}");
    let prompt = editor.prompt(&session, "hello");
    editor.ends(prompt, "end_turn");
    assert_eq!(editor.leave(), Some(0));
}

#[test]
fn a_session_elsewhere_has_its_own_directory_for_commands_and_no_trust_by_flag() {
    let (_api, world) = world_with(brain);
    let hook = r#"{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "touch hooked"}]}]}}"#;
    world.write("project/.claude/settings.json", hook);
    world.write("elsewhere/.claude/settings.json", hook);
    let elsewhere = world.directory().join("elsewhere");
    let mut editor = Editor::start(&world, &["--trust"]);
    for (directory, is_trusted) in [(world.project(), true), (elsewhere.clone(), false)] {
        let session = editor.open(&directory);
        let prompt = editor.prompt(&session, "hello");
        editor.ends(prompt, "end_turn");
        let is_hooked = directory.join("hooked").exists();
        assert_eq!(is_hooked, is_trusted, "{}", directory.display());
    }
    let session = editor.open(&elsewhere);
    let command = editor.prompt(&session, "/trust");
    editor.ends(command, "end_turn");
    let trusted = world.swarm(&["trust", "--list", "--json"]).json();
    let path = trusted[0]["path"].as_str().unwrap_or_default();
    assert!(path.ends_with("/elsewhere"), "{trusted}");
    assert_eq!(editor.leave(), Some(0));
}

/// A lead that spawns bob, who makes a file.
fn team_brain(ask: &Ask) -> Reply {
    if ask.system().contains("team-lead") && ask.news_has("get help") {
        spawns("bob")
    } else if ask.news_has("hello") && ask.result_of("t7").is_none() {
        touch("t7", "by-bob")
    } else {
        Reply::text("understood")
    }
}

#[test]
fn a_members_question_names_it_and_a_client_that_goes_away_leaves_the_team_to_another_lead() {
    let (_api, world) = world_with(team_brain);
    let mut editor = Editor::start(&world, &["--team", "crew"]);
    let session = editor.open(&world.project());
    let crew = world.team("crew").directory();
    world.wait_until("the team", || crew.join("config.json").exists());
    world
        .swarm(&["task", "create", "tidy up", "--team", "crew"])
        .ok();
    editor.wait("plan", |message| {
        message["params"]["update"]["sessionUpdate"] == "plan"
    });
    assert!(
        editor.updates("plan")[0]["entries"][0]["content"]
            .as_str()
            .is_some_and(|text| text.contains("tidy up"))
    );

    let prompt = editor.prompt(&session, "get help");
    let call = editor.answer("allow_once");
    assert_eq!(call["title"], "bob asks: Bash touch by-bob");
    let made = world.project().join("by-bob");
    world.wait_until("the file", || made.exists());
    if !editor
        .seen
        .iter()
        .any(|message| message["id"] == prompt && message["method"].is_null())
    {
        editor.response(prompt);
    }
    editor.wait("mail of bob", |message| {
        let text = message["params"]["update"]["content"]["text"].as_str();
        text.is_some_and(|text| text.contains("> **bob:**"))
    });

    assert_eq!(editor.leave(), Some(0));
    let status = world.swarm(&["status", "--team", "crew"]);
    status.ok().stdout_has("bob");
    status.stdout_has("swarm resume");

    // The next editor continues the conversation, and so the team.
    let mut editor = Editor::start(&world, &[]);
    let load = json!({"sessionId": session, "cwd": world.project(), "mcpServers": []});
    editor.call("session/load", &load);
    assert!(editor.text("user_message_chunk").contains("get help"));
    assert!(editor.text("agent_message_chunk").contains("understood"));
    let prompt = editor.prompt(&session, "and again");
    editor.ends(prompt, "end_turn");
    let quit = editor.prompt(&session, "/quit");
    editor.response(quit);
    world.wait_until("the end of the team", || {
        world.team("crew").names() == ["team-lead"]
    });
    assert_eq!(editor.leave(), Some(0));
    wait_for_no_process(&world);
}

#[test]
fn what_an_editor_gets_wrong_is_answered_with_an_error() {
    let world = world();
    let mut editor = Editor::start(&world, &[]);
    let unknown = editor.error("session/prompt", &json!({"sessionId": "s", "prompt": []}));
    assert_eq!(unknown, "session `s` is not open");
    let method = editor.error("session/dance", &json!({}));
    assert_eq!(method, "session/dance is not available");
    let place = editor.error("session/new", &json!({"cwd": "nowhere", "mcpServers": []}));
    assert_eq!(place, "`cwd` is not a directory: nowhere");
    let load = json!({"sessionId": "ffffffff", "cwd": world.project(), "mcpServers": []});
    let load = editor.error("session/load", &load);
    assert!(load.contains("no lead has worked"), "{load}");
    assert_eq!(editor.leave(), Some(0));
}
