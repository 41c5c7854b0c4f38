//! Properties of decisions for arbitrary rules and calls.

#[path = "questions/question.rs"]
mod questions;

use proptest::prelude::*;
use serde_json::{Value, json};
use swarm_permissions::{
    AgentDefinition, AgentKind, AgentSource, Behavior, Decision, PoolRequest, Rule, RuleSet,
    ToolAllowance, ToolCeiling, bash_is_read_only, choose_mode, decide, tool_pool,
};
use swarm_protocol::{PermissionMode, ToolKind};

use questions::question;

fn rule() -> impl Strategy<Value = Rule> {
    let content = prop_oneof![
        Just("git:*"),
        Just("git log:*"),
        Just("git log"),
        Just("git * x"),
        Just("make"),
        Just("make:*"),
        Just("rm *"),
        Just("r*"),
        Just("make && rm x"),
        Just("git log; make"),
        Just("* x"),
        Just("timeout 5 make:*"),
    ];
    let path = prop_oneof![
        Just("src/**"),
        Just("src/a/**"),
        Just("src/*"),
        Just("*.rs"),
        Just("//etc/**"),
        Just("/src/a"),
        Just("**"),
    ];
    prop_oneof![
        Just("Bash".to_owned()),
        content.prop_map(|content| format!("Bash({content})")),
        (prop_oneof![Just("Edit"), Just("Write"), Just("Read")], path)
            .prop_map(|(tool, path)| format!("{tool}({path})")),
        prop_oneof![
            Just("Edit"),
            Just("Write"),
            Just("Read"),
            Just("mcp__a"),
            Just("mcp__a__x"),
            Just("mcp__*")
        ]
        .prop_map(str::to_owned),
    ]
    .prop_filter_map("a valid rule", |text| Rule::parse(&text).ok())
}

fn rule_set() -> impl Strategy<Value = RuleSet> {
    let list = || proptest::collection::vec(rule(), 0..4);
    let directories = proptest::sample::subsequence(vec!["/srv", "/srv/a", "/tmp"], 0..3);
    (list(), list(), list(), directories).prop_map(|(allow, deny, ask, directories)| {
        let mut set = RuleSet::default();
        for (behavior, rules) in [
            (Behavior::Allow, allow),
            (Behavior::Deny, deny),
            (Behavior::Ask, ask),
        ] {
            for rule in rules {
                set.add(behavior, rule, "test");
            }
        }
        set.directories = directories.into_iter().map(Into::into).collect();
        set
    })
}

fn simple_command() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("git log"),
        Just("git log x"),
        Just("git status"),
        Just("git push x"),
        Just("make"),
        Just("make x"),
        Just("rm x"),
        Just("rmdir"),
        Just("ls"),
        Just("A=1 make"),
        Just("timeout 5 make a"),
        Just("CI=1 git log"),
        Just("echo $(rm x)"),
        Just("make > out"),
        Just("make 2>&1"),
        Just("$X"),
        Just("cat src/a.rs"),
        Just("cd src"),
        Just("echo 'rm x; make'"),
        Just("(make"),
        Just("sudo make"),
        Just("'git' log"),
    ]
    .prop_map(str::to_owned)
}

fn command() -> impl Strategy<Value = String> {
    let joint = prop_oneof![
        Just("&&"),
        Just("||"),
        Just(";"),
        Just("|"),
        Just("&"),
        Just("\n")
    ];
    (
        simple_command(),
        proptest::collection::vec((joint, simple_command()), 0..3),
    )
        .prop_map(|(first, rest)| {
            rest.into_iter().fold(first, |line, (joint, next)| {
                format!("{line} {joint} {next}")
            })
        })
}

fn call() -> impl Strategy<Value = (&'static str, Value, ToolKind)> {
    let path = prop_oneof![
        Just("/work/src/a.rs"),
        Just("src/a/b"),
        Just("/etc/passwd"),
        Just("/srv/a/x"),
        Just("/srv/x"),
        Just("/work/src/../../etc/x"),
        Just("x.rs"),
    ];
    prop_oneof![
        4 => command().prop_map(|text| ("Bash", json!({"command": text}), ToolKind::Execute)),
        2 => (prop_oneof![Just("Edit"), Just("Write")], path.clone())
            .prop_map(|(tool, path)| (tool, json!({"file_path": path}), ToolKind::Edit)),
        1 => path.prop_map(|path| ("Read", json!({"file_path": path}), ToolKind::Read)),
        1 => Just(("mcp__a__x", json!({}), ToolKind::Other)),
        1 => Just(("SendMessage", json!({"to": "x"}), ToolKind::Team)),
    ]
}

fn mode() -> impl Strategy<Value = PermissionMode> {
    proptest::sample::select(PermissionMode::ALL.to_vec())
}

fn ask(mode: PermissionMode, rules: &RuleSet, call: &(&str, Value, ToolKind)) -> Decision {
    let (tool, input, kind) = call;
    let question = question(tool, *kind, input);
    decide(mode, rules, &question)
}

/// One level of a chain of spawns: the definition and the call of a child.
#[derive(Debug, Clone)]
struct Level {
    kind: AgentKind,
    definition: AgentDefinition,
    call: Option<PermissionMode>,
}

const TOOLS: [&str; 9] = [
    "Read",
    "Write",
    "Bash",
    "Agent",
    "Grep",
    "WebFetch",
    "Skill",
    "mcp__a__x",
    "mcp__b__x",
];

