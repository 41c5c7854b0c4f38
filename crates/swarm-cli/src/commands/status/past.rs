//! Data of the journal and the costs in a status.

use std::collections::BTreeMap;
use std::path::Path;

use swarm_protocol::{Event, MemberName, RequestId, TeamConfig, UnixMs};
use swarm_store::{BlockOn as _, Cursor, Events, StoreError, TeamStore};
use swarm_team::TeamSpending;

/// Data of files that only grow. Kept between updates, so that each event is read once.
#[derive(Debug, Default)]
pub(super) struct Past {
    /// Creation time of the team, to detect a new team with the same name.
    team_made: UnixMs,
    /// Position after the last event read.
    next: Cursor,
    /// Reason of each member's last death.
    pub(super) deaths: BTreeMap<MemberName, String>,
    /// Why a member ignored the latest answer to its request that it ignored.
    pub(super) ignored: BTreeMap<RequestId, String>,
    pub(super) spending: TeamSpending,
    /// Damaged files that were moved aside: their location and the message about each.
    set_aside: Vec<(String, String)>,
}

impl Past {
    /// Reads new events; starts over if the team was recreated under the same name.
    pub(super) fn read_on(
        &mut self,
        store: &dyn TeamStore,
        config: &TeamConfig,
    ) -> Result<(), StoreError> {
        if self.team_made != config.created_at {
            *self = Self {
                team_made: config.created_at,
                ..Self::default()
            };
        }
        let team = store.team(&config.name);
        self.add(team.events_from(self.next).block_on()?);
        for record in self.spending.read_on(&*team)? {
            self.spending.add(&record);
        }
        Ok(())
    }

    fn add(&mut self, events: Events) {
        self.next = events.next;
        for entry in events.entries {
            match entry.event {
                Event::MemberDied { member, reason, .. } => {
                    self.deaths.insert(member, reason);
                }
                Event::AnswerIgnored {
                    request, reason, ..
                } => {
                    self.ignored.insert(request, reason);
                }
                Event::FileDamaged {
                    file, kept, reason, ..
                } => {
                    let sentence = format!(
                        "{file} was damaged ({reason}) and recreated; the damaged file is kept as {kept} until you remove it"
                    );
                    self.set_aside.push((kept, sentence));
                }
                _ => {}
            }
        }
    }

    /// Returns a message for each damaged file that was moved aside and still exists, latest first.
    pub(super) fn set_aside(&self) -> impl Iterator<Item = String> {
        let kept = self.set_aside.iter().rev();
        kept.filter(|(kept, _)| Path::new(kept).exists())
            .map(|(_, sentence)| sentence.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt as _;
    use std::sync::Arc;

    use swarm_protocol::{PERSON, SystemClock, TeamName};
    use swarm_store::{FileStore, NewTeam};

    use super::*;

    fn damaged(file: &str) -> Event {
        Event::FileDamaged {
            file: file.to_owned(),
            inbox: None,
            kept: "/".to_owned(),
            reason: "test".to_owned(),
        }
    }

    #[test]
    fn journal_data_is_kept_between_reads() {
        let directory = tempfile::tempdir().unwrap();
        let store = FileStore::new(directory.path().to_owned(), Arc::new(SystemClock));
        let team = TeamName::parse("demo").unwrap();
        let new = NewTeam::new(team.clone(), "/", PERSON);
        let config = store.create_team(new).block_on().unwrap();
        store
            .team(&team)
            .journal(damaged("first"))
            .block_on()
            .unwrap();
        let mut past = Past::default();
        past.read_on(&store, &config).unwrap();
        // The second read finds no new event.
        let journal = std::fs::File::options()
            .write(true)
            .open(directory.path().join("teams/demo/swarm/journal.jsonl"))
            .unwrap();
        let read = usize::try_from(journal.metadata().unwrap().len()).unwrap();
        journal.write_all_at(&vec![b'x'; read - 1], 0).unwrap();
        store
            .team(&team)
            .journal(damaged("second"))
            .block_on()
            .unwrap();
        past.read_on(&store, &config).unwrap();
        let told: Vec<String> = past.set_aside().collect();
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].starts_with("second") && told[1].starts_with("first"));
        // A new team with the same name starts with an empty history.
        let mut other = config;
        other.created_at = UnixMs(1);
        past.read_on(&store, &other).unwrap();
        assert_eq!(past.set_aside().count(), 1);
    }
}
