//! Large values, values of many members, and answers of a hub that are lost.

use std::path::Path;
use std::time::{Duration, Instant};

use swarm_hubkit::{Link, NatsServer};
use swarm_protocol::{ErrorKind, TaskStatus};
use swarm_store::{Actor, BlockOn as _, Draft, StoreError, TaskChange, Team, TeamStore};

use crate::hub::{has_no_server, publish, purge, revision, settings, subjects, value};
use crate::hub_scene::{Scene, crew, hold, join, machine, wait_until_lost};
use crate::values::{id, name, new_task, new_team, team};
use crate::world::status;

#[test]
fn a_value_above_the_servers_limit_is_stored_in_chunks_that_do_not_pile_up() {
    if has_no_server() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path().join("server");
    let server = NatsServer::with_config(&at, "max_payload: 16384\n");
    let store = machine(&directory.path().join("here"), settings(server.url()));
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
    let chunks = subjects(&server.url(), "swarm.crew.chunk.>").len();
    assert!(chunks < 60, "{chunks} chunks of 8 KiB for 360 KiB");
    purge(&server.url(), "swarm.crew.chunk.>");
    let error = crew.take_unread(&name("alice")).block_on().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged, "{error}");
}

#[test]
fn chunks_that_a_killed_writer_has_left_are_removed_by_the_next_write() {
    if has_no_server() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let server = NatsServer::with_config(directory.path(), "max_payload: 16384\n");
    let store = machine(&directory.path().join("here"), settings(server.url()));
    store.create_team(new_team("crew")).block_on().unwrap();
    let crew = crew(&store);
    join(&*crew, "alice");
    let left = "swarm.crew.chunk.record.inbox.alice.5a7f6a4e-left.0";
    publish(&server.url(), left, "value");
    let send = |text: &str| crew.send(&name("alice"), Draft::person(text)).block_on();
    send("short").unwrap();
    let text = "a long message ".repeat(1000);
    send(&text).unwrap();
    let chunks = subjects(&server.url(), "swarm.crew.chunk.>");
    assert!(!chunks.contains(&left.to_owned()), "{chunks:?}");
    assert_eq!(chunks.len(), 2, "{chunks:?}");
    let ids: Vec<_> = crew.take_unread(&name("alice")).block_on().unwrap();
    assert_eq!(ids[1].text, text);
}

#[test]
fn an_operation_whose_acknowledgement_is_lost_is_done_once() {
    if has_no_server() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let server = NatsServer::start(&directory.path().join("server"), &[]);
    let link = Link::to(server.port());
    let store = machine(&directory.path().join("here"), settings(link.url()));
    let stored = "\"seq\":";
    let lost = |request: &str, answer: &str, operation: &dyn Fn()| {
        link.lose_answer(request, answer);
        operation();
        assert!(link.has_lost(), "{request} was answered");
    };
    let create = || drop(store.create_team(new_team("crew")).block_on().unwrap());
    lost("STREAM.CREATE", "stream_create_response", &create);
    store
        .team(&team("crew"))
        .delete(true, true)
        .block_on()
        .unwrap();
    lost("HPUB swarm.crew.record.roster ", stored, &create);
    let (crew, alice) = (crew(&store), name("alice"));
    let spawn = join(&*crew, "alice");
    let person = Actor::person(&team("crew"));
    lost("HPUB swarm.crew.record.tasks ", stored, &|| {
        let created = crew
            .create_tasks(&[new_task("work", &[])], &person)
            .block_on();
        assert_eq!(created.unwrap().len(), 1);
    });
    assert_eq!(crew.tasks().block_on().unwrap().tasks.len(), 1);
    lost("HPUB swarm.crew.log.inbox.alice.", stored, &|| {
        crew.send(&alice, Draft::person("hello"))
            .block_on()
            .unwrap();
    });
    assert_eq!(crew.take_unread(&alice).block_on().unwrap().len(), 1);
    let before = crew.events().block_on().unwrap().entries.len();
    lost("HPUB swarm.crew.log.journal.", stored, &|| {
        crew.send(&alice, Draft::person("again"))
            .block_on()
            .unwrap();
    });
    assert_eq!(crew.events().block_on().unwrap().entries.len(), before + 1);
    let leases = std::cell::RefCell::new(Vec::new());
    lost("HPUB swarm.crew.lease.alice ", stored, &|| {
        leases.borrow_mut().push(hold(&*crew, &alice, spawn));
    });
    assert!(leases.borrow().iter().all(|lease| !lease.is_lost()));
    leases.take();
    lost("STREAM.DELETE", "stream_delete_response", &|| {
        crew.delete(true, true).block_on().unwrap();
    });
    assert_eq!(store.teams().block_on().unwrap(), []);
}

/// So many members are read in one pass.
const MANY: usize = 16;

fn add_many(crew: &dyn Team) {
    for number in 0..MANY {
        let member = name(&format!("member-{number}"));
        let added = crew.add_external(&member, Path::new("/"));
        added.block_on().unwrap();
    }
}

#[test]
fn members_without_mail_and_reports_are_not_read_one_by_one() {
    let Some(scene) = Scene::new() else {
        return;
    };
    let (link, there) = scene.linked();
    let crew = crew(&there);
    add_many(&*crew);
    let carl = name("carl");
    let added = crew.add_external(&carl, Path::new("/"));
    added.block_on().unwrap();
    for key in ["lease.carl", "record.inbox.carl", "record.reports.carl"] {
        // A request for a single record names it.
        link.mute_after(&format!("\"swarm.crew.{key}\""));
        assert_eq!(crew.member_view().block_on().unwrap().len(), 2 + MANY);
        assert!(!link.has_lost(), "{key}");
    }
}

