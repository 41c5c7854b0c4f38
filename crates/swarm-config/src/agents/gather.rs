//! Collection of agent definitions from files and flags, and the built-in ones.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use swarm_permissions::{
    AgentCatalog, AgentDefinition, AgentSource, DefinitionProblem, HookSettings, McpUse,
    ModelCandidates, ModelSource, choose_model, read_definition_file, read_definitions_json,
};

use crate::error::ConfigError;
use crate::models::resolve_model;
use crate::plugins::EnabledPlugins;

use super::directory;
use super::places::{self, AgentDirectory, MANAGED};

/// The agent definitions of all sources.
#[derive(Debug, Default)]
pub struct FoundAgents {
    /// All definitions.
    pub catalog: AgentCatalog,
    /// Problems in the definitions.
    pub problems: Vec<DefinitionProblem>,
    /// Effective types whose hooks or private MCP servers are disabled until the repository is
    /// trusted.
    pub awaiting_trust: Vec<String>,
}

impl FoundAgents {
    /// Returns the problems in an effective definition.
    pub fn problems_of<'a>(
        &'a self,
        definition: &AgentDefinition,
    ) -> impl Iterator<Item = &'a DefinitionProblem> {
        let path = definition.path.as_ref();
        let origin = path.map(|path| path.display().to_string());
        let problems = self.problems.iter();
        problems.filter(move |problem| !problem.refused && origin.as_ref() == Some(&problem.origin))
    }

    /// Returns a warning about hooks and servers that are disabled until the repository is trusted.
    pub fn trust_warning(&self) -> Option<String> {
        (!self.awaiting_trust.is_empty()).then(|| {
            format!(
                "hooks and MCP servers of the repository's agent types are disabled because it is not trusted ({}); review its .claude/agents, then run `swarm trust`",
                self.awaiting_trust.join(", ")
            )
        })
    }
}

/// The sources and options of a search for agent definitions.
#[derive(Debug, Clone, Copy)]
pub struct AgentSearch<'a> {
    /// The config directory.
    pub root: &'a Path,
    /// The working directory.
    pub cwd: &'a Path,
    /// The value of `--agents`.
    pub flag: Option<&'a str>,
    /// Whether the repository's hooks and servers may run.
    pub trusted: bool,
    /// The plugins enabled or disabled by settings, by `PLUGIN@MARKETPLACE`.
    pub plugins: &'a EnabledPlugins,
    /// Model aliases.
    pub aliases: &'a BTreeMap<String, String>,
}

/// Finds all definitions. An invalid file is reported and does not affect the others.
///
/// # Errors
/// An invalid `--agents` value.
pub fn find_agents(search: AgentSearch<'_>) -> Result<FoundAgents, ConfigError> {
    find_agents_in(
        places::agent_directories(MANAGED.as_ref(), search.root, search.cwd, search.plugins),
        search,
    )
}

pub(super) fn find_agents_in(
    places: Vec<AgentDirectory>,
    search: AgentSearch<'_>,
) -> Result<FoundAgents, ConfigError> {
    let mut all = Vec::new();
    let mut problems = Vec::new();
    let mut awaiting_trust = Vec::new();
    if let Some(given) = search.flag {
        let form = r#"use the form {"reviewer": {"description": "reads a change", "prompt": "You review changes."}}"#;
        let definitions = read_definitions_json(given, "--agents")
            .map_err(|why| ConfigError::invalid(why, form))?;
        for definition in &definitions {
            if let Some(what) = model_error(definition, &search) {
                let what = format!("--agents: agent `{}`: {what}", definition.name);
                return Err(ConfigError::Model(what));
            }
        }
        all.extend(definitions.into_iter().map(|definition| AgentDefinition {
            source: AgentSource::Flag,
            ..definition
        }));
    }
    for source_directory in places {
        let files = directory::read(&source_directory.directory);
        problems.extend(
            files
                .problems
                .into_iter()
                .map(|(path, what)| DefinitionProblem {
                    origin: path.display().to_string(),
                    line: None,
                    what: format!("the file {what}"),
                    refused: true,
                    agent: None,
                }),
        );
        for (path, text) in files.texts {
            let origin = path.display().to_string();
            let read = read_definition_file(&text, &origin);
            problems.extend(read.problems);
            if let Some(definition) = read.definition {
                if let Some(what) = model_error(&definition, &search) {
                    problems.push(DefinitionProblem {
                        origin,
                        line: line_of_model(&text),
                        what,
                        refused: true,
                        agent: Some(definition.name),
                    });
                    continue;
                }
                let (definition, restriction) =
                    restrict(definition, &source_directory, path, search.trusted);
                if restriction.is_some() && source_directory.source == AgentSource::Project {
                    awaiting_trust.push((definition.name.clone(), definition.path.clone()));
                }
                problems.extend(restriction.map(|what| DefinitionProblem {
                    origin,
                    line: None,
                    what,
                    refused: false,
                    agent: None,
                }));
                all.push(definition);
            }
        }
    }
    all.extend(built_in_definitions());
    let catalog = AgentCatalog::new(all);
    // A definition hidden by a stronger one needs no warning.
    awaiting_trust.retain(|(name, path)| catalog.find(name).is_some_and(|one| one.path == *path));
    Ok(FoundAgents {
        catalog,
        problems,
        awaiting_trust: awaiting_trust.into_iter().map(|(name, _)| name).collect(),
    })
}

