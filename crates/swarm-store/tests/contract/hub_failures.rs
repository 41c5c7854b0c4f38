//! What happens to teams on a hub when the server, the network or a holder of a lease fails.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::process::Signal;
use swarm_os::Liveness;
use swarm_protocol::{ErrorKind, MemberName, SpawnId, SystemClock, TaskStatus};
use swarm_store::{
    Actor, BlockOn as _, Draft, HubSettings, HubStore, Lease, LeaseTerms, NewMember, RootStore,
    StoreError, Team, TeamStore,
};
use tokio::runtime::Builder;

use crate::hub::{NatsServer, has_no_server, settings, wait_for};
use crate::values::{id, life_record, name, new_member, new_task, new_team, store_at, team};
use crate::world::status;

/// Leases in these tests end soon.
const TERMS: LeaseTerms = LeaseTerms {
    renewal: Duration::from_millis(150),
    term: Duration::from_millis(900),
};

/// A machine: a config directory and a connection of its own.
fn machine(root: &Path, hub: HubSettings) -> HubStore {
    let store = HubStore::new(root.to_owned(), hub, Arc::new(SystemClock)).unwrap();
    store.with_lease_terms(TERMS)
}

fn crew(store: &HubStore) -> Arc<dyn Team> {
    store.team(&team("crew"))
}

/// Adds a committed member.
fn join(crew: &dyn Team, member: &str) -> SpawnId {
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

/// A network between a machine and the server.
struct Link {
    port: u16,
    is_cut: Arc<AtomicBool>,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Link {
    /// Each packet takes `delay`.
    fn to(server: &NatsServer, delay: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let link = Self {
            port: listener.local_addr().unwrap().port(),
            is_cut: Arc::default(),
            open: Arc::default(),
        };
        let (is_cut, open) = (Arc::clone(&link.is_cut), Arc::clone(&link.open));
        let upstream = server.port;
        thread::spawn(move || {
            for near in listener.incoming() {
                let near = near.unwrap();
                if is_cut.load(Ordering::SeqCst) {
                    continue;
                }
                let Ok(far) = TcpStream::connect(("127.0.0.1", upstream)) else {
                    continue;
                };
                let ends = [near.try_clone().unwrap(), far.try_clone().unwrap()];
                open.lock().extend(ends);
                carry(near.try_clone().unwrap(), far.try_clone().unwrap(), delay);
                carry(far, near, delay);
            }
        });
        link
    }

    fn settings(&self) -> HubSettings {
        HubSettings {
            url: format!("nats://127.0.0.1:{}", self.port),
            credentials: None,
            ca: None,
        }
    }

    fn cut(&self) {
        self.is_cut.store(true, Ordering::SeqCst);
        for end in self.open.lock().drain(..) {
            drop(end.shutdown(Shutdown::Both));
        }
    }

    fn repair(&self) {
        self.is_cut.store(false, Ordering::SeqCst);
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, delay: Duration) {
    thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            if !delay.is_zero() {
                thread::park_timeout(delay);
            }
            if to.write_all(&buffer[..length]).is_err() {
                break;
            }
        }
        drop(to.shutdown(Shutdown::Both));
    });
}

struct Scene {
    server: NatsServer,
    here: HubStore,
    directory: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let server = NatsServer::start(&directory.path().join("server"));
        let here = machine(&directory.path().join("here"), settings(&server));
        here.create_team(new_team("crew")).block_on().unwrap();
        Self {
            server,
            here,
            directory,
        }
    }

    fn other(&self, hub: HubSettings) -> HubStore {
        let store = machine(&self.directory.path().join("there"), hub);
        store.join(&team("crew")).block_on().unwrap();
        store
    }
}

#[test]
fn two_machines_see_the_same_team_and_each_others_mail_at_once() {
    if has_no_server() {
        return;
    }
    let scene = Scene::new();
    let there = scene.other(settings(&scene.server));
    assert_eq!(there.teams().block_on().unwrap(), [team("crew")]);
    join(&*crew(&scene.here), "alice");
    let watcher = swarm_os::DirectoryWatcher::new();
    let topic = swarm_store::Topic::Mail(name("alice"));
    let mut changes = crew(&there).watch(&watcher, &topic);
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    // The first hint says that the watch has begun.
    runtime.block_on(changes.changed());
    crew(&scene.here)
        .send(&name("alice"), Draft::person("hello"))
        .block_on()
        .unwrap();
    runtime.block_on(changes.changed());
    let mail = crew(&there).take_unread(&name("alice")).block_on().unwrap();
    assert_eq!(mail[0].text, "hello");
    join(&*crew(&there), "bob");
    let own = scene
        .directory
        .path()
        .join("there/teams/crew/swarm/members/bob");
    assert!(
        own.is_dir(),
        "a spawner writes the order of its child there"
    );
}

