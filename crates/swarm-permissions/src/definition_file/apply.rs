//! Conversion of fields to a definition: valid parts are applied, invalid ones reported.

use serde_json::{Map, Value};
use swarm_protocol::{Color, Effort, PermissionMode, word_list};

use crate::pool::ToolSelector;
use crate::{
    AgentDefinition, HookSettings, Isolation, McpServerConfig, McpUse, MemoryScope, ToolAllowance,
    known_tools, nearest,
};

use super::problem::{Effect, Notes, ValueError};
use super::values::{choice, count, disallowed_tools, is_true, shown, text, tools, words};

/// The supported fields.
pub(super) const FIELDS: [&str; 19] = word_list(
    "name description tools disallowedTools allowed-tools model effort permissionMode maxTurns
    skills mcpServers hooks memory background isolation color initialPrompt requiredMcpServers
    omitClaudeMd",
);

/// Claude Code fields that are not supported.
const UNSUPPORTED: [&str; 4] =
    word_list("criticalSystemReminder_EXPERIMENTAL autoCompactWindow observer observerMessage");

#[derive(Debug, PartialEq, Eq)]
pub(super) struct FieldProblem {
    pub(super) field: String,
    pub(super) what: String,
    pub(super) effect: Effect,
}

/// Creates a definition from its fields and its text `prompt`. An invalid value of a restricting
/// field is replaced by the most restrictive interpretation.
pub(super) fn definition(
    fields: &Map<String, Value>,
    prompt: &str,
    origin: &str,
) -> (AgentDefinition, Vec<FieldProblem>) {
    let mut definition = AgentDefinition::new("", "", prompt);
    let mut problems = Vec::new();
    for (field, value) in fields {
        let mut notes = Notes::default();
        let meant = meant(field, fields, &mut notes);
        if let Some(meant) = meant {
            set(&mut definition, meant, value, origin, &mut notes);
            problems.extend(no_tools(&definition, meant));
        }
        problems.extend(notes.0.into_iter().map(|(what, effect)| FieldProblem {
            field: field.clone(),
            what: format!("`{}` {what}", field.escape_debug()),
            effect,
        }));
    }
    if !fields.contains_key("description") {
        problems.push(FieldProblem {
            field: "description".to_owned(),
            what: "`description` is missing: describe when to use this agent".to_owned(),
            effect: Effect::Refused,
        });
    }
    (definition, problems)
}

/// Returns the field that a key denotes; `None` if it is ignored. A misspelled key is treated as
/// the intended field, because the field may be a restriction.
fn meant(field: &str, fields: &Map<String, Value>, notes: &mut Notes) -> Option<&'static str> {
    if let Some(known) = FIELDS.into_iter().find(|known| *known == field) {
        let twice = known == "allowed-tools" && fields.contains_key("tools");
        if twice {
            notes.instead("duplicates `tools`", "`tools` applies");
        }
        return (!twice).then_some(known);
    }
    if UNSUPPORTED.contains(&field) {
        notes.instead("is not supported", "it is ignored");
        return None;
    }
    match nearest(field, FIELDS) {
        Some(meant) if fields.contains_key(meant) => {
            notes.instead(
                format!("is not a field, and `{meant}` is also present"),
                "it is ignored",
            );
            None
        }
        Some(meant) => {
            notes.instead(
                format!("is not a field: did you mean `{meant}`?"),
                "it is treated as such",
            );
            Some(meant)
        }
        None => {
            notes.remark("is not a known field and is ignored");
            None
        }
    }
}

/// Returns remarks about unknown tools in a list of tools. The tools of MCP servers are not known
/// here.
fn no_tools(definition: &AgentDefinition, field: &str) -> Vec<FieldProblem> {
    let entries = match (field, &definition.tools) {
        ("tools" | "allowed-tools", ToolAllowance::Only(entries)) => entries,
        ("disallowedTools", _) => &definition.disallowed_tools,
        _ => return Vec::new(),
    };
    let known: Vec<&str> = known_tools().collect();
    let unknown = entries.iter().filter(|entry| {
        let named = |name: &str| known.iter().any(|tool| tool.eq_ignore_ascii_case(name));
        match ToolSelector::parse(entry) {
            Ok(ToolSelector::Tool(name)) => !named(&name),
            Ok(ToolSelector::Calls(rule)) => {
                !named(rule.tool()) && !rule.tool().starts_with("mcp__")
            }
            _ => false,
        }
    });
    let remark = |entry: &String| {
        let name = entry.split('(').next().unwrap_or(entry);
        let meant = nearest(name, known.iter().copied());
        // Removing a nonexistent tool is harmless, unless its name is misspelled.
        if meant.is_none() && field == "disallowedTools" {
            return None;
        }
        let meant = meant.map_or_else(String::new, |tool| format!(": did you mean `{tool}`?"));
        let entry = entry.escape_debug();
        Some(FieldProblem {
            field: field.to_owned(),
            what: format!("unknown tool `{entry}` in `{field}`{meant}"),
            effect: Effect::None,
        })
    };
    unknown.filter_map(remark).collect()
}

