//! Machines that take part in a team on a hub.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use swarm_hubkit::{Link, NatsServer};
use swarm_protocol::{Clock, MemberName, SpawnId, SystemClock};
use swarm_store::{
    BlockOn as _, HubSettings, HubStore, Lease, LeaseTerms, NewMember, Team, TeamStore,
};
use tokio::runtime::Builder;

use crate::hub::{has_no_server, settings};
use crate::values::{life_record, new_member, new_team, team};

/// Leases in these tests end soon.
pub(crate) const TERMS: LeaseTerms = LeaseTerms {
    renewal: Duration::from_millis(150),
    term: Duration::from_millis(900),
};

/// A machine: a config directory and a connection of its own.
pub(crate) fn machine(root: &Path, hub: HubSettings) -> HubStore {
    machine_with_clock(root, hub, Arc::new(SystemClock))
}

pub(crate) fn machine_with_clock(root: &Path, hub: HubSettings, clock: Arc<dyn Clock>) -> HubStore {
    let store = HubStore::new(root.to_owned(), hub, clock).unwrap();
    store.with_lease_terms(TERMS)
}

pub(crate) fn crew(store: &HubStore) -> Arc<dyn Team> {
    store.team(&team("crew"))
}

/// Adds a committed member.
pub(crate) fn join(crew: &dyn Team, member: &str) -> SpawnId {
    let new: NewMember = new_member(member);
    let spawn = new.spawn_id;
    crew.reserve(new).block_on().unwrap();
    let pane = swarm_protocol::PaneId::new("%1");
    let backend = swarm_protocol::BackendType::Tmux;
    crew.commit_spawn(&spawn, pane, backend, None)
        .block_on()
        .unwrap();
    spawn
}

pub(crate) struct Scene {
    pub(crate) server: NatsServer,
    pub(crate) here: HubStore,
    pub(crate) directory: tempfile::TempDir,
}

impl Scene {
    /// Returns `None` if the test must be skipped.
    pub(crate) fn new() -> Option<Self> {
        if has_no_server() {
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let server = NatsServer::start(&directory.path().join("server"), &[]);
        let here = machine(&directory.path().join("here"), settings(server.url()));
        here.create_team(new_team("crew")).block_on().unwrap();
        Some(Self {
            server,
            here,
            directory,
        })
    }

    /// Another machine.
    pub(crate) fn other(&self) -> HubStore {
        self.reaching(self.server.url())
    }

    /// Another machine, and its link to the server.
    pub(crate) fn linked(&self) -> (Link, HubStore) {
        let link = Link::to(self.server.port());
        let there = self.reaching(link.url());
        (link, there)
    }

    fn reaching(&self, url: String) -> HubStore {
        let store = machine(&self.directory.path().join("there"), settings(url));
        store.join(&team("crew")).block_on().unwrap();
        store
    }
}

/// Takes the lease of a member.
pub(crate) fn hold(team: &dyn Team, name: &MemberName, spawn: SpawnId) -> Lease {
    let record = life_record(spawn);
    team.take_life(name, &record).block_on().unwrap()
}

/// Waits until the holder of a lease learns that it is lost.
pub(crate) fn wait_until_lost(lease: &Lease) {
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    runtime
        .block_on(async { tokio::time::timeout(Duration::from_mins(1), lease.lost()).await })
        .expect("it learns that");
}
