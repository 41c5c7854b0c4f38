//! Nodes and orders. Teams in files have none.

use std::thread;
use std::time::Duration;

use swarm_os::process::pid_space;
use swarm_protocol::{
    LifeRecord, NodeName, NodeReport, Order, OrderId, OrderOutcome, OrderState, SpawnId, UnixMs,
};
use swarm_store::{BlockOn as _, Nodes, Orders, StoreError};

use crate::values::{life_record, name, team};
use crate::world::World;

fn node(text: &str) -> NodeName {
    NodeName::parse(text).unwrap()
}

fn report(slots: u32) -> NodeReport {
    NodeReport {
        host: "here".to_owned(),
        version: "1".to_owned(),
        slots,
        labels: ["gpu".parse().unwrap()].into(),
        clock_ahead_ms: 0,
        since: UnixMs(1),
        members: Vec::new(),
        shell: None,
        known_commits: Vec::new(),
    }
}

fn order() -> Order {
    Order::new(vec!["peek".to_owned(), "bob".to_owned()])
}

fn outcome() -> OrderOutcome {
    OrderOutcome {
        code: 3,
        stdout: "out".to_owned(),
        stderr: "err".to_owned(),
    }
}

fn placed(orders: &Orders) -> OrderId {
    let order = order();
    place(orders, &order, Duration::from_mins(1));
    order.id
}

fn place(orders: &Orders, order: &Order, lifetime: Duration) {
    let placed = orders.place(order.clone(), lifetime);
    placed.block_on().unwrap();
}

/// The orders of a team; `None` for a kind without nodes.
fn orders(world: &World) -> Option<Orders> {
    world.handle().orders()
}

fn is_running(nodes: &Nodes, name: &str) -> bool {
    let all = nodes.nodes().block_on().unwrap();
    let seen = all.iter().find(|view| view.name == node(name)).unwrap();
    seen.process.is_some()
}

pub(crate) fn a_node_is_one_process_and_is_lost_without_it(world: &World) {
    let Some(orders) = orders(world) else { return };
    let nodes = orders.nodes();
    assert!(nodes.nodes().block_on().unwrap().is_empty());
    let process = life_record(SpawnId::random());
    let join = |slots| nodes.join(&node("box"), report(slots), &process).block_on();
    let lease = join(2).unwrap();
    let other = life_record(SpawnId::random());
    let refused = nodes.join(&node("box"), report(3), &other).block_on();
    let refused = refused.unwrap_err();
    assert!(
        matches!(&refused, StoreError::NodeTaken { host, .. } if host == "here"),
        "{refused}"
    );
    let seen = nodes.nodes().block_on().unwrap();
    assert_eq!((seen.len(), &seen[0].report), (1, &report(2)));
    assert_eq!(seen[0].process.as_ref(), Some(&process));
    assert!(!seen[0].is_draining);

    let told = || nodes.take_announced(&node("box")).block_on().unwrap();
    assert!(!told().is_draining);
    assert!(nodes.drain(&node("box")).block_on().unwrap());
    assert!(told().is_draining);
    assert!(!nodes.drain(&node("other")).block_on().unwrap());
    nodes.report(&node("box"), report(4)).block_on().unwrap();
    let seen = nodes.nodes().block_on().unwrap();
    assert!(seen[0].is_draining && seen[0].report.slots == 4);

    drop(lease);
    assert!(!is_running(nodes, "box"));
    let lease = join(5).unwrap();
    assert!(is_running(nodes, "box"));
    assert!(!nodes.nodes().block_on().unwrap()[0].is_draining);
    nodes.leave(&node("box")).block_on().unwrap();
    drop(lease);
    assert!(nodes.nodes().block_on().unwrap().is_empty());
    let teams = world.store.teams().block_on().unwrap();
    assert!(teams.iter().all(|name| *name == team("crew")), "{teams:?}");
}

pub(crate) fn the_lease_of_a_dead_process_of_this_machine_is_free(world: &World) {
    let Some(orders) = orders(world) else { return };
    let nodes = orders.nodes();
    let dead = |space: String| LifeRecord {
        pid_space: space,
        proc_start: "1".to_owned(),
        ..life_record(SpawnId::random())
    };
    let join = |name: &str, process: &LifeRecord| {
        let name = node(name);
        let joined = nodes.join(&name, report(1), process);
        joined.block_on()
    };
    let _here = join("box", &dead(pid_space())).unwrap();
    let _there = join("far", &dead("elsewhere".to_owned())).unwrap();
    let process = life_record(SpawnId::random());
    let refused = join("far", &process);
    assert!(matches!(refused, Err(StoreError::NodeTaken { .. })));
    let _lease = join("box", &process).unwrap();
    let seen = nodes.nodes().block_on().unwrap();
    assert_eq!(seen[0].process.as_ref(), Some(&process));
}

