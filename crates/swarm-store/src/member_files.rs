//! Files that members write about themselves, and the view of a member derived from them.

use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::Serialize;
use swarm_os::{LifeHolder, Liveness, OsError};
use swarm_protocol::{
    Hello, LifeRecord, Member, MemberName, MemberState, PauseMark, RightsReport, SpawnId,
    StateReport, TeamConfig,
};

use crate::file_team::{FileTeam, refuse_linked_directory};
use crate::{BrokenFile, Result, StoreError, process, record};

/// A member and its current state.
#[derive(Debug, Clone, PartialEq)]
pub struct MemberView {
    /// Its roster entry.
    pub member: Member,
    /// Its state, derived from the fields below.
    pub state: MemberState,
    /// Its last state report, if written by the current spawn.
    pub report: Option<StateReport>,
    /// Whether it is alive.
    pub liveness: Liveness,
    /// Set while a person pauses it; takes effect after the current turn.
    pub pause: Option<PauseMark>,
    /// Number of unread messages; `None` if its inbox cannot be read.
    pub unread: Option<usize>,
    /// Its inbox file, if damaged.
    pub damaged_inbox: Option<BrokenFile>,
    /// Life record of its current process, if it is running and has one.
    pub process: Option<LifeRecord>,
    /// Whether that process is stopped by a signal and therefore inactive, whatever its state.
    pub frozen: bool,
}

/// Snapshot of a team; each file of its members is read once.
#[derive(Debug, Clone, PartialEq)]
pub struct TeamView {
    /// Its roster.
    pub config: TeamConfig,
    /// Whether another program created it; swarm then only reads it.
    pub is_foreign: bool,
    /// All members, in roster order.
    pub members: Vec<MemberView>,
    /// Whether there are unrecorded changes, such as a death, for [`crate::Team::reconcile`].
    pub needs_reconcile: bool,
}

impl FileTeam {
    pub(crate) fn write_hello(&self, name: &MemberName, hello: &Hello) -> Result<()> {
        self.write_passing(&self.at.hello(name), hello)
    }

    pub(crate) fn hello(&self, name: &MemberName) -> Result<Option<Hello>> {
        self.read_own(&self.at.hello(name))
    }

    pub(crate) fn write_rights(&self, name: &MemberName, rights: &RightsReport) -> Result<()> {
        self.write_passing(&self.at.rights(name), rights)
    }

    pub(crate) fn write_plan(
        &self,
        name: &MemberName,
        spawn: SpawnId,
        plan: &str,
    ) -> Result<PathBuf> {
        let path = self.store.layout.plan(&self.team, name, spawn);
        if let Some(directory) = path.parent() {
            swarm_os::ensure_private_dir(directory)?;
        }
        swarm_os::replace_alone(&path, plan.as_bytes())?;
        Ok(path)
    }

    pub(crate) fn rights(&self, name: &MemberName) -> Result<Option<RightsReport>> {
        self.read_own(&self.at.rights(name))
    }

    pub(crate) fn write_state(&self, name: &MemberName, state: &StateReport) -> Result<()> {
        self.write_passing(&self.at.state(name), state)
    }

    pub(crate) fn state(&self, name: &MemberName) -> Result<Option<StateReport>> {
        self.read_own(&self.at.state(name))
    }

    pub(crate) fn paused(&self, name: &MemberName) -> Result<Option<PauseMark>> {
        let config = self.config()?;
        self.pause_of(self.member_of(&config, name)?)
    }

    pub(crate) fn pause_of(&self, member: &Member) -> Result<Option<PauseMark>> {
        let mark: Option<PauseMark> = record::read(&self.at.paused(&member.name))?;
        let spawn = member.spawn_id();
        Ok(mark.filter(|mark| spawn.is_none_or(|spawn| spawn == mark.spawn_id)))
    }

    pub(crate) fn liveness(&self, name: &MemberName) -> Result<Liveness> {
        let config = self.config()?;
        let member = self.member_of(&config, name)?;
        Ok(self.life_in(&config, member)?.0)
    }

    pub(crate) fn life_record(&self, name: &MemberName) -> Option<LifeRecord> {
        record::read(&self.at.life(name)).ok().flatten()
    }

