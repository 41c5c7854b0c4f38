//! Decision tables for rules, modes and their combination.

#[path = "../questions/question.rs"]
mod questions;

mod commands;
mod disk;
mod files;
mod unasked;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use swarm_permissions::{
    Behavior, Decision, Destination, PermissionSettings, Question, RuleSet, Suggestion, decide,
};
use swarm_protocol::{PermissionMode, ToolKind};

use PermissionMode::{AcceptEdits, BypassPermissions, Default, DontAsk, Plan};
use questions::question;

const ALLOW: &str = "allow";
const DENY: &str = "deny";
const ASK: &str = "ask";

fn rules(permissions: &Value) -> RuleSet {
    let settings = json!({ "permissions": permissions });
    let home = Some(Path::new("/home/dev"));
    let read =
        PermissionSettings::from_settings(&settings, "settings.json", Path::new("/work"), home);
    assert_eq!(read.errors, Vec::<String>::new());
    read.rules
}

fn kind_of(tool: &str) -> ToolKind {
    match tool {
        "Read" | "Glob" | "Grep" => ToolKind::Read,
        "Write" | "Edit" => ToolKind::Edit,
        "Bash" => ToolKind::Execute,
        "SendMessage" | "TaskUpdate" => ToolKind::Team,
        "TodoWrite" | "Skill" | "EnterPlanMode" => ToolKind::Own,
        "AskUserQuestion" | "ExitPlanMode" => ToolKind::Person,
        "WebFetch" | "WebSearch" => ToolKind::Web,
        _ => ToolKind::Other,
    }
}

fn ask_touching(
    mode: PermissionMode,
    rules: &RuleSet,
    tool: &str,
    input: &Value,
    touches: &[PathBuf],
) -> Decision {
    let kind = kind_of(tool);
    let question = Question {
        home: Some(Path::new("/home/dev")),
        touches,
        read_only: matches!(kind, ToolKind::Read | ToolKind::Web),
        ..question(tool, kind, input)
    };
    decide(mode, rules, &question)
}

fn ask(mode: PermissionMode, rules: &RuleSet, tool: &str, input: &Value) -> Decision {
    ask_touching(mode, rules, tool, input, &[])
}

fn word(decision: &Decision) -> &'static str {
    match decision {
        Decision::Allow { .. } => ALLOW,
        Decision::Deny { .. } => DENY,
        Decision::Ask { .. } => ASK,
    }
}

#[track_caller]
fn bash(mode: PermissionMode, rules: &RuleSet, command: &str, expected: &str) {
    let decision = ask(mode, rules, "Bash", &json!({ "command": command }));
    assert_eq!(word(&decision), expected, "{command}: {decision:?}");
}

#[track_caller]
fn file(mode: PermissionMode, rules: &RuleSet, tool: &str, path: &str, expected: &str) {
    let decision = ask(mode, rules, tool, &json!({ "file_path": path }));
    assert_eq!(word(&decision), expected, "{tool} {path}: {decision:?}");
}

#[test]
fn p5_each_mode_decides_tools_without_files_by_their_family() {
    let none = RuleSet::default();
    let table = [
        // tool, then plan, dontAsk, default, acceptEdits, bypassPermissions
        ("TodoWrite", [ALLOW, ALLOW, ALLOW, ALLOW, ALLOW]),
        ("Skill", [ALLOW, ALLOW, ALLOW, ALLOW, ALLOW]),
        ("EnterPlanMode", [ALLOW, ALLOW, ALLOW, ALLOW, ALLOW]),
        ("AskUserQuestion", [ASK, DENY, ASK, ASK, ASK]),
        ("ExitPlanMode", [ASK, DENY, ASK, ASK, ASK]),
        ("WebFetch", [ASK, DENY, ASK, ASK, ALLOW]),
        ("WebSearch", [ASK, DENY, ASK, ASK, ALLOW]),
        ("SendMessage", [ALLOW, ALLOW, ALLOW, ALLOW, ALLOW]),
        ("mcp__a__b", [DENY, DENY, ASK, ASK, ALLOW]),
    ];
    for (tool, expected) in table {
        let modes = [Plan, DontAsk, Default, AcceptEdits, BypassPermissions];
        for (mode, expected) in modes.into_iter().zip(expected) {
            let decision = ask(mode, &none, tool, &json!({}));
            assert_eq!(word(&decision), expected, "{tool} in {mode}: {decision:?}");
        }
    }
}

