//! Forks: sub-agents that begin with their parent's conversation.

use serde_json::{Value, json};
use swarm_model::{ContentBlock, Role};
use swarm_permissions::{AgentLimits, Behavior, Rule, RuleSet};
use swarm_protocol::PermissionMode;
use swarm_tools::builtin;

use crate::family::{Family, Line, calls, definition, says};
use crate::model::Asked;
use crate::setup::Setup;
use crate::sub_agents::agent;
use crate::tools::acting;

fn limits() -> AgentLimits {
    AgentLimits {
        fork: true,
        max_concurrent: 8,
        max_per_parent: 8,
        ..AgentLimits::default()
    }
}

fn family() -> Family {
    Family::of(Setup::new(builtin()), vec![definition("finder")], limits())
}

/// An Agent call without a type.
fn fork(work: &str, mut more: Value) -> (&'static str, Value) {
    let mut input = json!({"description": "part", "prompt": work});
    let fields = input.as_object_mut().unwrap();
    fields.append(more.as_object_mut().unwrap());
    ("Agent", input)
}

/// Splits a request into the text of everything before the last block, and that block.
fn split_last_block(request: &Asked) -> (String, ContentBlock) {
    let mut request = request.clone();
    let last = request.messages.last_mut().unwrap().content.pop().unwrap();
    (format!("{request:?}"), last)
}

#[tokio::test]
async fn sibling_forks_differ_only_in_their_last_block() {
    let mut family = family();
    let glob = ("Glob", json!({"pattern": "*.nothing"}));
    family.plays(
        "bob",
        [
            calls([glob.clone()]),
            calls([
                fork("one", json!({})),
                glob,
                fork("two", json!({})),
                fork("three", json!({"subagent_type": "Fork"})),
            ]),
            says("done"),
        ],
    );
    family.plays("bob/fork", [says("part done")]);
    family.turn("the secret of bob").await;
    let bob = family.cast.asked_by("bob");
    let forks = family.cast.asked_by("bob/fork");
    assert_eq!(forks.len(), 3);
    let (shared, _) = split_last_block(&forks[0]);
    for request in &forks {
        let (prefix, last) = split_last_block(request);
        assert_eq!(prefix, shared);
        let ContentBlock::Text { text } = last else {
            panic!("{last:?}")
        };
        assert!(text.starts_with("<fork-boilerplate>\n"), "{text}");
        assert!(text.contains("\n\nYour directive: "), "{text}");
        // The parent's request is a prefix of theirs.
        assert_eq!(request.system, bob[1].system);
        assert_eq!(request.tools, bob[1].tools);
        assert_eq!(request.messages[..3], bob[1].messages);
        assert_eq!(
            request.messages[3], bob[2].messages[3],
            "the response is complete"
        );
        assert_eq!(
            (request.max_tokens, request.effort),
            (bob[1].max_tokens, bob[1].effort)
        );
        let last = &request.messages[4];
        assert_eq!(
            (request.messages.len(), last.role, last.content.len()),
            (5, Role::User, 5)
        );
        for block in &last.content[..4] {
            let ContentBlock::ToolResult {
                content, is_error, ..
            } = block
            else {
                panic!("{block:?}")
            };
            assert_eq!(
                (content.as_str(), *is_error),
                ("Fork started — processing in background", false)
            );
        }
    }
    let results = family.results();
    assert!(
        results[1].0.starts_with("part done\n\nagentId: "),
        "{results:?}"
    );
}

#[tokio::test]
async fn a_fork_cannot_be_forked() {
    let mut family = family();
    family.plays("bob", [calls([fork("all", json!({}))]), says("done")]);
    let nested = [fork("a part", json!({})), agent("finder", &json!({}))];
    family.plays("bob/fork", [calls(nested), says("I did it myself.")]);
    family.plays("bob/fork/finder", [says("found")]);
    family.turn("go").await;
    let answers = family.cast.asked_by("bob/fork").pop().unwrap();
    let told = format!("{:?}", answers.messages.last().unwrap());
    assert!(
        told.contains("fork is not available inside a fork"),
        "{told}"
    );
    assert!(
        told.contains("found"),
        "another type starts a new conversation: {told}"
    );
}

#[tokio::test]
async fn a_conversation_with_a_fork_directive_is_not_forked() {
    let mut family = family();
    family.plays("bob", [calls([fork("all", json!({}))]), says("done")]);
    family.turn("<fork-boilerplate> I was a fork before.").await;
    let (result, is_error) = family.results().remove(0);
    assert!(is_error && result.contains("inside a fork"), "{result}");
}

