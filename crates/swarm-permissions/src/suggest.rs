//! Suggestions for calls that require approval: what a person can grant in addition to the call.

use std::path::{Path, PathBuf};

use swarm_protocol::{PermissionMode, ToolKind};

use crate::question::{Question, host};
use crate::shell::base_name;
use crate::{Behavior, Destination, RuleSet, RuleValue, Suggestion, files};

/// Programs with subcommands: a suggested rule covers only the subcommand.
const WITH_SUBCOMMANDS: [&str; 16] = [
    "apt", "brew", "bun", "cargo", "docker", "dotnet", "gh", "git", "go", "helm", "kubectl", "npm",
    "pip", "pnpm", "uv", "yarn",
];

/// Programs with a subcommand `run` that takes a script name: `npm run build`.
const RUNNERS: [&str; 3] = ["npm", "pnpm", "yarn"];

/// Words with which parts of loops, conditions and groups begin. Rules for such parts are of no use:
/// they allow neither the loop with other values nor the command outside of it.
const OF_COMPOUND: [&str; 17] = [
    "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if",
    "select", "then", "until", "while", "{", "}",
];

/// Maximum length in characters of a command that is suggested literally.
const LONGEST_EXACT: usize = 200;

/// Suggests rules for the parts of a command line without an allow rule; without parts, or for a
/// loop, a condition or a group, for exactly the whole command line.
pub(crate) fn for_command(command: &str, missing: &[String]) -> Vec<Suggestion> {
    let mut rules: Vec<RuleValue> = Vec::new();
    let command = command.trim();
    let is_of_compound = |part: &String| {
        let first = part.split_whitespace().next();
        first.is_some_and(|word| OF_COMPOUND.contains(&word))
    };
    let texts = if missing.is_empty() || missing.iter().any(is_of_compound) {
        vec![exact(command)]
    } else {
        missing.iter().map(|part| for_part(part)).collect()
    };
    for text in texts {
        let Some(text) = text else { return Vec::new() };
        let rule = RuleValue {
            tool_name: "Bash".into(),
            rule_content: Some(text),
        };
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    vec![allow_in_session(rules)]
}

fn allow_in_session(rules: Vec<RuleValue>) -> Suggestion {
    Suggestion::AddRules {
        rules,
        behavior: Behavior::Allow,
        destination: Destination::Session,
    }
}

/// Returns a prefix pattern for a program with subcommands, otherwise the exact text.
fn for_part(part: &str) -> Option<String> {
    let words: Vec<&str> = part.split(' ').collect();
    let plain = |word: &&&str| {
        word.chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':' | '.'))
    };
    let taken = match words.first() {
        Some(program) if *program == base_name(program) && WITH_SUBCOMMANDS.contains(program) => {
            let runs = RUNNERS.contains(program) && words.get(1) == Some(&"run");
            if runs { 3 } else { 2 }
        }
        _ => return exact(part),
    };
    let head: Vec<&str> = words.iter().take(taken).filter(plain).copied().collect();
    if head.len() < taken || head.iter().any(|word| word.starts_with('-')) {
        return exact(part);
    }
    Some(format!("{}:*", head.join(" ")))
}

/// Returns the rule content that matches exactly this text.
fn exact(text: &str) -> Option<String> {
    let fits = text.chars().count() <= LONGEST_EXACT && !text.contains('\n') && !text.is_empty();
    fits.then(|| text.replace('\\', r"\\").replace('*', r"\*"))
}

/// Suggests a change that allows this and similar edits: mode acceptEdits for files in the working
/// directories if the agent may have that mode; in that mode, further working directories for other
/// files; otherwise rules for the directories.
pub(crate) fn for_edit(
    mode: PermissionMode,
    rules: &RuleSet,
    question: &Question<'_>,
) -> Vec<Suggestion> {
    let accept = PermissionMode::AcceptEdits;
    let destination = Destination::Session;
    if files::inside(question, rules) && question.ceiling.covers(accept) {
        let mode = accept;
        return vec![Suggestion::SetMode { mode, destination }];
    }
    let paths = question.paths();
    let Some(directories) = directories_of_edit(question, &paths) else {
        return Vec::new();
    };
    if mode == accept {
        let text = |directory: &&Path| directory.to_str().map(str::to_owned);
        return match directories.iter().map(text).collect() {
            Some(directories) => vec![Suggestion::AddDirectories {
                directories,
                destination,
            }],
            None => Vec::new(),
        };
    }
    let rules: Option<Vec<RuleValue>> = directories.into_iter().map(for_edits_below).collect();
    rules.map(allow_in_session).into_iter().collect()
}

/// Returns the directories of the edited files: the working directory for files in it. `None` if
/// there are none or the root of the file system is one of them.
fn directories_of_edit<'a>(question: &Question<'a>, paths: &'a [PathBuf]) -> Option<Vec<&'a Path>> {
    let mut directories: Vec<&Path> = Vec::new();
    for path in paths {
        let directory = match path.parent() {
            _ if path.starts_with(question.cwd) => question.cwd,
            parent => parent.filter(|parent| parent.parent().is_some())?,
        };
        if !directories.contains(&directory) {
            directories.push(directory);
        }
    }
    (!directories.is_empty()).then_some(directories)
}

/// Returns the rule for edits below an absolute directory; `None` for a name that a rule cannot
/// express.
fn for_edits_below(directory: &Path) -> Option<RuleValue> {
    let below = directory.to_str()?.strip_prefix('/')?;
    let mut escaped = String::new();
    for c in below.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '\\') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    let rule = RuleValue {
        tool_name: "Edit".to_owned(),
        rule_content: Some(format!("//{escaped}/**")),
    };
    rule.rule().is_ok().then_some(rule)
}

/// Suggests a rule for every call of a tool.
pub(crate) fn for_tool(question: &Question<'_>) -> Vec<Suggestion> {
    let host = question.text("url").and_then(host);
    let rule = RuleValue {
        tool_name: question.tool.to_owned(),
        rule_content: match question.kind {
            ToolKind::Web => host.map(|host| format!("domain:{host}")),
            _ => None,
        },
    };
    match rule.rule() {
        Ok(_) => vec![allow_in_session(vec![rule])],
        Err(_) => Vec::new(),
    }
}
