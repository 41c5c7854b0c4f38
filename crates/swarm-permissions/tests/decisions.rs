//! Decision tables for rules, modes and their combination.

#[path = "questions/question.rs"]
mod questions;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use swarm_permissions::{
    AgentDefinition, Behavior, Decision, PermissionSettings, Question, ReadFilter, RuleSet,
    Suggestion, ToolAllowance, decide,
};
use swarm_protocol::{PermissionMode, ToolKind};

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

use PermissionMode::{AcceptEdits, BypassPermissions, Default, DontAsk, Plan};

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
        for (mode, expected) in [Plan, DontAsk, Default, AcceptEdits, BypassPermissions]
            .into_iter()
            .zip(expected)
        {
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
    let denied = rules(&json!({"deny": ["AskUserQuestion", "EnterPlanMode", "Skill(deploy)"]}));
    for (tool, input, expected) in [
        ("AskUserQuestion", json!({}), DENY),
        ("EnterPlanMode", json!({}), DENY),
        ("Skill", json!({"skill": "deploy"}), DENY),
        ("Skill", json!({"skill": "review"}), ALLOW),
    ] {
        let decision = ask(BypassPermissions, &denied, tool, &input);
        assert_eq!(word(&decision), expected, "{tool}: {decision:?}");
    }
}

