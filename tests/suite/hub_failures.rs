//! Members of a team on a hub whose machine is cut off, or whose process is killed.

use std::fs::{self, File};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use swarm_hubkit::{Link, NatsServer};
use swarm_tests::fake_api::{Ask, FakeApi, Gate, Reply};
use swarm_tests::stage::{Running, World};

use crate::machines::{member, server_of};
use crate::scene::{spawn_over, wait_for_no_process, wait_until_gone, world};

/// A lost member is reported within this time.
const NOTICED: Duration = Duration::from_secs(15);

/// A command that holds a lock until it is stopped.
pub(crate) const LONG: &str = "exec 9>lock; flock 9; echo once >> started; sleep 600";

/// The process of a member, which runs on this machine.
pub(crate) fn pid_of(machine: &World, name: &str) -> Pid {
    let life = format!("teams/demo/swarm/members/{name}/life");
    let life = fs::read(machine.root().join(life)).unwrap();
    let life: Value = serde_json::from_slice(&life).unwrap();
    let pid = i32::try_from(life["pid"].as_i64().unwrap()).unwrap();
    Pid::from_raw(pid).unwrap()
}

#[test]
fn lost_members_are_noticed_and_one_that_was_cut_off_parks_and_continues_with_nothing_twice() {
    let api = FakeApi::start(|ask: &Ask| {
        if ask.news_has("work for long") && !ask.news_has("continue") {
            Reply::tool("t1", "Bash", json!({"command": LONG}))
        } else {
            Reply::text("done")
        }
    });
    let (first, second) = (world(), world().with_api(&api));
    let Some(server) = server_of(&first, None) else {
        return;
    };
    let link = Link::to(server.port());
    let joined = second.swarm(&["team", "join", "demo", "--hub", &link.url()]);
    joined.ok();
    spawn_over(&second, "bob");
    spawn_over(&second, "eve");
    for name in ["bob", "eve"] {
        first.wait_until("both are idle", || member(&first, name)["state"] == "idle");
    }
    first.swarm(&["task", "create", "held by bob"]).ok();
    let claim = ["task", "update", "1", "--owner", "bob", "--status"];
    first.swarm(&[&claim[..], &["in_progress"]].concat()).ok();
    first.swarm(&["send", "bob", "work for long"]).ok();
    let project = second.project();
    second.wait_until("the call runs", || project.join("started").exists());

    let refused = first.swarm(&["kill", "bob", "--json"]).error(5);
    let told = refused["message"].as_str().unwrap();
    assert!(told.contains("with another config directory"), "{told}");

    let eve = pid_of(&second, "eve");
    let began = Instant::now();
    link.cut();
    kill_process(eve, Signal::KILL).unwrap();
    for name in ["bob", "eve"] {
        first.wait_until("it is lost", || member(&first, name)["state"] == "dead");
    }
    let noticed = began.elapsed();
    assert!(noticed < NOTICED, "{noticed:?}");
    let task = first.swarm(&["task", "show", "1", "--json"]).json();
    assert_eq!(task["status"], "pending", "{task}");
    // The task may have another owner by now, so the call does not go on until the hub is reached again.
    let lock = File::open(project.join("lock")).unwrap();
    second.wait_until("the call has ended", || lock.try_lock().is_ok());

    link.heal();
    first.wait_until("bob has parked", || {
        !member(&first, "bob")["parkedOn"].is_null()
    });
    let shown = first.swarm(&["status"]).stdout;
    assert!(shown.contains("parked"), "{shown}");
    assert!(shown.contains("`swarm spawn bob` on"), "{shown}");
    assert!(member(&first, "eve")["parkedOn"].is_null());

    let more = ["spawn", "bob", "--team", "demo", "--backend", "headless"];
    let more = [
        &more[..],
        &["--mode", "bypassPermissions", "--prompt", "continue"],
    ]
    .concat();
    second.swarm(&more).ok();
    let told = api.wait_for("its conversation", "bob", |ask| ask.news_has("continue"));
    assert_eq!(told.ask.times_told("work for long"), 1);
    let runs = fs::read_to_string(project.join("started")).unwrap();
    assert_eq!(runs, "once\n");
    first.wait_until("bob is idle", || member(&first, "bob")["state"] == "idle");
    assert!(member(&first, "bob")["parkedOn"].is_null());

    first.swarm(&["send", "bob", "still there?"]).ok();
    api.wait_for("the message", "bob", |ask| ask.news_has("still there?"));
    second.swarm(&["kill", "bob"]).ok();
    first.swarm(&["team", "delete", "demo", "--force"]).ok();
    wait_for_no_process(&second);
}

#[test]
fn commands_that_show_changes_report_a_hub_that_does_not_answer_and_go_on() {
    let world = world();
    let Some(server) = server_of(&world, None) else {
        return;
    };
    world.swarm(&["team", "add", "bob", "--external"]).ok();
    let send = |text: &str| {
        let send = ["send", "team-lead", text, "--from", "bob"];
        world.swarm(&send).ok();
    };
    send("before");
    let run = |words: &[&str]| world.start(words);
    let shown = [
        run(&["inbox", "team-lead", "--follow"]),
        run(&["log", "--follow"]),
        run(&["status", "--watch", "--json"]),
    ];
    world.wait_until("they show the team", || {
        shown.iter().all(|one| !one.stdout().is_empty())
    });
    server.signal(Signal::STOP);
    world.wait_until("they report the hub", || {
        let is_told = |one: &Running| one.stderr().contains("does not answer");
        shown.iter().all(is_told)
    });
    server.signal(Signal::CONT);
    send("after");
    let [mail, log, status] = &shown;
    world.wait_until("they go on", || {
        let was_silent = shown.iter().all(|one| one.stderr().contains("again"));
        let lines = |one: &Running| one.stdout().lines().count();
        let is_logged = log.stdout().matches("queued").count() == 2;
        was_silent && is_logged && mail.stdout().contains("after") && lines(status) > 1
    });
}