#[test]
fn a_server_that_restarts_loses_nothing_and_calls_wait_for_it() {
    if has_no_server() {
        return;
    }
    let mut scene = Scene::new();
    let store = scene.here.clone();
    join(&*crew(&store), "alice");
    let done = Arc::new(AtomicBool::new(false));
    let sending = thread::spawn({
        let done = Arc::clone(&done);
        move || {
            let mut sent = 0;
            while !done.load(Ordering::SeqCst) {
                let text = format!("message {sent}");
                crew(&store)
                    .send(&name("alice"), Draft::person(&text))
                    .block_on()
                    .unwrap();
                sent += 1;
            }
            sent
        }
    });
    let alice = name("alice");
    let unread = |store: &HubStore| crew(store).take_unread(&alice).block_on().unwrap();
    wait_for(|| (unread(&scene.here).len() > 3).then_some(()));
    scene.server.restart();
    let before = unread(&scene.here).len();
    wait_for(|| (unread(&scene.here).len() > before + 3).then_some(()));
    done.store(true, Ordering::SeqCst);
    let sent = sending.join().unwrap();
    let texts: Vec<String> = unread(&scene.here)
        .into_iter()
        .map(|mail| mail.text)
        .collect();
    let wanted: Vec<String> = (0..sent)
        .map(|number| format!("message {number}"))
        .collect();
    assert_eq!(texts, wanted, "each once, in order");
}

#[test]
fn a_member_whose_machine_is_cut_off_is_lost_and_learns_it_on_return() {
    if has_no_server() {
        return;
    }
    let scene = Scene::new();
    let link = Link::to(&scene.server, Duration::ZERO);
    let there = scene.other(link.settings());
    let (near, far) = (crew(&scene.here), crew(&there));
    let spawn = join(&*near, "alice");
    let alice = name("alice");
    let lease = hold(&*far, &alice, spawn);
    let actor = Actor::member(&team("crew"), alice.clone(), Some(spawn));
    near.create_tasks(&[new_task("work", &[])], &Actor::person(&team("crew")))
        .block_on()
        .unwrap();
    far.claim(&id(1), &actor).block_on().unwrap();
    assert_eq!(near.liveness(&alice).block_on().unwrap(), Liveness::Alive);
    let end = near.lease_end(&alice);
    link.cut();
    end.block_on().unwrap().unwrap();
    let done = near.reconcile().block_on().unwrap();
    assert_eq!(done.died.len(), 1);
    let task = near.task(&id(1)).block_on().unwrap();
    assert_eq!((task.status, task.owner), (TaskStatus::Pending, None));
    link.repair();
    wait_until_lost(&lease);
    let error = far
        .update_task(&id(1), status(TaskStatus::Completed), &actor)
        .block_on()
        .unwrap_err();
    assert!(matches!(error, StoreError::LeaseLost { .. }), "{error}");
    let error = far
        .send(&name("team-lead"), Draft::new("alice", "done"))
        .block_on()
        .unwrap_err();
    assert!(matches!(error, StoreError::LeaseLost { .. }), "{error}");
    drop(lease);
    drop(
        near.take_life(&alice, &life_record(SpawnId::random()))
            .block_on()
            .unwrap(),
    );
}

#[test]
fn a_holder_learns_that_its_lease_is_lost_while_the_hub_does_not_answer() {
    if has_no_server() {
        return;
    }
    let scene = Scene::new();
    let crew = crew(&scene.here);
    let spawn = join(&*crew, "alice");
    let lease = hold(&*crew, &name("alice"), spawn);
    assert!(!lease.is_lost());
    scene.server.signal(Signal::STOP);
    wait_until_lost(&lease);
    assert!(lease.is_lost());
    scene.server.signal(Signal::CONT);
}

