//! Creating and deleting a team in records, and what is known of it as a whole.

use std::path::PathBuf;

use swarm_os::process::Identity;
use swarm_protocol::{Event, MemberName, ROOT_VARIABLE, TeamConfig};

use super::key::Key;
use super::record::{Outbox, Record, Value, Versioned, to_bytes};
use super::space::WriteId;
use super::team::RecordsTeam;
use super::values::{self, RosterValue};
use crate::file::hub_file;
use crate::keys::SigningKey;
use crate::roster::{refuse_if_busy, refuse_if_led};
use crate::{NewTeam, Result, StoreError, TeamDamage};

impl RecordsTeam {
    /// Creates the team.
    ///
    /// # Errors
    /// [`StoreError::TeamExists`] or [`StoreError::TeamOnHub`].
    pub(crate) fn create(&self, new: &NewTeam) -> Result<TeamConfig> {
        let at = self.now();
        let config = new.roster(at);
        let seed = SigningKey::new_seed().map_err(|why| StoreError::SigningKey {
            path: PathBuf::from(values::key().key.as_str()),
            why,
        })?;
        let mut outbox = Outbox::new(at);
        outbox.push(Event::TeamCreated {
            by: new.created_by.clone(),
        });
        let seed = stored(&values::key(), seed, Outbox::new(at))?;
        let roster = stored(&values::roster(), RosterValue::new(config.clone()), outbox)?;
        let records = [seed, roster];
        if !self.answered(true, |at_most| self.space.create(&records, at_most))? {
            return Err(self.space.taken(self.view()?.in_words()));
        }
        self.seen.forget();
        let (revision, roster) = self.fetch(&values::roster())?;
        self.publish_now(&values::roster().key, revision, &roster);
        Ok(config)
    }

    pub(super) fn location(&self) -> String {
        let local = || {
            let at = self.local.layout.team(&self.team);
            at.directory().display().to_string()
        };
        self.space.address().unwrap_or_else(local)
    }

    /// Members' processes have the config directory of this machine in their environment.
    pub(super) fn identity(&self) -> Identity {
        Identity::new(ROOT_VARIABLE, self.local.layout.root())
    }

    /// A hub that cannot be used does not mean that it has no such team.
    #[expect(clippy::unnecessary_wraps, reason = "other kinds may not know")]
    pub(super) fn is_stored(&self) -> Result<bool> {
        let is_gone = matches!(self.config(), Err(StoreError::TeamNotFound { .. }));
        Ok(!is_gone)
    }

    /// A team whose hub cannot be used is like one whose files cannot be read.
    pub(super) fn damage(&self) -> Option<TeamDamage> {
        let why = self.config().err()?;
        let may_live = match &why {
            StoreError::NotOnHub { .. } => false,
            StoreError::HubUnreachable { .. }
            | StoreError::HubLost(_)
            | StoreError::HubLogin { .. }
            | StoreError::HubCertificate { .. }
            | StoreError::HubSilent(_)
            | StoreError::HubFull { .. }
            | StoreError::HubRefused { .. }
            | StoreError::HubForbidden { .. } => true,
            _ => return None,
        };
        Some(TeamDamage { why, may_live })
    }

    pub(super) fn is_remote(&self) -> bool {
        !self.space.is_local()
    }

    pub(super) fn received(&self) -> u64 {
        self.space.received()
    }

    pub(super) fn is_joined(&self) -> bool {
        hub_file::is_joined(&self.local.layout, &self.team).unwrap_or(false)
    }

    #[expect(
        clippy::unused_self,
        reason = "no other program creates teams in records"
    )]
    pub(super) fn is_foreign(&self) -> bool {
        false
    }

    /// Callers prepare a change with this, and then reconcile the team.
    pub(super) fn adopt(&self) -> Result<()> {
        self.space.expect_leases();
        self.require()
    }

    pub(super) fn is_adopted(&self) -> Result<bool> {
        self.require().map(|()| false)
    }

    pub(super) fn delete(&self, _purge: bool, force: bool) -> Result<Option<PathBuf>> {
        match self.may_delete(force) {
            Err(StoreError::NotOnHub { .. }) => return self.remove_local().map(|()| None),
            may => may?,
        }
        self.may_write(false)?;
        self.answered(true, |at_most| self.space.delete(at_most))?;
        self.seen.forget();
        self.remove_local().map(|()| None)
    }

    /// Removes what this machine has of the team.
    fn remove_local(&self) -> Result<()> {
        let at = self.local.layout.team(&self.team);
        Ok(swarm_os::remove_tree(at.directory())?)
    }

    pub(super) fn may_delete(&self, force: bool) -> Result<()> {
        let config = self.config()?;
        let (lease, holder) = self.lease_of(&MemberName::lead())?;
        refuse_if_led(&self.team, config.lead_process.as_ref(), lease, holder)?;
        if force {
            return Ok(());
        }
        refuse_if_busy(
            &self.team,
            &config,
            |member| self.life_of(member),
            |name| self.state(name),
        )
    }
}

fn stored<V: Value>(
    record: &Record<V>,
    value: V,
    outbox: Outbox,
) -> Result<(Key, WriteId, Vec<u8>)> {
    let outbox = outbox.entries;
    let bytes = to_bytes(&record.key, &Versioned { value, outbox })?;
    Ok((record.key.clone(), WriteId::new_v4(), bytes))
}
