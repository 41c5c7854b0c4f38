//! Watching the records of a team.

use swarm_os::DirectoryWatcher;

use super::key::Key;
use super::team::RecordsTeam;
use super::values;
use crate::{Changes, Topic};

impl RecordsTeam {
    /// Watches the records of a topic; nothing in a team that does not exist.
    pub(super) fn changes(&self, _watcher: &DirectoryWatcher, topic: &Topic) -> Changes {
        let key = match topic {
            Topic::Mail(name) => return self.watch(&values::mail_of(name)),
            Topic::AllMail => {
                return self.watch(&[values::inboxes(), values::all_sent()]);
            }
            Topic::Roster => values::roster().key,
            Topic::Tasks => values::tasks().key,
            Topic::Requests => values::requests().key,
            Topic::Journal => values::journal().key,
            Topic::Costs => values::costs().key,
            Topic::Budgets => values::budgets().key,
            Topic::Branches => values::branches().key,
            Topic::Hello(name) | Topic::Rights(name) | Topic::State(name) | Topic::Pause(name) => {
                values::reports(name).key
            }
            Topic::Lease(name) => Key::lease(name),
        };
        self.watch(&[key])
    }

    fn watch(&self, keys: &[Key]) -> Changes {
        for key in keys {
            let heard = self.space.heard(std::slice::from_ref(key));
            self.seen.watch(key.clone(), heard);
        }
        Changes::of_records(self.space.heard(keys))
    }
}