#[test]
fn c4_no_rule_or_mode_answers_a_question_to_a_person() {
    let granted = rules(&json!({"allow": ["AskUserQuestion", "ExitPlanMode"]}));
    for mode in [Plan, Default, AcceptEdits, BypassPermissions] {
        for tool in ["AskUserQuestion", "ExitPlanMode"] {
            let decision = ask(mode, &granted, tool, &json!({}));
            assert_eq!(word(&decision), ASK, "{tool} in {mode}: {decision:?}");
            let Decision::Ask { suggestions, .. } = decision else {
                panic!("{tool}")
            };
            assert_eq!(
                suggestions,
                [],
                "approving one plan does not approve the next"
            );
        }
    }
    let denied = rules(
        &json!({"deny": ["AskUserQuestion", "EnterPlanMode", "Skill(deploy)", "Skill(/publish)"]}),
    );
    for (tool, input, expected) in [
        ("AskUserQuestion", json!({}), DENY),
        ("EnterPlanMode", json!({}), DENY),
        ("Skill", json!({"skill": "deploy"}), DENY),
        ("Skill", json!({"skill": "publish"}), DENY),
        ("Skill", json!({"skill": "review"}), ALLOW),
    ] {
        let decision = ask(BypassPermissions, &denied, tool, &input);
        assert_eq!(word(&decision), expected, "{tool}: {decision:?}");
    }
}

#[test]
fn a_fetch_is_allowed_by_its_host() {
    let some = rules(
        &json!({"allow": ["WebFetch(domain:Docs.rs)"], "deny": ["WebFetch(domain:*.evil.example)"]}),
    );
    for (mode, url, expected) in [
        (Default, "https://docs.rs/serde", ALLOW),
        (Plan, "https://docs.rs/serde", ALLOW),
        (DontAsk, "https://DOCS.rs:443/serde", ALLOW),
        (Default, "https://docs.rs.evil.example/", DENY),
        (BypassPermissions, "https://a.evil.example/", DENY),
        (Default, "https://docs.rs@other.example/", ASK),
        (Default, "https://other.example/?docs.rs", ASK),
        (Default, "docs.rs", ASK),
    ] {
        let decision = ask(mode, &some, "WebFetch", &json!({ "url": url }));
        assert_eq!(word(&decision), expected, "{url} in {mode}: {decision:?}");
    }
    let other = json!({"url": "https://Other.example/x"});
    let decision = ask(Default, &some, "WebFetch", &other);
    let Decision::Ask { suggestions, .. } = decision else {
        panic!("{decision:?}")
    };
    let suggestions = serde_json::to_value(suggestions).unwrap();
    assert_eq!(
        suggestions[0]["rules"][0]["ruleContent"],
        "domain:other.example"
    );
}

#[test]
fn each_mode_decides_each_tool_family() {
    let none = RuleSet::default();
    let inside = json!({"file_path": "/work/a"});
    let outside = json!({"file_path": "/etc/a"});
    let reads = json!({"command": "ls"});
    let acts = json!({"command": "make"});
    let calls = [
        ("Read", &outside),
        ("Edit", &inside),
        ("Write", &outside),
        ("Bash", &reads),
        ("Bash", &acts),
        ("SendMessage", &json!({})),
        ("WebFetch", &json!({"url": "https://example.com"})),
        ("mcp__tracker__close", &json!({})),
    ];
    for (mode, expected) in [
        (Default, [ALLOW, ASK, ASK, ALLOW, ASK, ALLOW, ASK, ASK]),
        (
            AcceptEdits,
            [ALLOW, ALLOW, ASK, ALLOW, ASK, ALLOW, ASK, ASK],
        ),
        // Fetching a page changes nothing, but its URL may leak information.
        (Plan, [ALLOW, DENY, DENY, ALLOW, DENY, ALLOW, ASK, DENY]),
        (BypassPermissions, [ALLOW; 8]),
        (DontAsk, [ALLOW, DENY, DENY, ALLOW, DENY, ALLOW, DENY, DENY]),
    ] {
        for ((tool, input), expected) in calls.into_iter().zip(expected) {
            let decision = ask(mode, &none, tool, input);
            assert_eq!(word(&decision), expected, "{mode} {tool} {input}");
        }
    }
}

