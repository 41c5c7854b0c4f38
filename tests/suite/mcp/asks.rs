//! Servers that do more than answer: resources, forms for a person, progress.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use swarm_mcp::AgentServers;
use swarm_tests::fake_api::{Reply, Script, Step};
use swarm_tools::{CallHost, MemberCall, PersonAnswer, ToolOutput};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

use super::bench::{Bench, call_with};
use super::flow::{call, config, result, spawn};
use crate::scene::{team_with, wait_for_state};

/// A person who gives these answers, one list for each time they are asked, and sees progress.
#[derive(Debug)]
struct Host {
    answers: Mutex<Vec<Vec<&'static str>>>,
    asked: Mutex<Vec<Value>>,
    progress: UnboundedSender<String>,
    /// What comes once there are no more answers.
    otherwise: PersonAnswer,
}

fn host(answers: Vec<Vec<&'static str>>) -> (Arc<Host>, UnboundedReceiver<String>) {
    let (progress, seen) = unbounded_channel();
    let host = Host {
        answers: Mutex::new(answers),
        asked: Mutex::default(),
        progress,
        otherwise: PersonAnswer::Refused("no".to_owned()),
    };
    (Arc::new(host), seen)
}

#[async_trait]
impl CallHost for Host {
    async fn ask(&self, input: Value, why: String, _cancel: CancellationToken) -> PersonAnswer {
        assert_eq!(why, "the MCP server `kit` asks for input");
        let questions = swarm_tools::questions(&input).expect("questions that can be asked");
        self.asked.lock().push(input);
        let mut answers = self.answers.lock();
        if answers.is_empty() {
            return self.otherwise.clone();
        }
        let answered: Map<String, Value> = questions
            .into_iter()
            .zip(answers.remove(0))
            .map(|(question, answer)| (question.question, answer.into()))
            .collect();
        PersonAnswer::Answered(answered)
    }

    fn progress(&self, line: String) {
        drop(self.progress.send(line));
    }

    fn may_make(&self, _call: &MemberCall<'_>) -> Result<(), String> {
        Err("not asked in these tests".to_owned())
    }
}

async fn called(agent: &AgentServers, name: &str, input: Value, host: Arc<Host>) -> ToolOutput {
    let cancel = CancellationToken::new();
    call_with(agent, name, input, &cancel, Some(host)).await
}

const MODES: [&str; 2] = ["rich", "rich-stateless"];

