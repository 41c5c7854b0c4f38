//! Teams on hubs as one machine knows them.

use std::net::TcpListener;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use swarm_hubkit::{Link, NatsServer};
use swarm_protocol::{ErrorKind, SpawnId, TeamName};
use swarm_store::{Actor, BlockOn as _, Draft, HubSettings, RootStore, StoreError, TeamStore};
use tokio::runtime::Builder;

use crate::files::recorder::left_open;
use crate::hub::{has_no_server, settings};
use crate::hub_scene::{Scene, crew, join, machine};
use crate::values::{life_record, name, new_task, new_team, store_at, team};

#[test]
fn two_machines_see_the_same_team_and_each_others_mail_at_once() {
    let Some(scene) = Scene::new() else {
        return;
    };
    let there = scene.other();
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
fn a_team_that_was_created_on_a_hub_is_on_the_disk_of_this_machine() {
    if has_no_server() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let server = NatsServer::start(&directory.path().join("server"), &[]);
    let here = machine(&directory.path().join("here"), settings(server.url()));
    let create = || here.create_team(new_team("crew")).block_on();
    let (created, left) = left_open(directory.path(), create);
    created.unwrap();
    assert_eq!(left, [""; 0]);
    let (joined, left) = left_open(directory.path(), || here.join(&team("crew")).block_on());
    joined.unwrap();
    assert_eq!(left, [""; 0], "the file was written again");
    let (written, left) = left_open(directory.path(), || {
        let (team, ann) = (here.team(&team("crew")), name("ann"));
        let plan = team.write_plan(&ann, SpawnId::random(), "first this");
        plan.block_on()
    });
    written.unwrap();
    assert_eq!(left, [""; 0]);
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
    let on_hub = store.creating_on(hub);
    let created = on_hub.create_team(new_team("crew"));
    let error = created.block_on().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Environment, "{error}");
    assert!(error.to_string().contains(&url), "{error}");
    assert_eq!(store.teams().block_on().unwrap(), []);
}

#[test]
fn a_team_can_be_read_while_it_is_created() {
    let Some(scene) = Scene::new() else {
        return;
    };
    let hub = settings(scene.server.url());
    for number in 0..8 {
        let name = team(&format!("team-{number}"));
        let there = machine(&scene.directory.path().join("there"), hub.clone());
        let (tell, told) = mpsc::channel();
        thread::scope(|scope| {
            let reading = scope.spawn(|| {
                let reader = there.team(&name);
                loop {
                    match reader.config().block_on() {
                        Err(StoreError::NotOnHub { .. }) => drop(tell.send(())),
                        config => return config,
                    }
                }
            });
            // It has a connection.
            told.recv().unwrap();
            let created = scene.here.create_team(new_team(name.as_str()));
            created.block_on().unwrap();
            assert_eq!(reading.join().unwrap().unwrap().name, name);
        });
    }
}

#[test]
fn a_connection_that_breaks_before_or_during_a_request_is_made_again() {
    let Some(scene) = Scene::new() else {
        return;
    };
    let link = Link::to(scene.server.port());
    for (request, answer) in [
        ("CONNECT", "PONG"),
        ("STREAM.INFO", "stream_info_response"),
        ("MSG.GET", "stream_msg_get_response"),
    ] {
        let there = machine(&scene.directory.path().join("there"), settings(link.url()));
        link.lose_answer(request, answer);
        let config = there.team(&team("crew")).config().block_on();
        assert_eq!(config.unwrap().name, team("crew"));
        assert!(link.has_lost(), "{request} was answered");
    }
}

#[test]
fn an_address_that_closes_every_connection_is_named_with_the_cause() {
    let directory = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("nats://{}", listener.local_addr().unwrap());
    // It ends with this process.
    thread::spawn(move || listener.incoming().for_each(drop));
    let store = machine(directory.path(), settings(url));
    let began = Instant::now();
    let read = store.team(&team("crew")).config().block_on().map(drop);
    let created = store.create_team(new_team("crew")).block_on().map(drop);
    for tried in [read, created] {
        let error = tried.unwrap_err();
        assert!(
            matches!(error, StoreError::HubUnreachable { .. }),
            "{error}"
        );
    }
    assert!(began.elapsed() < Duration::from_secs(20));
}