#[test]
fn deny_rules_apply_in_every_mode_and_ask_rules_in_all_but_plan() {
    let set = rules(&json!({
        "deny": ["Bash(rm:*)", "Edit(locked/**)"], "ask": ["Bash(git push:*)", "SendMessage"],
        "allow": ["Bash", "Edit"]
    }));
    for mode in PermissionMode::ALL {
        bash(mode, &set, "rm -rf x", DENY);
        file(mode, &set, "Write", "/work/locked/a", DENY);
        let asked = if mode == DontAsk || mode == Plan {
            DENY
        } else {
            ASK
        };
        bash(mode, &set, "git push origin", asked);
        let asked = if mode == DontAsk { DENY } else { ASK };
        assert_eq!(word(&ask(mode, &set, "SendMessage", &json!({}))), asked);
    }
}

#[test]
fn plan_mode_denies_calls_with_an_allow_rule() {
    let set = rules(&json!({"allow": ["Bash(make:*)", "Edit", "Write"]}));
    bash(Plan, &set, "make test", DENY);
    file(Plan, &set, "Write", "/work/a", DENY);
    bash(Plan, &set, "git log", ALLOW);
}

#[test]
fn other_tools_are_matched_by_parameter_domain_and_server() {
    let set = rules(&json!({
        "allow": ["WebFetch(domain:*.example.com)", "mcp__github", "Agent(explorer)"],
        "deny": ["mcp__github__delete_repo", "Agent(root*)", "Tool(level:9)", "Tool(domain:a)"]
    }));
    let url = |rest: &str| json!({"url": format!("https://{rest}")});
    for (tool, input, expected) in [
        ("WebFetch", url("docs.example.com/x"), ALLOW),
        ("WebFetch", url("docs.example.com.evil.org/x"), ASK),
        ("WebFetch", url("evil.org/docs.example.com"), ASK),
        ("WebFetch", url("docs.example.com@evil.org/"), ASK),
        ("WebFetch", url("evil.org\\@docs.example.com/"), ASK),
        ("mcp__github__list", json!({}), ALLOW),
        ("mcp__github__delete_repo", json!({}), DENY),
        ("mcp__gitlab__list", json!({}), ASK),
        ("Agent", json!({"subagent_type": "explorer"}), ALLOW),
        ("Task", json!({"subagent_type": "rooter"}), DENY),
        ("Tool", json!({"level": 9}), DENY),
        ("Tool", json!({"domain": "a"}), DENY),
    ] {
        let decision = ask(Default, &set, tool, &input);
        assert_eq!(word(&decision), expected, "{tool} {input}: {decision:?}");
    }
}

#[test]
fn the_reason_names_the_rule_and_its_origin() {
    let set = rules(&json!({"deny": ["Bash(rm:*)"], "allow": ["Bash(make:*)", "Bash(npm:*)"]}));
    let why = |command: &str| {
        ask(Default, &set, "Bash", &json!({"command": command}))
            .why()
            .to_owned()
    };
    assert_eq!(
        why("a; rm x"),
        "rule `Bash(rm:*)` (settings.json) denies it (it matches `rm x`)"
    );
    assert_eq!(
        why("make a"),
        "rule `Bash(make:*)` (settings.json) allows it"
    );
    assert_eq!(
        why("make a && npm b && make c"),
        "rules `Bash(make:*)` (settings.json) and `Bash(npm:*)` (settings.json) allow its parts"
    );
    assert_eq!(
        why("make a; evil b"),
        "no rule allows `evil b`, and mode default asks"
    );
    assert!(!why("evil a\u{1b}b\nx").contains(char::is_control));
}

#[test]
fn a_rule_for_a_parameter_does_not_match_a_call_without_it() {
    let set = rules(&json!({"deny": ["Agent(Explore)"]}));
    for (input, expected) in [
        (json!({"subagent_type": "Explore"}), DENY),
        (json!({"subagent_type": "Plan"}), ASK),
        (json!({}), ASK),
    ] {
        let decision = ask(Default, &set, "Agent", &input);
        assert_eq!(word(&decision), expected, "{input}");
    }
}

