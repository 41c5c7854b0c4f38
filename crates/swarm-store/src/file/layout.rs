//! Paths under the config directory. Names are validated types, so no path can leave it.

use std::path::{Path, PathBuf};

use swarm_protocol::{BlobRef, MemberName, RequestId, SpawnId, TaskId, TeamName};

use crate::Result;

/// The paths of one config directory.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    root: PathBuf,
}

impl Layout {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// The config directory itself.
    pub(crate) fn root(&self) -> PathBuf {
        self.root.clone()
    }

    /// The directory of swarm's own files that belong to no team.
    pub(crate) fn own(&self) -> PathBuf {
        self.root.join("swarm")
    }

    /// Claude Code's directory of running sessions, where a lead announces itself.
    pub(crate) fn sessions(&self) -> PathBuf {
        self.root.join("sessions")
    }

    pub(crate) fn teams(&self) -> PathBuf {
        self.root.join("teams")
    }

    pub(crate) fn all_tasks(&self) -> PathBuf {
        self.root.join("tasks")
    }

    /// The scratchpad of a team that no process leads.
    pub(crate) fn scratchpad(&self, team: &TeamName) -> PathBuf {
        self.root.join("scratchpad").join(team.as_str())
    }

    /// The plan file of one spawn of a member; a later plan replaces it.
    pub(crate) fn plan(&self, team: &TeamName, member: &MemberName, spawn: SpawnId) -> PathBuf {
        let spawn = spawn.to_string();
        let spawn = spawn.split('-').next().unwrap_or_default();
        let file = format!("{team}-{member}-{spawn}.md");
        self.root.join("plans").join(file)
    }

    /// Archives of deleted teams.
    pub(crate) fn archives(&self) -> PathBuf {
        self.root.join("swarm").join("archive")
    }

    /// The sidecar under which teams are created and deleted.
    pub(crate) fn teams_lock(&self) -> PathBuf {
        self.root.join("swarm").join("locks").join("teams")
    }

    pub(crate) fn team(&self, team: &TeamName) -> TeamLayout {
        TeamLayout {
            directory: self.teams().join(team.as_str()),
            tasks: self.all_tasks().join(team.as_str()),
        }
    }
}

/// The paths of one team.
#[derive(Debug, Clone)]
pub(crate) struct TeamLayout {
    directory: PathBuf,
    tasks: PathBuf,
}

impl TeamLayout {
    /// Returns the paths below another team directory: one under construction, or one renamed for
    /// deletion.
    pub(crate) fn moved_to(&self, directory: PathBuf) -> Self {
        Self {
            directory,
            tasks: self.tasks.clone(),
        }
    }

