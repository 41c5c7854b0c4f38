//! The state of a team in records. All members are read at once: a request for each record of each
//! member would take seconds in a large team.

use std::collections::BTreeMap;

use swarm_protocol::{Member, MemberName, TeamConfig};

use super::key::Key;
use super::presence::{Leases, facts};
use super::record::{Record, Value, Versioned, from_bytes, to_bytes};
use super::space::{FEW, Stored, WriteId};
use super::team::RecordsTeam;
use super::values::{self, UnreadIndex};
use crate::reconcile::is_outdated;
use crate::view::{MemberFacts, life_in, life_of};
use crate::{MemberView, Result, TeamView};

/// New messages in the logs of all inboxes after which the index of unread ones is written again.
const INDEXED: usize = 256;

/// What is stored of the members.
struct Everything {
    leases: Leases,
    /// Where the logs have unread messages.
    unread: UnreadIndex,
    records: BTreeMap<Key, Stored>,
}

impl RecordsTeam {
    pub(super) fn view(&self) -> Result<TeamView> {
        self.space.expect_leases();
        let config = TeamConfig::clone(&*self.roster_seen()?);
        let stored = self.read_everything(&config.names())?;
        let members = config.members.iter();
        let members = members.map(|member| stored.view_of(&config, member));
        let members = members.collect::<Result<Vec<_>>>()?;
        let last_life =
            |name: &MemberName| stored.leases.get(name).map(|lease| lease.record.clone());
        Ok(TeamView {
            is_foreign: false,
            needs_reconcile: is_outdated(&config, &members, self.now(), last_life)?,
            members,
            config,
        })
    }

    /// In the order of [`MemberFacts`].
    fn read_everything(&self, members: &[MemberName]) -> Result<Everything> {
        let leases = self.leases(members)?;
        let inboxes = members.iter().map(|name| values::inbox(name).key);
        let inboxes = inboxes.chain([values::unread().key]);
        let inboxes = self.read_below(&values::inboxes(), &inboxes.collect::<Vec<_>>())?;
        let mut stored = Everything {
            leases,
            unread: UnreadIndex::default(),
            records: inboxes.into_iter().collect(),
        };
        stored.unread = self.unread_index(&stored)?;
        let reports = members.iter().map(|name| values::reports(name).key);
        let reports = self.read_all(&values::all_reports(), &reports.collect::<Vec<_>>())?;
        stored.records.extend(reports);
        Ok(stored)
    }

    /// Returns where the logs have unread messages. Without an index, all messages that were ever sent would
    /// have to be read.
    fn unread_index(&self, inboxes: &Everything) -> Result<UnreadIndex> {
        let record = values::unread();
        let mut index = inboxes.value(&record)?.unwrap_or_default();
        let (logs, from) = (values::all_sent(), index.end);
        let new = self.answered(false, |at_most| self.space.positions(&logs, from, at_most))?;
        let is_outdated = new.len() >= INDEXED;
        for (log, at) in new {
            index.end = at;
            if let Ok(name) = MemberName::parse(log.last_word()) {
                index.unread.entry(name).or_default().push(at);
            }
        }
        for (name, positions) in &mut index.unread {
            if let Some(inbox) = inboxes.value(&values::inbox(name))?.flatten() {
                positions.retain(|at| !inbox.settles(*at));
            }
        }
        index.unread.retain(|_, positions| !positions.is_empty());
        if is_outdated {
            let revision = inboxes.records.get(&record.key);
            let revision = revision.map_or(0, |stored| stored.revision);
            let (value, outbox) = (&index, Vec::new());
            let bytes = to_bytes(&record.key, &Versioned { value, outbox })?;
            // Tried once: otherwise the next view reads the same messages again.
            let at_most = self.call.of_request(false);
            let id = WriteId::new_v4();
            let written = self.space.write(&record.key, revision, id, &bytes, at_most);
            if let Err(error) = written {
                tracing::debug!(?error, "an index is not written");
            }
        }
        Ok(index)
    }

    /// Reads records below a prefix: a few side by side, many in one pass, with others.
    fn read_all(&self, prefix: &Key, wanted: &[Key]) -> Result<Vec<(Key, Stored)>> {
        if wanted.len() > FEW {
            return self.read_below(prefix, wanted);
        }
        let found = self.answered(false, |at_most| self.space.read_each(wanted, at_most))?;
        let found = wanted.iter().cloned().zip(found);
        Ok(found
            .filter_map(|(key, stored)| Some((key, stored?)))
            .collect())
    }

    fn read_below(&self, prefix: &Key, wanted: &[Key]) -> Result<Vec<(Key, Stored)>> {
        self.answered(false, |at_most| self.space.below(prefix, wanted, at_most))
    }
}

impl Everything {
    fn view_of(&self, config: &TeamConfig, member: &Member) -> Result<MemberView> {
        let name = &member.name;
        let lease = self.leases.get(name).cloned();
        let parked = lease.clone().filter(|lease| lease.is_parked);
        let parked = parked.filter(|lease| Some(lease.record.spawn_id) == member.spawn_id());
        let (lease, holder) = facts(lease);
        let (liveness, process) = life_in(config, member, life_of(member, lease, holder));
        let inbox = self.value(&values::inbox(name))?.flatten();
        let in_record = inbox.map_or(0, |inbox| inbox.count_unread());
        let in_log = self.unread.unread.get(name).map_or(0, Vec::len);
        let reports = self.value(&values::reports(name))?.unwrap_or_default();
        let known = MemberFacts {
            liveness,
            process,
            parked_on: parked.map(|lease| lease.record.host),
            unread: Some(in_record + in_log),
            damaged_inbox: None,
            report: reports.state.clone(),
            pause: reports.pause_of(member),
        };
        Ok(MemberView::of(config, member, known))
    }

    fn value<V: Value>(&self, record: &Record<V>) -> Result<Option<V>> {
        let stored = self.records.get(&record.key);
        let value = |stored: &Stored| {
            let found: Versioned<V> = from_bytes(&record.key, &stored.value)?;
            Ok(found.value)
        };
        stored.map(value).transpose()
    }
}