    pub(crate) fn names_on_disk(&self) -> Vec<MemberName> {
        let names = swarm_os::names_in(&self.at.members());
        let names = names.ok().flatten().unwrap_or_default().into_iter();
        names
            .filter_map(|name| MemberName::parse(name.to_str()?).ok())
            .collect()
    }

    pub(crate) fn take_life(&self, name: &MemberName, content: &[u8]) -> Result<LifeHolder> {
        let path = self.at.life(name);
        let taken = self
            .refuse_links()
            .and_then(|()| refuse_linked_directory(&path))
            .and_then(|()| Ok(LifeHolder::take(&path, content)?));
        taken.map_err(|error| self.explain(error))
    }
}

impl FileTeam {
    pub(crate) fn remove_pause(&self, name: &MemberName) -> Result<()> {
        let path = self.at.paused(name);
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(StoreError::Fs(OsError::Io {
                    path,
                    op: "remove",
                    source,
                }))
            }
            _ => Ok(()),
        }
    }

    /// Writes a report of a process without sync: it is obsolete after a reboot.
    fn write_passing<T: Serialize>(&self, path: &Path, content: &T) -> Result<()> {
        let content = record::pretty(path, content)?;
        let written = refuse_linked_directory(path)
            .and_then(|()| Ok(swarm_os::replace_passing(path, &content)?));
        written.map_err(|error| self.explain(error))
    }

    /// Keeps the entry of a member that leaves the roster, with its conversation.
    pub(crate) fn write_former(&self, member: &Member) -> Result<()> {
        let path = self.at.former(&member.name);
        swarm_os::ensure_private_dir(&self.at.member(&member.name))?;
        if let Err(error) = self.former_member(&member.name) {
            let kept = swarm_os::quarantine(&path)?;
            tracing::warn!(%error, kept = %kept.display(), "record of a former member set aside");
        }
        write_alone(&path, member)
    }

    pub(crate) fn read_own<T: serde::de::DeserializeOwned>(
        &self,
        path: &Path,
    ) -> Result<Option<T>> {
        // Written in place: this may be a partial write.
        let found = record::read(path).or_else(|_| record::read(path))?;
        if found.is_none() && !self.exists() {
            return Err(self.not_found());
        }
        Ok(found)
    }

    /// Returns whether the current spawn of a member is alive. A life lock held by another spawn of
    /// the same name does not count.
    pub(crate) fn life_of(&self, member: &Member) -> Result<Liveness> {
        Ok(self.process_of(member)?.0)
    }

    /// Returns the liveness and the life record of the running process.
    fn process_of(&self, member: &Member) -> Result<(Liveness, Option<LifeRecord>)> {
        let path = self.at.life(&member.name);
        let (found, content) = swarm_os::probe_and_read(&path)?;
        // Only the lock counts; the content may be unreadable.
        let holder: Option<LifeRecord> =
            content.and_then(|bytes| record::parse(&path, &bytes).ok());
        match (member.spawn_id(), &holder) {
            (Some(spawn), Some(holder)) if holder.spawn_id != spawn => Ok((Liveness::Dead, None)),
            _ => Ok((found, holder)),
        }
    }

    /// Like [`Self::life_of`] for any member: a lead without a life file is identified by its
    /// process.
    fn life_in(
        &self,
        config: &TeamConfig,
        member: &Member,
    ) -> Result<(Liveness, Option<LifeRecord>)> {
        let (found, process) = self.process_of(member)?;
        if found != Liveness::Foreign || !member.name.is_lead() {
            return Ok((found, process));
        }
        let runs = config
            .lead_process
            .as_ref()
            .and_then(process::lead_is_running);
        let found = match runs {
            Some(true) => Liveness::Alive,
            Some(false) => Liveness::Dead,
            None => Liveness::Foreign,
        };
        Ok((found, None))
    }

    /// Fails while another process leads the team. The life lock is checked first: a new lead takes
    /// it first, and it works even if the roster is unreadable.
    pub(crate) fn refuse_if_led(&self, config: Option<&TeamConfig>) -> Result<()> {
        let path = self.at.life(&MemberName::lead());
        let named = config.and_then(|config| config.lead_process.as_ref());
        let (pid, start) = match swarm_os::probe(&path)? {
            Liveness::Dead => return Ok(()),
            Liveness::Alive => match record::read::<LifeRecord>(&path).ok().flatten() {
                Some(life) => (life.pid, life.proc_start),
                // Only the lock counts; the content may be unreadable.
                None => (named.map_or(0, |lead| lead.pid), String::new()),
            },
            Liveness::Foreign => match named {
                Some(lead) if process::lead_is_running(lead) == Some(true) => {
                    (lead.pid, lead.proc_start.clone())
                }
                _ => return Ok(()),
            },
        };
        let own = std::process::id();
        if pid == own && process::start_time(own).unwrap_or_default() == start {
            return Ok(());
        }
        Err(self.led_by(pid))
    }

    pub(crate) fn led_by(&self, pid: u32) -> StoreError {
        StoreError::LeadAlive {
            team: self.team.clone(),
            pid,
        }
    }

    pub(crate) fn view_of(&self, config: &TeamConfig, member: &Member) -> Result<MemberView> {
        let (life, holder) = self.life_in(config, member)?;
        // The report of the last lead process does not apply to a person who leads now, except for
        // a failure.
        let by_hand =
            member.name.is_lead() && config.lead_process.is_none() && life != Liveness::Alive;
        let liveness = if by_hand { Liveness::Foreign } else { life };
        // A member reports that it works before it acknowledges mail. Counting before reading the
        // report ensures that mail in progress shows in one of the two.
        let (unread, damaged_inbox) = self.count_unread(&member.name);
        // An unreadable report is ignored; it must not hide the other members.
        let report = self.state(&member.name).unwrap_or_else(|error| {
            tracing::warn!(team = %self.team, member = %member.name, %error, "state report not read");
            None
        });
        let report = report.filter(|report| {
            (!by_hand || has_failed(report))
                && member
                    .spawn_id()
                    .is_none_or(|spawn| spawn == report.spawn_id)
        });
        let pause = self.pause_of(member).unwrap_or_else(|error| {
            tracing::warn!(team = %self.team, member = %member.name, %error, "pause mark not read");
            None
        });
        let frozen = holder
            .as_ref()
            .filter(|_| liveness == Liveness::Alive)
            .is_some_and(|life| process::is_stopped(life.pid, &life.proc_start));
        Ok(MemberView {
            pause,
            frozen,
            state: state_of(member, liveness, report.as_ref(), holder.is_some()),
            member: member.clone(),
            unread,
            damaged_inbox,
            process: holder,
            report,
            liveness,
        })
    }
}

