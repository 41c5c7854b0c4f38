//! File rules, and which of them a path falls under.

use std::path::{Path, PathBuf};

use swarm_protocol::ToolKind;

use crate::question::Question;
use crate::rule::{Bases, Content};
use crate::{Anchors, Behavior, RuleSet, SourcedRule};

/// Whether a rule of the list `behavior` speaks of this call by its tool and, when it has content, by its paths.
///
/// One path is enough for a denial or question; a grant must take in every path.
pub(crate) fn rule_fits(rule: &SourcedRule, question: &Question<'_>, behavior: Behavior) -> bool {
    let Content::Path(pattern) = rule.rule.content() else {
        return false;
    };
    let paths = question.paths();
    let fits = |path: &PathBuf| pattern.matches(path, question.bases(), behavior);
    match behavior {
        Behavior::Allow => !paths.is_empty() && paths.iter().all(fits),
        Behavior::Deny | Behavior::Ask => paths.iter().any(fits),
    }
}

/// Whether everything that an edit touches lies in the working folder or a folder that counts as part of it.
pub(crate) fn inside(question: &Question<'_>, rules: &RuleSet) -> bool {
    let paths = question.paths();
    let within = |path: &PathBuf| {
        path.starts_with(question.cwd) || rules.directories.iter().any(|dir| path.starts_with(dir))
    };
    !paths.is_empty() && paths.iter().all(within)
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
    /// The filter that follows from a rule set, for an agent in the folder `cwd`.
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
