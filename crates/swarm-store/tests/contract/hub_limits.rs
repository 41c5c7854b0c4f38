//! A hub whose disk is full, and machines whose clocks differ.

use std::sync::Arc;
use std::time::Duration;

use swarm_hubkit::NatsServer;
use swarm_os::Liveness;
use swarm_protocol::{
    BackendType, Clock, ErrorKind, Order, PaneId, Reservation, SpawnId, SystemClock, UnixMs,
};
use swarm_store::{Actor, BlockOn as _, Draft, NewMember, StoreError, Team, TeamStore};

use crate::hub::{has_no_server, settings, wait_for};
use crate::hub_scene::{Scene, crew, hold, join, machine, machine_with_clock, wait_until_lost};
use crate::values::{id, name, new_task, new_team, team};

#[test]
fn a_hub_without_room_refuses_changes_and_keeps_what_it_has_until_there_is_room() {
    if has_no_server() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path().join("server");
    let server = NatsServer::with_config(&at, "jetstream { max_file_store: 1MB }\n");
    let store = machine(&directory.path().join("here"), settings(server.url()));
    store.create_team(new_team("crew")).block_on().unwrap();
    store.create_team(new_team("other")).block_on().unwrap();
    let (crew, other) = (crew(&store), store.team(&team("other")));
    let alice = name("alice");
    let spawn = join(&*crew, "alice");
    join(&*other, "alice");
    let lease = hold(&*crew, &alice, spawn);
    let send = |team: &dyn Team, text: &str| team.send(&alice, Draft::person(text)).block_on();
    send(&*crew, "kept").unwrap();
    let text = "x".repeat(60_000);
    for (team, text) in [(&other, text.as_str()), (&crew, "refused")] {
        let refused = wait_for(|| send(&**team, text).err());
        let is_full = matches!(&refused, StoreError::HubFull { hub, .. } if *hub == server.url());
        assert!(is_full, "{refused}");
        assert_eq!(refused.kind(), ErrorKind::Environment);
        assert!(refused.prevents_only_changes());
    }
    wait_until_lost(&lease);
    // Others notice that, and cannot record it.
    let store = machine(&directory.path().join("there"), settings(server.url()));
    let there = store.team(&team("crew"));
    wait_for(|| {
        let seen = there.view().block_on().unwrap();
        seen.needs_reconcile.then_some(())
    });
    assert_eq!(there.liveness(&alice).block_on().unwrap(), Liveness::Dead);
    let refused = there.reconcile().block_on().unwrap_err();
    assert!(refused.prevents_only_changes(), "{refused}");
    drop(lease);
    let kept = crew.take_unread(&alice).block_on().unwrap();
    assert!(kept.iter().all(|mail| mail.text != "refused"));
    assert_eq!(kept[0].text, "kept");
    other.delete(true, true).block_on().unwrap();
    let lease = hold(&*there, &alice, spawn);
    send(&*there, "delivered").unwrap();
    let mail = there.take_unread(&alice).block_on().unwrap();
    assert_eq!(mail.len(), kept.len() + 1);
    assert!(!lease.is_lost());
}

/// A clock that is ahead of the system's, or behind it.
#[derive(Debug)]
struct WrongClock {
    minutes: i64,
}

impl Clock for WrongClock {
    fn now(&self) -> UnixMs {
        let now = SystemClock.now().0;
        UnixMs(now.saturating_add_signed(self.minutes * 60_000))
    }
}

/// The team on machines whose clocks differ by ten minutes.
fn early_and_late(scene: &Scene) -> [Arc<dyn Team>; 2] {
    [-5, 5].map(|minutes| {
        let clock = Arc::new(WrongClock { minutes });
        let root = scene.directory.path().join(format!("at {minutes}"));
        let store = machine_with_clock(&root, settings(scene.server.url()), clock);
        store.join(&team("crew")).block_on().unwrap();
        crew(&store)
    })
}

