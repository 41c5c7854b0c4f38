//! Field by field: each is applied as far as it is understood, and the rest is named.

use serde_json::{Map, Value};
use swarm_protocol::{Color, Effort, PermissionMode};

use super::servers::servers;
use super::values::{Wrong, choice, count, is_true, shown, text, tools, tools_taken, words};
use crate::nearest;
use crate::{
    AgentDefinition, HookSettings, Isolation, MemoryScope, ToolAllowance, ToolSelector, known_tools,
};

/// The fields that are applied.
pub(super) const FIELDS: [&str; 19] = [
    "name",
    "description",
    "tools",
    "disallowedTools",
    "allowed-tools",
    "model",
    "effort",
    "permissionMode",
    "maxTurns",
    "skills",
    "mcpServers",
    "hooks",
    "memory",
    "background",
    "isolation",
    "color",
    "initialPrompt",
    "requiredMcpServers",
    "omitClaudeMd",
];

/// Fields of Claude Code that mean something which is not done here.
const NOT_DONE: [&str; 4] = [
    "criticalSystemReminder_EXPERIMENTAL",
    "autoCompactWindow",
    "observer",
    "observerMessage",
];

/// What is wrong with which field.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FieldProblem {
    pub(super) field: String,
    pub(super) what: String,
    pub(super) effect: Effect,
}

/// What becomes of a definition with a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// There is no definition.
    Refused,
    /// The definition counts, and this half sentence says with what instead.
    Instead(&'static str),
    /// The definition counts as it is.
    None,
}

/// Makes a definition of its fields. `prompt` is its text. What is not understood of a field that restricts the agent is
/// read as the tightest that it may mean.
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
            what: "`description` is missing: say when to use this agent".to_owned(),
            effect: Effect::Refused,
        });
    }
    (definition, problems)
}

/// What is to be said of one field.
#[derive(Debug, Default)]
pub(super) struct Notes(Vec<(Wrong, Effect)>);

impl Notes {
    /// Something is not understood, and `instead` holds.
    pub(super) fn instead(&mut self, what: impl Into<Wrong>, instead: &'static str) {
        self.0.push((what.into(), Effect::Instead(instead)));
    }

    fn remark(&mut self, what: impl Into<Wrong>) {
        self.0.push((what.into(), Effect::None));
    }

    /// The value if it is understood.
    fn value<T>(&mut self, value: Result<T, Wrong>) -> Option<T> {
        value
            .map_err(|wrong| self.instead(wrong, "it is ignored"))
            .ok()
    }

    /// A value without which there is no definition.
    fn required(&mut self, value: Result<String, Wrong>) -> String {
        value.unwrap_or_else(|wrong| {
            self.0.push((wrong, Effect::Refused));
            String::new()
        })
    }
}

/// The field that a key stands for; `None` if it counts for nothing. A slip of the finger is read as what was meant, since
/// that may have been to take something away.
fn meant(field: &str, fields: &Map<String, Value>, notes: &mut Notes) -> Option<&'static str> {
    if let Some(known) = FIELDS.into_iter().find(|known| *known == field) {
        let twice = known == "allowed-tools" && fields.contains_key("tools");
        if twice {
            notes.instead("says the same as `tools`", "`tools` counts");
        }
        return (!twice).then_some(known);
    }
    if NOT_DONE.contains(&field) {
        notes.instead("is not supported", "it is ignored");
        return None;
    }
    match nearest(field, FIELDS) {
        Some(meant) if fields.contains_key(meant) => {
            notes.instead(
                format!("is not a field, and `{meant}` is there too"),
                "it is ignored",
            );
            None
        }
        Some(meant) => {
            notes.instead(
                format!("is not a field: did you mean `{meant}`?"),
                "it is read as that",
            );
            Some(meant)
        }
        None => {
            notes.remark("means nothing here and is left out");
            None
        }
    }
}

