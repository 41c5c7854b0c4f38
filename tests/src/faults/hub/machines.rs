//! Several machines with one team: config directories, each with a link of its own to the hub.

use std::path::PathBuf;
use std::sync::Arc;

use swarm_hubkit::NatsServer;
use swarm_protocol::{SystemClock, TeamName};
use swarm_store::{BlockOn as _, FileStore, HubSettings, NewTeam, RootStore, Team, TeamStore as _};

use super::network::{Cable, Network};
use crate::faults::ground::{TEAM, place};
use crate::guard::note;

/// Number of machines with workers.
const MACHINES: usize = 3;

pub(super) struct Machines {
    pub(super) server: NatsServer,
    /// One for each machine.
    pub(super) links: Vec<Cable>,
    pub(super) roots: Vec<PathBuf>,
    /// The team, for a machine whose link always works.
    pub(super) team: Arc<dyn Team>,
    /// For logs of workers.
    pub(super) logs: PathBuf,
    _directory: tempfile::TempDir,
}

impl Machines {
    /// Starts a hub and creates the team on it.
    pub(super) fn start() -> Self {
        let directory = tempfile::Builder::new()
            .prefix("swarm.faults-")
            .tempdir_in(place())
            .expect("a directory");
        note(directory.path());
        let below = |name: &str| directory.path().join(name);
        let server = NatsServer::start(&below("server"), Network::server());
        let network = Network::new(server.port());
        let name = TeamName::parse(TEAM).expect("a sound name");
        let store = store(below("watcher"));
        let new = NewTeam::new(name.clone(), "/work", "a test");
        let on_hub = store.creating_on(settings(server.url()));
        let created = on_hub.create_team(new);
        created.block_on().expect("the team");
        let links: Vec<Cable> = (0..MACHINES).map(|at| network.connect(at)).collect();
        let roots: Vec<PathBuf> = (0..MACHINES).map(|at| below(&format!("m{at}"))).collect();
        for (link, root) in links.iter().zip(&roots) {
            let joined = self::store(root.clone());
            let joined = joined.join_hub(&name, settings(link.url())).block_on();
            joined.expect("the team");
        }
        let logs = below("logs");
        std::fs::create_dir(&logs).expect("a directory for logs");
        Self {
            team: store.team(&name),
            server,
            links,
            roots,
            logs,
            _directory: directory,
        }
    }
}

fn store(root: PathBuf) -> RootStore {
    RootStore::new(FileStore::new(root, Arc::new(SystemClock)))
}

fn settings(url: String) -> HubSettings {
    HubSettings {
        url,
        credentials: None,
        ca: None,
    }
}