pub(crate) fn a_process_is_not_refused_because_of_its_own_lease(world: &World) {
    let Some(orders) = orders(world) else { return };
    let (nodes, name) = (orders.nodes(), node("box"));
    let process = life_record(SpawnId::random());
    let join = |slots| nodes.join(&name, report(slots), &process).block_on();
    let before = join(1).unwrap();
    let lease = join(2).unwrap();
    drop(before);
    assert!(is_running(nodes, "box"));
    drop(lease);
    assert!(!is_running(nodes, "box"));
}

pub(crate) fn an_announced_order_is_seen_once_and_only_by_the_process_that_it_was_announced_to(
    world: &World,
) {
    let Some(orders) = orders(world) else { return };
    let (nodes, name) = (orders.nodes(), node("box"));
    let process = life_record(SpawnId::random());
    let news = (team("crew"), OrderId::random());
    let announce = || nodes.announce(&name, &news.0, news.1).block_on().unwrap();
    let take = || nodes.take_announced(&name).block_on().unwrap().orders;
    let lease = nodes.join(&name, report(1), &process).block_on().unwrap();
    assert!(announce() && announce());
    assert_eq!(take(), std::slice::from_ref(&news));
    assert!(take().is_empty());
    announce();
    drop(lease);
    let _lease = nodes.join(&name, report(1), &process).block_on().unwrap();
    assert!(take().is_empty(), "it was for the process before");
    nodes.leave(&name).block_on().unwrap();
    assert!(!announce());
}

