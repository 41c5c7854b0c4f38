//! A request as people read it. What they allow is the exact call, so it is shown in full as far as that can be read.

use serde_json::Value;
use swarm_policy::Suggestion;
use swarm_protocol::{RequestKind, RequestRecord, UnixMs};
use swarm_tools::AskedQuestion;

use crate::commands::members::age;
use crate::output::plain;

/// Lines of one field of a call's input; the rest is counted.
const FIELD_LINES: usize = 12;

/// Everything that is asked, and the commands that answer it.
pub(super) fn in_full(request: &RequestRecord, now: UnixMs) -> String {
    let mut lines = vec![
        format!(
            "{}: {} asks since {}; silence means no in {}",
            request.id,
            request.from,
            age(now, request.asked_at),
            age(request.deadline, now),
        ),
        format!("  {}", what(request)),
    ];
    lines.extend(details(request));
    if let Some(asked) = questions(request) {
        let each = " --answer TEXT".repeat(asked.len());
        lines.push(format!(
            "  answer: swarm approve {}{each}",
            request.id.short()
        ));
    } else {
        lines.push(format!("  yes: swarm approve {}", request.id.short()));
    }
    lines.push(format!(
        "  no:  swarm deny {} --why TEXT",
        request.id.short()
    ));
    if let Some(granted) = granted(request) {
        lines.push(format!(
            "  yes with --always also grants, until it ends: {granted}"
        ));
    }
    lines.join("\n")
}

/// What the one line does not say: the other fields of a call and the reason for asking, or questions with their options.
pub(in crate::commands) fn details(request: &RequestRecord) -> Vec<String> {
    if let Some(asked) = questions(request) {
        return asked.iter().flat_map(options).collect();
    }
    let RequestKind::Permission { input, .. } = &request.request;
    let mut lines = fields(input, &what(request));
    if !request.why.is_empty() {
        lines.push(format!("  why: {}", swarm_ui::clean_line(&request.why)));
    }
    lines
}

/// One line with the command that answers.
pub(in crate::commands) fn in_short(request: &RequestRecord) -> String {
    let answers = questions(request).map_or(0, |asked| asked.len());
    format!(
        "{} asks: {}\n  swarm approve {}{}",
        request.from,
        what(request),
        request.id.short(),
        " --answer TEXT".repeat(answers)
    )
}

/// The call in one line.
pub(in crate::commands) fn what(request: &RequestRecord) -> String {
    let RequestKind::Permission { tool, .. } = &request.request;
    let description = swarm_ui::clean_line(&request.description);
    if description.is_empty() {
        swarm_ui::clean_line(tool)
    } else {
        description
    }
}

/// Whether the call asks questions, to which a mere yes is no answer.
pub(super) fn asks(request: &RequestRecord) -> bool {
    questions(request).is_some()
}

pub(in crate::commands) fn questions(request: &RequestRecord) -> Option<Vec<AskedQuestion>> {
    let RequestKind::Permission { tool, input, .. } = &request.request;
    let asks = tool == "AskUserQuestion";
    asks.then(|| swarm_tools::questions(input).ok()).flatten()
}

/// A question with its options, by the numbers that answer it.
fn options(question: &AskedQuestion) -> Vec<String> {
    let several = if question.several {
        " (several: 1,2)"
    } else {
        ""
    };
    let mut lines = vec![format!(
        "  {}{several}",
        swarm_ui::clean_line(&question.question)
    )];
    for (at, (label, about)) in question.options.iter().enumerate() {
        let line = match about.as_str() {
            "" => label.clone(),
            about => format!("{label}: {about}"),
        };
        lines.push(format!("    {} {}", at + 1, swarm_ui::clean_line(&line)));
    }
    lines
}

/// What a yes with `--always` grants beside the call.
pub(in crate::commands) fn granted(request: &RequestRecord) -> Option<String> {
    let RequestKind::Permission { suggestions, .. } = &request.request;
    let grants: Vec<String> = suggestions.iter().map(grant).collect();
    (!grants.is_empty()).then(|| swarm_ui::clean_line(&grants.join(", ")))
}

/// What a suggestion would grant.
fn grant(suggestion: &Value) -> String {
    match serde_json::from_value(suggestion.clone()) {
        Ok(Suggestion::AddRules { rules, .. }) => {
            let words = rules.iter().map(|rule| match &rule.rule_content {
                Some(content) => format!("{}({content})", rule.tool_name),
                None => rule.tool_name.clone(),
            });
            words.collect::<Vec<_>>().join(", ")
        }
        Ok(Suggestion::AddDirectories { directories, .. }) => {
            format!("the folders {}", directories.join(", "))
        }
        Ok(Suggestion::SetMode { mode, .. }) => format!("mode {mode}"),
        Err(_) => suggestion.to_string(),
    }
}

