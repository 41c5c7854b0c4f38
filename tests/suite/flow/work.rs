//! The team's work: a greeting is misspelt, one member finds it, one fixes it, one checks it.

use serde_json::{Value, json};
use swarm_tests::fake_api::{Block, Gate, Reply, Script, Step};
use swarm_tests::stage::World;

/// What the person asks for.
pub(super) const PROMPT: &str = "The greeting is wrong. Have the team mend it.";
/// The lead's final answer.
pub(super) const SUMMARY: &str = "The greeting is mended and checked.";
/// The name of the team.
pub(super) const TEAM: &str = "flow";
/// The teammates in the order of their tasks.
pub(super) const MATES: [&str; 3] = ["explorer", "implementer", "tester"];

/// Puts the repository with the fault into a world.
pub(super) fn prepare(world: &World) {
    world.write("project/greet.sh", "# Greets.\necho Helo, world\n");
    world.write(
        "project/check.sh",
        "test \"$(sh greet.sh)\" = 'Hello, world' && echo green\n",
    );
    world.commit_project();
}

/// The answers of all agents. The tester's final answer waits at the gate, so that a test can look at the team at work.
pub(super) fn script(gate: &Gate) -> Script {
    let report = Reply::text("All green, the greeting is right.").held_by(gate, 0);
    Script::new()
        .agent("team-lead", lead())
        .agent(
            "explorer",
            [
                update("1", "in_progress").once_seen("Find the fault"),
                call(
                    "Grep",
                    &json!({"pattern": "Helo", "output_mode": "content"}),
                ),
                update("1", "completed"),
                send("implementer", "The fault is found: greet.sh, line 2."),
                Step::says(Reply::text("I found it in greet.sh.")),
            ],
        )
        .agent(
            "implementer",
            [
                update("2", "in_progress").once_seen("The fault is found"),
                Step::thinks(|ask| {
                    let file = format!("{}/greet.sh", working_directory(&ask.system()));
                    Reply::tool("read", "Read", json!({"file_path": file}))
                }),
                Step::thinks(|ask| {
                    let file = format!("{}/greet.sh", working_directory(&ask.system()));
                    let input =
                        json!({"file_path": file, "old_string": "Helo", "new_string": "Hello"});
                    Reply::tool("edit", "Edit", input)
                }),
                update("2", "completed"),
                send("tester", "It is mended, please check."),
                Step::says(Reply::text("I mended greet.sh.")),
            ],
        )
        .agent(
            "tester",
            [
                update("3", "in_progress").once_seen("please check"),
                call(
                    "Bash",
                    &json!({"command": "sh check.sh", "description": "Check the greeting"}),
                ),
                update("3", "completed"),
                Step::says(report),
            ],
        )
}

fn lead() -> Vec<Step> {
    let mate = |name: &str| {
        let input = json!({"name": name, "description": "greeting", "prompt": format!("You are the {name}. Wait for your task.")});
        Block::tool(format!("spawn-{name}"), "Agent", input)
    };
    let task = |id: &str, subject: &str, owner: &str, blocked_by: &[&str]| {
        let input = json!({"subject": subject, "description": subject, "owner": owner, "blockedBy": blocked_by});
        Block::tool(format!("task-{id}"), "TaskCreate", input)
    };
    let thought = Block::Thinking {
        text: "A team of three will do.".to_owned(),
        signature: "signed-by-the-test".to_owned(),
    };
    let team = Block::tool(
        "team",
        "TeamCreate",
        json!({"team_name": TEAM, "description": "greetings"}),
    );
    vec![
        Step::says(Reply::blocks([
            thought,
            Block::text("I make a team."),
            team,
        ])),
        Step::says(Reply::blocks(MATES.map(mate))),
        Step::says(Reply::blocks([
            task("1", "Find the fault", "explorer", &[]),
            task("2", "Mend the fault", "implementer", &["1"]),
            task("3", "Check the greeting", "tester", &["2"]),
        ])),
        Step::says(Reply::text("The team is at work.")),
        Step::says(Reply::text(SUMMARY)).once_seen("All green"),
    ]
}

fn call(tool: &str, input: &Value) -> Step {
    Step::says(Reply::tool(format!("call-{tool}"), tool, input.clone()))
}

fn update(task: &str, status: &str) -> Step {
    let input = json!({"taskId": task, "status": status});
    Step::says(Reply::tool(format!("{status}-{task}"), "TaskUpdate", input))
}

fn send(to: &str, text: &str) -> Step {
    let input = json!({"to": to, "message": text, "summary": "progress"});
    Step::says(Reply::tool(format!("send-{to}"), "SendMessage", input))
}

/// The directory that a system prompt gives as the agent's own.
fn working_directory(system: &str) -> String {
    let line = system
        .lines()
        .find_map(|line| line.strip_prefix("Working directory: "));
    line.unwrap_or_default().trim().to_owned()
}
