//! `swarm mcp`, used by swarm's own MCP client.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use swarm_mcp::{McpHost, McpLimits, McpServers};
use swarm_permissions::{McpBounds, McpServer, McpServerConfig, McpSettings};
use swarm_tests::stage::World;
use swarm_tools::{Caller, Tool, ToolContext};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use super::programs::{ACP_AGENT, install};
use crate::scene::{
    wait_for_no_process, wait_for_state, world, world_with_foreign, world_with_team,
};

/// A client with the tools of `swarm mcp`.
struct Client {
    runtime: Runtime,
    servers: McpServers,
    tools: Vec<Arc<dyn Tool>>,
    context: ToolContext,
}

impl Client {
    fn connect(world: &World, arguments: &[&str]) -> Self {
        let command = world.command("swarm");
        let env = command.get_envs().filter_map(|(name, value)| {
            let (name, value) = (name.to_str()?, value?.to_str()?);
            Some((name.to_owned(), value.to_owned()))
        });
        let env: BTreeMap<_, _> = env.collect();
        let arguments = ["mcp"].iter().chain(arguments);
        let config = McpServerConfig::Stdio {
            command: world.program("swarm").display().to_string(),
            args: arguments.map(|word| (*word).to_owned()).collect(),
            env: BTreeMap::new(),
            sandboxed: false,
        };
        let server = McpServer {
            config,
            origin: "the test".to_owned(),
            tools: None,
            resources: false,
        };
        let settings = McpSettings {
            servers: BTreeMap::from([("swarm".to_owned(), server)]),
            bounds: McpBounds::default(),
        };
        let host = McpHost {
            cwd: world.project(),
            env,
            logs: None,
            limits: McpLimits::from(McpBounds::default()),
            sandbox: None,
        };
        let runtime = Runtime::new().expect("a runtime");
        let servers = McpServers::new(settings, host);
        let agent = runtime.block_on(servers.for_agent(&[], "the test"));
        assert!(agent.problems.is_empty(), "{:?}", agent.problems);
        let caller = Caller {
            name: "tester".parse().expect("a name"),
            agent_id: None,
            team: None,
        };
        Self {
            tools: agent.tools.clone(),
            servers,
            context: ToolContext::new(world.project(), caller),
            runtime,
        }
    }

    /// Calls a tool. Returns its text, or why it failed.
    fn call(&self, name: &str, input: Value) -> Result<String, String> {
        self.call_until(name, input, &self.context)
    }

    /// Calls a tool until the context is cancelled.
    fn call_until(
        &self,
        name: &str,
        input: Value,
        context: &ToolContext,
    ) -> Result<String, String> {
        let full = format!("mcp__swarm__{name}");
        let tool = self.tools.iter().find(|tool| tool.name() == full);
        let tool = tool.unwrap_or_else(|| panic!("no tool {name}: {:?}", self.names()));
        let output = self.runtime.block_on(tool.call(input, context));
        if output.is_error {
            return Err(output.content);
        }
        Ok(output.content)
    }

    fn names(&self) -> Vec<&str> {
        let names = self.tools.iter().map(|tool| tool.name());
        names
            .map(|name| name.trim_start_matches("mcp__swarm__"))
            .collect()
    }

    fn close(self) {
        self.runtime.block_on(self.servers.close());
    }
}

#[test]
fn a_client_leads_a_team_and_cannot_answer_its_questions() {
    let world = world();
    install(&world, "agent", ACP_AGENT);
    let client = Client::connect(&world, &[]);
    assert!(client.names().iter().all(|name| !name.contains("approve")));
    client.call("team", json!({"create": "demo"})).unwrap();
    let spawn = json!({"name": "bob", "prompt": "say something", "runtime": "acp:./agent"});
    let spawned = client.call("spawn", spawn).unwrap();
    assert!(spawned.contains("bob@demo is ready"), "{spawned}");
    let mail = client
        .call("wait_for_mail", json!({"seconds": 60}))
        .unwrap();
    assert!(mail.contains("foreign answer"), "{mail}");

    let task = json!({"subject": "-- tidy up", "owner": "bob"});
    assert!(client.call("task_create", task).unwrap().contains('1'));
    assert!(client.call("tasks", json!({})).unwrap().contains("tidy up"));
    let sent = json!({"to": "bob", "text": "--json clean up"});
    client.call("send", sent).unwrap();
    wait_for_state(&world, "bob", "waiting-permission");
    let waiting = client.call("requests", json!({})).unwrap();
    assert!(waiting.contains("rm -r build"), "{waiting}");
    let above = json!({"name": "eve", "mode": "bypassPermissions"});
    let refused = client.call("spawn", above).unwrap_err();
    assert!(refused.contains("above default"), "{refused}");

    world.swarm(&["deny", "bob"]).ok();
    // The turn about the task and the question are reported as well.
    world.wait_until("the last report", || {
        let mail = client.call("wait_for_mail", json!({"seconds": 60}));
        mail.unwrap().contains("left as it is")
    });
    client.call("shutdown", json!({"name": "bob"})).unwrap();
    assert!(world.team("demo").member("bob").is_none());
    client.close();
    world.swarm(&["team", "delete", "demo", "--force"]).ok();
    wait_for_no_process(&world);
}

