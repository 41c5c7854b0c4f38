//! The state of a team in records. All members are read at once: a request for each record of each
//! member would take seconds in a large team.

use std::collections::BTreeMap;

use swarm_protocol::{Member, MemberName, TeamConfig};

use super::inbox::{Sent, fold};
use super::key::Key;
use super::presence::{Leases, facts};
use super::record::{Record, Value, Versioned, from_bytes};
use super::space::{FEW, Stored};
use super::team::RecordsTeam;
use super::values;
use crate::reconcile::is_outdated;
use crate::view::{MemberFacts, life_in, life_of};
use crate::{MemberView, Result, TeamView};

/// What is stored of the members.
struct Everything {
    leases: Leases,
    /// Messages by the log of those that were sent.
    sent: BTreeMap<Key, Sent>,
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

    /// In the order of [`MemberFacts`]; a message leaves the log when the record of the inbox has it.
    fn read_everything(&self, members: &[MemberName]) -> Result<Everything> {
        let leases = self.leases(members)?;
        let mut sent: BTreeMap<Key, Sent> = BTreeMap::new();
        for (key, entry) in self.read_below(&values::all_sent(), &[])? {
            let message = (entry.revision, from_bytes(&key, &entry.value)?);
            sent.entry(key.parent()).or_default().push(message);
        }
        let inboxes = members.iter().map(|name| values::inbox(name).key);
        let inboxes = self.read_below(&values::inboxes(), &inboxes.collect::<Vec<_>>())?;
        let reports = members.iter().map(|name| values::reports(name).key);
        let reports = self.read_all(&values::all_reports(), &reports.collect::<Vec<_>>())?;
        Ok(Everything {
            leases,
            sent,
            records: inboxes.into_iter().chain(reports).collect(),
        })
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
        let mut inbox = self.value(&values::inbox(name))?.flatten();
        let sent = self.sent.get(&values::sent(name).key);
        fold(&mut inbox, sent.into_iter().flatten().cloned());
        let entries = inbox.iter().flat_map(|inbox| &inbox.entries);
        let reports = self.value(&values::reports(name))?.unwrap_or_default();
        let known = MemberFacts {
            liveness,
            process,
            parked_on: parked.map(|lease| lease.record.host),
            unread: Some(entries.filter(|entry| !entry.read).count()),
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
