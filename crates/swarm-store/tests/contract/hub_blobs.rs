//! Large values on a hub that is full, slow or gone for a moment.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use swarm_hubkit::{Link, NatsServer};
use swarm_protocol::{ErrorKind, SystemClock};
use swarm_store::{BlockOn as _, HubStore, Team, TeamStore};

use crate::hub::{has_no_server, settings, subjects, wait_for};
use crate::values::{new_team, team};

/// Bytes of some parts.
const PARTS: usize = 3 << 20;

struct Scene {
    server: NatsServer,
    crew: Arc<dyn Team>,
    directory: tempfile::TempDir,
}

impl Scene {
    /// A server with a configuration.
    fn new(configuration: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let server = NatsServer::with_config(&directory.path().join("server"), configuration);
        let root = directory.path().join("root");
        let store = HubStore::new(root, settings(server.url()), Arc::new(SystemClock)).unwrap();
        store.create_team(new_team("crew")).block_on().unwrap();
        let crew = store.team(&team("crew"));
        Self {
            server,
            crew,
            directory,
        }
    }

    fn parts(&self) -> usize {
        subjects(&self.server.url(), "swarm.crew.blob.>").len()
    }
}

#[test]
fn a_full_hub_refuses_a_large_value_and_keeps_no_part_of_it() {
    if has_no_server() {
        return;
    }
    let scene = Scene::new("jetstream { max_file_store: 2MB }");
    let refused = scene.crew.put_blob(vec![7; PARTS]).block_on().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Environment, "{refused}");
    assert!(
        refused.to_string().contains("its storage is full"),
        "{refused}"
    );
    assert_eq!(scene.parts(), 0);
}

#[test]
fn a_large_value_survives_a_cut_link_and_a_small_largest_message() {
    if has_no_server() {
        return;
    }
    let scene = Scene::new("max_payload: 100KB");
    let link = Link::to(scene.server.port());
    link.delay(Duration::from_millis(5));
    let there = scene.directory.path().join("there");
    let store = HubStore::new(there, settings(link.url()), Arc::new(SystemClock)).unwrap();
    let crew = store.team(&team("crew"));
    let content: Vec<u8> = (0..PARTS)
        .map(|at| u8::try_from(at / 1000 % 251).unwrap())
        .collect();
    let putting = {
        let (crew, content) = (Arc::clone(&crew), content.clone());
        thread::spawn(move || crew.put_blob(content).block_on())
    };
    wait_for(|| (scene.parts() > 2).then_some(()));
    link.cut();
    thread::park_timeout(Duration::from_millis(300));
    link.heal();
    let blob = putting.join().unwrap().unwrap();
    assert!(scene.crew.blob(&blob).block_on().unwrap() == Some(content.clone()));
    assert!(crew.blob(&blob).block_on().unwrap() == Some(content));
    crew.delete_blob(&blob).block_on().unwrap();
    assert_eq!(scene.parts(), 0);
    let chunks = subjects(&scene.server.url(), "swarm.crew.chunk.>");
    assert_eq!(chunks, Vec::<String>::new());
}
