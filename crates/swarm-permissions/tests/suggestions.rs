//! What is suggested with a question.

#[path = "questions/question.rs"]
mod questions;

use std::path::Path;

use serde_json::{Value, json};
use swarm_permissions::{Decision, Question, RuleSet, decide};
use swarm_protocol::{PermissionMode, ToolKind};

use questions::question;

fn suggested_for(tool: &str, input: &Value) -> Decision {
    let kind = match tool {
        "Write" => ToolKind::Edit,
        "WebSearch" => ToolKind::Web,
        _ => ToolKind::Execute,
    };
    let question = Question {
        home: Some(Path::new("/home/dev")),
        touches: &[],
        read_only: kind == ToolKind::Web,
        ..question(tool, kind, input)
    };
    decide(PermissionMode::Default, &RuleSet::default(), &question)
}

#[test]
fn suggestions_have_the_format_of_messages() {
    let suggestions = |tool: &str, input: Value| match suggested_for(tool, &input) {
        Decision::Ask { suggestions, .. } => serde_json::to_value(suggestions).unwrap(),
        other => panic!("{other:?}"),
    };
    let bash_rule = |content: &str| {
        json!([{"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": content}],
                "behavior": "allow", "destination": "session"}])
    };
    assert_eq!(
        suggestions("Bash", json!({"command": "git push -f"})),
        bash_rule("git push:*")
    );
    assert_eq!(
        suggestions("Bash", json!({"command": "npm run build x"})),
        bash_rule("npm run build:*")
    );
    assert_eq!(
        suggestions("Bash", json!({"command": "rm -rf a*"})),
        bash_rule(r"rm -rf a\*")
    );
    assert_eq!(
        suggestions("Bash", json!({"command": "echo $(x)"})),
        bash_rule("echo $(x)")
    );
    assert_eq!(
        suggestions("Bash", json!({"command": "git -C x push"})),
        bash_rule("git -C x push")
    );
    // Parts of a loop or a group are not commands.
    for compound in [
        "for i in 1 2; do touch x$i; done",
        "{ touch a9; touch b9; }",
    ] {
        assert_eq!(
            suggestions("Bash", json!({"command": compound})),
            bash_rule(compound)
        );
    }
    // A prefix with a special character would match something else.
    assert_eq!(
        suggestions("Bash", json!({"command": "cargo te[s]t x"})),
        bash_rule("cargo te[s]t x")
    );
    // It ends like a prefix rule, and is exact.
    assert_eq!(
        suggestions("Bash", json!({"command": "rm x:*"})),
        bash_rule(r"rm x:\*")
    );
    let long = format!("rm {}", "x".repeat(4000));
    assert_eq!(suggestions("Bash", json!({"command": long})), json!([]));
    assert_eq!(
        suggestions("Write", json!({"file_path": "/home/dev/proj/x"})),
        json!([{"type": "addRules", "rules": [{"toolName": "Edit", "ruleContent": "//home/dev/proj/**"}],
                "behavior": "allow", "destination": "session"}])
    );
    assert_eq!(
        suggestions("WebSearch", json!({})),
        json!([{"type": "addRules", "rules": [{"toolName": "WebSearch"}], "behavior": "allow", "destination": "session"}])
    );
}