#[tokio::test]
async fn parameters_that_would_change_a_forks_requests_are_rejected() {
    for (name, value) in [("model", "haiku"), ("effort", "low"), ("cwd", "/tmp")] {
        let mut family = family();
        let call = fork("all", json!({name: value}));
        family.plays("bob", [calls([call]), says("done")]);
        family.turn("go").await;
        let (result, is_error) = family.results().remove(0);
        assert!(
            is_error && result.contains(&format!("fork uses its parent's `{name}`")),
            "{result}"
        );
    }
}

#[tokio::test]
async fn without_forks_a_call_without_type_starts_a_general_purpose_agent() {
    let off = AgentLimits {
        fork: false,
        ..limits()
    };
    let mut family = Family::of(Setup::new(builtin()), vec![], off);
    let named = fork("all", json!({"subagent_type": "fork"}));
    family.plays(
        "bob",
        [calls([fork("all", json!({})), named]), says("done")],
    );
    family.plays("bob/general-purpose", [says("done")]);
    family.turn("the secret of bob").await;
    let request = family.cast.asked_by("bob/general-purpose").remove(0);
    assert!(!format!("{:?}", request.messages).contains("secret"));
    let (result, is_error) = family.results().remove(1);
    assert!(
        is_error && result.contains("setting agents.fork"),
        "{result}"
    );
}

#[tokio::test]
async fn a_deny_rule_can_forbid_forks() {
    let mut rules = RuleSet::default();
    rules.add(Behavior::Deny, Rule::parse("Agent(fork)").unwrap(), "test");
    let mut setup = Setup::new(builtin());
    setup.rights = std::sync::Arc::new(swarm_agent::Rights::new(
        PermissionMode::BypassPermissions,
        rules,
        PermissionMode::BypassPermissions,
    ));
    let mut family = Family::of(setup, vec![], limits());
    family.plays("bob", [calls([fork("all", json!({}))]), says("done")]);
    family.turn("go").await;
    let (result, is_error) = family.results().remove(0);
    assert!(is_error && result.contains("permission rule"), "{result}");
}

#[tokio::test]
async fn another_process_resumes_a_fork_from_its_transcript() {
    let mut family = family();
    family.plays("bob", [calls([fork("all", json!({}))]), says("done")]);
    family.plays("bob/fork", [says("part done"), says("and more")]);
    family.turn("the secret of bob").await;
    let first = family.cast.asked_by("bob/fork").remove(0);
    let inherited = family
        .file(".jsonl")
        .lines()
        .filter(|line| line.contains("\"inherited\":true"))
        .count();
    assert_eq!(inherited, 3, "{}", family.file(".jsonl"));
    let id = family.ids().remove(0);
    let mut family = family.reborn(vec![]);
    family.send(&id, "go on").await.unwrap().unwrap();
    family.hear().await;
    let again = family.cast.asked_by("bob/fork").pop().unwrap();
    assert_eq!(again.messages[..first.messages.len()], first.messages);
    assert_eq!(
        (again.system, again.tools.len()),
        (first.system, first.tools.len())
    );
}

#[tokio::test]
async fn a_fork_can_run_in_the_background() {
    let mut family = family();
    let call = fork("all", json!({"run_in_background": true}));
    family.plays("bob", [calls([call]), says("going on"), says("heard")]);
    family.plays("bob/fork", [Line::Gated("late".into())]);
    family.turn("go").await;
    assert!(
        family.results()[0].0.starts_with("Async agent launched"),
        "{:?}",
        family.results()
    );
    family.cast.open();
    family.hear().await;
}

#[tokio::test]
async fn a_fork_cannot_use_team_tools() {
    let names = ["SendMessage", "TaskUpdate", "TeamDelete", "TaskList"];
    let setup = Setup::new(names.map(acting).to_vec());
    let mut family = Family::of(setup, vec![], limits());
    family.plays("bob", [calls([fork("one", json!({}))]), says("done")]);
    let all = names.map(|name| (name, json!({})));
    family.plays("bob/fork", [calls(all), says("over")]);
    family.turn("go").await;
    let asked = family.cast.asked_by("bob/fork");
    assert_eq!(asked[0].tools, family.cast.asked_by("bob")[0].tools);
    let said = format!("{:?}", asked[1].messages.last());
    for name in &names[..3] {
        let refusal = format!("{name} was not called: a fork is not a team member");
        assert!(said.contains(&refusal), "{said}");
    }
    assert_eq!(said.matches("acted").count(), 1, "{said}");
}
