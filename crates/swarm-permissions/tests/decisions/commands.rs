//! Rules for commands, and definitions that limit a tool to some calls.

use serde_json::json;
use swarm_permissions::{AgentDefinition, Decision, RuleSet, ToolAllowance};
use swarm_protocol::PermissionMode::{AcceptEdits, BypassPermissions, Default, DontAsk};

use crate::{ALLOW, ASK, DENY, ask, bash, file, rules};

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
        ("npm test < /dev/tcp/h/80", ASK),
        ("(npm test)", ASK),
        ("npm run 'a", ASK),
        ("PATH=/evil npm test", ASK),
        ("CI=1 npm test", ALLOW),
        ("timeout 60 npm test", ALLOW),
        ("cd sub && npm test", ALLOW),
        ("cd sub && npm test && git status", ASK),
        ("npm runx", ASK),
        ("", ASK),
        ("# npm test", ASK),
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
    let as_written = rules(&json!({"deny": ["Bash(rm 'x y')"]}));
    bash(BypassPermissions, &as_written, "ls; rm 'x y'", DENY);
    let asked = rules(&json!({"ask": ["Bash(rm:*)"]}));
    for command in ["$CMD x", "bash <(echo)", "echo 'rm x' | sh", "ls 'a"] {
        bash(BypassPermissions, &set, command, ASK);
        bash(BypassPermissions, &asked, command, ASK);
    }
}

#[test]
fn without_command_rules_commands_need_not_be_parsable() {
    bash(BypassPermissions, &RuleSet::default(), "$CMD x", ALLOW);
    let all = rules(&json!({"allow": ["Bash"]}));
    bash(Default, &all, "$CMD x", ALLOW);
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
    let tools = ["Read", "Bash(git log:*)", "Bash(make)", "Edit(src/**)"];
    let rules = call_rules(&tools, &[]);
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
    let compound = call_rules(&["Bash(make > out)"], &[]);
    bash(BypassPermissions, &compound, "make > out", ALLOW);
    bash(BypassPermissions, &compound, "make > out2", DENY);
    // The whole tool is also listed.
    let whole = call_rules(&["Bash", "Bash(git:*)"], &[]);
    bash(BypassPermissions, &whole, "rm x", ALLOW);
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
