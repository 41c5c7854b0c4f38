//! Foreground sub-agents.

use std::time::Duration;

use serde_json::{Value, json};
use swarm_agent::{ReadyModel, TurnStop};
use swarm_permissions::{
    AgentCatalog, AgentConfig, AgentDefinition, AgentLimits, AgentSource, Behavior, Rule, RuleSet,
    ToolAllowance,
};
use swarm_protocol::{AgentEvent, PermissionMode};
use swarm_tools::builtin;
use tokio_util::sync::CancellationToken;

use crate::family::{Family, Line, OTHER_OUTPUT, calls, definition, says};
use crate::model::COST;
use crate::setup::Setup;

pub(crate) fn agent(kind: &str, more: &Value) -> (&'static str, Value) {
    let mut input = json!({"description": "look", "prompt": "Look for it.", "subagent_type": kind});
    let more = more.as_object().cloned().unwrap_or_default();
    input.as_object_mut().unwrap().extend(more);
    ("Agent", input)
}

fn family(definitions: Vec<AgentDefinition>) -> Family {
    Family::of(Setup::new(builtin()), definitions, AgentLimits::default())
}

#[tokio::test]
async fn a_sub_agent_has_a_separate_context_and_returns_its_last_text() {
    let mut family = family(vec![definition("finder")]);
    family.plays("bob", [calls([agent("finder", &json!({}))]), says("done")]);
    family.plays("bob/finder", [says("It is in a.rs.")]);
    let outcome = family.turn("secret of bob").await;
    assert!(outcome.is_finished());
    let (result, is_error) = family.results().remove(0);
    let id = family.ids().remove(0);
    assert!(!is_error);
    assert!(
        result.starts_with("It is in a.rs.\n\nagentId: "),
        "{result}"
    );
    assert!(result.contains(&format!("agentId: {id} (use SendMessage with to: '{id}'")));
    let tokens = COST.total();
    assert!(
        result.contains(&format!("<usage>total_tokens: {tokens}\ntool_uses: 0\n")),
        "{result}"
    );
    let request = family.cast.asked_by("bob/finder").remove(0);
    assert!(request.system[0].text.starts_with("You are finder."));
    assert!(request.system[1].text.contains("/work/repo"));
    let said = format!("{:?}", request.messages);
    assert!(said.contains("Look for it.") && !said.contains("secret of bob"));
}

#[tokio::test]
async fn a_sub_agent_uses_the_output_limit_of_its_model() {
    let mut family = family(vec![definition("finder")]);
    let other = agent("finder", &json!({"model": "other-1"}));
    let same = agent("finder", &json!({}));
    let lines = [calls([other]), calls([same]), says("done")];
    family.plays("bob", lines);
    family.plays("bob/finder", [says("found")]);
    family.turn("go").await;
    let own = family.cast.asked_by("bob")[0].max_tokens;
    let requests = family.cast.asked_by("bob/finder");
    let limits: Vec<u32> = requests.iter().map(|one| one.max_tokens).collect();
    assert_eq!(limits, [OTHER_OUTPUT, own]);
}

#[tokio::test]
async fn transcripts_are_next_to_the_parents_and_name_the_sub_agent() {
    let mut family = family(vec![definition("finder")]);
    family.plays("bob", [calls([agent("finder", &json!({}))]), says("done")]);
    family.plays("bob/finder", [says("found")]);
    family.turn("go").await;
    let id = family.ids().remove(0);
    for line in family.file(".jsonl").lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(
            (&line["isSidechain"], &line["agentId"]),
            (&json!(true), &json!(id))
        );
        assert_eq!(line["sessionId"], json!(family.setup.session.to_string()));
    }
    let meta: Value = serde_json::from_str(&family.file(".meta.json")).unwrap();
    assert_eq!(meta["agentType"], "finder");
    assert_eq!(meta["description"], "look");
    assert_eq!(meta["swarm"]["status"], "completed");
    assert_eq!(family.file(".output"), "found");
    assert!(!family.setup.on_disk().contains(&id) || family.setup.on_disk().contains("agentId: "));
}

#[tokio::test]
async fn one_shot_types_omit_the_id_and_empty_output_has_a_text() {
    let explore = AgentDefinition::new("Explore", "looks", "");
    let mut family = family(vec![explore, definition("mute")]);
    family.plays(
        "bob",
        [
            calls([agent("explore", &json!({})), agent("mute", &json!({}))]),
            says("done"),
        ],
    );
    family.plays("bob/Explore", [says("seen")]);
    family.plays("bob/mute", [says(" ")]);
    family.turn("go").await;
    let results = family.results();
    assert_eq!(results[0], ("seen".to_owned(), false));
    let empty = "(Subagent completed but returned no output.)\n\nagentId: ";
    assert!(results[1].0.starts_with(empty));
}

