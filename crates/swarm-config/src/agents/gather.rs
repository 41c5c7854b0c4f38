//! From files and flags to the catalog.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use swarm_permissions::{
    AgentCatalog, AgentDefinition, AgentSource, DefinitionProblem, HookSettings, McpUse,
    ModelCandidates, ModelSource, choose_model, read_definition_file, read_definitions_json,
};

use super::EnabledPlugins;
use super::places::Place;
use super::{built_in, directory, places};
use crate::error::ConfigError;
use crate::models::resolve_model;

/// Definitions of every source.
#[derive(Debug, Default)]
pub struct FoundAgents {
    /// All of them.
    pub catalog: AgentCatalog,
    /// What their authors should know.
    pub problems: Vec<DefinitionProblem>,
    /// Types that count, whose hooks or own servers wait for trust.
    pub waiting: Vec<String>,
}

impl FoundAgents {
    /// What was not understood of a definition that counts.
    pub fn remarks<'a>(
        &'a self,
        definition: &AgentDefinition,
    ) -> impl Iterator<Item = &'a DefinitionProblem> {
        let path = definition.path.as_ref();
        let origin = path.map(|path| path.display().to_string());
        let problems = self.problems.iter();
        problems.filter(move |problem| !problem.refused && origin.as_ref() == Some(&problem.origin))
    }

    /// What whoever relies on a definition's hooks as a guard has to hear; `None` where nothing waits.
    pub fn waits(&self) -> Option<String> {
        (!self.waiting.is_empty()).then(|| {
            format!(
                "hooks and MCP servers of the repository's own agent types do not run, as it is not trusted ({}); read its .claude/agents, then `swarm trust`",
                self.waiting.join(", ")
            )
        })
    }
}

/// Where and how to look.
#[derive(Debug, Clone, Copy)]
pub struct Looking<'a> {
    /// The config directory of all state.
    pub root: &'a Path,
    /// The working directory.
    pub cwd: &'a Path,
    /// What `--agents` says.
    pub flag: Option<&'a str>,
    /// Whether what is the repository's own may run.
    pub trusted: bool,
    /// Which plugins settings turn on or off, by `PLUGIN@MARKETPLACE`.
    pub plugins: &'a EnabledPlugins,
    /// Short names of models.
    pub aliases: &'a BTreeMap<String, String>,
}

/// Finds all definitions. A file that is wrong is reported, and costs no other.
///
/// # Errors
/// When `--agents` is wrong: whoever wrote it sits there.
pub fn gather(looking: Looking<'_>) -> Result<FoundAgents, ConfigError> {
    gather_from(
        places::places(looking.root, looking.cwd, looking.plugins),
        looking,
    )
}

pub(super) fn gather_from(
    places: Vec<Place>,
    looking: Looking<'_>,
) -> Result<FoundAgents, ConfigError> {
    let mut all = Vec::new();
    let mut problems = Vec::new();
    let mut waiting = Vec::new();
    if let Some(given) = looking.flag {
        let definitions =
            read_definitions_json(given, "--agents").map_err(ConfigError::AgentsFlag)?;
        for definition in &definitions {
            if let Some(what) = no_model(definition, &looking) {
                let agent = definition.name.clone();
                return Err(ConfigError::AgentsFlagModel { agent, what });
            }
        }
        all.extend(definitions.into_iter().map(|definition| AgentDefinition {
            source: AgentSource::Flag,
            ..definition
        }));
    }
    for place in places {
        let files = directory::read(&place.directory);
        problems.extend(
            files
                .problems
                .into_iter()
                .map(|(path, what)| DefinitionProblem {
                    origin: path.display().to_string(),
                    line: None,
                    what: format!("it {what}"),
                    refused: true,
                    agent: None,
                }),
        );
        for (path, text) in files.texts {
            let origin = path.display().to_string();
            let read = read_definition_file(&text, &origin);
            problems.extend(read.problems);
            if let Some(definition) = read.definition {
                if let Some(what) = no_model(&definition, &looking) {
                    problems.push(DefinitionProblem {
                        origin,
                        line: line_of_model(&text),
                        what,
                        refused: true,
                        agent: Some(definition.name),
                    });
                    continue;
                }
                let (definition, lost) = kept(definition, &place, path, looking.trusted);
                if lost.is_some() && place.source == AgentSource::Project {
                    waiting.push((definition.name.clone(), definition.path.clone()));
                }
                problems.extend(lost.map(|what| DefinitionProblem {
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
    all.extend(built_in::definitions());
    let catalog = AgentCatalog::new(all);
    // Nobody misses what a stronger definition hides.
    waiting.retain(|(name, path)| catalog.find(name).is_some_and(|one| one.path == *path));
    Ok(FoundAgents {
        catalog,
        problems,
        waiting: waiting.into_iter().map(|(name, _)| name).collect(),
    })
}

/// What is wrong with the model that a definition names. What `inherit` comes to is found out at each start.
fn no_model(definition: &AgentDefinition, looking: &Looking<'_>) -> Option<String> {
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
    let wrong = resolve_model(&chosen.written, looking.aliases, looking.cwd).err()?;
    Some(format!("`model` names no model: {wrong}"))
}

/// The line of the field, counted from 1.
fn line_of_model(text: &str) -> Option<usize> {
    let at = text.lines().position(|line| line.starts_with("model:"))?;
    Some(at + 1)
}

/// The definition as its place allows it, and what of it that costs.
fn kept(
    definition: AgentDefinition,
    place: &Place,
    path: PathBuf,
    trusted: bool,
) -> (AgentDefinition, Option<String>) {
    let mut definition = AgentDefinition {
        source: place.source,
        path: Some(path),
        ..definition
    };
    let mut lost = None;
    if let Some(plugin) = &place.plugin {
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
                "{} of a plugin's agents count for nothing",
                left_out.join(", ")
            )
        };
        lost = (!left_out.is_empty()).then(what);
    }
    if place.source == AgentSource::Project && !trusted {
        let own = |server: &McpUse| matches!(server, McpUse::Own(..));
        let has_own = definition.mcp_servers.iter().any(own);
        if has_own || !definition.hooks.events.is_empty() {
            definition.hooks = HookSettings::default();
            definition.mcp_servers.retain(|server| !own(server));
            lost = Some(
                "its hooks and its own MCP servers do not run until the repository is trusted: `swarm trust`"
                    .to_owned(),
            );
        }
    }
    (definition, lost)
}
