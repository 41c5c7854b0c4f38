//! Watching a team.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use swarm_os::DirectoryWatcher;
use swarm_protocol::{
    BudgetScope, Event, MemberState, PauseMark, PermissionMode, RightsReport, UnixMs,
};
use swarm_store::{BlockOn as _, Topic};
use tokio::runtime::Builder;

use crate::exchange::publish;
use crate::requests::request;
use crate::spawns::hello;
use crate::values::{cost, life_record, name};
use crate::world::{World, report};

pub(crate) fn the_deletion_of_the_team_is_noticed(world: &World) {
    world.join("alice");
    let team = world.handle();
    let watcher = DirectoryWatcher::new();
    let topics = [Topic::Roster, Topic::Mail(name("alice")), Topic::Tasks];
    let all: Vec<_> = topics
        .iter()
        .map(|topic| team.watch(&watcher, topic))
        .collect();
    team.delete(true, true).block_on().unwrap();
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    for (topic, mut hints) in topics.iter().zip(all) {
        runtime.block_on(async {
            let noticed = tokio::time::timeout(Duration::from_mins(1), hints.changed());
            assert!(noticed.await.is_ok(), "{topic:?}");
        });
    }
}

pub(crate) fn of_two_readers_that_watch_one_gets_each_message(world: &World) {
    const MESSAGES: usize = 40;
    world.join("alice");
    let alice = name("alice");
    let read = AtomicUsize::new(0);
    let reader = || {
        let team = world.handle();
        let _watched = team.watch(&DirectoryWatcher::new(), &Topic::Mail(alice.clone()));
        let mut mine = Vec::new();
        while read.load(Ordering::SeqCst) < MESSAGES {
            let unread = team.take_unread(&alice).block_on().unwrap();
            if let Some(first) = unread.into_iter().next() {
                let acked = team
                    .ack(&alice, &[first.msg_id.unwrap()])
                    .block_on()
                    .unwrap();
                read.fetch_add(acked.len(), Ordering::SeqCst);
                mine.extend(acked);
            } else {
                thread::park_timeout(Duration::from_millis(1));
            }
        }
        mine
    };
    let (sent, got) = thread::scope(|scope| {
        let readers = [scope.spawn(reader), scope.spawn(reader)];
        let sent: Vec<_> = (0..MESSAGES)
            .map(|number| world.send("alice", &number.to_string()))
            .collect();
        (sent, readers.map(|reader| reader.join().unwrap()).concat())
    });
    assert_eq!(got.len(), MESSAGES);
    assert_eq!(HashSet::<_>::from_iter(got), HashSet::from_iter(sent));
}

pub(crate) fn a_change_of_each_topic_is_noticed(world: &World) {
    let spawn = world.join("alice");
    let alice = name("alice");
    let team = world.handle();
    let send = || {
        world.send("alice", "hello");
    };
    let create = || {
        world.create("work", &[]);
    };
    let open = || {
        let asked = request("perm-1-a", 1);
        team.open_request(asked, None).block_on().unwrap();
    };
    let enter = || {
        let by = "a test".to_owned();
        team.journal(Event::TeamAdopted { by }).block_on().unwrap();
    };
    let pay = || {
        team.record_costs(&[cost("alice", 1.0)]).block_on().unwrap();
    };
    let limit = || {
        let budget = "5$".parse().ok();
        let set = team.set_budget(&BudgetScope::Team, budget);
        set.block_on().unwrap();
    };
    let show = || {
        publish(world, "alice", "1", None);
    };
    let greet = || {
        team.write_hello(&alice, &hello(spawn)).block_on().unwrap();
    };
    let permit = || {
        let rights = RightsReport {
            spawn_id: spawn,
            mode: PermissionMode::Default,
            ceiling: PermissionMode::Default,
            deny: Vec::new(),
            ask: Vec::new(),
            allow: Vec::new(),
            directories: Vec::new(),
        };
        team.write_rights(&alice, &rights).block_on().unwrap();
    };
    let idle = || {
        let state = report(spawn, MemberState::Idle);
        team.write_state(&alice, &state).block_on().unwrap();
    };
    let pause = || {
        let mark = PauseMark {
            spawn_id: spawn,
            by: "a test".to_owned(),
            at: UnixMs(1),
            reason: None,
        };
        team.set_paused(&alice, Some(&mark)).block_on().unwrap();
    };
    let live = || {
        let record = life_record(spawn);
        drop(team.take_life(&alice, &record).block_on().unwrap());
    };
    let join = || {
        world.join("bob");
    };
    let cases: [(Topic, &dyn Fn()); 14] = [
        (Topic::Roster, &join),
        (Topic::Mail(alice.clone()), &send),
        (Topic::AllMail, &send),
        (Topic::Tasks, &create),
        (Topic::Requests, &open),
        (Topic::Journal, &enter),
        (Topic::Costs, &pay),
        (Topic::Budgets, &limit),
        (Topic::Branches, &show),
        (Topic::Hello(alice.clone()), &greet),
        (Topic::Rights(alice.clone()), &permit),
        (Topic::State(alice.clone()), &idle),
        (Topic::Pause(alice.clone()), &pause),
        (Topic::Lease(alice.clone()), &live),
    ];
    let watcher = DirectoryWatcher::new();
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    for (topic, change) in cases {
        let mut changes = team.watch(&watcher, &topic);
        change();
        runtime.block_on(async {
            let noticed = tokio::time::timeout(Duration::from_mins(1), changes.changed());
            assert!(noticed.await.is_ok(), "{topic:?}");
        });
    }
}