fn level() -> impl Strategy<Value = Level> {
    let entries = || {
        proptest::collection::vec(
            prop_oneof![
                proptest::sample::select(TOOLS.to_vec()),
                Just("mcp__a"),
                Just("mcp__*"),
                Just("Agent(x)")
            ]
            .prop_map(str::to_owned),
            0..6,
        )
    };
    let tools = prop_oneof![
        Just(ToolAllowance::All),
        entries().prop_map(ToolAllowance::Only)
    ];
    let source = prop_oneof![Just(AgentSource::BuiltIn), Just(AgentSource::Project)];
    let kind = prop_oneof![
        Just(AgentKind::SubAgent),
        Just(AgentKind::Background),
        Just(AgentKind::TeammateProcess)
    ];
    let maybe = || proptest::option::of(mode());
    let definition = (tools, entries(), source, maybe()).prop_map(
        |(tools, disallowed_tools, source, permission_mode)| AgentDefinition {
            tools,
            disallowed_tools,
            source,
            permission_mode,
            ..AgentDefinition::new("x", "x", "x")
        },
    );
    (kind, definition, maybe()).prop_map(|(kind, definition, call)| Level {
        kind,
        definition,
        call,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn p5_no_chain_of_spawns_ever_widens(
        top in mode(), rules in rule_set(), chain in proptest::collection::vec(level(), 1..5), call in call(),
    ) {
        let mut modes = vec![top];
        let mut above = ToolCeiling::default();
        let mut tools: Vec<String> = TOOLS.iter().map(|tool| (*tool).to_owned()).collect();
        let mut allowed = ask(top, &rules, &call).is_allow();
        for level in &chain {
            let parent = modes[modes.len() - 1];
            let chosen = choose_mode(parent, level.definition.permission_mode, level.call);
            for bound in modes.iter().copied().chain(level.definition.permission_mode).chain(level.call) {
                prop_assert!(bound.covers(chosen.mode), "{bound} does not cover {}", chosen.mode);
            }
            // A stricter request is always applied.
            if let Some(call) = level.call && parent.covers(call) && level.definition.permission_mode.is_none() {
                prop_assert_eq!(chosen.mode, call);
            }
            modes.push(chosen.mode);
            let now = ask(chosen.mode, &rules, &call).is_allow();
            prop_assert!(allowed || !now, "a child is allowed what its parent is not");
            allowed = now;
            let request = PoolRequest {
                kind: level.kind, levels_left: 9, mode: chosen.mode, definition: Some(&level.definition), above: &above,
            };
            let left = tool_pool(&request, TOOLS).kept;
            prop_assert!(left.iter().all(|tool| tools.contains(tool)), "{left:?} out of {tools:?}");
            tools = left;
            above = above.below(Some(&level.definition));
        }
    }

    #[test]
    fn an_additional_deny_or_ask_rule_never_allows_more(
        mode in mode(), rules in rule_set(), call in call(), extra in rule(), deny in any::<bool>(),
    ) {
        let before = ask(mode, &rules, &call);
        let mut stricter = rules;
        stricter.add(if deny { Behavior::Deny } else { Behavior::Ask }, extra, "extra");
        let after = ask(mode, &stricter, &call);
        prop_assert!(before.is_allow() || !after.is_allow(), "{before:?} became {after:?}");
        let is_deny = |decision: &Decision| matches!(decision, Decision::Deny { .. });
        prop_assert!(!is_deny(&before) || is_deny(&after), "{before:?} became {after:?}");
    }

    #[test]
    fn a_compound_command_is_allowed_only_if_each_part_is(
        rules in rule_set(), parts in proptest::collection::vec(simple_command(), 1..4),
        joint in prop_oneof![Just(" && "), Just(" || "), Just("; "), Just(" | "), Just(" & "), Just("\n")],
    ) {
        let line = parts.join(joint);
        let exactly = rules.allow.iter().any(|rule| rule.rule.content_text() == Some(line.as_str()));
        let whole = ask(PermissionMode::Default, &rules, &("Bash", json!({"command": line}), ToolKind::Execute));
        if whole.is_allow() && !exactly {
            for part in parts {
                let alone = ask(PermissionMode::Default, &rules, &("Bash", json!({"command": part}), ToolKind::Execute));
                prop_assert!(alone.is_allow(), "{part}: {alone:?}");
            }
        }
    }

    #[test]
    fn no_text_makes_the_command_parser_panic(text in "[a-z$`'\"\\\\ (){}\\[\\]<>|&;#*?=\n~/-]{0,60}", rules in rule_set()) {
        bash_is_read_only(&text);
        ask(PermissionMode::Default, &rules, &("Bash", json!({"command": text}), ToolKind::Execute));
    }

    #[test]
    fn read_only_commands_write_no_file(text in "(ls|cat|git|sort|find|echo)[a-z$`'\" (){}<>|&;*=\n~/-]{0,30}") {
        if bash_is_read_only(&text) {
            let unquoted: String = text.split('\'').step_by(2).flat_map(|piece| piece.split('"').step_by(2)).collect();
            prop_assert!(!unquoted.contains("$(") && !unquoted.contains('`'), "{text}");
        }
    }

    #[test]
    fn any_text_is_a_rule_or_an_error(text in "\\PC{0,40}") {
        if let Ok(rule) = Rule::parse(&text) {
            prop_assert_eq!(Rule::parse(&rule.to_string()), Ok(rule));
        }
    }
}
