//! Grants that an answer may carry, in the shape of Claude Code's `permission_suggestions` and `permission_updates`.

use std::path::Path;

use serde::{Deserialize, Serialize};
use swarm_protocol::{PermissionMode, ToolKind};

use crate::question::{Question, host};
use crate::shell::base_name;
use crate::{Rule, RuleError};

/// A change to the rules in force that would save the next such question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Suggestion {
    /// Adds rules.
    #[serde(rename_all = "camelCase")]
    AddRules {
        /// The rules.
        rules: Vec<RuleValue>,
        /// The list they join.
        behavior: Behavior,
        /// How long they last.
        destination: Destination,
    },
    /// Adds directories that count as part of the working directory.
    #[serde(rename_all = "camelCase")]
    AddDirectories {
        /// Absolute paths.
        directories: Vec<String>,
        /// How long they last.
        destination: Destination,
    },
    /// Changes the mode.
    #[serde(rename_all = "camelCase")]
    SetMode {
        /// The mode.
        mode: PermissionMode,
        /// How long it lasts.
        destination: Destination,
    },
}

/// A rule in two parts, as messages carry it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleValue {
    /// The tool.
    pub tool_name: String,
    /// What stands between the brackets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_content: Option<String>,
}

/// Which list a rule stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Behavior {
    /// Calls run.
    Allow,
    /// Calls are refused.
    Deny,
    /// Calls are asked about.
    Ask,
}

/// Where a granted change is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Destination {
    /// In the running agent only.
    Session,
    /// In `.claude/settings.local.json`.
    LocalSettings,
    /// In `.claude/settings.json`.
    ProjectSettings,
    /// In the user's `settings.json`.
    UserSettings,
}

impl RuleValue {
    /// The rule that the two parts make.
    pub fn rule(&self) -> Result<Rule, RuleError> {
        match &self.rule_content {
            None => Rule::parse(&self.tool_name),
            Some(content) => Rule::parse(&format!("{}({content})", self.tool_name)),
        }
    }
}

/// Programs with subcommands: a grant for one is a grant for that subcommand.
const WITH_SUBCOMMANDS: [&str; 16] = [
    "apt", "brew", "bun", "cargo", "docker", "dotnet", "gh", "git", "go", "helm", "kubectl", "npm",
    "pip", "pnpm", "uv", "yarn",
];

/// Programs whose second word is a subcommand that has one of its own: `npm run build`.
const RUNNERS: [&str; 3] = ["npm", "pnpm", "yarn"];

/// The longest command that is suggested word for word, in characters.
const LONGEST_EXACT: usize = 200;

/// Grants for the parts of a command line that nothing allows yet; for the whole, word for word, when it has no parts.
pub(crate) fn for_command(command: &str, missing: &[String]) -> Vec<Suggestion> {
    let mut rules: Vec<RuleValue> = Vec::new();
    let command = command.trim();
    let texts = if missing.is_empty() {
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
    vec![Suggestion::AddRules {
        rules,
        behavior: Behavior::Allow,
        destination: Destination::Session,
    }]
}

/// A prefix where the program is known to have harmlessly distinct subcommands, else the exact text.
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

/// The rule content that means exactly this text.
fn exact(text: &str) -> Option<String> {
    let fits = text.chars().count() <= LONGEST_EXACT && !text.contains('\n') && !text.is_empty();
    let escaped = text.replace('\\', r"\\").replace('*', r"\*");
    // A text that ends like a prefix rule cannot be written as an exact one.
    (fits && !escaped.ends_with(":*")).then_some(escaped)
}

/// A grant for edits below the working directory, or below the directories of the files when these lie outside. It is a rule
/// and not a mode: an agent's mode may be at its ceiling, and what a person grants must hold all the same.
pub(crate) fn for_edit(question: &Question<'_>) -> Vec<Suggestion> {
    let mut rules: Vec<RuleValue> = Vec::new();
    for path in question.paths() {
        let directory = match path.parent() {
            _ if path.starts_with(question.cwd) => question.cwd,
            Some(directory) => directory,
            None => return Vec::new(),
        };
        let Some(rule) = for_edits_below(directory) else {
            return Vec::new();
        };
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    if rules.is_empty() {
        return Vec::new();
    }
    vec![Suggestion::AddRules {
        rules,
        behavior: Behavior::Allow,
        destination: Destination::Session,
    }]
}

/// The rule for edits below an absolute directory; none for the root of the file system or a name that no rule can hold.
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
    (!below.is_empty() && rule.rule().is_ok()).then_some(rule)
}

/// A grant for every call of a tool.
pub(crate) fn for_tool(question: &Question<'_>) -> Vec<Suggestion> {
    let host = question.text("url").and_then(host);
    let rule = RuleValue {
        tool_name: question.tool.to_owned(),
        rule_content: match question.kind {
            ToolKind::Web => host.map(|host| format!("domain:{host}")),
            _ => None,
        },
    };
    if rule.rule().is_err() {
        return Vec::new();
    }
    vec![Suggestion::AddRules {
        rules: vec![rule],
        behavior: Behavior::Allow,
        destination: Destination::Session,
    }]
}