#[test]
fn a_lease_is_renewed_as_long_as_it_is_held_and_only_one_machine_gets_it() {
    if has_no_server() {
        return;
    }
    let scene = Scene::new();
    let there = scene.other(settings(&scene.server));
    let (near, far) = (crew(&scene.here), crew(&there));
    let spawn = join(&*near, "alice");
    let alice = name("alice");
    let lease = hold(&*near, &alice, spawn);
    let began = Instant::now();
    while began.elapsed() < TERMS.term * 2 {
        assert_eq!(far.lease(&alice).block_on().unwrap(), Liveness::Alive);
        let second = far.take_life(&alice, &life_record(spawn)).block_on();
        let error = second.unwrap_err();
        assert!(matches!(error, StoreError::LeaseHeld { .. }), "{error}");
        thread::park_timeout(TERMS.renewal);
    }
    drop(lease);
    let takers: Vec<_> = [near, far]
        .into_iter()
        .map(|crew| {
            let alice = alice.clone();
            thread::spawn(move || {
                let record = life_record(SpawnId::random());
                crew.take_life(&alice, &record).block_on().ok()
            })
        })
        .collect();
    let taken: Vec<_> = takers
        .into_iter()
        .map(|taker| taker.join().unwrap())
        .collect();
    assert_eq!(taken.iter().flatten().count(), 1);
}

#[test]
fn the_lease_of_a_killed_process_ends_at_once_and_for_its_spawn_only() {
    if has_no_server() {
        return;
    }
    let scene = Scene::new();
    let there = scene.other(settings(&scene.server));
    let (near, far) = (crew(&scene.here), crew(&there));
    let spawn = join(&*near, "alice");
    let alice = name("alice");
    let lease = hold(&*near, &alice, spawn);
    let other = SpawnId::random();
    far.end_lease(&alice, &other).block_on().unwrap();
    assert_eq!(far.lease(&alice).block_on().unwrap(), Liveness::Alive);
    far.end_lease(&alice, &spawn).block_on().unwrap();
    assert_eq!(far.lease(&alice).block_on().unwrap(), Liveness::Dead);
    wait_until_lost(&lease);
}

#[test]
fn a_value_above_the_servers_limit_is_stored_in_chunks_that_do_not_pile_up() {
    if has_no_server() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path().join("server");
    std::fs::create_dir_all(&at).unwrap();
    let config = at.join("nats.conf");
    swarm_os::replace_alone(&config, b"max_payload: 16384\n").unwrap();
    let config = config.display().to_string();
    let server = NatsServer::on_port(&at, "-1", &["--config", &config]);
    let store = machine(&directory.path().join("here"), settings(&server));
    store.create_team(new_team("crew")).block_on().unwrap();
    let crew = crew(&store);
    join(&*crew, "alice");
    let text = "a long message ".repeat(4000);
    for _ in 0..6 {
        crew.send(&name("alice"), Draft::person(&text))
            .block_on()
            .unwrap();
    }
    let mail = crew.take_unread(&name("alice")).block_on().unwrap();
    assert_eq!(mail.len(), 6);
    assert!(mail.iter().all(|mail| mail.text == text));
    let chunks = crate::hub::subjects(&server.url(), "swarm.crew.chunk.>").len();
    assert!(chunks < 60, "{chunks} chunks of 8 KiB for 360 KiB");
    crate::hub::purge(&server.url(), "swarm.crew.chunk.>");
    let error = crew.take_unread(&name("alice")).block_on().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged, "{error}");
}

#[test]
fn a_slow_link_delays_changes_and_loses_none() {
    if has_no_server() {
        return;
    }
    let scene = Scene::new();
    let link = Link::to(&scene.server, Duration::from_millis(30));
    let there = scene.other(link.settings());
    let (near, far) = (crew(&scene.here), crew(&there));
    let person = Actor::person(&team("crew"));
    thread::scope(|scope| {
        for crew in [&near, &far] {
            let person = &person;
            scope.spawn(move || {
                for _ in 0..5 {
                    crew.create_tasks(&[new_task("work", &[])], person)
                        .block_on()
                        .unwrap();
                }
            });
        }
    });
    let tasks = far.tasks().block_on().unwrap().tasks;
    let numbers: Vec<u64> = tasks.iter().map(|task| task.id.number()).collect();
    assert_eq!(numbers, (1..=10).collect::<Vec<_>>());
}