#[test]
fn an_applied_suggestion_allows_the_same_call() {
    let command = |text: &str| json!({ "command": text });
    let path = |text: &str| json!({ "file_path": text });
    let chain = command("git push origin main && rm -rf 'a*' | evil \\( b");
    let cases = [
        (Default, "Bash", chain, "addRules"),
        (
            Default,
            "Bash",
            command("make > out; echo $(date)"),
            "addRules",
        ),
        (Default, "Write", path("/srv/x"), "addRules"),
        (Default, "Write", path("/srv/a [b] {c}*\\/x"), "addRules"),
        (Default, "WebSearch", json!({}), "addRules"),
        (AcceptEdits, "Write", path("/srv/a/x"), "addDirectories"),
        (Default, "Edit", path("x"), "setMode"),
    ];
    for (mode, tool, input, kind) in cases {
        for ceiling in [Default, AcceptEdits, BypassPermissions] {
            let ask = |mode, set: &RuleSet| {
                let kind = kind_of(tool);
                let question = Question {
                    ceiling,
                    ..question(tool, kind, &input)
                };
                decide(mode, set, &question)
            };
            let (mut mode, mut set) = (mode, RuleSet::default());
            let Decision::Ask { suggestions, .. } = ask(mode, &set) else {
                panic!("{input}")
            };
            // At the ceiling a mode cannot be granted, so a rule is suggested.
            let is_at_ceiling = kind == "setMode" && ceiling == Default;
            let kind = if is_at_ceiling { "addRules" } else { kind };
            assert_eq!(json!(suggestions)[0]["type"], kind, "{input} {ceiling}");
            for suggestion in &suggestions {
                set.apply(suggestion, "session").unwrap();
                if let Suggestion::SetMode { mode: granted, .. } = suggestion {
                    assert!(ceiling.covers(*granted), "{input} {ceiling}");
                    mode = *granted;
                }
            }
            let decision = ask(mode, &set);
            assert!(decision.is_allow(), "{input} {suggestions:?}: {decision:?}");
        }
    }
}

#[test]
fn no_suggestion_covers_the_root_of_the_file_system() {
    for mode in [Default, AcceptEdits] {
        let input = json!({"file_path": "/x"});
        let decision = ask(mode, &RuleSet::default(), "Write", &input);
        let Decision::Ask { suggestions, .. } = decision else {
            panic!("{decision:?}")
        };
        assert_eq!(suggestions, [], "{mode}");
    }
}

#[test]
fn mode_dont_ask_denies_without_saying_that_it_asks() {
    let none = RuleSet::default();
    let calls = [
        ("Bash", json!({"command": "make test"})),
        ("Bash", json!({"command": "echo $(make)"})),
        ("WebFetch", json!({"url": "https://example.org"})),
    ];
    for (tool, input) in calls {
        let Decision::Deny { why } = ask(DontAsk, &none, tool, &input) else {
            panic!("{tool} {input}");
        };
        let reason = why.strip_suffix(", and mode dontAsk denies calls that require approval");
        assert!(
            reason.is_some_and(|reason| !reason.contains("asks")),
            "{why}"
        );
    }
}

#[test]
fn restrictions_contain_no_allow_rules() {
    let set = rules(
        &json!({"allow": ["Bash"], "deny": ["Read"], "ask": ["Edit"], "additionalDirectories": ["/a"]}),
    );
    let only = set.restrictions();
    assert!(only.allow.is_empty() && only.directories.is_empty());
    assert_eq!((&only.deny, &only.ask), (&set.deny, &set.ask));
    assert_eq!(set.allow, set.list(Behavior::Allow));
}

#[test]
fn rules_and_absolute_directories_are_added_once() {
    let one = rules(&json!({"allow": ["Bash"], "additionalDirectories": ["/a"]}));
    let mut set = RuleSet::default();
    for _ in 0..2 {
        set.extend(one.clone());
    }
    assert_eq!(set, one);
    let more = Suggestion::AddDirectories {
        directories: ["src", "/b/../c", "/a"].map(str::to_owned).to_vec(),
        destination: Destination::Session,
    };
    set.apply(&more, "session").unwrap();
    assert_eq!(set.directories, ["/a", "/c"].map(PathBuf::from));
}

#[test]
fn permission_suggestions_of_claude_code_are_parsed() {
    let text = r#"[{"type":"addDirectories","directories":["/home/dev/proj"],"destination":"session"},
        {"type":"setMode","mode":"acceptEdits","destination":"session"},
        {"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"touch:*"}],"behavior":"allow","destination":"session"}]"#;
    let read: Vec<swarm_permissions::Suggestion> = serde_json::from_str(text).unwrap();
    let mut set = RuleSet::default();
    for suggestion in &read {
        set.apply(suggestion, "session").unwrap();
    }
    bash(Default, &set, "touch a", ALLOW);
    assert_eq!(
        serde_json::to_value(&read).unwrap(),
        serde_json::from_str::<Value>(text).unwrap()
    );
}
