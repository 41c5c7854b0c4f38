//! From files and flags to the catalog.

use std::path::{Path, PathBuf};

use swarm_policy::{
    AgentCatalog, AgentDefinition, AgentSource, DefinitionProblem, HookSettings, McpUse,
    read_definition_file, read_definitions_json,
};

use super::places::Place;
use super::{built_in, folder, places};
use crate::failure::Failure;

/// Definitions of every source.
#[derive(Debug, Default)]
pub(crate) struct FoundAgents {
    /// All of them.
    pub(crate) catalog: AgentCatalog,
    /// What their authors should know.
    pub(crate) problems: Vec<DefinitionProblem>,
}

/// Where and how to look.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Looking<'a> {
    /// The root folder of all state.
    pub(crate) root: &'a Path,
    /// The working folder.
    pub(crate) cwd: &'a Path,
    /// What `--agents` says.
    pub(crate) flag: Option<&'a str>,
    /// Whether what is the repository's own may run.
    pub(crate) trusted: bool,
}

/// Finds all definitions. A file that is wrong is reported, and costs no other.
///
/// # Errors
/// When `--agents` is wrong: whoever wrote it sits there.
pub(crate) fn gather(looking: Looking<'_>) -> Result<FoundAgents, Failure> {
    gather_from(places::places(looking.root, looking.cwd), looking)
}

pub(super) fn gather_from(
    places: Vec<Place>,
    looking: Looking<'_>,
) -> Result<FoundAgents, Failure> {
    let mut all = Vec::new();
    let mut problems = Vec::new();
    if let Some(given) = looking.flag {
        let definitions = read_definitions_json(given, "--agents").map_err(|what| {
            Failure::usage(what).with_hint("`swarm agents --help` shows an example")
        })?;
        all.extend(definitions.into_iter().map(|definition| AgentDefinition {
            source: AgentSource::Flag,
            ..definition
        }));
    }
    for place in places {
        let files = folder::read(&place.folder);
        problems.extend(
            files
                .problems
                .into_iter()
                .map(|(path, what)| DefinitionProblem {
                    origin: path.display().to_string(),
                    line: None,
                    what: format!("it {what}"),
                    refused: true,
                }),
        );
        for (path, text) in files.texts {
            let origin = path.display().to_string();
            let read = read_definition_file(&text, &origin);
            problems.extend(read.problems);
            if let Some(definition) = read.definition {
                let (definition, waits) = kept(definition, &place, path, looking.trusted);
                problems.extend(waits.map(|what| DefinitionProblem {
                    origin,
                    line: None,
                    what,
                    refused: false,
                }));
                all.push(definition);
            }
        }
    }
    all.extend(built_in::definitions());
    Ok(FoundAgents {
        catalog: AgentCatalog::new(all),
        problems,
    })
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