#[test]
fn an_unreachable_hub_is_named_and_nothing_is_left_behind() {
    let directory = tempfile::tempdir().unwrap();
    let unused = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("nats://{}", unused.local_addr().unwrap());
    drop(unused);
    let hub = HubSettings {
        url: url.clone(),
        credentials: None,
        ca: None,
    };
    let store = RootStore::new(store_at(directory.path()));
    let created = store.create_on_hub(new_team("crew"), hub);
    let error = created.block_on().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Environment, "{error}");
    assert!(error.to_string().contains(&url), "{error}");
    assert_eq!(store.teams().block_on().unwrap(), []);
}

#[test]
fn a_damaged_hub_file_is_named_and_its_team_can_be_removed() {
    let directory = tempfile::tempdir().unwrap();
    let own = directory.path().join("teams/crew/swarm");
    std::fs::create_dir_all(&own).unwrap();
    swarm_os::replace_alone(&own.join("hub.json"), br#"{"url""#).unwrap();
    let store = RootStore::new(store_at(directory.path()));
    assert_eq!(store.teams().block_on().unwrap(), [team("crew")]);
    let crew = store.team(&team("crew"));
    let error = crew.config().block_on().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged, "{error}");
    assert!(error.to_string().contains("hub.json is damaged"), "{error}");
    let damage = crew.damage().block_on().unwrap();
    assert_eq!(damage.why.to_string(), error.to_string());
    crew.delete(false, true).block_on().unwrap();
    assert_eq!(store.teams().block_on().unwrap(), []);
    assert!(!directory.path().join("teams/crew").exists());
}

#[test]
fn a_root_has_teams_in_files_and_on_hubs_and_each_name_once() {
    if has_no_server() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let server = NatsServer::start(&directory.path().join("server"));
    let hub = settings(&server);
    let store = RootStore::new(store_at(&directory.path().join("root")));
    store.create_team(new_team("local")).block_on().unwrap();
    let created = store.create_on_hub(new_team("crew"), hub.clone());
    created.block_on().unwrap();
    let (teams, remains) = store.teams_and_remains().block_on().unwrap();
    assert_eq!(teams, [team("crew"), team("local")]);
    assert_eq!(remains, []);
    for error in [
        store.create_team(new_team("crew")).block_on().unwrap_err(),
        store
            .create_on_hub(new_team("local"), hub.clone())
            .block_on()
            .unwrap_err(),
        store
            .create_on_hub(new_team("crew"), hub.clone())
            .block_on()
            .unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    }
    let elsewhere = RootStore::new(store_at(&directory.path().join("elsewhere")));
    let exists = elsewhere.create_on_hub(new_team("crew"), hub.clone());
    let error = exists.block_on().unwrap_err();
    let hint = error.hint().unwrap();
    assert!(
        hint.contains(&format!("team join crew --hub {}", hub.url)),
        "{hint}"
    );
    elsewhere
        .join_hub(&team("crew"), hub.clone())
        .block_on()
        .unwrap();
    let address = format!("{}/crew", hub.url);
    assert_eq!(elsewhere.team(&team("crew")).location(), address);
    let report = elsewhere.hub_report(&team("crew"), hub).block_on().unwrap();
    assert!(report.version.starts_with("2."), "{report:?}");
    assert!(report.clock_ahead_ms.abs() < 5_000, "{report:?}");
    store
        .team(&team("crew"))
        .delete(false, false)
        .block_on()
        .unwrap();
    assert_eq!(store.teams().block_on().unwrap(), [team("local")]);
    let gone = elsewhere.team(&team("crew"));
    let error = gone.config().block_on().unwrap_err();
    assert!(matches!(error, StoreError::NotOnHub { .. }), "{error}");
    assert!(!gone.damage().block_on().unwrap().may_live);
    gone.delete(false, false).block_on().unwrap();
    assert_eq!(elsewhere.teams().block_on().unwrap(), []);
}