#[tokio::test]
async fn calls_of_one_message_run_in_parallel() {
    let mut family = family(vec![definition("a"), definition("b")]);
    family.plays(
        "bob",
        [
            calls([agent("a", &json!({})), agent("b", &json!({}))]),
            says("done"),
        ],
    );
    family.plays("bob/a", [Line::Gated("from a".into())]);
    family.plays("bob/b", [Line::Gated("from b".into())]);
    let cast = family.cast.clone();
    let (outcome, ()) = tokio::join!(family.turn("go"), async {
        // Both run before either may end.
        cast.at_gate(2).await;
        cast.open();
        cast.open();
    });
    assert_eq!(outcome.text, "done");
    let results = family.results();
    assert!(results[0].0.starts_with("from a") && results[1].0.starts_with("from b"));
}

#[tokio::test]
async fn the_tool_accepts_its_former_name() {
    let mut family = family(vec![]);
    let input = json!({"description": "look", "prompt": "Look."});
    family.plays("bob", [calls([("Task", input)]), says("done")]);
    family.plays("bob/general-purpose", [says("found")]);
    family.turn("go").await;
    assert!(family.results()[0].0.starts_with("found"));
}

#[tokio::test]
async fn a_failure_is_a_result_and_the_parent_continues() {
    let mut family = family(vec![definition("weak")]);
    family.plays(
        "bob",
        [calls([agent("weak", &json!({}))]), says("I do it myself")],
    );
    family.plays("bob/weak", [Line::Fail]);
    let outcome = family.turn("go").await;
    assert_eq!(outcome.text, "I do it myself");
    let (result, is_error) = family.results().remove(0);
    assert!(
        is_error && result.starts_with("The sub-agent failed: "),
        "{result}"
    );
}

#[tokio::test]
async fn a_sub_agent_runs_only_calls_that_its_definition_allows() {
    let mut narrow = definition("narrow");
    narrow.tools = ToolAllowance::Only(vec!["Bash(echo:*)".into()]);
    let mut family = family(vec![narrow]);
    family.plays("bob", [calls([agent("narrow", &json!({}))]), says("done")]);
    let call = ("Bash", json!({"command": "touch made"}));
    family.plays("bob/narrow", [calls([call]), says("refused")]);
    family.turn("go").await;
    let last = family.cast.asked_by("bob/narrow").pop().unwrap();
    let said = format!("{:?}", last.messages);
    assert!(
        said.contains("definition narrow limits `Bash` to `Bash(echo:*)`"),
        "{said}"
    );
}

#[tokio::test]
async fn errors_of_invalid_starts_name_the_alternatives() {
    let mut needy = definition("needy");
    needy.required_mcp_servers = vec!["github".into()];
    let mut setup = Setup::new(vec![]);
    let mut rules = RuleSet::default();
    let forbidden = Rule::parse("Agent(forbidden)").unwrap();
    rules.add(Behavior::Deny, forbidden, "test");
    let bypass = PermissionMode::BypassPermissions;
    setup.rights = std::sync::Arc::new(swarm_agent::Rights::new(bypass, rules, bypass));
    let definitions = vec![definition("finder"), definition("forbidden"), needy];
    let mut family = Family::of(setup, definitions, AgentLimits::default());
    let described = family.tool("Agent").description();
    assert!(described.contains("- finder: does finder"));
    assert!(!described.contains("forbidden") && !described.contains("needy"));
    family.plays(
        "bob",
        [
            calls([
                agent("nobody", &json!({})),
                agent("forbidden", &json!({})),
                agent("needy", &json!({})),
                agent("finder", &json!({"model": "unknown-1"})),
                agent("finder", &json!({"isolation": "worktree"})),
                agent("finder", &json!({"cwd": "/no/such/directory"})),
                agent("finder", &json!({"cwd": "/"})),
            ]),
            says("done"),
        ],
    );
    family.turn("go").await;
    let results = family.results();
    for ((result, is_error), words) in results.iter().zip([
        "agent type `nobody` not found. Available types: finder.",
        "forbid",
        "requires MCP servers that are not available: github",
        "unknown-1",
        "worktrees",
        "/no/such/directory",
        "is outside your working directory",
    ]) {
        assert!(*is_error && result.contains(words), "{words}: {result}");
    }
    assert_eq!(results.len(), 7);
    assert!(family.ids().is_empty());
}