#[test]
fn a_team_whose_hub_lost_its_data_can_be_deleted_here() {
    let api = FakeApi::start(|_: &Ask| Reply::text("done"));
    let world = world().with_api(&api);
    let Some(mut server) = server_of(&world, None) else {
        return;
    };
    spawn_over(&world, "bob");
    let bob = pid_of(&world, "bob");
    kill_process(bob, Signal::KILL).unwrap();
    wait_until_gone(&world, bob);
    server.stop();
    fs::remove_dir_all(world.directory().join("nats/jetstream")).unwrap();
    server.resume();

    let checked = world.swarm(&["doctor"]);
    checked.stdout_has("teams: 1 found, 1 of them cannot be read");
    let join = ["team", "join", "demo", "--hub", &server.url(), "--json"];
    let refused = world.swarm(&join).error(3);
    let hint = refused["hint"].as_str().unwrap();
    assert!(hint.contains("`swarm team delete demo --force`"), "{hint}");
    // There, it would delete the team of the other hub.
    let other = NatsServer::start(&world.directory().join("other"), &[]);
    let elsewhere = ["team", "join", "demo", "--hub", &other.url(), "--json"];
    let refused = world.swarm(&elsewhere).error(3);
    let hint = format!("check the URL: this machine knows demo on {}", server.url());
    assert_eq!(refused["hint"], hint);
    world.swarm(&["team", "delete", "demo", "--force"]).ok();
    let left = world.swarm(&["gc", "--dry-run"]);
    left.ok().stdout_lacks("bob");
    wait_for_no_process(&world);
}

#[test]
fn what_a_frozen_member_has_started_ends_with_its_lease_and_its_process_does_not() {
    let api = FakeApi::start(|ask: &Ask| {
        if ask.news_has("work for long") {
            Reply::tool("t1", "Bash", json!({"command": LONG}))
        } else {
            Reply::text("done")
        }
    });
    let world = world().with_api(&api);
    let Some(_server) = server_of(&world, None) else {
        return;
    };
    for name in ["bob", "eve"] {
        spawn_over(&world, name);
        world.wait_until("it is idle", || member(&world, name)["state"] == "idle");
    }
    world.swarm(&["send", "bob", "work for long"]).ok();
    let project = world.project();
    world.wait_until("the call runs", || project.join("started").exists());
    let [bob, eve] = ["bob", "eve"].map(|name| pid_of(&world, name));
    for pid in [bob, eve] {
        kill_process(pid, Signal::STOP).unwrap();
    }
    for name in ["bob", "eve"] {
        world.wait_until("it is lost", || member(&world, name)["state"] == "dead");
    }
    let lock = File::open(project.join("lock")).unwrap();
    world.wait_until("the call has ended", || lock.try_lock().is_ok());
    let listed = world.swarm(&["ps", "--json"]).json();
    let its = |one: &&Value| one["pid"] == bob.as_raw_nonzero().get();
    let bob = listed.as_array().and_then(|all| all.iter().find(its));
    assert_eq!(
        bob.map(|bob| (&bob["state"], &bob["frozen"])),
        Some((&"parked".into(), &true.into())),
        "{listed}"
    );
    let reaped = world.swarm(&["reap", "--dry-run", "--json"]).json();
    assert_eq!(reaped, json!([]));

    for stop in ["kill bob --json", "shutdown eve --json"] {
        let stopped = world.swarm(&stop.split(' ').collect::<Vec<_>>()).json();
        assert_eq!(stopped["outcome"], "killed", "{stopped}");
    }
    world.swarm(&["team", "delete", "demo", "--force"]).ok();
    wait_for_no_process(&world);
}

#[test]
fn a_member_survives_a_hub_that_is_killed_during_its_turn_and_is_heard_once() {
    let gate = Gate::closed();
    let api = FakeApi::start({
        let held = Reply::text("the result").held_by(&gate, 1);
        move |_: &Ask| held.clone()
    });
    let world = world().with_api(&api);
    let Some(mut server) = server_of(&world, None) else {
        return;
    };
    spawn_over(&world, "bob");
    api.wait_for("the turn", "bob", |ask| ask.news_has("hello"));
    server.stop();
    gate.open();
    server.resume();
    world.wait_until("bob is idle", || member(&world, "bob")["state"] == "idle");
    let mail = world.swarm(&["inbox", "team-lead", "--json"]).json();
    let results = mail.as_array().unwrap().iter();
    let results = results.filter(|mail| mail.to_string().contains("the result"));
    assert_eq!(results.count(), 1, "{mail}");
    world.swarm(&["send", "bob", "again"]).ok();
    api.wait_for("the message", "bob", |ask| ask.news_has("again"));
    world.swarm(&["kill", "bob"]).ok();
    world.swarm(&["team", "delete", "demo", "--force"]).ok();
    wait_for_no_process(&world);
}
