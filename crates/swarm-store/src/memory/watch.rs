//! Watching the records of a memory team.

use swarm_os::DirectoryWatcher;

use super::bell::Bell;
use super::team::MemoryTeam;
use crate::{Changes, Topic};

impl MemoryTeam {
    /// Watches the records of a topic; nothing in a team that does not exist.
    pub(super) fn changes(&self, _watcher: &DirectoryWatcher, topic: &Topic) -> Changes {
        let Ok(records) = self.records() else {
            return Changes::of_memory(Bell::default().heard());
        };
        let bell = match topic {
            Topic::Roster => records.roster.bell(),
            Topic::Mail(name) => records.member(name).inbox.bell(),
            Topic::AllMail => records.mail.clone(),
            Topic::Tasks => records.tasks.bell(),
            Topic::Requests => records.requests.bell(),
            Topic::Journal => records.journal.bell(),
            Topic::Costs => records.costs.bell(),
            Topic::Budgets => records.budgets.bell(),
            Topic::Hello(name) | Topic::Rights(name) | Topic::State(name) | Topic::Pause(name) => {
                records.member(name).reports.bell()
            }
            Topic::Lease(name) => records.member(name).taken.clone(),
        };
        Changes::of_memory(bell.heard())
    }
}
