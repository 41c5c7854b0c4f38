//! The folders that definitions are read from.

use std::path::{Path, PathBuf};

use swarm_policy::AgentSource;

use crate::settings::repository_folders;

/// The machine's own.
const MANAGED: &str = "/etc/claude-code/agents";

/// A folder of definitions.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) folder: PathBuf,
    pub(super) source: AgentSource,
    /// The plugin that it belongs to.
    pub(super) plugin: Option<String>,
}

/// All of them, strongest first; of a repository the nearest first, up to its top.
pub(super) fn places(root: &Path, cwd: &Path) -> Vec<Place> {
    below(Path::new(MANAGED), root, cwd)
}

/// The same where the machine's own are in `managed`.
pub(super) fn below(managed: &Path, root: &Path, cwd: &Path) -> Vec<Place> {
    let place = |folder: PathBuf, source| Place {
        folder,
        source,
        plugin: None,
    };
    let mut places = vec![place(managed.to_owned(), AgentSource::Managed)];
    for folder in repository_folders(cwd) {
        let claude = folder.join(".claude");
        // The root folder can be that of a repository in the home folder; its definitions are the user's all the same.
        if !is_same(&claude, root) {
            places.push(place(claude.join("agents"), AgentSource::Project));
        }
    }
    places.push(place(root.join("agents"), AgentSource::User));
    for (plugin, folder) in plugins(root) {
        places.push(Place {
            plugin: Some(plugin),
            ..place(folder, AgentSource::Plugin)
        });
    }
    places
}

fn plugins(root: &Path) -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(root.join("plugins"));
    let mut plugins: Vec<_> = entries
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            Some((name, entry.path().join("agents")))
        })
        .filter(|(_, folder)| folder.is_dir())
        .collect();
    plugins.sort();
    plugins
}

fn is_same(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    }
}