/// Remarks on the entries of a list of tools that speak of no tool there is. Those of MCP servers are known only to these.
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
        // To take away a tool that is not there costs nothing, where it is no slip of the finger.
        if meant.is_none() && field == "disallowedTools" {
            return None;
        }
        let meant = meant.map_or_else(String::new, |tool| format!(": did you mean `{tool}`?"));
        let entry = entry.escape_debug();
        Some(FieldProblem {
            field: field.to_owned(),
            what: format!("`{field}` names `{entry}`, and there is no such tool{meant}"),
            effect: Effect::None,
        })
    };
    unknown.filter_map(remark).collect()
}

/// Sets a field to what is understood of its value, and notes the rest.
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
        "disallowedTools" => definition.disallowed_tools = tools_taken(value, notes),
        "model" => definition.model = notes.value(text(value)),
        "effort" => definition.effort = notes.value(effort(value)),
        "permissionMode" => definition.permission_mode = mode(value, notes),
        "maxTurns" => definition.max_turns = notes.value(count(value)),
        "skills" => definition.skills = notes.value(words(value)).unwrap_or_default(),
        "mcpServers" => definition.mcp_servers = servers(value, notes),
        "hooks" => definition.hooks = hooks(value, origin, notes),
        "memory" => definition.memory = notes.value(choice(value, &MEMORIES)),
        "background" => definition.background = is_true(value),
        "omitClaudeMd" => definition.omit_claude_md = is_true(value),
        "isolation" => definition.isolation = Some(isolation(value, notes)),
        "color" => definition.color = notes.value(color(value)),
        "initialPrompt" => definition.initial_prompt = notes.value(text(value)),
        "requiredMcpServers" => {
            definition.required_mcp_servers = notes.value(words(value)).unwrap_or_default();
        }
        _ => {}
    }
}

const MEMORIES: [(&str, MemoryScope); 3] = [
    ("user", MemoryScope::User),
    ("project", MemoryScope::Project),
    ("local", MemoryScope::Local),
];

const ISOLATIONS: [(&str, Isolation); 1] = [("worktree", Isolation::Worktree)];

/// Names become names of directories, so they hold nothing that leads out of one.
fn name(value: &Value) -> Result<String, Wrong> {
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

/// An agent without a mode of its own has its parent's, which no definition raises.
fn mode(value: &Value, notes: &mut Notes) -> Option<PermissionMode> {
    match value.as_str().map(str::trim) {
        Some("auto") => {
            notes.instead("is `auto`, which swarm does not have", "`default` applies");
            return Some(PermissionMode::Default);
        }
        // It asks through its parent, which every agent does.
        Some("bubble") => return None,
        _ => {}
    }
    let modes = PermissionMode::ALL.iter().map(|mode| (mode.name(), *mode));
    // What Claude Code also calls its default.
    let modes: Vec<_> = modes.chain([("manual", PermissionMode::Default)]).collect();
    match choice(value, &modes) {
        Ok(mode) => Some(mode),
        Err(wrong) => {
            notes.instead(wrong, "the mode of its parent holds");
            None
        }
    }
}

/// Files of its own are what any isolation is for.
fn isolation(value: &Value, notes: &mut Notes) -> Isolation {
    choice(value, &ISOLATIONS).unwrap_or_else(|wrong| {
        notes.instead(wrong, "it gets a worktree");
        Isolation::Worktree
    })
}

fn color(value: &Value) -> Result<Color, Wrong> {
    let colors: Vec<_> = Color::ALL
        .iter()
        .map(|color| (color.name(), *color))
        .collect();
    choice(value, &colors)
}

fn effort(value: &Value) -> Result<String, Wrong> {
    let words = Effort::ALL.map(|effort| (effort.name(), effort));
    choice(value, &words).map(|effort| effort.name().to_owned())
}

/// Hooks in the form of `settings.json`.
fn hooks(value: &Value, origin: &str, notes: &mut Notes) -> HookSettings {
    let (hooks, remarks) = HookSettings::read(value, origin);
    if !remarks.is_empty() {
        let what = format!("is not understood in full: {}", remarks.join("; "));
        notes.instead(what, "only its other hooks run");
    }
    hooks
}
