//! Field by field: each is applied, or refused by its name.

use serde_json::{Map, Value};
use swarm_protocol::{Color, Effort, PermissionMode};

use super::nearest::nearest;
use super::servers::servers;
use super::values::{Wrong, choice, count, is_true, shown, text, tools, tools_taken, words};
use crate::{
    AgentDefinition, HookSettings, Isolation, MemoryScope, ToolAllowance, ToolSelector, known_tools,
};

/// The fields that are applied.
pub(super) const FIELDS: [&str; 18] = [
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
    /// Otherwise a remark.
    pub(super) refused: bool,
}

/// Makes a definition of its fields. `prompt` is its text.
pub(super) fn definition(
    fields: &Map<String, Value>,
    prompt: &str,
    origin: &str,
) -> (AgentDefinition, Vec<FieldProblem>) {
    let mut definition = AgentDefinition::new("", "", prompt);
    let mut problems = Vec::new();
    for (field, value) in fields {
        if let Err(problem) = apply(&mut definition, field, value, origin) {
            problems.push(problem);
        }
    }
    let refuse = |field: &str, what: &str| FieldProblem {
        field: field.to_owned(),
        what: format!("`{field}` {what}"),
        refused: true,
    };
    if fields.contains_key("tools") && fields.contains_key("allowed-tools") {
        let what = "says the same as `tools`: leave one of them out";
        problems.push(refuse("allowed-tools", what));
    }
    problems.extend(fields.keys().flat_map(|field| no_tools(&definition, field)));
    let missing = |field: &str| !fields.contains_key(field);
    if missing("description") {
        problems.push(refuse(
            "description",
            "is missing: say when to use this agent",
        ));
    }
    (definition, problems)
}

fn apply(
    definition: &mut AgentDefinition,
    field: &str,
    value: &Value,
    origin: &str,
) -> Result<(), FieldProblem> {
    let known = match set(definition, field, value, origin) {
        Ok(known) => known,
        Err(wrong) => {
            return Err(FieldProblem {
                field: field.to_owned(),
                what: format!("`{field}` {wrong}"),
                refused: true,
            });
        }
    };
    if known {
        return Ok(());
    }
    let (what, refused) = unknown(field, value);
    Err(FieldProblem {
        field: field.to_owned(),
        what,
        refused,
    })
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
        let selector = ToolSelector::parse(entry);
        let named = |name: &String| known.iter().any(|tool| tool.eq_ignore_ascii_case(name));
        matches!(selector, Ok(ToolSelector::Tool(name)) if !named(&name))
    });
    let remark = |entry: &String| {
        let meant = nearest(entry, &known);
        // To take away a tool that is not there costs nothing, where it is no slip of the finger.
        if meant.is_none() && field == "disallowedTools" {
            return None;
        }
        let meant = meant.map_or_else(String::new, |tool| format!(": did you mean `{tool}`?"));
        let entry = entry.escape_debug();
        Some(FieldProblem {
            field: field.to_owned(),
            what: format!("`{field}` names `{entry}`, and there is no such tool{meant}"),
            refused: false,
        })
    };
    unknown.filter_map(remark).collect()
}

/// A field that may have been meant to take something away costs the definition; one that means nothing at all does not.
fn unknown(field: &str, value: &Value) -> (String, bool) {
    let shown_field = field.escape_debug();
    if NOT_DONE.contains(&field) {
        return (
            format!("`{shown_field}` is not done here: leave it out"),
            true,
        );
    }
    if field == "omitClaudeMd" {
        // Instructions of a project are given to no agent unless it reads them.
        return if is_true(value) {
            (format!("`{shown_field}` is always so here"), false)
        } else {
            (
                format!("`{shown_field}` is `{}`: leave it out", shown(value)),
                true,
            )
        };
    }
    match nearest(field, &FIELDS) {
        Some(meant) => (
            format!("`{shown_field}` is no field: did you mean `{meant}`?"),
            true,
        ),
        None => (
            format!("`{shown_field}` means nothing here and is left out"),
            false,
        ),
    }
}

/// Sets a field; false if there is none of this name.
fn set(
    definition: &mut AgentDefinition,
    field: &str,
    value: &Value,
    origin: &str,
) -> Result<bool, Wrong> {
    match field {
        "name" => definition.name = name(value)?,
        "description" => definition.description = text(value)?.replace("\\n", "\n"),
        "tools" | "allowed-tools" => definition.tools = tools(value)?,
        "disallowedTools" => definition.disallowed_tools = tools_taken(value)?,
        "model" => definition.model = Some(text(value)?),
        "effort" => definition.effort = Some(effort(value)?),
        "permissionMode" => definition.permission_mode = Some(mode(value)?),
        "maxTurns" => definition.max_turns = Some(count(value)?),
        "skills" => definition.skills = words(value)?,
        "mcpServers" => definition.mcp_servers = servers(value)?,
        "hooks" => definition.hooks = hooks(value, origin)?,
        "memory" => definition.memory = Some(choice(value, &MEMORIES)?),
        "background" => definition.background = is_true(value),
        "isolation" => definition.isolation = Some(choice(value, &ISOLATIONS)?),
        "color" => definition.color = Some(color(value)?),
        "initialPrompt" => definition.initial_prompt = Some(text(value)?),
        "requiredMcpServers" => definition.required_mcp_servers = words(value)?,
        _ => return Ok(false),
    }
    Ok(true)
}

const MEMORIES: [(&str, MemoryScope); 3] = [
    ("user", MemoryScope::User),
    ("project", MemoryScope::Project),
    ("local", MemoryScope::Local),
];

const ISOLATIONS: [(&str, Isolation); 1] = [("worktree", Isolation::Worktree)];

/// Names become names of folders, so they hold nothing that leads out of one.
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

fn mode(value: &Value) -> Result<PermissionMode, Wrong> {
    let modes = PermissionMode::ALL.iter().map(|mode| (mode.name(), *mode));
    // What Claude Code also calls its default.
    let modes: Vec<_> = modes.chain([("manual", PermissionMode::Default)]).collect();
    choice(value, &modes)
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

/// Hooks in the form of `settings.json`. One that would not run might have been a guard.
fn hooks(value: &Value, origin: &str) -> Result<HookSettings, Wrong> {
    match HookSettings::read(value, origin) {
        (hooks, remarks) if remarks.is_empty() => Ok(hooks),
        (_, remarks) => Err(format!("is not understood: {}", remarks.join("; "))),
    }
}
