//! Text form of a request. The user approves the exact call, so it is shown in full.

use serde_json::Value;
use swarm_permissions::Suggestion;
use swarm_protocol::{PermissionMode, RequestKind, RequestRecord, TeamName, UnixMs};
use swarm_team::AlwaysGrants;
use swarm_tools::AskedQuestion;

use super::diff;

use crate::commands::members::age;
use crate::output::plain;

/// Formats the whole request and the commands that answer it, which begin with `prefix`; `team` is
/// its team if they must name it.
pub(super) fn in_full(
    request: &RequestRecord,
    team: Option<&TeamName>,
    now: UnixMs,
    prefix: &str,
) -> String {
    let number = request.short();
    let of_team = team.map_or_else(String::new, |team| format!(" of {team}"));
    let short = team.map_or_else(
        || number.to_string(),
        |team| format!("{number} --team {team}"),
    );
    let deadline = request.deadline.map_or_else(String::new, |deadline| {
        format!("; denied automatically in {}", age(deadline, now))
    });
    let (from, since) = (&request.from, age(now, request.asked_at));
    let mut lines = vec![
        format!("{number}: {from}{of_team} has been waiting for {since}{deadline}"),
        format!("  {}", what(request)),
    ];
    lines.extend(details(request));
    if let Some(asked) = questions(request) {
        let each = " --answer TEXT".repeat(asked.len());
        lines.push(format!("  answer: {prefix}approve {short}{each}"));
    } else {
        lines.push(format!("  yes: {prefix}approve {short}"));
    }
    lines.push(format!("  no:  {prefix}deny {short} --why TEXT"));
    if let Some(granted) = granted(request, true) {
        lines.push(format!("  yes with --always also grants, {granted}"));
    }
    lines.join("\n")
}

/// Formats the details: other fields of a call and the reason for asking, or questions with their
/// options.
pub(in crate::commands) fn details(request: &RequestRecord) -> Vec<String> {
    if let Some(asked) = questions(request) {
        return asked.iter().flat_map(options).collect();
    }
    let mut lines = match &request.request {
        RequestKind::Permission { tool, input, .. } => {
            diff::of_call(tool, input).unwrap_or_else(|| fields(input, &what(request)))
        }
        RequestKind::Plan {
            plan,
            plan_file_path,
            mode,
        } => plan_lines(plan, plan_file_path, *mode),
        RequestKind::Sandbox { host } => vec![format!("  host: {}", swarm_ui::clean_line(host))],
    };
    if !request.why.is_empty() {
        lines.push(format!("  why: {}", swarm_ui::clean_line(&request.why)));
    }
    lines
}

fn plan_lines(plan: &str, path: &str, mode: PermissionMode) -> Vec<String> {
    let mut lines = field("plan", &Value::from(plan));
    lines.extend(field("file", &Value::from(path)));
    lines.push(format!("  once approved: it continues in mode {mode}"));
    lines
}

/// Formats one line with the command that answers, which begins with `prefix`.
pub(in crate::commands) fn in_short(request: &RequestRecord, prefix: &str) -> String {
    let answers = questions(request).map_or(0, |asked| asked.len());
    format!(
        "{} asks: {}\n  {prefix}approve {}{}",
        request.from,
        what(request),
        request.short(),
        " --answer TEXT".repeat(answers)
    )
}

/// Formats why a member ignored an answer to its request.
pub(in crate::commands) fn ignored_answer(reason: &str) -> String {
    format!("  an answer was ignored: {}", swarm_ui::clean_line(reason))
}

/// Formats the call in one line.
pub(in crate::commands) fn what(request: &RequestRecord) -> String {
    let tool = request.request.tool();
    let description = swarm_ui::clean_line(&request.description);
    if description.is_empty() {
        swarm_ui::clean_line(tool)
    } else {
        description
    }
}

/// Returns whether the call asks questions that need an answer instead of an approval.
pub(super) fn asks(request: &RequestRecord) -> bool {
    questions(request).is_some()
}

pub(in crate::commands) fn questions(request: &RequestRecord) -> Option<Vec<AskedQuestion>> {
    let RequestKind::Permission { tool, input, .. } = &request.request else {
        return None;
    };
    let asks = tool == "AskUserQuestion";
    asks.then(|| swarm_tools::questions(input).ok()).flatten()
}

