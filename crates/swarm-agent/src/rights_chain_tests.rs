//! Rights only shrink along chains of agents, whatever happens to each of them.

use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use swarm_permissions::{
    Anchors, Behavior, Destination, PlainFiles, Question, Rule, RuleSet, Suggestion, choose_mode,
    decide,
};
use swarm_protocol::{PermissionMode, ToolKind};
use swarm_tools::ModeSwitch as _;

use super::Rights;

/// Something that happens to the agent with this number, or makes a new one below it.
#[derive(Debug, Clone)]
enum Step {
    /// A sub-agent in the same process, with a mode and restrictions of its definition.
    SubAgent(usize, Option<PermissionMode>, Vec<&'static str>),
    /// A fork.
    Fork(usize),
    /// A teammate: another process, with the mode of its definition and of the call.
    Teammate(usize, Option<PermissionMode>, Option<PermissionMode>),
    /// The agent is ended and resumed.
    Resume(usize),
    SetMode(usize, PermissionMode),
    /// An answer with `--always` sets a mode.
    Grant(usize, PermissionMode),
    EnterPlan(usize),
    LeavePlan(usize),
}

struct Node {
    rights: Arc<Rights>,
    /// The agent above it in the same process.
    parent: Option<usize>,
    /// For the first agent of a process: what its parent could do when it was started.
    bound: (PermissionMode, RuleSet),
    /// How it was started.
    start: (Option<PermissionMode>, RuleSet),
}

fn mode() -> impl Strategy<Value = PermissionMode> {
    proptest::sample::select(PermissionMode::ALL.to_vec())
}

fn step() -> impl Strategy<Value = Step> {
    let maybe = || proptest::option::of(mode());
    let at = 0..8_usize;
    let denied =
        proptest::sample::subsequence(vec!["Bash(make:*)", "Edit(src/**)", "mcp__a"], 0..3);
    prop_oneof![
        (at.clone(), maybe(), denied)
            .prop_map(|(at, mode, denied)| Step::SubAgent(at, mode, denied)),
        at.clone().prop_map(Step::Fork),
        (at.clone(), maybe(), maybe()).prop_map(|(at, own, call)| Step::Teammate(at, own, call)),
        at.clone().prop_map(Step::Resume),
        (at.clone(), mode()).prop_map(|(at, mode)| Step::SetMode(at, mode)),
        (at.clone(), mode()).prop_map(|(at, mode)| Step::Grant(at, mode)),
        at.clone().prop_map(Step::EnterPlan),
        at.prop_map(Step::LeavePlan),
    ]
}

fn base_rules() -> RuleSet {
    let mut rules = RuleSet::default();
    for (behavior, rule) in [
        (Behavior::Allow, "Bash(make:*)"),
        (Behavior::Allow, "Edit(src/**)"),
        (Behavior::Deny, "Bash(git push:*)"),
        (Behavior::Ask, "Edit(*.lock)"),
    ] {
        rules.add(behavior, Rule::parse(rule).unwrap(), "test");
    }
    rules
}

fn calls() -> Vec<(&'static str, ToolKind, Value)> {
    let bash = |command: &str| ("Bash", ToolKind::Execute, json!({ "command": command }));
    let write = |path: &str| ("Write", ToolKind::Edit, json!({ "file_path": path }));
    vec![
        bash("make all"),
        bash("git push"),
        bash("touch x"),
        bash("ls"),
        write("src/a.rs"),
        write("a.rs"),
        write("Cargo.lock"),
        write("/etc/x"),
        ("mcp__a__x", ToolKind::Other, json!({})),
        (
            "WebFetch",
            ToolKind::Web,
            json!({"url": "https://example.org/"}),
        ),
    ]
}

/// The calls that may be made without approval.
fn allowed(decides: impl Fn(&Question<'_>) -> bool) -> Vec<Value> {
    let calls = calls().into_iter();
    let allowed = calls.filter(|(tool, kind, input)| {
        decides(&Question {
            tool,
            kind: *kind,
            input,
            read_only: false,
            cwd: Path::new("/repo"),
            starts_in: Path::new("/repo"),
            anchors: Anchors::NONE,
            home: None,
            touches: &[],
            files: &PlainFiles,
            ceiling: PermissionMode::BypassPermissions,
        })
    });
    allowed
        .map(|(tool, _, input)| json!([tool, input]))
        .collect()
}

fn of(rights: &Rights) -> Vec<Value> {
    allowed(|question| rights.decide(question).is_allow())
}

fn below(nodes: &[Node], parent: usize, mode: Option<PermissionMode>, own: RuleSet) -> Arc<Rights> {
    let parent = Arc::clone(&nodes[parent].rights);
    Arc::new(Rights::under(parent, mode, Anchors::default(), own))
}

fn take(nodes: &mut Vec<Node>, step: Step) {
    let count = nodes.len();
    let child = |parent: usize, rights, start| Node {
        rights,
        parent: Some(parent),
        bound: (PermissionMode::BypassPermissions, RuleSet::default()),
        start,
    };
    match step {
        Step::SubAgent(at, mode, denied) => {
            let (at, mut own) = (at % count, RuleSet::default());
            for rule in denied {
                own.add(Behavior::Deny, Rule::parse(rule).unwrap(), "definition");
            }
            let rights = below(nodes, at, mode, own.clone());
            nodes.push(child(at, rights, (mode, own)));
        }
        Step::Fork(at) => {
            let rights = below(nodes, at % count, None, RuleSet::default());
            nodes.push(child(at % count, rights, (None, RuleSet::default())));
        }
        Step::Teammate(at, definition, call) => {
            let parent = &nodes[at % count].rights;
            let chosen = choose_mode(parent.mode(), definition, call).mode;
            let rules = parent.rules();
            nodes.push(Node {
                bound: (parent.mode(), rules.clone()),
                rights: Arc::new(Rights::new(chosen, rules.clone(), chosen)),
                parent: None,
                start: (Some(chosen), rules),
            });
        }
        Step::Resume(at) => {
            let at = at % count;
            let (mode, rules) = nodes[at].start.clone();
            let rights = if let Some(parent) = nodes[at].parent {
                below(nodes, parent, mode, rules)
            } else {
                let mode = mode.unwrap_or_default();
                Arc::new(Rights::new(mode, rules, mode))
            };
            nodes[at].rights = rights;
            // Its sub-agents ended with it.
            let ended: Vec<usize> = descendants(nodes, at);
            for child in ended {
                let (mode, own) = nodes[child].start.clone();
                let parent = nodes[child].parent.unwrap_or_default();
                nodes[child].rights = below(nodes, parent, mode, own);
            }
        }
        Step::SetMode(at, mode) => {
            nodes[at % count].rights.set_mode(mode);
        }
        Step::Grant(at, mode) => {
            let destination = Destination::Session;
            nodes[at % count]
                .rights
                .grant(&Suggestion::SetMode { mode, destination });
        }
        Step::EnterPlan(at) => nodes[at % count].rights.enter_plan(),
        Step::LeavePlan(at) => {
            nodes[at % count].rights.leave_plan();
        }
    }
}

/// The agents below one in the same process, parents first.
fn descendants(nodes: &[Node], top: usize) -> Vec<usize> {
    let mut found = vec![top];
    for (at, node) in nodes.iter().enumerate() {
        if node.parent.is_some_and(|parent| found.contains(&parent)) {
            found.push(at);
        }
    }
    found.remove(0);
    found
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn p5_rights_only_shrink_along_any_chain_of_agents(
        top in mode(), ceiling in mode(), steps in proptest::collection::vec(step(), 1..12),
    ) {
        let rules = base_rules();
        let first = Rights::new(top, rules.clone(), ceiling);
        let mut nodes = vec![Node {
            bound: (ceiling, rules.clone()),
            start: (Some(first.mode()), rules),
            rights: Arc::new(first),
            parent: None,
        }];
        for step in steps {
            take(&mut nodes, step.clone());
            for node in &nodes {
                let own = of(&node.rights);
                let (above, bound) = if let Some(parent) = node.parent {
                    let parent = &nodes[parent].rights;
                    (of(parent), parent.mode())
                } else {
                    let (mode, rules) = &node.bound;
                    let above = allowed(|question| decide(*mode, rules, question).is_allow());
                    (above, *mode)
                };
                prop_assert!(bound.covers(node.rights.mode()), "{bound} does not cover {} after {step:?}", node.rights.mode());
                prop_assert!(own.iter().all(|call| above.contains(call)), "{own:?} exceeds {above:?} after {step:?}");
            }
        }
    }
}