#[tokio::test]
async fn an_interrupt_stops_the_sub_agent_but_not_vice_versa() {
    let mut family = family(vec![definition("slow")]);
    family.plays("bob", [calls([agent("slow", &json!({}))]), says("done")]);
    family.plays("bob/slow", [Line::Gated("never".into())]);
    let cast = family.cast.clone();
    let cancel = CancellationToken::new();
    family
        .session
        .deliver(vec![swarm_agent::Injected::prompt("go")])
        .unwrap();
    let (outcome, ()) = tokio::join!(family.session.run_turn(cancel.clone()), async {
        cast.at_gate(1).await;
        cancel.cancel();
    });
    assert!(matches!(outcome.end, Err(TurnStop::Interrupted)));
    let mut events = family.setup.watcher.events().into_iter();
    let ended = events.find_map(|event| match event {
        AgentEvent::SubAgentEnded { outcome, .. } => Some(outcome),
        _ => None,
    });
    assert_eq!(ended.as_deref(), Some("interrupted"));
    assert!(!family.agents.is_busy());
}

#[tokio::test]
async fn a_sub_agent_has_separate_request_and_output_limits() {
    let limits = AgentLimits {
        max_turns: 2,
        output_chars: 10,
        ..AgentLimits::default()
    };
    let mut family = Family::of(Setup::new(builtin()), vec![definition("busy")], limits);
    let scratch = family.setup.scratch.path().join("long.txt");
    swarm_os::replace_alone(&scratch, "x".repeat(100).as_bytes()).unwrap();
    family.plays("bob", [calls([agent("busy", &json!({}))]), says("done")]);
    family.plays(
        "bob/busy",
        [calls([("Read", json!({"file_path": scratch}))])],
    );
    family.turn("go").await;
    let requests = family.cast.asked_by("bob/busy");
    assert_eq!(requests.len(), 2);
    assert!(format!("{:?}", requests[1].messages).contains("[cut here: "));
    let (result, is_error) = family.results().remove(0);
    assert!(
        is_error && result.contains("limit of model requests"),
        "{result}"
    );
}

/// A parent without write permission cannot delegate writing, and a stricter child stays strict.
#[tokio::test]
async fn p5_a_sub_agent_never_exceeds_its_parents_permissions() {
    use PermissionMode::{BypassPermissions, Plan};
    for (parent, own, runs) in [
        (Plan, Some(BypassPermissions), false),
        (BypassPermissions, Some(Plan), false),
        (BypassPermissions, None, true),
    ] {
        let mut setup = Setup::new(builtin());
        setup.rights = crate::setup::rights(parent);
        let writer = AgentDefinition {
            permission_mode: own,
            ..definition("writer")
        };
        let file = setup.scratch.path().join("out.txt");
        let mut family = Family::of(setup, vec![writer], AgentLimits::default());
        family.plays(
            "bob",
            [
                calls([agent("writer", &json!({"mode": "bypassPermissions"}))]),
                says("done"),
            ],
        );
        let write = json!({"file_path": file, "content": "x"});
        family.plays("bob/writer", [calls([("Write", write)]), says("tried")]);
        family.turn("go").await;
        assert_eq!(file.exists(), runs, "{parent} {own:?}");
    }
}

#[tokio::test]
async fn p5_a_sub_agent_loses_its_parents_permissions_and_its_grants_do_not_extend_to_the_parent() {
    use swarm_agent::Rights;
    use swarm_permissions::{Destination, RuleValue, Suggestion};
    let parent = crate::setup::rights(PermissionMode::AcceptEdits);
    let child = Rights::under(
        parent.clone(),
        None,
        swarm_permissions::Anchors::default(),
        RuleSet::default(),
    );
    assert_eq!(child.mode(), PermissionMode::AcceptEdits);
    assert!(!child.set_mode(PermissionMode::BypassPermissions));
    let bash = |content: Option<&str>, behavior| Suggestion::AddRules {
        rules: vec![RuleValue {
            tool_name: "Bash".into(),
            rule_content: content.map(str::to_owned),
        }],
        behavior,
        destination: Destination::Session,
    };
    assert!(child.grant(&bash(Some("make"), Behavior::Allow)));
    assert_eq!(
        (child.rules().allow.len(), parent.rules().allow.len()),
        (1, 0)
    );
    parent.set_mode(PermissionMode::Plan);
    assert_eq!(child.mode(), PermissionMode::Plan);
    parent.grant(&bash(None, Behavior::Deny));
    assert_eq!(child.rules().deny.len(), 1);
}

/// Every agent starts two more, forever.
#[tokio::test]
async fn o1_recursive_agents_never_exceed_a_limit_and_the_error_names_it() {
    let limits = AgentLimits {
        max_depth: 3,
        max_concurrent: 20,
        max_per_parent: 2,
        max_total: 9,
        ..AgentLimits::default()
    };
    let mut family = Family::of(Setup::new(vec![]), vec![definition("r")], limits);
    let one = || agent("r", &json!({}));
    let three = || calls([one(), one(), one()]);
    let mut name = "bob".to_owned();
    for _ in 0..=3 {
        family.plays(&name, [three(), three(), three(), three(), says("enough")]);
        name.push_str("/r");
    }
    family.turn("go").await;
    assert_eq!(family.ids().len(), 9);
    let requests = family.cast.requests.lock().clone();
    assert!(
        requests
            .iter()
            .all(|request| request.agent.matches("/r").count() <= 3)
    );
    let all = format!("{requests:?}");
    for cap in ["max_per_parent of 2", "max_total of 9", "max_depth of 3"] {
        assert!(all.contains(&format!("the limit agents.{cap}")), "{cap}");
    }
}