#[test]
fn an_order_expires_by_the_hubs_clock() {
    let Some(scene) = Scene::new() else {
        return;
    };
    let [early, late] = early_and_late(&scene).map(|machine| machine.orders().unwrap());
    for (from, to, lifetime, is_taken) in [
        (&early, &late, Duration::from_mins(1), true),
        (&late, &early, Duration::ZERO, false),
    ] {
        let order = Order::new(vec!["peek".to_owned()]);
        from.place(order.clone(), lifetime).block_on().unwrap();
        let taken = to.take(order.id, SpawnId::random()).block_on().unwrap();
        assert_eq!(taken.is_some(), is_taken, "{lifetime:?}");
    }
}

#[test]
fn requests_have_times_by_the_hubs_clock() {
    let Some(scene) = Scene::new() else {
        return;
    };
    for machine in early_and_late(&scene) {
        let time = machine.server_time().block_on().unwrap();
        // The server runs on this machine.
        let differs = time.0.abs_diff(SystemClock.now().0);
        assert!(differs < 60_000, "{time:?}");
    }
}

#[test]
fn machines_whose_clocks_differ_by_minutes_agree_on_who_is_alive_and_what_is_new() {
    let Some(scene) = Scene::new() else {
        return;
    };
    let [early, late] = early_and_late(&scene);
    let alice = name("alice");
    let deadline = UnixMs(WrongClock { minutes: -5 }.now().0 + 30_000);
    let spawner = Reservation::new(u32::MAX, "1", deadline).in_space("early#pid:[1]");
    let spawn = SpawnId::random();
    let new = NewMember::new(alice.clone(), spawn, spawner, "/work");
    early.reserve(new).block_on().unwrap();
    let done = late.reconcile().block_on().unwrap();
    assert_eq!(done.rolled_back, [], "its spawner is not on this machine");
    let (pane, backend) = (PaneId::new("%1"), BackendType::Tmux);
    let committed = early.commit_spawn(&spawn, pane, backend, None).block_on();
    committed.unwrap();

    let lease = hold(&*early, &alice, spawn);
    assert_eq!(late.liveness(&alice).block_on().unwrap(), Liveness::Alive);
    let person = Actor::person(&team("crew"));
    let work = [new_task("work", &[])];
    early.create_tasks(&work, &person).block_on().unwrap();
    let actor = Actor::member(&team("crew"), alice.clone(), Some(spawn));
    late.claim(&id(1), &actor).block_on().unwrap();
    for (number, machine) in [&late, &early, &late, &early].into_iter().enumerate() {
        let draft = Draft::person(number.to_string());
        machine.send(&alice, draft).block_on().unwrap();
    }
    for machine in [&early, &late] {
        let mail = machine.take_unread(&alice).block_on().unwrap();
        let texts: Vec<_> = mail.iter().map(|mail| mail.text.as_str()).collect();
        assert_eq!(texts, ["0", "1", "2", "3"]);
    }
    assert_eq!(late.reconcile().block_on().unwrap().died, []);
    drop(lease);
    let done = late.reconcile().block_on().unwrap();
    assert_eq!(done.died.len(), 1);
    assert_eq!(done.released, [id(1)]);
}

#[test]
fn a_spawn_of_another_machine_that_never_ends_is_given_up_long_after_its_deadline() {
    let Some(scene) = Scene::new() else {
        return;
    };
    let crew = crew(&scene.here);
    let deadline = |ago: Duration| {
        let ago = u64::try_from(ago.as_millis()).unwrap();
        UnixMs(SystemClock.now().0 - ago)
    };
    for (member, ago) in [("alice", 14), ("bob", 16)] {
        let ago = deadline(Duration::from_mins(ago));
        let spawner = Reservation::new(u32::MAX, "1", ago).in_space("elsewhere#pid:[1]");
        let new = NewMember::new(name(member), SpawnId::random(), spawner, "/work");
        crew.reserve(new).block_on().unwrap();
    }
    let done = crew.reconcile().block_on().unwrap();
    let given_up: Vec<_> = done
        .rolled_back
        .iter()
        .map(|one| one.member.as_str())
        .collect();
    assert_eq!(given_up, ["bob"]);
}
