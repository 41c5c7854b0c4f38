//! All `settings.json` files: those of the user and the machine in full, a repository's only where they tighten.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use swarm_lead::RuleTexts;
use swarm_policy::RuleSet;

use super::file::File;
use super::{FoundHooks, rules, variables};
use crate::failure::Failure;
use crate::settings::{Given, Layer, repository_folders};
use crate::trust::project_folder;

/// The machine's policy for Claude Code.
const MANAGED: &str = "/etc/claude-code/managed-settings.json";

/// What the settings files say.
#[derive(Debug, Default)]
pub(crate) struct ClaudeSettings {
    /// Permission rules.
    pub(crate) rules: RuleSet,
    /// What they say about `permissions.mode`.
    pub(crate) modes: Vec<Given>,
    /// Variables for shell commands of agents and for model clients; none of a repository's.
    pub(crate) env: BTreeMap<String, String>,
    /// The hooks that they list.
    pub(crate) hooks: FoundHooks,
    /// What a user should know about them.
    pub(crate) remarks: Vec<String>,
}

impl ClaudeSettings {
    /// Reads the files that hold for a command in `cwd`.
    pub(crate) fn load(root: &Path, cwd: &Path, home: Option<&Path>) -> Result<Self, Failure> {
        Self::load_with(Path::new(MANAGED), root, cwd, home)
    }

    /// Reads the files, where the machine's policy is in `managed`.
    pub(super) fn load_with(
        managed: &Path,
        root: &Path,
        cwd: &Path,
        home: Option<&Path>,
    ) -> Result<Self, Failure> {
        let mut settings = Self::default();
        let user = root.join("settings.json");
        if let Some(file) = File::read(&user, Layer::User, root, home)? {
            settings.add(&file)?;
        }
        let own = project_folder(root, cwd);
        for (folder, path) in project_files(root, cwd) {
            if let Some(file) = File::read(&path, Layer::Project, folder, home)? {
                settings.add(&file)?;
                if own == cwd {
                    settings.add_hooks(&file);
                }
            }
        }
        if own != cwd {
            settings.add_hooks_of(root, &own, home)?;
        }
        let base = managed.parent().unwrap_or(root);
        if let Some(file) = File::read(managed, Layer::Managed, base, home)? {
            settings.add(&file)?;
        }
        Ok(settings)
    }

    fn add(&mut self, file: &File) -> Result<(), Failure> {
        let rules = file.permissions.rules.clone();
        self.rules.deny.extend(rules.deny);
        self.rules.ask.extend(rules.ask);
        self.modes.extend(file.modes());
        self.remarks.extend_from_slice(&file.permissions.remarks);
        // A repository that nobody has trusted may forbid and ask. It allows nothing and sets no variables.
        if file.layer != Layer::Project {
            self.rules.allow.extend(rules.allow);
            self.rules.directories.extend(rules.directories);
            self.env.extend(variables::read(file)?);
            self.add_hooks(file);
        }
        Ok(())
    }

    /// Adds the hooks alone of another folder's files.
    fn add_hooks_of(
        &mut self,
        root: &Path,
        folder: &Path,
        home: Option<&Path>,
    ) -> Result<(), Failure> {
        for (folder, path) in project_files(root, folder) {
            if let Some(file) = File::read(&path, Layer::Project, folder, home)? {
                self.add_hooks(&file);
            }
        }
        Ok(())
    }

    fn add_hooks(&mut self, file: &File) {
        let remarks = self.hooks.take(file);
        self.remarks.extend(remarks);
    }

    /// The rules as members are told them.
    pub(crate) fn rule_texts(&self) -> RuleTexts {
        rules::texts(&self.rules)
    }
}

/// The files of the repository around `cwd`, each with the folder that it speaks of.
fn project_files<'a>(
    root: &'a Path,
    cwd: &'a Path,
) -> impl Iterator<Item = (&'a Path, PathBuf)> + 'a {
    repository_folders(cwd).flat_map(move |folder| {
        let claude = folder.join(".claude");
        let names = ["settings.json", "settings.local.json"];
        let paths = (claude != root).then(|| names.map(|name| (folder, claude.join(name))));
        paths.into_iter().flatten()
    })
}
