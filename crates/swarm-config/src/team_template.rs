//! Team templates: members, tasks and budgets of a team in one TOML file.

use std::collections::BTreeMap;

use serde::Deserialize;
use swarm_protocol::{Budget, Effort, MemberName, NewTask, PermissionMode, TaskId, TeamName};
use toml::Spanned;

/// Names and texts of the templates in `config/teams`.
pub const TEAM_TEMPLATES: [(&str, &str); 3] = [
    ("bugfix", include_str!("../../../config/teams/bugfix.toml")),
    (
        "feature",
        include_str!("../../../config/teams/feature.toml"),
    ),
    ("review", include_str!("../../../config/teams/review.toml")),
];

/// Metadata key of the tasks that a template has created; its value identifies the task.
pub const TEMPLATE_KEY: &str = "template";

/// A team template.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TeamTemplate {
    /// Name of the team.
    pub name: TeamName,
    /// Purpose of the team.
    pub description: Option<String>,
    /// Budget of the team.
    pub budget: Option<Budget>,
    /// The members besides the lead.
    #[serde(default, rename = "member")]
    pub members: Vec<TemplateMember>,
    /// The tasks.
    #[serde(default, rename = "task")]
    pub tasks: Vec<TemplateTask>,
}

/// A member of a template. The fields are the flags of `swarm spawn`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TemplateMember {
    /// Its name.
    pub name: Spanned<MemberName>,
    /// Agent type.
    #[serde(default, rename = "type")]
    pub agent_type: Option<String>,
    /// Model.
    pub model: Option<String>,
    /// Effort of the model.
    pub effort: Option<Effort>,
    /// Permission mode.
    pub mode: Option<PermissionMode>,
    /// Whether its plan must be approved first.
    #[serde(default)]
    pub plan: bool,
    /// `true`, or the name of its worktree.
    pub worktree: Option<TemplateWorktree>,
    /// Working directory, relative to the current one.
    pub cwd: Option<String>,
    /// Node of the team's hub, or a label.
    #[serde(default)]
    pub on: Option<String>,
    /// Initial prompt.
    pub prompt: Option<String>,
    /// Budget with its sub-agents.
    pub budget: Option<Budget>,
}

/// The worktree of a member.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum TemplateWorktree {
    /// Whether it has one, with its own name.
    Flag(bool),
    /// The name of the worktree.
    Slug(String),
}

/// A task of a template.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TemplateTask {
    /// Title in the imperative.
    pub subject: Spanned<String>,
    /// Name by which other tasks refer to it.
    #[serde(default, rename = "ref")]
    pub reference: Option<Spanned<String>>,
    /// What to do.
    #[serde(default)]
    pub description: String,
    /// Owner.
    pub owner: Option<Spanned<MemberName>>,
    /// Tasks of the template that must be completed first, by `ref`.
    #[serde(default)]
    pub blocked_by: Vec<Spanned<String>>,
    /// Commands that must succeed before it is completed.
    #[serde(default)]
    pub checks: Vec<String>,
    /// Budget of the task.
    pub budget: Option<Budget>,
}

/// An invalid template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{origin}:{line}: {reason}")]
pub struct TemplateError {
    /// The file.
    pub origin: String,
    /// Line, from 1.
    pub line: usize,
    /// The key and what is wrong with it.
    pub reason: String,
}

impl TemplateTask {
    /// Returns what identifies the task in the template: its `ref`, or its subject.
    pub fn key(&self) -> &str {
        self.reference.as_ref().unwrap_or(&self.subject).get_ref()
    }
}

impl TeamTemplate {
    /// Parses and validates a template; errors name `origin`.
    ///
    /// # Errors
    /// [`TemplateError`] with the line and the key.
    pub fn parse(text: &str, origin: &str) -> Result<Self, TemplateError> {
        let error = |offset: usize, reason: String| TemplateError {
            origin: origin.to_owned(),
            line: text[..offset.min(text.len())].matches('\n').count() + 1,
            reason,
        };
        let template: Self = toml::from_str(text).map_err(|wrong| {
            let at = wrong.span().map_or(0, |span| span.start);
            let begin = text[..at].rfind('\n').map_or(0, |at| at + 1);
            let line = text[begin..].lines().next().unwrap_or_default();
            let what = wrong.message().lines().next().unwrap_or_default();
            let reason = match line.split_once('=') {
                Some((key, _)) if !what.contains('`') => format!("`{}`: {what}", key.trim()),
                _ => what.to_owned(),
            };
            error(at, reason)
        })?;
        template
            .validate()
            .map_err(|(at, reason)| error(at, reason))?;
        Ok(template)
    }

    /// Returns the offset and the reason of the first inconsistency.
    fn validate(&self) -> Result<(), (usize, String)> {
        let mut names: Vec<&MemberName> = Vec::new();
        for member in &self.members {
            let (at, name) = (member.name.span().start, member.name.get_ref());
            if name.is_lead() {
                return Err((
                    at,
                    format!("`name`: {name} is the lead, not a member to start"),
                ));
            }
            if names.contains(&name) {
                return Err((at, format!("`name`: two members are called {name}")));
            }
            names.push(name);
        }
        let mut keys: BTreeMap<&str, usize> = BTreeMap::new();
        for (place, task) in self.tasks.iter().enumerate() {
            let given = task.reference.as_ref().unwrap_or(&task.subject);
            if given.get_ref().trim().is_empty() {
                return Err((given.span().start, "a task needs a subject".to_owned()));
            }
            if keys.insert(task.key(), place).is_some() {
                let reason = format!("two tasks are called `{}`; give each a `ref`", task.key());
                return Err((given.span().start, reason));
            }
        }
        for task in &self.tasks {
            if let Some(owner) = &task.owner
                && !names.contains(&owner.get_ref())
                && !owner.get_ref().is_lead()
            {
                let reason = format!("`owner`: the template has no member {}", owner.get_ref());
                return Err((owner.span().start, reason));
            }
            for blocker in &task.blocked_by {
                if !keys.contains_key(blocker.get_ref().as_str()) {
                    let reason = format!(
                        "`blocked_by`: the template has no task `{}`",
                        blocker.get_ref()
                    );
                    return Err((blocker.span().start, reason));
                }
            }
        }
        self.refuse_circles(&keys)
    }