#[test]
fn sessions_of_a_silent_hub_are_waited_for_as_long_as_asked() {
    let directory = tempfile::tempdir().unwrap();
    // It accepts connections and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("nats://{}", silent.local_addr().unwrap());
    let sessions = machine(directory.path(), settings(url)).nodes().sessions();
    let began = Instant::now();
    let hurried = sessions.waiting_at_most(Duration::from_millis(300));
    let error = hurried.all().block_on().unwrap_err();
    assert!(error.is_of_hub(), "{error}");
    assert!(began.elapsed() < Duration::from_secs(5));
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
    let server = NatsServer::start(&directory.path().join("server"), &[]);
    let hub = settings(server.url());
    let store = RootStore::new(store_at(&directory.path().join("root")));
    store.create_team(new_team("local")).block_on().unwrap();
    let on_hub = store.creating_on(hub.clone());
    let created = on_hub.create_team(new_team("crew"));
    created.block_on().unwrap();
    let (teams, remains) = store.teams_and_remains().block_on().unwrap();
    assert_eq!(teams, [team("crew"), team("local")]);
    let missing = store.team(&team("other")).config().block_on().unwrap_err();
    assert_eq!(missing.hint().unwrap(), "teams: crew, local");
    assert_eq!(remains, []);
    for error in [
        store.create_team(new_team("crew")).block_on().unwrap_err(),
        on_hub
            .create_team(new_team("local"))
            .block_on()
            .unwrap_err(),
        on_hub.create_team(new_team("crew")).block_on().unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    }
    let elsewhere = RootStore::new(store_at(&directory.path().join("elsewhere")));
    let on_hub = elsewhere.creating_on(hub.clone());
    let exists = on_hub.create_team(new_team("crew"));
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
    let nodes = TeamName::nodes();
    let report = elsewhere.hub_report(&nodes, hub.clone()).block_on();
    assert_eq!(report.unwrap().clock_ahead_ms, None, "no node has joined");
    let report = elsewhere.hub_report(&team("crew"), hub).block_on().unwrap();
    assert!(report.version.starts_with("2."), "{report:?}");
    assert!(report.clock_ahead_ms.unwrap().abs() < 5_000, "{report:?}");
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
    let server = NatsServer::start(&directory.path().join("server"), &[]);
    let hub = settings(server.url());
    let link = Link::to(server.port());
    let store = RootStore::new(store_at(&directory.path().join("root")));
    let crew = team("crew");
    let on_hub = store.creating_on(settings(link.url()));
    let created = on_hub.create_team(new_team("crew"));
    created.block_on().unwrap();
    // The hub has moved.
    link.cut();
    store.join_hub(&crew, hub.clone()).block_on().unwrap();
    assert_eq!(store.hub_of(&crew).unwrap(), Some(hub.clone()));
    store.team(&crew).config().block_on().unwrap();
    let other = NatsServer::start(&directory.path().join("other"), &[]);
    let elsewhere = RootStore::new(store_at(&directory.path().join("elsewhere")));
    let on_hub = elsewhere.creating_on(settings(other.url()));
    let created = on_hub.create_team(new_team("crew"));
    created.block_on().unwrap();
    let joined = store.join_hub(&crew, settings(other.url()));
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
                "{api}.STREAM.MSG.*.swarm-{team}", "{api}.CONSUMER.*.swarm-{team}",
                "{api}.CONSUMER.*.swarm-{team}.>", "{api}.CONSUMER.MSG.NEXT.swarm-{team}.*"],
            subscribe: ["swarm.{team}.>"] }} }}"#
    )
}

#[test]
fn missing_credentials_and_a_hub_without_encryption_are_named() {
    if has_no_server() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let refusal = |server: &NatsServer, scheme: &str| {
        let url = server.url().replace("nats://", scheme);
        let store = machine(&directory.path().join("machine"), settings(url));
        store.team(&team("crew")).config().block_on().unwrap_err()
    };
    let users = format!("authorization {{ users: [{}] }}", user_of("crew"));
    let closed = NatsServer::with_config(&directory.path().join("closed"), &users);
    let error = refusal(&closed, "nats://");
    assert!(
        error.to_string().ends_with("requires credentials"),
        "{error}"
    );
    assert!(
        error.hint().unwrap().contains("--credentials FILE"),
        "{error}"
    );
    let missing = HubSettings {
        credentials: Some(directory.path().join("missing")),
        ..settings(closed.url())
    };
    let store = machine(&directory.path().join("machine"), missing);
    let error = store.team(&team("crew")).config().block_on().unwrap_err();
    assert!(
        error.to_string().ends_with("the file does not exist"),
        "{error}"
    );
    assert!(matches!(error, StoreError::HubLogin { .. }), "{error}");
    let plain = NatsServer::start(&directory.path().join("plain"), &[]);
    let error = refusal(&plain, "tls://");
    assert!(error.to_string().contains("`nats://`"), "{error}");
}

#[test]
fn the_credentials_of_a_team_open_this_team_and_no_other() {
    if has_no_server() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path().join("server");
    let users = format!(
        "authorization {{ users: [{}, {}] }}",
        user_of("crew"),
        user_of("other")
    );
    let server = NatsServer::with_config(&at, &users);
    let with = |credentials: &str| {
        let file = directory.path().join(credentials.replace(':', "-"));
        swarm_os::replace_alone(&file, format!("{credentials}\n").as_bytes()).unwrap();
        let hub = HubSettings {
            credentials: Some(file),
            ..settings(server.url())
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
    // It does not wait for an answer that never comes.
    let forbidden = others.team(&team("crew")).config().block_on();
    let forbidden = forbidden.unwrap_err();
    assert!(
        matches!(forbidden, StoreError::HubForbidden { .. }),
        "{forbidden}"
    );
    let nodes = mine.nodes().nodes().block_on().unwrap_err();
    assert!(
        nodes
            .to_string()
            .ends_with("do not permit seeing its nodes"),
        "{nodes}"
    );
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
    assert!(matches!(&wrong, StoreError::HubLogin { .. }), "{wrong}");
    crew.delete(false, true).block_on().unwrap();
}
