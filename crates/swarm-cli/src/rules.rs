//! Permission rules from `settings.json` files: the user's in full, a repository's only where they tighten.

use std::path::Path;

use serde_json::Value;
use swarm_lead::RuleTexts;
use swarm_policy::{PermissionSettings, RuleSet, SourcedRule};
use swarm_protocol::{ErrorKind, PermissionMode};
use swarm_team::RuleText;

use crate::failure::Failure;

/// What the settings files say about permissions.
#[derive(Debug, Default)]
pub(crate) struct Permissions {
    pub(crate) rules: RuleSet,
    pub(crate) default_mode: Option<PermissionMode>,
}

impl Permissions {
    /// Reads the user's file below `root` and those of the repository around `cwd`.
    pub(crate) fn load(root: &Path, cwd: &Path, home: Option<&Path>) -> Result<Self, Failure> {
        let mut permissions = Self::default();
        if let Some(user) = read(&root.join("settings.json"), root, home)? {
            permissions.default_mode = user.default_mode;
            permissions.rules = user.rules;
        }
        for folder in cwd.ancestors() {
            let claude = folder.join(".claude");
            for name in ["settings.json", "settings.local.json"] {
                let path = claude.join(name);
                if path.parent() == Some(root) {
                    continue;
                }
                // A repository that nobody has trusted may forbid and ask, never allow.
                if let Some(project) = read(&path, folder, home)? {
                    permissions.rules.deny.extend(project.rules.deny);
                    permissions.rules.ask.extend(project.rules.ask);
                }
            }
            if folder.join(".git").exists() {
                break;
            }
        }
        Ok(permissions)
    }

    /// The rules as members are told them.
    pub(crate) fn texts(&self) -> RuleTexts {
        let texts = |rules: &[SourcedRule]| {
            rules
                .iter()
                .map(|sourced| RuleText {
                    rule: sourced.rule.to_string(),
                    origin: sourced.origin.clone(),
                })
                .collect()
        };
        RuleTexts {
            allow: texts(&self.rules.allow),
            deny: texts(&self.rules.deny),
            ask: texts(&self.rules.ask),
        }
    }
}

fn read(
    path: &Path,
    base: &Path,
    home: Option<&Path>,
) -> Result<Option<PermissionSettings>, Failure> {
    let origin = path.display().to_string();
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => return Ok(None),
        Err(error) => {
            return Err(Failure::new(
                ErrorKind::Environment,
                format!("{origin}: {error}"),
            ));
        }
    };
    let settings: Value = serde_json::from_slice(&bytes)
        .map_err(|error| Failure::usage(format!("{origin} is not JSON: {error}")))?;
    let read = PermissionSettings::from_settings(&settings, &origin, base, home);
    match read.errors.first() {
        // A rule that is not understood might have forbidden something, so nothing is run without it.
        Some(error) => Err(Failure::usage(error.clone()).with_hint("correct the file")),
        None => Ok(Some(read)),
    }
}