/// The fields of a call, but for one that its heading shows in full.
fn fields(input: &Value, heading: &str) -> Vec<String> {
    let Value::Object(fields) = input else {
        return field("input", input);
    };
    fields
        .iter()
        .filter(|(_, value)| {
            let text = value.as_str().unwrap_or_default();
            !heading.ends_with(&format!(" {text}"))
        })
        .flat_map(|(name, value)| field(name, value))
        .collect()
}

fn field(name: &str, value: &Value) -> Vec<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let (name, text) = (swarm_ui::clean_line(name), plain(text.trim_end()));
    let all: Vec<&str> = text.lines().collect();
    if let [] | [_] = all[..] {
        return vec![format!("  {name}: {text}")];
    }
    let mut lines = vec![format!("  {name}:")];
    lines.extend(
        all.iter()
            .take(FIELD_LINES)
            .map(|line| format!("    {line}")),
    );
    if all.len() > FIELD_LINES {
        let left = all.len() - FIELD_LINES;
        lines.push(format!(
            "    … {left} more lines; `swarm requests --json` has them all"
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use swarm_protocol::{MemberName, RequestId, RequestState, SpawnId};

    use super::*;

    fn request(input: Value) -> RequestRecord {
        RequestRecord {
            id: RequestId::new("perm-1-abcdefg"),
            from: MemberName::parse("bob").unwrap(),
            spawn_id: SpawnId::random(),
            request: RequestKind::Permission {
                tool: "Bash".to_owned(),
                tool_use_id: "t".to_owned(),
                input,
                digest: "d".to_owned(),
                suggestions: vec![json!({
                    "type": "addRules",
                    "rules": [{"toolName": "Bash", "ruleContent": "touch:*"}],
                    "behavior": "allow",
                    "destination": "session",
                })],
            },
            description: "Bash touch made".to_owned(),
            why: "no rule allows `touch made`".to_owned(),
            asked_at: UnixMs(1000),
            deadline: UnixMs(301_000),
            state: RequestState::Open,
        }
    }

    #[test]
    fn a_request_shows_the_exact_call_and_how_to_answer_it() {
        let text = in_full(
            &request(json!({"command": "touch made", "timeout": 5})),
            UnixMs(13_000),
        );
        assert_eq!(
            text,
            "perm-1-abcdefg: bob asks since 12 s; silence means no in 4m 48s\n  \
             Bash touch made\n  timeout: 5\n  why: no rule allows `touch made`\n  \
             yes: swarm approve abcdefg\n  no:  swarm deny abcdefg --why TEXT\n  \
             yes with --always also grants, until it ends: Bash(touch:*)"
        );
    }

    #[test]
    fn a_long_field_is_cut_and_says_so() {
        let long = vec!["x"; 40].join("\n");
        let text = in_full(&request(json!({"content": long})), UnixMs(13_000));
        assert!(text.contains("    x\n    … 28 more lines"), "{text}");
    }

    #[test]
    fn questions_show_their_options_by_number_and_how_to_answer() {
        let mut asked = request(json!({"questions": [
            {"question": "Which one?", "header": "One", "options": [{"label": "A", "description": "first"}, {"label": "B"}]},
            {"question": "And?", "header": "More", "multiSelect": true, "options": [{"label": "C"}]},
        ]}));
        let RequestKind::Permission {
            tool, suggestions, ..
        } = &mut asked.request;
        *tool = "AskUserQuestion".to_owned();
        suggestions.clear();
        asked.why.clear();
        asked.description = "AskUserQuestion Which one?".to_owned();
        assert_eq!(
            in_full(&asked, UnixMs(13_000)),
            "perm-1-abcdefg: bob asks since 12 s; silence means no in 4m 48s\n  \
             AskUserQuestion Which one?\n  Which one?\n    1 A: first\n    2 B\n  And? (several: 1,2)\n    1 C\n  \
             answer: swarm approve abcdefg --answer TEXT --answer TEXT\n  \
             no:  swarm deny abcdefg --why TEXT"
        );
        assert!(in_short(&asked).ends_with("abcdefg --answer TEXT --answer TEXT"));
    }
}
