//! Watching the records of a team.

use swarm_os::DirectoryWatcher;

use super::space::Key;
use super::team::RecordsTeam;
use super::values;
use crate::{Changes, Topic};

impl RecordsTeam {
    /// Watches the records of a topic; nothing in a team that does not exist.
    pub(super) fn changes(&self, _watcher: &DirectoryWatcher, topic: &Topic) -> Changes {
        let key = match topic {
            Topic::Roster => values::roster().key,
            Topic::Mail(name) => values::inbox(name).key,
            Topic::AllMail => Key::new("record.inbox"),
            Topic::Tasks => values::tasks().key,
            Topic::Requests => values::requests().key,
            Topic::Journal => values::journal().key,
            Topic::Costs => values::costs().key,
            Topic::Budgets => values::budgets().key,
            Topic::Hello(name) | Topic::Rights(name) | Topic::State(name) | Topic::Pause(name) => {
                values::reports(name).key
            }
            Topic::Lease(name) => Key::lease(name),
        };
        Changes::of_records(self.space.heard(&key))
    }
}
