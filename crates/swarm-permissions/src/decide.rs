//! The decision: deny rules, then ask rules, then allow rules, then the mode.

use swarm_protocol::{PermissionMode, ToolKind, shortened};

use crate::command::{self, Grant, MatchedRule, UnmatchedParts};
use crate::pool::names_mcp;
use crate::question::{Question, host};
use crate::rule::Content;
use crate::shell::CommandAnalysis;
use crate::suggest::{for_command, for_edit, for_tool};
use crate::{Behavior, Decision, Rule, RuleSet, SourcedRule, files};

/// Decides one call.
///
/// Deny rules apply in every mode, then ask rules, then allow rules, and finally the mode. Plan
/// mode denies everything but reading before any allow rule. Mode dontAsk denies calls that would
/// require approval. Tools that ask a person require an answer in every mode; no rule provides it.
pub fn decide(mode: PermissionMode, rules: &RuleSet, question: &Question<'_>) -> Decision {
    if let Some(why) = limit_violation(rules, question) {
        return deny(why);
    }
    let decision = match question.command() {
        Some(command) => {
            with_start_directory(question, decide_command(mode, rules, question, command))
        }
        None => decide_tool(mode, rules, question),
    };
    match decision {
        Decision::Ask { why, .. } if mode == PermissionMode::DontAsk => deny(format!(
            "{why}, and mode dontAsk denies calls that require approval"
        )),
        decision => decision,
    }
}

/// Adds the directory in which a command starts to the reason if it is not the working directory.
fn with_start_directory(question: &Question<'_>, decision: Decision) -> Decision {
    match decision {
        Decision::Ask { why, suggestions } if question.starts_in != question.cwd => Decision::Ask {
            why: format!("{why} (it starts in {})", question.starts_in.display()),
            suggestions,
        },
        decision => decision,
    }
}

/// Returns why a call exceeds the limits of a tool.
fn limit_violation(rules: &RuleSet, question: &Question<'_>) -> Option<String> {
    let (tool, kind) = (question.tool, question.kind);
    let fits = |rule: &Rule| {
        rule.names(tool, kind, Behavior::Allow) && fits(rule, question, Behavior::Allow)
    };
    let limit = rules.limits.iter().find(|limit| {
        let is_within = || match question.command() {
            Some(command) => command::is_within(&limit.calls, command),
            None => limit.calls.iter().any(fits),
        };
        (limit.tool == tool || names_mcp(&limit.tool, tool)) && !is_within()
    })?;
    let calls: Vec<String> = limit.calls.iter().map(|rule| format!("`{rule}`")).collect();
    Some(format!(
        "{} limits `{tool}` to {}",
        limit.origin,
        calls.join(", ")
    ))
}

fn decide_tool(mode: PermissionMode, rules: &RuleSet, question: &Question<'_>) -> Decision {
    let tool = question.tool;
    let first = |behavior| {
        rules.list(behavior).iter().find(|rule| {
            rule.rule.names(tool, question.kind, behavior) && fits(&rule.rule, question, behavior)
        })
    };
    if let Some(rule) = first(Behavior::Deny) {
        return deny(format!("rule {rule} denies it"));
    }
    let web = question.kind == ToolKind::Web;
    let reads = question.kind == ToolKind::Read || (question.read_only && !web);
    let inward = matches!(question.kind, ToolKind::Team | ToolKind::Own);
    if question.kind == ToolKind::Person {
        return ask(format!("`{tool}` requires an answer from a person"));
    }
    if mode == PermissionMode::Plan && !(reads || inward || web) {
        return refused_by_plan(tool);
    }
    if let Some(rule) = first(Behavior::Ask) {
        return ask(format!("rule {rule} asks about it"));
    }
    if let Some(why) = files::concern(rules, mode, question) {
        return ask(why);
    }
    if inward {
        return allow("it affects only the team or the agent itself");
    }
    if let Some(rule) = first(Behavior::Allow) {
        return allow(format!("rule {rule} allows it"));
    }
    if reads {
        return allow("it only reads");
    }
    match mode {
        PermissionMode::BypassPermissions => {
            allow("mode bypassPermissions allows calls that no rule forbids")
        }
        PermissionMode::AcceptEdits if files::inside(question, rules) => {
            allow("mode acceptEdits allows edits in the working directory")
        }
        PermissionMode::AcceptEdits if question.kind == ToolKind::Edit => Decision::Ask {
            why: format!("`{tool}` would change a file outside the working directory"),
            suggestions: for_edit(mode, rules, question),
        },
        _ => Decision::Ask {
            why: format!("no rule covers this call of `{tool}`{}", asks(mode)),
            suggestions: match question.kind {
                ToolKind::Edit => for_edit(mode, rules, question),
                _ => for_tool(question),
            },
        },
    }
}

