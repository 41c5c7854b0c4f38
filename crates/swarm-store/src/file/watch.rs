//! Watching the files of a team.

use std::path::Path;

use swarm_os::{DirectoryWatcher, NameFilter};

use super::team::FileTeam;
use crate::{Changes, Topic};

impl FileTeam {
    /// Watches the directory of a topic's files, because files are replaced.
    pub(super) fn changes(&self, watcher: &DirectoryWatcher, topic: &Topic) -> Changes {
        let at = &self.at;
        let one = |path: &Path| {
            let directory = path.parent().unwrap_or(path).to_owned();
            let name = path.file_name().unwrap_or_default().to_owned();
            (directory, NameFilter::Exact(vec![name]))
        };
        let all = NameFilter::Suffix(".json");
        let (directory, names) = match topic {
            Topic::Roster => one(&at.config()),
            Topic::Mail(name) => one(&at.inbox(name)),
            Topic::AllMail => (at.inboxes(), all),
            Topic::Tasks => (at.tasks().to_owned(), all),
            Topic::Requests => (at.requests(), all),
            Topic::Journal => one(&at.journal()),
            Topic::Costs => one(&at.costs()),
            Topic::Budgets => one(&at.budgets()),
            Topic::Branches => one(&at.branches()),
            Topic::Hello(name) => one(&at.hello(name)),
            Topic::Rights(name) => one(&at.rights(name)),
            Topic::State(name) => one(&at.state(name)),
            Topic::Pause(name) => one(&at.paused(name)),
            Topic::Lease(name) => one(&at.life(name)),
        };
        Changes::of_files(watcher.subscribe(&directory, names))
    }
}