/// Sets a field to the valid part of its value and adds problems.
fn set(
    definition: &mut AgentDefinition,
    field: &str,
    value: &Value,
    origin: &str,
    notes: &mut Notes,
) {
    match field {
        "name" => definition.name = notes.required(name(value)),
        "description" => {
            definition.description = notes.required(text(value)).replace("\\n", "\n");
        }
        "tools" | "allowed-tools" => definition.tools = tools(value, notes),
        "disallowedTools" => definition.disallowed_tools = disallowed_tools(value, notes),
        "model" => definition.model = notes.value(text(value)),
        "effort" => {
            let effort = notes.value(choice(value, &Effort::NAMES));
            definition.effort = effort.map(|effort| effort.name().to_owned());
        }
        "permissionMode" => definition.permission_mode = mode(value, notes),
        "maxTurns" => definition.max_turns = notes.value(count(value)),
        "skills" => definition.skills = notes.value(words(value)).unwrap_or_default(),
        "mcpServers" => definition.mcp_servers = servers(value, notes),
        "hooks" => definition.hooks = hooks(value, origin, notes),
        "memory" => definition.memory = notes.value(choice(value, &MemoryScope::NAMES)),
        "background" => definition.background = is_true(value),
        "omitClaudeMd" => definition.omit_claude_md = is_true(value),
        "isolation" => definition.isolation = Some(isolation(value, notes)),
        "color" => definition.color = notes.value(choice(value, &Color::NAMES)),
        "initialPrompt" => definition.initial_prompt = notes.value(text(value)),
        "requiredMcpServers" => {
            definition.required_mcp_servers = notes.value(words(value)).unwrap_or_default();
        }
        _ => {}
    }
}

/// Names become directory names, so path separators and `..` are not allowed.
fn name(value: &Value) -> Result<String, ValueError> {
    let name = text(value)?;
    let kept = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ');
    let starts = name.starts_with(char::is_alphanumeric);
    if starts && name.chars().all(kept) && name.chars().count() <= 64 && !name.contains("..") {
        return Ok(name);
    }
    Err(format!(
        "is `{}`: use letters, digits, `-` and `_`, at most 64, beginning with a letter or digit",
        shown(value).escape_debug()
    ))
}

/// Without a mode an agent has its parent's, which no definition can raise.
fn mode(value: &Value, notes: &mut Notes) -> Option<PermissionMode> {
    match value.as_str().map(str::trim) {
        Some("auto") => {
            notes.instead("is `auto`, which is not supported", "`default` applies");
            return Some(PermissionMode::Default);
        }
        // Approval is requested through the parent, as for every agent.
        Some("bubble") => return None,
        _ => {}
    }
    // Claude Code's other name for the default mode.
    let manual = [("manual", PermissionMode::Default)];
    match choice(value, &[&PermissionMode::NAMES[..], &manual].concat()) {
        Ok(mode) => Some(mode),
        Err(wrong) => {
            notes.instead(wrong, "the parent's mode applies");
            None
        }
    }
}

/// Parses the isolation. Any other value is treated as `worktree`, also `remote`, which only calls
/// of the tool Agent support.
fn isolation(value: &Value, notes: &mut Notes) -> Isolation {
    let worktree = Isolation::Worktree;
    choice(value, &[(worktree.name(), worktree)]).unwrap_or_else(|wrong| {
        notes.instead(wrong, "it gets a worktree");
        worktree
    })
}

/// Parses hooks in the format of `settings.json`.
fn hooks(value: &Value, origin: &str, notes: &mut Notes) -> HookSettings {
    let (hooks, remarks) = HookSettings::read(value, origin);
    if !remarks.is_empty() {
        let what = format!("is partly invalid: {}", remarks.join("; "));
        notes.instead(what, "the other hooks run");
    }
    hooks
}

/// Parses names of the parent's servers and private servers. Invalid entries are ignored.
pub(super) fn servers(value: &Value, notes: &mut Notes) -> Vec<McpUse> {
    match value {
        Value::Null => Vec::new(),
        Value::String(line) => crate::pool::split(line).map(McpUse::Shared).collect(),
        Value::Object(own) => all(own, notes),
        Value::Array(items) => {
            let mut uses = Vec::new();
            for item in items {
                match item {
                    Value::Object(own) => uses.extend(all(own, notes)),
                    name => match text(name) {
                        Ok(name) => uses.push(McpUse::Shared(name)),
                        Err(wrong) => notes.instead(wrong, "the entry is ignored"),
                    },
                }
            }
            uses
        }
        _ => {
            let what = "must be a list of names, or of `name: {command: …}`";
            notes.instead(what, "it is ignored");
            Vec::new()
        }
    }
}

fn all(own: &Map<String, Value>, notes: &mut Notes) -> Vec<McpUse> {
    let understood = |(name, config): (&String, &Value)| match McpServerConfig::from_json(config) {
        Ok(config) => Some(McpUse::Own(name.clone(), config)),
        Err(what) => {
            let name = name.escape_debug();
            let what = format!("has an invalid server `{name}`: {what}");
            notes.instead(what, "the server is ignored");
            None
        }
    };
    own.iter().filter_map(understood).collect()
}
