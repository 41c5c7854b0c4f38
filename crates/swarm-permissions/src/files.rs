//! File rules, and which of them a path falls under.

use std::path::{Path, PathBuf};

use swarm_protocol::{PermissionMode, ToolKind};

use crate::question::Question;
use crate::rule::{Bases, Content};
use crate::{Anchors, Behavior, Rule, RuleSet, SourcedRule};

/// Whether a rule of the list `behavior` speaks of this call by its tool and, when it has content, by its paths.
///
/// One path is enough for a denial or question; a grant must take in every path.
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

/// Whether everything that an edit touches lies in the working directory or a directory that counts as part of it.
pub(crate) fn inside(question: &Question<'_>, rules: &RuleSet) -> bool {
    let paths = question.paths();
    let within = |path: &PathBuf| {
        path.starts_with(question.cwd) || rules.directories.iter().any(|dir| path.starts_with(dir))
    };
    !paths.is_empty() && paths.iter().all(within)
}

/// Why a call of a file tool is asked about in every mode and whatever broad grant there is.
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

/// Why an edit is asked about though a rule or mode may allow it: other programs run or obey the file later.
///
/// A grant counts only if its pattern spells the name that makes it so. `bypassPermissions` asks about such files
/// outside of the working directory and about those of the config directory.
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
            "other programs run or obey what is in {} (`{}`); only a rule that names it allows this",
            path.display(),
            found.name
        )
    })
}

/// A file that is about to be read and has another name, while rules restrict reading: it may be one of the files that
/// they are about.
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

/// The first file rule of the list `behavior`, for tools of the family `kind`, that one path falls under.
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

/// Whether there is any denial or question about reading certain paths.
pub(crate) fn restricts_reading(rules: &RuleSet) -> bool {
    [Behavior::Deny, Behavior::Ask].into_iter().any(|behavior| {
        rules.list(behavior).iter().any(|sourced| {
            matches!(sourced.rule.content(), Content::Path(_))
                && sourced.rule.names("Read", ToolKind::Read, behavior)
        })
    })
}

/// The paths that no search may show, since a `Read` rule denies or questions them.
#[derive(Debug, Clone)]
pub struct ReadFilter {
    rules: RuleSet,
    cwd: PathBuf,
    anchors: Anchors,
    home: Option<PathBuf>,
}

impl ReadFilter {
    /// The filter that follows from a rule set, for an agent in the directory `cwd`.
    pub fn new(rules: &RuleSet, cwd: &Path, home: Option<&Path>) -> Self {
        Self {
            rules: rules.restrictions(),
            cwd: cwd.to_owned(),
            anchors: Anchors::default(),
            home: home.map(Path::to_owned),
        }
    }

    /// The same for an agent whose rules start elsewhere too.
    #[must_use]
    pub fn anchored(self, anchors: Anchors) -> Self {
        Self { anchors, ..self }
    }

    /// The same for denials alone: what is asked about can be read once the answer is yes.
    pub fn denials(rules: &RuleSet, cwd: &Path, home: Option<&Path>) -> Self {
        let denied = RuleSet {
            deny: rules.deny.clone(),
            ..RuleSet::default()
        };
        Self::new(&denied, cwd, home)
    }

    /// Whether no path is left out.
    pub fn is_empty(&self) -> bool {
        !restricts_reading(&self.rules)
    }

    /// Whether this absolute path is to be left out.
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