#[test]
fn a_reconciliation_does_not_read_leases_one_by_one() {
    let Some(scene) = Scene::new() else {
        return;
    };
    let here = crew(&scene.here);
    add_many(&*here);
    let [alice, bob] = ["alice", "bob"].map(name);
    let spawns = [&alice, &bob].map(|member| join(&*here, member.as_str()));
    let _lease = hold(&*here, &alice, spawns[0]);
    drop(hold(&*here, &bob, spawns[1]));
    let (link, there) = scene.linked();
    let there = crew(&there);
    // That of a dead member is read once more.
    link.mute_after("\"swarm.crew.lease.alice\"");
    let done = there.reconcile().block_on().unwrap();
    let died: Vec<_> = done.died.iter().map(|gone| gone.spawn_id).collect();
    assert_eq!(died, [spawns[1]]);
    assert!(
        !link.has_lost(),
        "a request for the lease of one that lives names it"
    );
}

#[test]
fn a_process_that_has_lost_its_lease_does_not_wait_for_an_answer() {
    let Some(scene) = Scene::new() else {
        return;
    };
    let (link, there) = scene.linked();
    let crew = crew(&there);
    let spawn = join(&*crew, "alice");
    let lease = hold(&*crew, &name("alice"), spawn);
    link.mute_after("HPUB swarm.crew.record.tasks ");
    let began = Instant::now();
    let person = Actor::person(&team("crew"));
    let work = [new_task("work", &[])];
    let created = crew.create_tasks(&work, &person);
    let error = created.block_on().unwrap_err();
    assert!(matches!(error, StoreError::LeaseLost { .. }), "{error}");
    let waited = began.elapsed();
    assert!(waited < Duration::from_secs(20), "{waited:?}");
    wait_until_lost(&lease);
    link.heal();
}

#[test]
fn a_change_of_a_task_stores_one_page_of_many() {
    let Some(scene) = Scene::new() else {
        return;
    };
    let crew = crew(&scene.here);
    let person = Actor::person(&team("crew"));
    let new: Vec<_> = (0..600).map(|_| new_task("work", &[])).collect();
    crew.create_tasks(&new, &person).block_on().unwrap();
    let pages = || subjects(&scene.server.url(), "swarm.crew.page.tasks.>");
    let before = pages();
    assert_eq!(before.len(), 5);
    let done = status(TaskStatus::Completed);
    crew.update_task(&id(300), done, &person)
        .block_on()
        .unwrap();
    let after = pages();
    let kept = after.iter().filter(|page| before.contains(page)).count();
    assert_eq!((after.len(), kept), (5, 4));
    let there = scene.other();
    let list = crate::hub_scene::crew(&there).tasks().block_on().unwrap();
    assert_eq!(list.tasks.len(), 600);
    assert_eq!(list.get(id(300)).unwrap().status, TaskStatus::Completed);
}

#[test]
fn a_list_whose_page_is_missing_is_named_and_not_written() {
    let Some(scene) = Scene::new() else {
        return;
    };
    let url = scene.server.url();
    let person = Actor::person(&team("crew"));
    crew(&scene.here)
        .create_tasks(&[new_task("work", &[])], &person)
        .block_on()
        .unwrap();
    purge(&url, "swarm.crew.page.tasks.>");
    let before = revision(&url, "tasks");
    let there = crew(&scene.other());
    let read = there.tasks().block_on().unwrap_err();
    let done = status(TaskStatus::Completed);
    let changed = there.update_task(&id(1), done, &person).block_on();
    for error in [read, changed.unwrap_err()] {
        assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    }
    assert_eq!(revision(&url, "tasks"), before);
}

#[test]
fn an_inbox_remembers_one_change_of_each_record_and_no_spawn_that_is_known_to_be_dead() {
    let Some(scene) = Scene::new() else {
        return;
    };
    let crew = crew(&scene.here);
    join(&*crew, "bob");
    let person = Actor::person(&team("crew"));
    let new: Vec<_> = (0..20).map(|_| new_task("work", &[])).collect();
    for task in crew.create_tasks(&new, &person).block_on().unwrap() {
        let assign = TaskChange {
            owner: Some(name("bob")),
            ..TaskChange::default()
        };
        crew.update_task(&task, assign, &person).block_on().unwrap();
    }
    assert_eq!(crew.take_unread(&name("bob")).block_on().unwrap().len(), 20);
    let inbox = |of: &str| value(&scene.server.url(), &format!("inbox.{of}"));
    let letters = &inbox("bob")["letters"];
    assert_eq!(letters.as_object().unwrap().len(), 1, "{letters}");
    for member in ["one", "two", "three"] {
        let spawn = join(&*crew, member);
        drop(hold(&*crew, &name(member), spawn));
        let done = crew.reconcile().block_on().unwrap();
        assert_eq!(done.died.len(), 1);
    }
    let lead = inbox("team-lead");
    assert_eq!(lead["entries"].as_array().unwrap().len(), 3);
    assert_eq!(lead["ends"].as_array().unwrap().len(), 1);
}