#[test]
fn a_member_that_joined_by_itself_reads_its_mail_and_works_on_tasks() {
    let world = world_with_foreign("demo", &["carl"]);
    let client = Client::connect(&world, &["--team", "demo", "--as", "carl"]);
    assert!(!client.names().contains(&"spawn"), "{:?}", client.names());
    let nothing = client.call("wait_for_mail", json!({"seconds": 0})).unwrap();
    assert!(nothing.contains("no unread messages"), "{nothing}");
    world.swarm(&["send", "carl", "take task 1"]).ok();
    world.swarm(&["task", "create", "tidy up"]).ok();
    let mail = client
        .call("wait_for_mail", json!({"seconds": 60}))
        .unwrap();
    assert!(mail.contains("take task 1"), "{mail}");
    client.call("task_claim", json!({"id": 1})).unwrap();
    assert_eq!(world.team("demo").task(1)["owner"], "carl");
    let done = json!({"id": 1, "status": "completed", "result": "tidy"});
    client.call("task_update", done).unwrap();
    assert_eq!(world.team("demo").task(1)["status"], "completed");
    client
        .call("send", json!({"to": "team-lead", "text": "done"}))
        .unwrap();
    let inbox = world.team("demo").inbox("team-lead");
    assert_eq!(inbox.last().expect("a message")["from"], "carl");
    client.close();
}

#[test]
fn mail_is_acknowledged_by_the_next_call_and_a_cancelled_call_loses_nothing() {
    let world = world_with_foreign("demo", &["carl"]);
    let is_read = |text: &str| {
        let inbox = world.team("demo").inbox("carl");
        let mut entries = inbox.iter().filter(|entry| entry["text"] == text);
        entries.next_back().expect("the message")["read"] == true
    };
    let client = Client::connect(&world, &["--team", "demo", "--as", "carl"]);
    world.swarm(&["send", "carl", "one"]).ok();
    assert!(client.call("inbox", json!({})).unwrap().contains("one"));
    assert!(!is_read("one"), "the client may not have the result yet");
    client.call("status", json!({})).unwrap();
    assert!(is_read("one"));

    let context = ToolContext {
        cancel: CancellationToken::new(),
        ..client.context.clone()
    };
    std::thread::scope(|scope| {
        let wait =
            scope.spawn(|| client.call_until("wait_for_mail", json!({"seconds": 600}), &context));
        world.wait_until("the waiting command", || {
            let running = world.processes();
            running
                .iter()
                .any(|(_, command)| command.contains("--wait=600"))
        });
        context.cancel.cancel();
        assert!(wait.join().expect("a result").is_err());
    });
    world.swarm(&["send", "carl", "two"]).ok();
    let mail = client.call("inbox", json!({})).unwrap();
    assert!(mail.contains("two") && !mail.contains("one"), "{mail}");
    client.close();
    assert!(!is_read("two"), "no later call has confirmed it");
}

#[test]
fn a_member_that_swarm_runs_gets_its_mail_as_prompts_only() {
    let world = world_with_team("demo");
    install(&world, "agent", ACP_AGENT);
    let spawn = [
        "spawn",
        "bob",
        "--runtime",
        "acp:./agent",
        "--backend",
        "headless",
    ];
    world.swarm(&spawn).ok();
    world
        .swarm(&["mcp", "--as", "bob"])
        .code(4)
        .stderr_has("is run by swarm");
    world.swarm(&["kill", "bob"]).ok();
}