    fn refuse_circles(&self, keys: &BTreeMap<&str, usize>) -> Result<(), (usize, String)> {
        let blockers = |place: usize| {
            let names = self.tasks[place].blocked_by.iter();
            names.filter_map(|name| keys.get(name.get_ref().as_str()).copied())
        };
        let mut done = vec![false; self.tasks.len()];
        // Each pass completes the tasks whose blockers are completed.
        while let Some(next) = (0..done.len())
            .find(|place| !done[*place] && blockers(*place).all(|blocker| done[blocker]))
        {
            done[next] = true;
        }
        match done.iter().position(|done| !done) {
            None => Ok(()),
            Some(place) => {
                let task = &self.tasks[place];
                let reason = format!("`blocked_by`: `{}` waits for itself", task.key());
                Err((task.subject.span().start, reason))
            }
        }
    }

    /// Returns the tasks that do not exist yet, with the places of their entries in the template.
    /// `existing` are the tasks that the template has created, by key.
    pub fn new_tasks(&self, existing: &BTreeMap<String, TaskId>) -> Vec<(usize, NewTask)> {
        let is_new = |task: &TemplateTask| !existing.contains_key(task.key());
        let new: Vec<usize> = (0..self.tasks.len())
            .filter(|place| is_new(&self.tasks[*place]))
            .collect();
        let index_of = |key: &str| new.iter().position(|place| self.tasks[*place].key() == key);
        let to_task = |place: &usize| {
            let task = &self.tasks[*place];
            let blockers = task.blocked_by.iter().map(|name| name.get_ref().as_str());
            let metadata = [(TEMPLATE_KEY.to_owned(), task.key().into())];
            let new = NewTask {
                subject: task.subject.get_ref().clone(),
                description: task.description.clone(),
                owner: task.owner.as_ref().map(|owner| owner.get_ref().clone()),
                blocked_by: blockers
                    .clone()
                    .filter_map(|key| existing.get(key).copied())
                    .collect(),
                after: blockers.filter_map(index_of).collect(),
                metadata: Some(metadata.into_iter().collect()),
                checks: task.checks.clone(),
                ..NewTask::default()
            };
            (*place, new)
        };
        new.iter().map(to_task).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"
name = "small"
budget = "5$"

[[member]]
name = "alice"
type = "general-purpose"
worktree = true

[[task]]
subject = "Fix it"
blocked_by = ["find"]
checks = ["cargo test"]

[[task]]
ref = "find"
subject = "Find it"
owner = "alice"
"#;

    #[test]
    fn tasks_that_exist_are_not_created_again() {
        let template = TeamTemplate::parse(SMALL, "f").unwrap();
        let all = template.new_tasks(&BTreeMap::new());
        assert_eq!(all.len(), 2);
        assert_eq!(all[0].1.after, [1]);
        assert_eq!(all[0].1.checks, ["cargo test"]);
        let existing = BTreeMap::from([("find".to_owned(), TaskId::new(7))]);
        let rest = template.new_tasks(&existing);
        assert_eq!(rest.len(), 1);
        assert_eq!(rest[0].1.blocked_by, [TaskId::new(7)]);
    }

    #[test]
    fn errors_name_the_line_and_the_key() {
        for (from, to, message) in [
            (
                "worktree = true",
                "wortree = true",
                "f:8: unknown field `wortree`",
            ),
            ("budget = \"5$\"", "budget = 5", "f:3: "),
            ("budget = \"5$\"", "budget = \"5\"", "f:3: "),
            (
                "owner = \"alice\"",
                "owner = \"bob\"",
                "f:18: `owner`: the template has no member bob",
            ),
            (
                "[\"find\"]",
                "[\"fnd\"]",
                "f:12: `blocked_by`: the template has no task `fnd`",
            ),
            (
                "[\"find\"]",
                "[\"Fix it\"]",
                "f:11: `blocked_by`: `Fix it` waits for itself",
            ),
            (
                "name = \"alice\"",
                "name = \"team-lead\"",
                "f:6: `name`: team-lead is the lead",
            ),
            ("name = \"small\"", "name = \"a b\"", "f:2: "),
            ("name = \"small\"\n", "", "missing field `name`"),
        ] {
            let text = SMALL.replacen(from, to, 1);
            let error = TeamTemplate::parse(&text, "f").unwrap_err().to_string();
            assert!(error.contains(message), "{to}: {error}");
        }
        let error = TeamTemplate::parse(&SMALL.replace("\"5$\"", "5"), "f").unwrap_err();
        assert!(
            error.reason.contains("budget") || error.reason.contains("string"),
            "{error}"
        );
    }

    #[test]
    fn the_built_in_templates_are_valid() {
        for (name, text) in TEAM_TEMPLATES {
            let template = TeamTemplate::parse(text, name).unwrap();
            assert_eq!(template.name.as_str(), name);
            assert!(template.members.len() > 1 && template.tasks.len() > 1);
        }
    }
}