/// Returns the error of a definition's model. `inherit` is resolved at each start.
fn model_error(definition: &AgentDefinition, search: &AgentSearch<'_>) -> Option<String> {
    let chosen = choose_model(&ModelCandidates {
        environment: None,
        call: None,
        definition: definition.model.as_deref(),
        parent: "",
        small: None,
    });
    if chosen.source == ModelSource::Parent {
        return None;
    }
    let wrong = resolve_model(&chosen.written, search.aliases, search.cwd).err()?;
    Some(format!("invalid `model`: {wrong}"))
}

/// Returns the line of the field, counted from 1.
fn line_of_model(text: &str) -> Option<usize> {
    let at = text.lines().position(|line| line.starts_with("model:"))?;
    Some(at + 1)
}

/// Returns the definition without the fields that its source may not set, and a message about them.
fn restrict(
    definition: AgentDefinition,
    source_directory: &AgentDirectory,
    path: PathBuf,
    trusted: bool,
) -> (AgentDefinition, Option<String>) {
    let mut definition = AgentDefinition {
        source: source_directory.source,
        path: Some(path),
        ..definition
    };
    let mut restriction = None;
    if let Some(plugin) = &source_directory.plugin {
        definition.name = format!("{plugin}:{}", definition.name);
        let mut left_out = Vec::new();
        if !definition.hooks.events.is_empty() {
            left_out.push("hooks");
        }
        if !definition.mcp_servers.is_empty() {
            left_out.push("mcpServers");
        }
        if definition.permission_mode.take().is_some() {
            left_out.push("permissionMode");
        }
        definition.hooks = HookSettings::default();
        definition.mcp_servers.clear();
        let what = || {
            format!(
                "{} in a plugin's agent definition is ignored",
                left_out.join(", ")
            )
        };
        restriction = (!left_out.is_empty()).then(what);
    }
    let of_repository = source_directory.source == AgentSource::Project;
    if of_repository {
        definition.hooks = std::mem::take(&mut definition.hooks).sandboxed();
        for server in &mut definition.mcp_servers {
            if let McpUse::Own(_, config) = server {
                config.run_in_sandbox();
            }
        }
    }
    if of_repository && !trusted {
        let own = |server: &McpUse| matches!(server, McpUse::Own(..));
        let has_own = definition.mcp_servers.iter().any(own);
        if has_own || !definition.hooks.events.is_empty() {
            definition.hooks = HookSettings::default();
            definition.mcp_servers.retain(|server| !own(server));
            restriction = Some(
                "its hooks and private MCP servers are disabled until the repository is trusted (`swarm trust`)"
                    .to_owned(),
            );
        }
    }
    (definition, restriction)
}

macro_rules! file {
    ($name:literal) => {
        (
            concat!("config/agents/", $name),
            include_str!(concat!("../../../../config/agents/", $name)),
        )
    };
}

const FILES: [(&str, &str); 6] = [
    file!("general-purpose.md"),
    file!("Explore.md"),
    file!("Plan.md"),
    file!("verification.md"),
    file!("statusline-setup.md"),
    file!("claude-code-guide.md"),
];

fn built_in_definitions() -> impl Iterator<Item = AgentDefinition> {
    // A test verifies that each is read without problems.
    FILES.iter().filter_map(|(name, text)| {
        let definition = read_definition_file(text, name).definition?;
        Some(AgentDefinition {
            source: AgentSource::BuiltIn,
            ..definition
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_definition_is_valid() {
        for (name, text) in FILES {
            let read = read_definition_file(text, name);
            assert_eq!(read.problems, [], "{name}");
            let definition = read.definition.expect(name);
            assert_eq!(format!("config/agents/{}.md", definition.name), name);
            assert!(definition.prompt.len() > 200, "{name}");
        }
        assert_eq!(built_in_definitions().count(), FILES.len());
    }

    #[test]
    fn read_only_types_cannot_change_files_or_create_branches() {
        for name in ["Explore", "Plan", "verification"] {
            let mut all = built_in_definitions();
            let found = all.find(|definition| definition.name == name).expect(name);
            for tool in ["Edit", "Write", "NotebookEdit", "EnterWorktree"] {
                let mut disallowed = found.disallowed_tools.iter();
                assert!(disallowed.any(|one| one == tool), "{name}: {tool}");
            }
        }
    }
}
