//! Writing to a team that another program created: swarm's private directory is added to it.

use swarm_os::{OsError, PendingSync};
use swarm_protocol::{Event, MemberName};
use uuid::Uuid;

use crate::Result;
use crate::file::team::FileTeam;

/// The type of the first journal line of an adopted team, as `serde` writes it.
const ADOPTED: &str = r#""type":"team_adopted""#;

/// Bytes of the journal that contain its first line.
const FIRST_LINE: u64 = 4096;

impl FileTeam {
    /// Prepares a team of another program for changes by swarm; does nothing for other teams. The
    /// files of that program stay as they are.
    pub(crate) fn adopt(&self) -> Result<()> {
        if !self.is_foreign() {
            return Ok(());
        }
        // Its private directory does not exist yet.
        swarm_os::check_own_dir(self.at.directory())?;
        self.store.with_teams_lock(|| self.adopt_alone())
    }

    /// Returns whether the team was created by another program and then adopted.
    pub(crate) fn is_adopted(&self) -> Result<bool> {
        let beginning = swarm_os::read_beginning(&self.at.journal(), FIRST_LINE)?;
        let beginning = beginning.unwrap_or_default();
        let first = beginning.split(|byte| *byte == b'\n').next();
        Ok(String::from_utf8_lossy(first.unwrap_or_default()).contains(ADOPTED))
    }

    fn adopt_alone(&self) -> Result<()> {
        // Another process may have adopted it meanwhile.
        if !self.is_foreign() {
            return Ok(());
        }
        let config = self.config()?;
        let at = &self.at;
        let mut made = PendingSync::default();
        for directory in [
            at.inboxes(),
            at.own(),
            at.members(),
            at.member(&MemberName::lead()),
            at.requests(),
            at.archive(),
            at.tasks().to_owned(),
        ] {
            made = made.and(swarm_os::place_private_dir(&directory)?);
        }
        // With its locks the team counts as adopted, so they appear together and last.
        let aside = at.own().join(format!("locks.new-{}", Uuid::new_v4()));
        swarm_os::create_private_dir(&aside)?;
        let inboxes = config.names().into_iter().map(|name| at.inbox_lock(&name));
        let locks = [at.config_lock(), at.tasks_lock(), at.requests_lock()];
        for lock in inboxes.chain(locks) {
            let name = lock.file_name().unwrap_or_default();
            swarm_os::create_sidecar(&aside.join(name))?;
        }
        let by = config.lead_agent_id;
        let entered = self.enter([Event::TeamAdopted { by }])?;
        let made = made.and(swarm_os::made_in([aside.as_path()])?);
        made.and(entered).sync()?;
        match swarm_os::rename_no_replace(&aside, &at.locks()) {
            Err(OsError::Exists(_)) => Ok(swarm_os::remove_tree(&aside)?),
            done => Ok(done?),
        }
    }
}