#[test]
fn a_fetch_is_allowed_by_its_host() {
    let some = rules(
        &json!({"allow": ["WebFetch(domain:docs.rs)"], "deny": ["WebFetch(domain:*.evil.example)"]}),
    );
    for (mode, url, expected) in [
        (Default, "https://docs.rs/serde", ALLOW),
        (Plan, "https://docs.rs/serde", ALLOW),
        (DontAsk, "https://DOCS.rs:443/serde", ALLOW),
        (Default, "https://docs.rs.evil.example/", DENY),
        (BypassPermissions, "https://a.evil.example/", DENY),
        (Default, "https://docs.rs@other.example/", ASK),
        (Default, "https://other.example/?docs.rs", ASK),
    ] {
        let decision = ask(mode, &some, "WebFetch", &json!({ "url": url }));
        assert_eq!(word(&decision), expected, "{url} in {mode}: {decision:?}");
    }
    let decision = ask(
        Default,
        &some,
        "WebFetch",
        &json!({"url": "https://Other.example/x"}),
    );
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
    for (mode, read, edit, edit_outside, bash_reads, bash_acts, team, web, other) in [
        (Default, ALLOW, ASK, ASK, ALLOW, ASK, ALLOW, ASK, ASK),
        (AcceptEdits, ALLOW, ALLOW, ASK, ALLOW, ASK, ALLOW, ASK, ASK),
        // Fetching a page changes nothing, but its URL may leak information.
        (Plan, ALLOW, DENY, DENY, ALLOW, DENY, ALLOW, ASK, DENY),
        (
            BypassPermissions,
            ALLOW,
            ALLOW,
            ALLOW,
            ALLOW,
            ALLOW,
            ALLOW,
            ALLOW,
            ALLOW,
        ),
        (DontAsk, ALLOW, DENY, DENY, ALLOW, DENY, ALLOW, DENY, DENY),
    ] {
        let decisions = [
            ("Read", &outside, read),
            ("Edit", &inside, edit),
            ("Write", &outside, edit_outside),
            ("Bash", &reads, bash_reads),
            ("Bash", &acts, bash_acts),
            ("SendMessage", &json!({}), team),
            ("WebFetch", &json!({"url": "https://example.com"}), web),
            ("mcp__tracker__close", &json!({}), other),
        ];
        for (tool, input, expected) in decisions {
            assert_eq!(
                word(&ask(mode, &none, tool, input)),
                expected,
                "{mode} {tool} {input}"
            );
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
fn a_compound_command_needs_every_part_allowed() {
    let set = rules(&json!({"allow": ["Bash(npm test)", "Bash(git log:*)", "Bash(npm run *)"]}));
    for (command, expected) in [
        ("npm test", ALLOW),
        ("npm test -- --watch", ASK),
        ("npm run build && npm test", ALLOW),
        ("npm test | head -50", ALLOW),
        ("npm test 2>&1 | tail -5 >/dev/null", ALLOW),
        ("git log --oneline; npm test", ALLOW),
        ("npm test; rm -rf /", ASK),
        ("npm test\nrm -rf /", ASK),
        ("npm test & rm -rf /", ASK),
        ("npm test || rm -rf /", ASK),
        ("git log 'a; b'", ALLOW),
        ("npm run $(rm x)", ASK),
        ("npm run `rm x`", ASK),
        ("npm run \"$(rm x)\"", ASK),
        ("npm run ${x:-$(rm x)}", ASK),
        ("npm run a > out.txt", ASK),
        ("npm run a && npm run a > out.txt", ASK),
        ("npm run a <(rm x)", ASK),
        ("npm run a <<E\nx\nE", ASK),
        ("(npm test)", ASK),
        ("npm run 'a", ASK),
        ("PATH=/evil npm test", ASK),
        ("CI=1 npm test", ALLOW),
        ("timeout 60 npm test", ALLOW),
        ("cd sub && npm test", ALLOW),
        ("cd sub && npm test && git status", ASK),
        ("npm runx", ASK),
    ] {
        bash(Default, &set, command, expected);
    }
}

#[test]
fn a_rule_for_a_compound_command_allows_exactly_that_command() {
    let set = rules(&json!({"allow": ["Bash(make && ./run > out)"]}));
    bash(Default, &set, "make && ./run > out", ALLOW);
    bash(Default, &set, " make && ./run > out ", ALLOW);
    bash(Default, &set, "make && ./run > out2", ASK);
}

#[test]
fn a_denied_command_is_denied_in_every_position() {
    let set = rules(
        &json!({"deny": ["Bash(rm:*)", "Bash(git push *)", "Bash(curl *)"], "allow": ["Bash"]}),
    );
    for command in [
        "rm x",
        "ls && rm x",
        "echo $(rm x)",
        "bash -c 'rm x'",
        "A=1 rm x",
        "/bin/rm x",
        "sudo rm x",
        "git -C /y push origin",
        "cat a | xargs rm",
        "if true; then rm x; fi",
        "r\\m x",
        "rm\tx",
    ] {
        bash(BypassPermissions, &set, command, DENY);
    }
    for command in ["rmdir x", "echo rm", "git pull", "ls rm"] {
        bash(BypassPermissions, &set, command, ALLOW);
    }
    for command in ["$CMD x", "bash <(echo)", "echo 'rm x' | sh", "ls 'a"] {
        bash(BypassPermissions, &set, command, ASK);
    }
}

#[test]
fn without_command_rules_commands_need_not_be_parsable() {
    bash(BypassPermissions, &RuleSet::default(), "$CMD x", ALLOW);
    bash(
        Default,
        &rules(&json!({"allow": ["Bash"]})),
        "$CMD x",
        ALLOW,
    );
}

#[test]
fn file_rules_match_like_gitignore_and_by_family() {
    let set = rules(&json!({
        "allow": ["Edit(src/**)", "Write(//tmp/out/**)", "Edit(~/notes/*.md)"],
        "deny": ["Read(.env)", "Edit(src/gen/**)", "Write(docs/**)"]
    }));
    for (tool, path, expected) in [
        ("Edit", "/work/src/a.rs", ALLOW),
        ("Write", "/work/src/a.rs", ALLOW),
        ("Edit", "src/a.rs", ALLOW),
        ("Edit", "/work/src/../a.rs", ASK),
        ("Edit", "/work/lib/../src/a.rs", ALLOW),
        ("Edit", "/work/src/gen/a.rs", DENY),
        ("Edit", "/work/src/x/../gen/a.rs", DENY),
        ("Write", "/tmp/out/x", ALLOW),
        ("Edit", "/tmp/out/x", ASK),
        ("Edit", "/home/dev/notes/a.md", ALLOW),
        ("Write", "/work/docs/a", DENY),
        ("Edit", "/work/docs/a", DENY),
        ("Read", "/work/docs/a", ALLOW),
        ("Read", "/work/.env", DENY),
        ("Read", "/work/deep/.env", DENY),
        ("Grep", "/work/.env", DENY),
        ("Read", "/elsewhere/.env", ALLOW),
    ] {
        file(Default, &set, tool, path, expected);
    }
}

#[test]
fn a_symbolic_link_is_judged_by_its_path_and_its_target() {
    let set = rules(&json!({"allow": ["Edit(src/**)"], "deny": ["Read(secrets/**)"]}));
    let through = |mode, tool, given: &str, real: &str| {
        let input = json!({"file_path": given});
        word(&ask_touching(
            mode,
            &set,
            tool,
            &input,
            &[PathBuf::from(real)],
        ))
    };
    assert_eq!(
        through(Default, "Edit", "/work/src/link", "/work/src/real"),
        ALLOW
    );
    assert_eq!(
        through(Default, "Edit", "/work/src/link", "/etc/passwd"),
        ASK
    );
    assert_eq!(
        through(AcceptEdits, "Edit", "/work/link", "/etc/passwd"),
        ASK
    );
    assert_eq!(
        through(AcceptEdits, "Edit", "/work/link", "/work/real"),
        ALLOW
    );
    assert_eq!(
        through(Default, "Read", "/work/link", "/work/secrets/key"),
        DENY
    );
}

#[test]
fn accept_edits_applies_to_additional_directories() {
    let set = rules(&json!({"additionalDirectories": ["/srv/docs"]}));
    file(AcceptEdits, &set, "Write", "/srv/docs/a", ALLOW);
    file(AcceptEdits, &set, "Write", "/srv/docs2/a", ASK);
    file(AcceptEdits, &set, "Write", "/work/../srv/x", ASK);
    file(AcceptEdits, &set, "Write", "/workshop/x", ASK);
    file(Default, &set, "Write", "/srv/docs/a", ASK);
}

#[test]
fn a_denied_file_cannot_be_read_by_a_command() {
    let set = rules(
        &json!({"deny": ["Read(.env)", "Read(secrets/**)", "Edit(locked/**)", "Read(build)"]}),
    );
    for command in [
        "cat .env",
        "cat ./sub/../.env",
        "grep KEY=.* secrets/a",
        "cat < .env",
        "cat x | tee locked/a > locked/b",
        "cat build",
        "sed -n 1p secrets/key",
    ] {
        bash(Default, &set, command, DENY);
    }
    for command in [
        "cat .e*",
        "rg KEY",
        "grep -r KEY .",
        "cd secrets && cat key",
        "cat $HOME/x",
        "git grep KEY",
    ] {
        bash(Default, &set, command, ASK);
    }
    for command in [
        "cat README.md",
        "ls -la",
        "git log --oneline",
        "grep KEY a.txt",
    ] {
        bash(Default, &set, command, ALLOW);
    }
    bash(Default, &set, "cargo build", ASK);
    bash(BypassPermissions, &set, "cargo build", ALLOW);
    let filter = ReadFilter::new(&set, Path::new("/work"), None);
    assert!(
        filter.hides(Path::new("/work/a/.env")) && filter.hides(Path::new("/work/secrets/a/b"))
    );
    assert!(!filter.hides(Path::new("/work/src/lib.rs")));
}

#[test]
fn ask_rules_do_not_hide_files_in_a_filter_of_denials() {
    let set = rules(&json!({"deny": ["Read(.env)"], "ask": ["Read(notes/**)"]}));
    let denials = ReadFilter::denials(&set, Path::new("/work"), None);
    assert!(denials.hides(Path::new("/work/.env")));
    assert!(!denials.hides(Path::new("/work/notes/a")));
    assert!(ReadFilter::new(&set, Path::new("/work"), None).hides(Path::new("/work/notes/a")));
}

#[test]
fn p5_a_search_of_a_sub_agent_hides_files_relative_to_every_anchor() {
    use swarm_permissions::Anchors;
    let set = rules(&json!({"deny": ["Read(secret/**)"]}));
    let copy = Anchors::NONE.below(Path::new("/work"), Some(Path::new("/copy")));
    let filter = ReadFilter::denials(&set, Path::new("/copy"), None).anchored(copy);
    for (path, hidden) in [
        ("/copy/secret/a", true),
        ("/work/secret/a", true),
        ("/work/sub/secret/a", false),
    ] {
        assert_eq!(filter.hides(Path::new(path)), hidden, "{path}");
    }
}

#[test]
fn other_tools_are_matched_by_parameter_domain_and_server() {
    let set = rules(&json!({
        "allow": ["WebFetch(domain:*.example.com)", "mcp__github", "Agent(explorer)"],
        "deny": ["mcp__github__delete_repo", "Agent(root*)", "Tool(level:9)"]
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
    assert!(!why("evil\u{1b}[2J\nx").contains(char::is_control));
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
    let cases = [
        (
            Default,
            "Bash",
            json!({"command": "git push origin main && rm -rf 'a*' | evil \\( b"}),
            "addRules",
        ),
        (
            Default,
            "Bash",
            json!({"command": "make > out; echo $(date)"}),
            "addRules",
        ),
        (Default, "Write", json!({"file_path": "/srv/x"}), "addRules"),
        (
            Default,
            "Write",
            json!({"file_path": "/srv/a [b] {c}*\\/x"}),
            "addRules",
        ),
        (Default, "WebSearch", json!({}), "addRules"),
        (
            AcceptEdits,
            "Write",
            json!({"file_path": "/srv/a/x"}),
            "addDirectories",
        ),
        (Default, "Edit", json!({"file_path": "x"}), "setMode"),
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

#[test]
fn p5_relative_rules_apply_to_a_sub_agent_from_their_original_directory() {
    use swarm_permissions::Anchors;
    let set = rules(&json!({
        "deny": ["Edit(secret/**)", "Read(/keys/**)"],
        "ask": ["Edit(*.lock)"],
        "allow": ["Edit(src/**)"],
    }));
    let in_sub = Anchors::NONE.below(Path::new("/work"), None);
    let copy = Anchors::NONE.below(Path::new("/work"), Some(Path::new("/copy")));
    for (cwd, anchors, tool, path, expected) in [
        ("/work/sub", &in_sub, "Edit", "../secret/a", DENY),
        ("/work/sub", &in_sub, "Edit", "secret/a", DENY),
        ("/work/sub", &in_sub, "Read", "../keys/a", DENY),
        ("/work/sub", &in_sub, "Edit", "/work/a.lock", ASK),
        ("/work/sub", &in_sub, "Edit", "/work/src/a", ALLOW),
        // The parent requires approval for this edit, so its sub-agents do too.
        ("/work/sub", &in_sub, "Edit", "src/a", ASK),
        ("/copy", &copy, "Edit", "src/a", ALLOW),
        ("/copy", &copy, "Edit", "secret/a", DENY),
        ("/copy", &copy, "Edit", "/work/secret/a", DENY),
        ("/copy", &copy, "Edit", "/work/src/a", ASK),
    ] {
        let input = json!({"file_path": path});
        let kind = kind_of(tool);
        let question = Question {
            cwd: Path::new(cwd),
            starts_in: Path::new(cwd),
            anchors,
            ..question(tool, kind, &input)
        };
        let decision = decide(PermissionMode::Default, &set, &question);
        assert_eq!(
            word(&decision),
            expected,
            "{tool} {path} in {cwd}: {decision:?}"
        );
    }
    let input = json!({"command": "echo x > ../secret/a"});
    let question = Question {
        cwd: Path::new("/work/sub"),
        starts_in: Path::new("/work/sub"),
        anchors: &in_sub,
        ..question("Bash", ToolKind::Execute, &input)
    };
    let decision = decide(PermissionMode::BypassPermissions, &set, &question);
    assert_eq!(word(&decision), DENY, "{decision:?}");
}

fn call_rules(tools: &[&str], disallowed: &[&str]) -> RuleSet {
    let owned = |list: &[&str]| list.iter().map(|entry| (*entry).to_owned()).collect();
    let mut definition = AgentDefinition::new("narrow", "b", "c");
    definition.tools = ToolAllowance::Only(owned(tools));
    definition.disallowed_tools = owned(disallowed);
    definition.call_rules()
}

#[test]
fn a_tool_limited_to_some_calls_makes_no_others_in_any_mode() {
    let rules = call_rules(
        &["Read", "Bash(git log:*)", "Bash(make)", "Edit(src/**)"],
        &[],
    );
    for mode in [BypassPermissions, AcceptEdits, DontAsk, Default] {
        for command in [
            "rm x",
            "cat a",
            "git log; rm x",
            "git log > a",
            "git push",
            "$(git log)",
        ] {
            bash(mode, &rules, command, DENY);
        }
        file(mode, &rules, "Edit", "/work/README.md", DENY);
        file(mode, &rules, "Read", "/work/README.md", ALLOW);
    }
    bash(BypassPermissions, &rules, "git log -3 && make", ALLOW);
    // A limit allows nothing.
    bash(Default, &rules, "make", ASK);
    file(BypassPermissions, &rules, "Edit", "/work/src/a.rs", ALLOW);
    let Decision::Deny { why } = ask(Default, &rules, "Bash", &json!({"command": "rm x"})) else {
        panic!("the call is not denied");
    };
    assert_eq!(
        why,
        "definition narrow limits `Bash` to `Bash(git log:*)`, `Bash(make)`"
    );
    // The whole tool is also listed.
    bash(
        BypassPermissions,
        &call_rules(&["Bash", "Bash(git:*)"], &[]),
        "rm x",
        ALLOW,
    );
}

#[test]
fn limits_of_two_definitions_both_apply() {
    let mut rules = call_rules(&["Bash(git:*)"], &[]);
    rules.extend(call_rules(&["Bash(git log:*)"], &[]));
    bash(BypassPermissions, &rules, "git log", ALLOW);
    bash(BypassPermissions, &rules, "git push", DENY);
    let mut rules = call_rules(&["Bash(git:*)"], &[]);
    rules.extend(call_rules(&["Bash(make:*)"], &[]));
    bash(BypassPermissions, &rules, "git log", DENY);
    assert_eq!(rules.restrictions().limits.len(), 2);
}

#[test]
fn calls_that_a_definition_disallows_are_denied() {
    let rules = call_rules(&["Bash"], &["Bash(rm:*)"]);
    bash(BypassPermissions, &rules, "ls && rm x", DENY);
    bash(BypassPermissions, &rules, "make", ALLOW);
}