#[test]
fn joining_again_corrects_the_settings_of_a_hub_and_never_takes_another_team() {
    if has_no_server() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let server = NatsServer::start(&directory.path().join("server"));
    let hub = settings(&server);
    let link = Link::to(&server, Duration::ZERO);
    let store = RootStore::new(store_at(&directory.path().join("root")));
    let crew = team("crew");
    let created = store.create_on_hub(new_team("crew"), link.settings());
    created.block_on().unwrap();
    // The hub has moved.
    link.cut();
    store.join_hub(&crew, hub.clone()).block_on().unwrap();
    assert_eq!(store.hub_of(&crew).unwrap(), Some(hub.clone()));
    store.team(&crew).config().block_on().unwrap();
    let other = NatsServer::start(&directory.path().join("other"));
    let elsewhere = RootStore::new(store_at(&directory.path().join("elsewhere")));
    let created = elsewhere.create_on_hub(new_team("crew"), settings(&other));
    created.block_on().unwrap();
    let joined = store.join_hub(&crew, settings(&other));
    let error = joined.block_on().unwrap_err();
    assert!(matches!(error, StoreError::TeamOnHub { .. }), "{error}");
    let hint = error.hint().unwrap();
    assert!(!hint.contains("delete"), "{hint}");
    assert_eq!(store.hub_of(&crew).unwrap(), Some(hub));
}

/// The configuration of `docs/hub.md` for the user of one team.
fn user_of(team: &str) -> String {
    let api = "$JS.API";
    format!(
        r#"{{ user: {team}, password: secret-{team}, permissions: {{
            publish: ["swarm.{team}.>", "{api}.INFO", "{api}.STREAM.*.swarm-{team}",
                "{api}.STREAM.MSG.GET.swarm-{team}", "{api}.CONSUMER.*.swarm-{team}",
                "{api}.CONSUMER.*.swarm-{team}.>", "{api}.CONSUMER.MSG.NEXT.swarm-{team}.*"],
            subscribe: ["swarm.{team}.>"] }} }}"#
    )
}

#[test]
fn the_credentials_of_a_team_open_this_team_and_no_other() {
    if has_no_server() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path().join("server");
    std::fs::create_dir_all(&at).unwrap();
    let config = at.join("nats.conf");
    let users = format!(
        "authorization {{ users: [{}, {}] }}",
        user_of("crew"),
        user_of("other")
    );
    swarm_os::replace_alone(&config, users.as_bytes()).unwrap();
    let config = config.display().to_string();
    let server = NatsServer::on_port(&at, "-1", &["--config", &config]);
    let with = |credentials: &str| {
        let file = directory.path().join(credentials.replace(':', "-"));
        swarm_os::replace_alone(&file, format!("{credentials}\n").as_bytes()).unwrap();
        let hub = HubSettings {
            credentials: Some(file),
            ..settings(&server)
        };
        machine(&directory.path().join(credentials), hub)
    };
    let (mine, others) = (with("crew:secret-crew"), with("other:secret-other"));
    mine.create_team(new_team("crew")).block_on().unwrap();
    others.create_team(new_team("other")).block_on().unwrap();
    let crew = crew(&mine);
    let spawn = join(&*crew, "alice");
    crew.send(&name("alice"), Draft::person("hello"))
        .block_on()
        .unwrap();
    crew.create_tasks(&[new_task("work", &[])], &Actor::person(&team("crew")))
        .block_on()
        .unwrap();
    drop(
        crew.take_life(&name("alice"), &life_record(spawn))
            .block_on()
            .unwrap(),
    );
    assert!(crew.events().block_on().unwrap().entries.len() > 3);
    assert_eq!(crew.names_on_disk().block_on().unwrap(), [name("alice")]);
    mine.report(&team("crew")).block_on().unwrap();
    let hurried = others
        .team(&team("crew"))
        .with_lock_timeout(Duration::from_millis(300));
    hurried.config().block_on().unwrap_err();
    hurried
        .send(&name("alice"), Draft::person("spy"))
        .block_on()
        .unwrap_err();
    let wrong = with("crew:secret-other")
        .team(&team("crew"))
        .config()
        .block_on()
        .unwrap_err();
    assert_eq!(wrong.kind(), ErrorKind::Environment, "{wrong}");
    crew.delete(false, true).block_on().unwrap();
}

/// Takes the lease of a member.
fn hold(team: &dyn Team, name: &MemberName, spawn: SpawnId) -> Lease {
    let record = life_record(spawn);
    team.take_life(name, &record).block_on().unwrap()
}

/// Waits until the holder of a lease learns that it is lost.
fn wait_until_lost(lease: &Lease) {
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    runtime
        .block_on(async { tokio::time::timeout(Duration::from_mins(1), lease.lost()).await })
        .expect("it learns that");
}