/// Derives the state: the last report of a dead member counts only if it says that it stops.
fn state_of(
    member: &Member,
    liveness: Liveness,
    report: Option<&StateReport>,
    has_life: bool,
) -> MemberState {
    let mark = member.swarm.as_ref();
    if mark.is_some_and(|mark| mark.reservation.is_some()) {
        return MemberState::Starting;
    }
    let failed = report.filter(|report| has_failed(report));
    if let (Liveness::Foreign, true, Some(report)) = (liveness, member.name.is_lead(), failed) {
        return report.state;
    }
    let has_died = mark.is_some_and(|mark| mark.died_at.is_some());
    match liveness {
        Liveness::Foreign if !has_died => MemberState::Foreign,
        // The lead of another program is known only by its process and never reports.
        Liveness::Alive if !has_died && !has_life && report.is_none() => MemberState::Foreign,
        Liveness::Alive if !has_died => report.map_or(MemberState::Starting, |report| report.state),
        _ if report.is_some_and(has_stopped) => MemberState::Stopped,
        _ => MemberState::Dead,
    }
}

fn has_failed(report: &StateReport) -> bool {
    matches!(report.state, MemberState::Failed | MemberState::Exhausted)
}

/// Returns whether a member's last report says that it stops gracefully.
pub(crate) fn has_stopped(report: &StateReport) -> bool {
    matches!(report.state, MemberState::Stopped | MemberState::Stopping)
}

/// Writes a file that has only one writer.
pub(crate) fn write_alone<T: Serialize>(path: &Path, content: &T) -> Result<()> {
    refuse_linked_directory(path)?;
    Ok(swarm_os::replace_alone(
        path,
        &record::pretty(path, content)?,
    )?)
}