#[tokio::test]
async fn o1_the_limit_of_concurrent_sub_agents_refuses_the_next_one() {
    let limits = AgentLimits {
        max_concurrent: 2,
        max_per_parent: 9,
        ..AgentLimits::default()
    };
    let mut family = Family::of(Setup::new(vec![]), vec![definition("r")], limits);
    let background = || agent("r", &json!({"run_in_background": true}));
    family.plays(
        "bob",
        [
            calls([background(), background(), background()]),
            says("done"),
        ],
    );
    family.plays("bob/r", [Line::Gated("late".into())]);
    family.turn("go").await;
    let results = family.results();
    assert!(!results[0].1 && !results[1].1);
    let (refusal, is_error) = &results[2];
    let limit = "the limit agents.max_concurrent of 2";
    assert!(*is_error && refusal.contains(limit), "{refusal}");
    assert_eq!(family.most_at_once(), 2);
    family.agents.shut_down(Duration::from_secs(10)).await;
}

#[tokio::test]
async fn a_definition_selects_the_tools() {
    let reader = AgentDefinition {
        tools: ToolAllowance::Only(vec!["Read".into(), "Grep".into()]),
        source: AgentSource::User,
        ..definition("reader")
    };
    let mut family = family(vec![reader]);
    family.plays("bob", [calls([agent("reader", &json!({}))]), says("done")]);
    family.plays("bob/reader", [says("ok")]);
    family.turn("go").await;
    let request = family.cast.asked_by("bob/reader").remove(0);
    let tools = request.tools.iter();
    let names: Vec<_> = tools.map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["Read", "Grep"]);
}

#[tokio::test]
async fn usage_is_reported_once_per_sub_agent() {
    let mut family = family(vec![definition("outer"), definition("inner")]);
    family.plays("bob", [calls([agent("outer", &json!({}))]), says("done")]);
    family.plays(
        "bob/outer",
        [calls([agent("inner", &json!({}))]), says("ok")],
    );
    family.plays("bob/outer/inner", [says("deep")]);
    let outcome = family.turn("go").await;
    let mut told = outcome.spent.usage;
    for event in family.setup.watcher.events() {
        if let AgentEvent::SubAgentEnded { usage, .. } = event {
            told += usage;
        }
    }
    let requests = family.cast.requests.lock().len() as u64;
    assert_eq!(told.total(), requests * COST.total());
    // The result includes the nested sub-agent: three responses below bob.
    let result = family.results().remove(0).0;
    assert!(
        result.contains(&format!("total_tokens: {}", 3 * COST.total())),
        "{result}"
    );
}

#[tokio::test]
async fn a_sub_agents_prompt_names_the_knowledge_cutoff() {
    let mut agent_config = AgentConfig {
        agents: AgentCatalog::new(vec![definition("finder")]),
        ..AgentConfig::default()
    };
    let known = [("anthropic/other".to_owned(), "May 2025".to_owned())];
    agent_config.models.knowledge = known.into();
    let mut family = Family::configured(Setup::new(builtin()), agent_config);
    let call = agent("finder", &json!({"model": "other-1"}));
    family.plays("bob", [calls([call]), says("done")]);
    family.plays("bob/finder", [says("seen")]);
    family.turn("go").await;
    let system = format!("{:?}", family.cast.asked_by("bob/finder").remove(0).system);
    assert!(
        system.contains("Knowledge cutoff of the model: May 2025"),
        "{system}"
    );
}

#[tokio::test]
async fn a_sub_agent_inherits_the_changed_model_of_its_parent() {
    let mut family = family(vec![definition("finder")]);
    let script = [
        calls([agent("finder", &json!({}))]),
        says("done"),
        calls([agent("finder", &json!({}))]),
        says("done"),
    ];
    family.plays("bob", script);
    family.plays("bob/finder", [says("seen")]);
    family.turn("go").await;
    family.agents.use_model(&ReadyModel {
        client: family.cast.clone(),
        name: "newer-1".into(),
        window: None,
        max_output: Some(100),
    });
    family.turn("again").await;
    let asked = family.cast.asked_by("bob/finder");
    let models: Vec<&str> = asked.iter().map(|asked| &*asked.model).collect();
    assert_ne!(models[0], "newer-1");
    assert_eq!(models[1], "newer-1");
    assert_eq!(asked[1].max_tokens, 100);
}