pub(crate) fn a_process_finds_open_orders_and_those_that_it_has_taken(world: &World) {
    let Some(orders) = orders(world) else { return };
    let (by, other) = (SpawnId::random(), SpawnId::random());
    let [open, mine, theirs] = [(); 3].map(|()| placed(&orders));
    orders.take(mine, by).block_on().unwrap().unwrap();
    orders.take(theirs, other).block_on().unwrap().unwrap();
    let found = orders.open_or_taken(by).block_on().unwrap();
    let mut found: Vec<_> = found.into_iter().map(|order| order.id).collect();
    let mut expected = vec![open, mine];
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

pub(crate) fn of_eight_that_take_an_order_one_gets_it(world: &World) {
    let Some(orders) = orders(world) else { return };
    let id = placed(&orders);
    let taken: Vec<_> = thread::scope(|scope| {
        let racers: Vec<_> = (0..8)
            .map(|_| {
                let orders = orders.clone();
                scope.spawn(move || {
                    let by = SpawnId::random();
                    orders.take(id, by).block_on().unwrap().map(|_| by)
                })
            })
            .collect();
        let outcomes = racers.into_iter().map(|racer| racer.join().unwrap());
        outcomes.flatten().collect()
    });
    assert_eq!(taken.len(), 1);
    let order = orders.order(id).block_on().unwrap().unwrap();
    assert_eq!(order.state, OrderState::Taken(taken[0]));
}

pub(crate) fn a_withdrawn_order_is_gone_or_cancelled_by_who_carries_it_out(world: &World) {
    let Some(orders) = orders(world) else { return };
    let by = SpawnId::random();
    let open = placed(&orders);
    let withdraw = |id| orders.withdraw(id).block_on().unwrap();
    assert_eq!(withdraw(open).unwrap().state, OrderState::Open);
    assert!(orders.take(open, by).block_on().unwrap().is_none());
    assert!(withdraw(open).is_none());

    let taken = placed(&orders);
    orders.take(taken, by).block_on().unwrap().unwrap();
    for _ in 0..2 {
        assert_eq!(withdraw(taken).unwrap().state, OrderState::Withdrawn(by));
    }
    assert!(orders.finish(taken, by, outcome()).block_on().unwrap());
    let done = OrderState::Done(outcome());
    assert_eq!(withdraw(taken).unwrap().state, done);
    assert_eq!(
        orders.remove(taken).block_on().unwrap().unwrap().state,
        done
    );
    assert!(orders.order(taken).block_on().unwrap().is_none());
}

pub(crate) fn only_who_carries_an_order_out_finishes_it(world: &World) {
    let Some(orders) = orders(world) else { return };
    let (by, other) = (SpawnId::random(), SpawnId::random());
    let finish = |id, by| orders.finish(id, by, outcome()).block_on().unwrap();
    let id = placed(&orders);
    assert!(!finish(id, by), "nobody has taken it");
    orders.take(id, by).block_on().unwrap().unwrap();
    assert!(!finish(id, other));
    assert!(finish(id, by));
    assert!(
        finish(id, by),
        "the acknowledgement of the first time may be lost"
    );
    let another = OrderOutcome {
        code: 4,
        ..outcome()
    };
    let again = orders.finish(id, by, another).block_on();
    assert!(!again.unwrap(), "it has an outcome");
}

pub(crate) fn of_eight_orders_that_spawn_one_name_one_is_placed_until_it_is_over(world: &World) {
    let Some(orders) = orders(world) else { return };
    let spawn = |member: &str| Order {
        spawns: Some(name(member)),
        ..order()
    };
    let place = |order: &Order, lifetime| orders.place(order.clone(), lifetime).block_on();
    let minute = Duration::from_mins(1);
    let placed: Vec<OrderId> = thread::scope(|scope| {
        let one = || {
            let order = spawn("bob");
            place(&order, minute).ok().map(|()| order.id)
        };
        let racers: Vec<_> = (0..8).map(|_| scope.spawn(one)).collect();
        let outcomes = racers.into_iter().map(|racer| racer.join().unwrap());
        outcomes.flatten().collect()
    });
    let [id] = placed[..] else {
        panic!("{placed:?}");
    };
    let is_free = |member| orders.require_free(&name(member), false).block_on();
    assert!(matches!(
        is_free("Bob"),
        Err(StoreError::SpawnOrdered { .. })
    ));
    is_free("carl").unwrap();
    let refused = |name: &str| match place(&spawn(name), minute) {
        Err(error @ StoreError::SpawnOrdered { .. }) => {
            let told = error.to_string();
            let has = |words: &str| told.contains(words);
            let words = format!("`{name}` cannot join");
            assert!(has(&words) && has("has an order to spawn `bob`"), "{told}");
            error.hint().unwrap()
        }
        other => panic!("{other:?}"),
    };
    let hint = "withdraw it with `--replace`, or choose another name";
    assert_eq!(refused("bob"), hint);
    // `--replace` withdraws only an order for the same name.
    let wait = "wait until it is carried out or expires, or choose another name";
    assert_eq!(refused("Bob"), wait);
    place(&spawn("carl"), minute).unwrap();
    place(&order(), minute).unwrap();
    let by = SpawnId::random();
    orders.take(id, by).block_on().unwrap().unwrap();
    // Nobody can write to the member or replace it yet.
    assert_eq!(refused("bob"), wait);
    orders.withdraw(id).block_on().unwrap().unwrap();
    assert_eq!(refused("bob"), wait, "it is being cancelled");
    assert!(orders.finish(id, by, outcome()).block_on().unwrap());
    is_free("bob").unwrap();
    place(&spawn("bob"), Duration::ZERO).unwrap();
    is_free("bob").unwrap();
    place(&spawn("bob"), minute).unwrap();
}

pub(crate) fn an_order_that_replaces_a_member_withdraws_one_that_nobody_has_taken(world: &World) {
    let Some(orders) = orders(world) else { return };
    let replace = |member: &str| Order {
        spawns: Some(name(member)),
        replaces: true,
        ..order()
    };
    let place = |order: &Order| {
        let placed = orders.place(order.clone(), Duration::from_mins(1));
        placed.block_on()
    };
    let take = |id| orders.take(id, SpawnId::random()).block_on().unwrap();
    let [first, other, second] = ["bob", "carl", "bob"].map(replace);
    place(&first).unwrap();
    place(&other).unwrap();
    let is_free = orders.require_free(&name("bob"), true).block_on();
    is_free.unwrap();
    assert!(orders.order(first.id).block_on().unwrap().is_some());
    place(&second).unwrap();
    assert!(take(first.id).is_none());
    assert!(take(other.id).is_some());
    assert!(take(second.id).is_some());
    for refused in [
        place(&replace("bob")),
        orders.require_free(&name("bob"), true).block_on(),
    ] {
        let refused = refused.unwrap_err();
        assert!(
            matches!(
                refused,
                StoreError::SpawnOrdered {
                    is_replaceable: false,
                    ..
                }
            ),
            "{refused}"
        );
    }
}

pub(crate) fn an_expired_order_is_not_taken_and_the_next_one_removes_it(world: &World) {
    let Some(orders) = orders(world) else { return };
    let expired = order();
    place(&orders, &expired, Duration::ZERO);
    let take = |id| orders.take(id, SpawnId::random()).block_on().unwrap();
    assert!(take(expired.id).is_none());
    let known = |id| orders.order(id).block_on().unwrap().is_some();
    assert!(known(expired.id));
    let next = placed(&orders);
    assert!(!known(expired.id) && known(next));
    assert!(take(next).is_some());
}