/// Formats a question with its numbered options.
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

/// Describes what `--always` grants in addition to the call, with its scope.
pub(in crate::commands) fn granted(request: &RequestRecord, has_teammates: bool) -> Option<String> {
    let AlwaysGrants {
        for_team,
        for_requester,
    } = AlwaysGrants::of(request);
    let mut grants = Vec::new();
    if !for_team.is_empty() {
        let rules: Vec<String> = for_team.iter().map(ToString::to_string).collect();
        let scope = if has_teammates {
            "for the whole team"
        } else {
            "from now on"
        };
        grants.push(format!("{scope}: {}", rules.join(", ")));
    }
    grants.extend(for_requester.iter().map(|suggestion| {
        let suggestion = serde_json::from_value(suggestion.clone()).map_err(|_| suggestion);
        format!("{}: {}", scope(request, &suggestion), grant(suggestion))
    }));
    (!grants.is_empty()).then(|| swarm_ui::clean_line(&grants.join(", ")))
}

/// Returns how long the requester has what `--always` grants to it alone.
fn scope<E>(request: &RequestRecord, suggestion: &Result<Suggestion, E>) -> &'static str {
    match suggestion {
        // Its program decides.
        _ if request.spawn_id.is_none() => "for this member only",
        // A restarted member continues in its last mode, a lead in that of its command.
        Ok(Suggestion::SetMode { .. }) if !request.from.is_lead() => {
            "for this member until you change it"
        }
        _ => "until it exits",
    }
}

fn grant(suggestion: Result<Suggestion, &Value>) -> String {
    match suggestion {
        Ok(Suggestion::AddRules {
            rules, behavior, ..
        }) => {
            let words = rules.iter().map(|rule| match &rule.rule_content {
                Some(content) => format!("{}({content})", rule.tool_name),
                None => rule.tool_name.clone(),
            });
            let words = words.collect::<Vec<_>>().join(", ");
            format!("{behavior} {words}")
        }
        Ok(Suggestion::AddDirectories { directories, .. }) => {
            format!("edits in {}", directories.join(", "))
        }
        Ok(Suggestion::SetMode {
            mode: PermissionMode::AcceptEdits,
            ..
        }) => "mode acceptEdits (edits in its working directory)".to_owned(),
        Ok(Suggestion::SetMode { mode, .. }) => format!("mode {mode}"),
        Err(suggestion) => suggestion.to_string(),
    }
}

