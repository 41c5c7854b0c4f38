//! File rules and path matching.

use std::path::{Path, PathBuf};

use swarm_protocol::{PermissionMode, ToolKind};

use crate::question::Question;
use crate::rule::{Bases, Content};
use crate::{Anchors, Behavior, Rule, RuleSet, SourcedRule};

/// Returns whether a file rule of the list `behavior` matches this call.
///
/// For deny and ask rules one matching path is sufficient; an allow rule must match every path.
pub(crate) fn rule_fits(rule: &Rule, question: &Question<'_>, behavior: Behavior) -> bool {
    let Content::Path(pattern) = rule.content() else {
        return false;
    };
    let paths = question.paths();
    let fits = |path: &PathBuf| pattern.matches(path, question.bases(), behavior);
    match behavior {
        Behavior::Allow => !paths.is_empty() && paths.iter().all(fits),
        Behavior::Deny | Behavior::Ask => paths.iter().any(fits),
    }
}

/// Returns whether all paths of an edit are in the working directory or an additional working
/// directory.
pub(crate) fn inside(question: &Question<'_>, rules: &RuleSet) -> bool {
    let paths = question.paths();
    let within = |path: &PathBuf| {
        path.starts_with(question.cwd) || rules.directories.iter().any(|dir| path.starts_with(dir))
    };
    !paths.is_empty() && paths.iter().all(within)
}

/// Returns why a call of a file tool requires approval in every mode and despite broad allow rules.
pub(crate) fn concern(
    rules: &RuleSet,
    mode: PermissionMode,
    question: &Question<'_>,
) -> Option<String> {
    match question.kind {
        ToolKind::Edit => runs_later(rules, mode, question),
        ToolKind::Read => has_other_names(rules, question),
        _ => None,
    }
}

/// Returns why an edit requires approval despite an allow rule or mode: other programs execute or
/// obey the file later.
///
/// Only an allow rule that spells the file's special name applies. In `bypassPermissions`, approval
/// is required for such files outside the working directory and in the config directory.
fn runs_later(rules: &RuleSet, mode: PermissionMode, question: &Question<'_>) -> Option<String> {
    let paths = question.paths();
    let (path, found) = paths
        .iter()
        .find_map(|path| Some((path, question.files.runs_later(path)?)))?;
    let own = !found.of_config_directory && inside(question, rules);
    if own && mode == PermissionMode::BypassPermissions {
        return None;
    }
    let granted = rules.allow.iter().any(|rule| {
        rule.rule
            .names(question.tool, question.kind, Behavior::Allow)
            && rule_fits(&rule.rule, question, Behavior::Allow)
            && matches!(rule.rule.content(), Content::Path(pattern) if pattern.spells(&found.name))
    });
    (!granted).then(|| {
        format!(
            "other programs run or obey {} (`{}`); only a rule that names it allows this",
            path.display(),
            found.name
        )
    })
}

/// Returns why reading requires approval: the file has several names and rules restrict reading, so
/// it may be one of the restricted files.
fn has_other_names(rules: &RuleSet, question: &Question<'_>) -> Option<String> {
    if !restricts_reading(rules) {
        return None;
    }
    let paths = question.paths();
    let path = paths
        .iter()
        .find(|path| question.files.has_other_names(path))?;
    Some(format!(
        "{} has other names (hard links), and the rules restrict reading some files",
        path.display()
    ))
}

/// Returns the first file rule of the list `behavior` that matches a path for tools of the family
/// `kind`.
pub(crate) fn rule_for_path<'r>(
    rules: &'r RuleSet,
    behavior: Behavior,
    kind: ToolKind,
    path: &Path,
    bases: Bases<'_>,
) -> Option<&'r SourcedRule> {
    let tool = if kind == ToolKind::Edit {
        "Write"
    } else {
        "Read"
    };
    rules.list(behavior).iter().find(|sourced| {
        let Content::Path(pattern) = sourced.rule.content() else {
            return false;
        };
        sourced.rule.names(tool, kind, behavior) && pattern.matches(path, bases, behavior)
    })
}

/// Returns whether there is any deny or ask rule about reading certain paths.
pub(crate) fn restricts_reading(rules: &RuleSet) -> bool {
    [Behavior::Deny, Behavior::Ask].into_iter().any(|behavior| {
        rules.list(behavior).iter().any(|sourced| {
            matches!(sourced.rule.content(), Content::Path(_))
                && sourced.rule.names("Read", ToolKind::Read, behavior)
        })
    })
}

/// The paths excluded from searches by deny and ask rules for `Read`.
#[derive(Debug, Clone)]
pub struct ReadFilter {
    rules: RuleSet,
    cwd: PathBuf,
    anchors: Anchors,
    home: Option<PathBuf>,
}

impl ReadFilter {
    /// Creates the filter of a rule set for an agent in the directory `cwd`.
    pub fn new(rules: &RuleSet, cwd: &Path, home: Option<&Path>) -> Self {
        Self {
            rules: rules.restrictions(),
            cwd: cwd.to_owned(),
            anchors: Anchors::default(),
            home: home.map(Path::to_owned),
        }
    }

    /// Sets the base directories of an agent with inherited rules.
    #[must_use]
    pub fn anchored(self, anchors: Anchors) -> Self {
        Self { anchors, ..self }
    }

    /// Creates a filter from deny rules only: files with an ask rule can be read after approval.
    pub fn denials(rules: &RuleSet, cwd: &Path, home: Option<&Path>) -> Self {
        let denied = RuleSet {
            deny: rules.deny.clone(),
            ..RuleSet::default()
        };
        Self::new(&denied, cwd, home)
    }

    /// Returns whether the filter excludes nothing.
    pub fn is_empty(&self) -> bool {
        !restricts_reading(&self.rules)
    }

    /// Returns whether this absolute path is excluded.
    pub fn hides(&self, path: &Path) -> bool {
        let bases = Bases {
            cwd: &self.cwd,
            anchors: &self.anchors,
            home: self.home.as_deref(),
        };
        [Behavior::Deny, Behavior::Ask].into_iter().any(|behavior| {
            rule_for_path(&self.rules, behavior, ToolKind::Read, path, bases).is_some()
        })
    }
}