#[tokio::test(flavor = "multi_thread")]
async fn resources_are_listed_and_read_over_both_protocols() {
    for mode in MODES {
        let bench = Bench::new().with("kit", mode).with("plain", "well");
        let (servers, agent) = bench.serve().await;
        let (host, _) = host(Vec::new());
        let list = "ListMcpResourcesTool";
        let listed = called(&agent, list, json!({}), Arc::clone(&host)).await;
        let listed: Value = serde_json::from_str(&listed.content).unwrap();
        assert_eq!(listed[0]["uri"], "kit://readme", "{mode}");
        assert_eq!(listed[0]["server"], "kit");
        assert_eq!(listed[1]["uriTemplate"], "kit://{name}");
        let unknown = called(&agent, list, json!({"server": "plain"}), Arc::clone(&host)).await;
        assert!(unknown.is_error && unknown.content.ends_with("available servers: kit."));
        let input = json!({"server": "kit", "uri": "kit://readme"});
        let read = called(&agent, "ReadMcpResourceTool", input, host).await;
        assert_eq!((read.content.as_str(), read.is_error), ("Read me.", false));
        // A process that shares the server knows that it has resources.
        let told = bench.servers_of(servers.listed().await);
        let names = told.for_agent(&[], "").await;
        assert!(names.tools.iter().any(|tool| tool.name() == list));
        servers.close().await;
        told.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_without_servers_that_have_resources_has_no_tools_for_them() {
    let bench = Bench::new().with("kit", "well");
    let (servers, agent) = bench.serve().await;
    assert!(
        agent
            .tools
            .iter()
            .all(|tool| !tool.name().contains("Resource"))
    );
    servers.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_is_put_before_a_person_until_it_fits_or_is_refused() {
    for mode in MODES {
        let bench = Bench::new().with("kit", mode);
        let (servers, agent) = bench.serve().await;
        let ask = |host| called(&agent, "mcp__kit__ask", json!({"text": ""}), host);
        let (patient, _) = host(vec![vec!["Rome", "many", "double"], vec!["3"]]);
        let said = ask(Arc::clone(&patient)).await;
        let (answer, rest) = said.content.split_at(said.content.rfind('}').unwrap() + 1);
        let answer: Value = serde_json::from_str(answer).unwrap();
        let content = json!({"city": "Rome", "nights": 3, "room": "double"});
        assert_eq!(answer["action"], "accept", "{mode}");
        assert_eq!(answer["content"], content, "{mode}");
        if mode == "rich-stateless" {
            assert_eq!(rest, " \"7\"", "the state comes back");
        }
        let asked = patient.asked.lock().clone();
        let first = asked[0]["questions"].as_array().unwrap().clone();
        assert_eq!(first.len(), 3);
        assert!(
            first
                .iter()
                .any(|one| one["options"][1]["label"] == "double")
        );
        let again = asked[1]["questions"].as_array().unwrap().clone();
        assert_eq!(again.len(), 1);
        let text = again[0]["question"].as_str().unwrap();
        assert!(text.ends_with("(`many` is not a whole number)"), "{text}");
        let (refuses, _) = host(Vec::new());
        let said = ask(refuses).await.content;
        assert!(said.contains("decline"), "{mode}: {said}");
        let (silent, _) = host(Vec::new());
        let mut silent = Arc::into_inner(silent).expect("nobody else has it");
        silent.otherwise = PersonAnswer::Unanswered;
        let said = ask(Arc::new(silent)).await.content;
        assert!(said.contains("cancel"), "{mode}: {said}");
        servers.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_without_a_person_is_cancelled_and_an_address_is_refused() {
    for mode in MODES {
        let bench = Bench::new().with("kit", mode);
        let (servers, agent) = bench.serve().await;
        let cancel = CancellationToken::new();
        let input = json!({"text": ""});
        let alone = call_with(&agent, "mcp__kit__ask", input, &cancel, None).await;
        assert!(alone.content.contains("cancel"), "{}", alone.content);
        let (host, _) = host(Vec::new());
        let input = json!({"text": "url"});
        let said = called(&agent, "mcp__kit__ask", input, host).await.content;
        assert!(
            said.contains("https://example.org/in; swarm does not open URLs"),
            "{mode}: {said}"
        );
        servers.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_progress_of_a_call_is_shown_while_it_runs() {
    let bench = Bench::new().with("kit", "rich");
    let (servers, agent) = bench.serve().await;
    let (host, mut seen) = host(Vec::new());
    let cancel = CancellationToken::new();
    let input = json!({"text": ""});
    let running = call_with(&agent, "mcp__kit__steps", input, &cancel, Some(host));
    let watched = async {
        let line = seen.recv().await;
        cancel.cancel();
        line
    };
    let (ended, line) = tokio::join!(running, watched);
    assert_eq!(line.as_deref(), Some("kit: 1/3 counting"));
    assert!(ended.is_error);
    servers.close().await;
}

#[test]
fn a_servers_question_waits_in_the_queue_and_gets_the_answer_of_a_person() {
    let script = Script::new().agent(
        "bob",
        [
            call("one", "mcp__kit__ask", ""),
            Step::says(Reply::text("done")),
        ],
    );
    let (api, world) = team_with(script);
    let given = config(&world, "kit", "rich");
    spawn(&world, &given, "bypassPermissions");
    wait_for_state(&world, "bob", "waiting-permission");
    let listed = world.swarm(&["requests"]).ok().stdout.clone();
    for words in ["MCP server kit asks: A trip? city: where to", "nights"] {
        assert!(listed.contains(words), "{words} in {listed}");
    }
    let answers = ["--answer", "Rome", "--answer", "3", "--answer", "2"];
    world
        .swarm(&[&["approve", "bob"][..], &answers].concat())
        .ok();
    world.wait_for("the result", || {
        let asks = api.requests_of("bob");
        asks.iter()
            .find_map(|recorded| recorded.ask.result_of("one"))
    });
    let (said, is_error) = result(&api, "bob", "one");
    let said: Value = serde_json::from_str(&said).unwrap();
    assert!(!is_error);
    assert_eq!(said["action"], "accept");
    assert_eq!(said["content"]["nights"], 3);
    world.swarm(&["shutdown", "bob"]).ok();
}