    /// Returns the paths with the task list in another directory.
    pub(crate) fn with_tasks(self, tasks: PathBuf) -> Self {
        Self { tasks, ..self }
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Joins names to the directory in one allocation, for the files that a view of the team opens
    /// for each member.
    fn below<const N: usize>(&self, names: [&str; N]) -> PathBuf {
        let names_length: usize = names.iter().map(|name| 1 + name.len()).sum();
        let length = self.directory.as_os_str().len() + names_length;
        let mut path = PathBuf::with_capacity(length);
        path.push(&self.directory);
        path.extend(names);
        path
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.directory.join("config.json")
    }

    pub(crate) fn inboxes(&self) -> PathBuf {
        self.directory.join("inboxes")
    }

    pub(crate) fn inbox(&self, name: &MemberName) -> PathBuf {
        self.below(["inboxes", &format!("{name}.json")])
    }

    /// The directory of files that only swarm uses.
    pub(crate) fn own(&self) -> PathBuf {
        self.directory.join("swarm")
    }

    pub(crate) fn locks(&self) -> PathBuf {
        self.own().join("locks")
    }

    pub(crate) fn config_lock(&self) -> PathBuf {
        self.locks().join("config")
    }

    pub(crate) fn tasks_lock(&self) -> PathBuf {
        self.locks().join("tasks")
    }

    pub(crate) fn requests_lock(&self) -> PathBuf {
        self.locks().join("requests")
    }

    pub(crate) fn inbox_lock(&self, name: &MemberName) -> PathBuf {
        self.locks().join(format!("inbox-{name}"))
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.own().join("journal.jsonl")
    }

    pub(crate) fn costs(&self) -> PathBuf {
        self.own().join("cost.jsonl")
    }

    pub(crate) fn budgets(&self) -> PathBuf {
        self.own().join("budgets.json")
    }

    /// The directory of large values.
    fn blobs(&self) -> PathBuf {
        self.own().join("blobs")
    }

    pub(crate) fn blob(&self, blob: &BlobRef) -> PathBuf {
        self.blobs().join(blob.id.to_string())
    }

    /// The published branches.
    pub(crate) fn branches(&self) -> PathBuf {
        self.own().join("branches.json")
    }

    pub(crate) fn members(&self) -> PathBuf {
        self.own().join("members")
    }

    /// Returns the names of the members that have a directory.
    pub(crate) fn names_of_members(&self) -> Result<Vec<MemberName>> {
        let names = swarm_os::names_in(&self.members())?.unwrap_or_default();
        let names = names.iter();
        Ok(names
            .filter_map(|name| MemberName::parse(name.to_str()?).ok())
            .collect())
    }

    pub(crate) fn member(&self, name: &MemberName) -> PathBuf {
        self.below(["swarm", "members", name.as_str()])
    }

    pub(crate) fn life(&self, name: &MemberName) -> PathBuf {
        self.below(["swarm", "members", name.as_str(), "life"])
    }

    pub(crate) fn hello(&self, name: &MemberName) -> PathBuf {
        self.member(name).join("hello.json")
    }

    /// The roster entry of a member that has left.
    pub(crate) fn former(&self, name: &MemberName) -> PathBuf {
        self.member(name).join("former.json")
    }

    pub(crate) fn rights(&self, name: &MemberName) -> PathBuf {
        self.member(name).join("rights.json")
    }

    pub(crate) fn state(&self, name: &MemberName) -> PathBuf {
        self.below(["swarm", "members", name.as_str(), "state.json"])
    }

    pub(crate) fn paused(&self, name: &MemberName) -> PathBuf {
        self.below(["swarm", "members", name.as_str(), "paused"])
    }

    /// The state before a reservation, needed to undo it.
    pub(crate) fn undo(&self, name: &MemberName) -> PathBuf {
        self.member(name).join("reservation.json")
    }

    /// The directory of the signing key, which no tool of an agent reads.
    pub(crate) fn keys(&self) -> PathBuf {
        self.own().join("keys")
    }

    pub(crate) fn signing_key(&self) -> PathBuf {
        self.keys().join("signing.key")
    }

    pub(crate) fn archive(&self) -> PathBuf {
        self.own().join("archive")
    }

    /// Acknowledged messages that left the inbox.
    pub(crate) fn mail_archive(&self, name: &MemberName) -> PathBuf {
        self.archive().join(format!("{name}.jsonl"))
    }

    /// Malformed elements that were removed from the inbox.
    pub(crate) fn malformed_archive(&self, name: &MemberName) -> PathBuf {
        self.archive().join(format!("{name}.malformed.jsonl"))
    }

    pub(crate) fn requests(&self) -> PathBuf {
        self.own().join("requests")
    }

    /// The highest request number in use.
    pub(crate) fn request_mark(&self) -> PathBuf {
        self.own().join("requests.highwatermark")
    }

    /// `id` must be a valid file name.
    pub(crate) fn request(&self, id: &RequestId) -> PathBuf {
        self.requests().join(format!("{id}.json"))
    }

    pub(crate) fn tasks(&self) -> &Path {
        &self.tasks
    }

    pub(crate) fn task(&self, id: TaskId) -> PathBuf {
        self.tasks.join(format!("{id}.json"))
    }

    /// The file that Claude Code locks to create a task.
    pub(crate) fn list_file(&self) -> PathBuf {
        self.tasks.join(".lock")
    }

    /// The highest number ever given, as decimal text.
    pub(crate) fn high_water_mark(&self) -> PathBuf {
        self.tasks.join(".highwatermark")
    }

    /// Messages of changes of the task list that are not in the inboxes yet.
    pub(crate) fn tasks_outbox(&self) -> PathBuf {
        self.own().join("tasks.outbox.json")
    }

    /// Task files that are about to be written together.
    pub(crate) fn tasks_redo(&self) -> PathBuf {
        self.own().join("tasks.redo.json")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::path::Component;

    use proptest::prelude::*;

    use super::*;

    /// Arbitrary names, including malicious ones in any language.
    fn any_name() -> impl Strategy<Value = String> {
        prop_oneof![
            "\\PC{0,40}",
            "[A-Za-z0-9_-]{0,70}",
            "(\\.|/|\\\\|a|\u{202e}|\u{0}|~|\n){1,6}",
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

        #[test]
        fn d12_names_become_files_one_to_one_and_none_leaves_its_directory(
            names in prop::collection::vec(any_name(), 50),
        ) {
            let layout = Layout::new(PathBuf::from("/root-directory"));
            let mut taken: HashMap<PathBuf, String> = HashMap::new();
            for given in names {
                let team = TeamName::parse(&given);
                let member = MemberName::parse(&given);
                prop_assert_eq!(team.is_ok(), member.is_ok());
                let (Ok(team), Ok(member)) = (team, member) else { continue };
                let at = layout.team(&team);
                for (path, directory) in [
                    (at.directory().to_owned(), layout.teams()),
                    (at.tasks().to_owned(), layout.all_tasks()),
                    (at.inbox(&member), at.inboxes()),
                    (at.member(&member), at.members()),
                    (at.inbox_lock(&member), at.locks()),
                    (at.mail_archive(&member), at.archive()),
                ] {
                    prop_assert_eq!(path.parent(), Some(directory.as_path()));
                    let plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::RootDir);
                    prop_assert!(path.components().all(plain));
                    let before = taken.insert(path, given.clone());
                    prop_assert!(before.is_none_or(|before| before == given));
                }
                // From the file back to the name.
                let inbox = at.inbox(&member);
                let stem = inbox.file_stem().and_then(|stem| stem.to_str());
                prop_assert_eq!(stem.map(MemberName::parse), Some(Ok(member)));
                prop_assert_eq!(stem, Some(given.as_str()));
            }
        }
    }
}
