//! Reading and changing `config.json`.

use swarm_fs::{Held, PendingSync};
use swarm_protocol::{LeadProcess, Member, MemberName, SpawnId, TeamConfig};

use crate::team_files::{TeamFiles, is_there};
use crate::{Result, StoreError, process, record};

impl TeamFiles<'_> {
    pub(crate) fn config(&self) -> Result<TeamConfig> {
        match self.read_config() {
            // Old versions of Claude Code write in place: what was seen may be half of something.
            Err(StoreError::Damaged { .. }) if is_there(&self.at.config_lock()) => {
                self.with_roster_lock(|_held| self.read_config())
            }
            read => read,
        }
    }

    pub(crate) fn read_config(&self) -> Result<TeamConfig> {
        record::read(&self.at.config())?.ok_or_else(|| self.not_found())
    }

    pub(crate) fn write_config(&self, held: &Held, config: &TeamConfig) -> Result<()> {
        Ok(self.place_config(held, config)?.sync()?)
    }

    /// The same without the wait for the disk.
    pub(crate) fn place_config(&self, held: &Held, config: &TeamConfig) -> Result<PendingSync> {
        let path = self.at.config();
        Ok(held.place(&path, &record::pretty(&path, config)?)?)
    }

    pub(crate) fn update_config(
        &self,
        change: impl FnOnce(&mut TeamConfig) -> Result<()>,
    ) -> Result<TeamConfig> {
        self.with_roster_lock(|held| {
            let before = self.read_config()?;
            let mut config = before.clone();
            change(&mut config)?;
            if config != before {
                self.write_config(held, &config)?;
            }
            Ok(config)
        })
    }

    pub(crate) fn set_active(&self, name: &MemberName, active: bool) -> Result<()> {
        // A look without the lock first: most calls find nothing to change.
        let known = self.member_of(&self.config()?, name)?.is_active;
        if known == Some(active) {
            return Ok(());
        }
        self.with_roster_lock(|held| {
            let mut config = self.read_config()?;
            self.member_of(&config, name)?;
            if let Some(member) = config.member_mut(name) {
                member.is_active = Some(active);
            }
            // A courtesy to other programs that run: after a power cut none does.
            let _pending = self.place_config(held, &config)?;
            Ok(())
        })
    }

    pub(crate) fn set_lead_process(&self, lead: Option<LeadProcess>) -> Result<()> {
        self.update_config(|config| {
            let other = config.lead_process.as_ref().filter(|present| {
                let same = lead.as_ref().is_some_and(|new| is_same(new, present));
                !same && present.pid != std::process::id()
            });
            if let Some(other) = other
                && process::lead_is_running(other) == Some(true)
            {
                return Err(self.led_by(other.pid));
            }
            config.lead_process = lead;
            Ok(())
        })
        .map(drop)
    }

    pub(crate) fn clear_lost_lead(&self, lost: &LeadProcess) -> Result<()> {
        self.update_config(|config| {
            self.refuse_if_led(Some(config))?;
            match &config.lead_process {
                Some(present) if !is_same(present, lost) => Err(self.led_by(present.pid)),
                _ => {
                    config.lead_process = None;
                    Ok(())
                }
            }
        })
        .map(drop)
    }

    pub(crate) fn require_member(&self, name: &MemberName) -> Result<()> {
        self.member_of(&self.config()?, name).map(drop)
    }

    pub(crate) fn member_of<'c>(
        &self,
        config: &'c TeamConfig,
        name: &MemberName,
    ) -> Result<&'c Member> {
        config
            .member(name)
            .ok_or_else(|| StoreError::MemberNotFound {
                team: self.team.clone(),
                name: name.clone(),
                known: config.names(),
            })
    }
}

fn is_same(a: &LeadProcess, b: &LeadProcess) -> bool {
    a.pid == b.pid && a.proc_start == b.proc_start && a.pid_space == b.pid_space
}

/// The place of a spawn in the roster.
pub(crate) fn position_of(config: &TeamConfig, spawn: SpawnId) -> Option<usize> {
    config
        .members
        .iter()
        .position(|member| member.spawn_id() == Some(spawn))
}