/// Returns the last clause of a reason to ask. Mode dontAsk does not ask: [`decide`] denies the call
/// and adds its own clause.
fn asks(mode: PermissionMode) -> String {
    match mode {
        PermissionMode::DontAsk => String::new(),
        mode => format!(", and mode {mode} asks"),
    }
}

fn decide_command(
    mode: PermissionMode,
    rules: &RuleSet,
    question: &Question<'_>,
    command: &str,
) -> Decision {
    let analysis = CommandAnalysis::of(command);
    let restriction =
        |behavior| command::restriction(rules, behavior, question, command, &analysis);
    if let Some(MatchedRule { rule, part }) = restriction(Behavior::Deny) {
        let part = short(&part);
        return deny(format!("rule {rule} denies it (it matches `{part}`)"));
    }
    let grant = command::grant(rules, question, command);
    if mode == PermissionMode::Plan && !command::only_reads(rules, question, command) {
        return match &grant {
            Grant::Missing(UnmatchedParts {
                parts,
                git_doubt: Some(doubt),
            }) => deny(format!(
                "mode plan only allows reading, and `{}` does not count as reading here, because {doubt}",
                parts.first().map_or(String::new(), |part| short(part))
            )),
            _ => refused_by_plan("Bash"),
        };
    }
    if let Some(MatchedRule { rule, part }) = restriction(Behavior::Ask) {
        let part = short(&part);
        return ask(format!("rule {rule} asks about it (it matches `{part}`)"));
    }
    if analysis.unreadable
        && let Some(rule) = command::any_restriction(rules)
    {
        return ask(format!(
            "the command cannot be parsed well enough to check it against rule {rule}"
        ));
    }
    match grant {
        Grant::ReadOnly => allow("the command only reads"),
        Grant::Rules(granted) => allow(allowed_by_all(&granted)),
        Grant::Missing(_) if mode == PermissionMode::BypassPermissions => {
            allow("mode bypassPermissions allows calls that no rule forbids")
        }
        Grant::Missing(missing) => Decision::Ask {
            why: match (missing.parts.first(), missing.git_doubt) {
                (Some(part), Some(doubt)) => format!(
                    "`{}` does not count as reading here, because {doubt}; no rule allows it{}",
                    short(part),
                    asks(mode)
                ),
                (Some(part), None) => {
                    format!("no rule allows `{}`{}", short(part), asks(mode))
                }
                (None, _) => format!(
                    "the command has substitutions, groups or redirections or cannot be parsed, so rules for simple \
                    commands do not allow it{}",
                    asks(mode)
                ),
            },
            suggestions: for_command(command, &missing.parts),
        },
    }
}

/// Returns whether a rule that names the tool matches this input.
fn fits(rule: &Rule, question: &Question<'_>, behavior: Behavior) -> bool {
    match rule.content() {
        Content::Any => true,
        Content::Command(_) => false,
        Content::Path(_) => files::rule_fits(rule, question, behavior),
        Content::Domain(pattern) => question
            .text("url")
            .and_then(host)
            .is_some_and(|host| pattern.matches(&host)),
        Content::Parameter(name, pattern) => match question.input.get(name) {
            Some(serde_json::Value::String(text)) => pattern.matches(text),
            Some(value) => pattern.matches(&value.to_string()),
            None => false,
        },
    }
}

fn allow(why: impl Into<String>) -> Decision {
    Decision::Allow { why: why.into() }
}

fn deny(why: String) -> Decision {
    Decision::Deny { why }
}

/// Asks without suggesting a rule.
fn ask(why: String) -> Decision {
    Decision::Ask {
        why,
        suggestions: Vec::new(),
    }
}

fn allowed_by_all(rules: &[&SourcedRule]) -> String {
    let mut named: Vec<String> = Vec::new();
    for rule in rules {
        let name = rule.to_string();
        if !named.contains(&name) {
            named.push(name);
        }
    }
    match named.as_slice() {
        [one] => format!("rule {one} allows it"),
        many => format!("rules {} allow its parts", many.join(" and ")),
    }
}

fn refused_by_plan(tool: &str) -> Decision {
    deny(format!(
        "mode plan only allows reading, and this call of `{tool}` may change something"
    ))
}

/// Shortens a text to one line for use in a message.
fn short(text: &str) -> String {
    const LONGEST: usize = 80;
    shortened(&text.replace(char::is_control, " "), LONGEST)
}