/// Returns the fields of a call, except one that its heading shows in full.
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
    lines.extend(all.iter().map(|line| format!("    {line}")));
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use swarm_protocol::{MemberName, RequestId, SpawnId};

    use super::*;

    const SHELL: &str = "swarm ";

    fn request(input: Value) -> RequestRecord {
        RequestRecord {
            number: Some(3),
            spawn_id: Some(SpawnId::random()),
            description: "Bash touch made".to_owned(),
            why: "no rule allows `touch made`".to_owned(),
            deadline: Some(UnixMs(301_000)),
            ..RequestRecord::open(
                RequestId::new("perm-1-abcdefg"),
                MemberName::parse("bob").unwrap(),
                RequestKind::Permission {
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
                UnixMs(1000),
            )
        }
    }

    #[test]
    fn a_request_shows_the_exact_call_and_how_to_answer_it() {
        let text = in_full(
            &request(json!({"command": "touch made", "timeout": 5})),
            None,
            UnixMs(13_000),
            SHELL,
        );
        assert_eq!(
            text,
            "p3: bob has been waiting for 12 s; denied automatically in 4m 48s\n  \
             Bash touch made\n  timeout: 5\n  why: no rule allows `touch made`\n  \
             yes: swarm approve p3\n  no:  swarm deny p3 --why TEXT\n  \
             yes with --always also grants, for the whole team: Bash(touch:*)"
        );
    }

    #[test]
    fn only_allow_rules_are_for_the_whole_team() {
        let rule = |behavior: &str| {
            json!({
                "type": "addRules", "behavior": behavior, "destination": "session",
                "rules": [{"toolName": "Bash", "ruleContent": "touch:*"}],
            })
        };
        let directory =
            json!({"type": "addDirectories", "directories": ["/srv"], "destination": "session"});
        let mode = json!({"type": "setMode", "mode": "plan", "destination": "session"});
        let mut asked = request(json!({}));
        let mut granted_for = |spawn_id: Option<SpawnId>, suggestion: &Value| {
            asked.spawn_id = spawn_id;
            if let RequestKind::Permission { suggestions, .. } = &mut asked.request {
                *suggestions = vec![suggestion.clone()];
            }
            granted(&asked, true)
        };
        let (own, of_program) = (Some(SpawnId::random()), None);
        let allow = rule("allow");
        assert_eq!(
            granted_for(own, &allow).unwrap(),
            "for the whole team: Bash(touch:*)"
        );
        assert_eq!(
            granted_for(of_program, &allow).unwrap(),
            "for this member only: allow Bash(touch:*)"
        );
        for (suggestion, expected) in [
            (rule("deny"), "until it exits: deny Bash(touch:*)"),
            (directory, "until it exits: edits in /srv"),
            (mode, "for this member until you change it: mode plan"),
        ] {
            assert_eq!(granted_for(own, &suggestion).as_deref(), Some(expected));
        }
        let invalid = json!({
            "type": "addRules", "behavior": "allow", "destination": "session",
            "rules": [{"toolName": "Bsh", "ruleContent": "x"}],
        });
        assert_eq!(granted_for(own, &invalid), None);
    }

    #[test]
    fn long_call_is_shown_in_full_and_without_a_missing_deadline() {
        let long = vec!["x"; 40].join("\n");
        let mut asked = request(json!({"content": long}));
        asked.deadline = None;
        let text = in_full(&asked, None, UnixMs(13_000), SHELL);
        assert_eq!(text.matches("    x\n").count(), 40, "{text}");
        assert!(
            text.starts_with("p3: bob has been waiting for 12 s\n"),
            "{text}"
        );
    }

    #[test]
    fn plan_is_shown_in_full_with_the_next_mode() {
        let mut asked = request(Value::Null);
        asked.description = "ExitPlanMode Fix it".to_owned();
        asked.request = RequestKind::Plan {
            plan: "# Fix it\n1. look\n2. fix".to_owned(),
            plan_file_path: "/root/plans/x.md".to_owned(),
            mode: PermissionMode::AcceptEdits,
        };
        let text = in_full(&asked, None, UnixMs(13_000), SHELL);
        for words in [
            "  plan:\n    # Fix it\n    1. look\n    2. fix\n",
            "  file: /root/plans/x.md",
            "continues in mode acceptEdits",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }

    #[test]
    fn questions_show_their_options_by_number_and_how_to_answer() {
        let mut asked = request(json!({"questions": [
            {"question": "Which one?", "header": "One", "options": [{"label": "A", "description": "first"}, {"label": "B"}]},
            {"question": "And?", "header": "More", "multiSelect": true, "options": [{"label": "C"}]},
        ]}));
        let RequestKind::Permission {
            tool, suggestions, ..
        } = &mut asked.request
        else {
            unreachable!()
        };
        *tool = "AskUserQuestion".to_owned();
        suggestions.clear();
        asked.why.clear();
        asked.description = "AskUserQuestion Which one?".to_owned();
        assert_eq!(
            in_full(&asked, None, UnixMs(13_000), SHELL),
            "p3: bob has been waiting for 12 s; denied automatically in 4m 48s\n  \
             AskUserQuestion Which one?\n  Which one?\n    1 A: first\n    2 B\n  And? (several: 1,2)\n    1 C\n  \
             answer: swarm approve p3 --answer TEXT --answer TEXT\n  \
             no:  swarm deny p3 --why TEXT"
        );
        let team = TeamName::parse("web").unwrap();
        let text = in_full(&asked, Some(&team), UnixMs(13_000), SHELL);
        assert!(
            text.starts_with("p3: bob of web has been waiting"),
            "{text}"
        );
        assert!(
            text.contains("swarm approve p3 --team web --answer TEXT"),
            "{text}"
        );
        assert!(in_short(&asked, SHELL).ends_with("p3 --answer TEXT --answer TEXT"));
        let in_lead = in_full(&asked, None, UnixMs(13_000), "/");
        assert!(in_lead.ends_with("  no:  /deny p3 --why TEXT"), "{in_lead}");
    }
}
