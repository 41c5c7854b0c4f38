//! Looking at what goes on.

use serde_json::json;
use swarm_tests::fake_api::{Ask, FakeApi, Reply};

use crate::scene::{
    column, enter_foreign, spawn_over, wait_for_state, world_over, world_with_team,
};

#[test]
fn the_journal_tells_what_happened_and_can_be_sifted() {
    let world = world_with_team("demo");
    enter_foreign(&world, "demo", &["ann", "bob"]);
    world.swarm(&["send", "ann", "one"]).ok();
    world.swarm(&["send", "bob", "two"]).ok();
    world.swarm(&["task", "create", "three"]).ok();
    let kinds = |arguments: &[&str]| {
        let lines = world.swarm(&[&["log", "--json"], arguments].concat());
        let list =
            serde_json::from_str(&lines.ok().stdout).unwrap_or_else(|_| json!(lines.json_lines()));
        column(&list, "type")
    };
    assert_eq!(
        kinds(&[]),
        ["team_created", "queued", "queued", "task_created"]
    );
    assert_eq!(kinds(&["--type", "queued", "--to", "bob"]), ["queued"]);
    assert!(world.swarm(&["log"]).ok().stdout.lines().count() >= 4);
}

#[test]
fn status_shows_members_tasks_and_what_waits() {
    let api = FakeApi::start(|_: &Ask| Reply::text("here"));
    let world = world_over(&api);
    spawn_over(&world, "bob");
    wait_for_state(&world, "bob", "idle");
    world.swarm(&["task", "create", "a"]).ok();
    world
        .swarm(&["task", "create", "b", "--blocked-by", "1"])
        .ok();
    let status = world.swarm(&["status", "--json"]).json();
    assert_eq!(column(&status["members"], "name"), ["team-lead", "bob"]);
    assert_eq!(column(&status["members"], "state")[1], "idle");
    let text = world.swarm(&["status"]).ok().stdout.clone();
    for word in ["bob", "idle", "pending", "blocked"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(
        !text.contains('\u{1b}'),
        "no colour where nobody looks: {text}"
    );
    let peeked = world.swarm(&["peek", "bob"]);
    assert!(peeked.ok().stdout.contains("here"), "{}", peeked.story());
    world.swarm(&["attach", "bob", "--json"]).error(7);
    world.swarm(&["shutdown", "bob"]).ok();
}

#[test]
fn what_does_not_exist_is_not_found() {
    let world = world_with_team("demo");
    for arguments in [
        &["peek", "nobody"][..],
        &["inbox", "nobody"],
        &["shutdown", "nobody"],
        &["kill", "nobody"],
        &["approve", "perm-1-abcdefg"],
        &["task", "show", "9"],
        &["task", "claim", "9"],
        &["attach", "nobody"],
    ] {
        world.swarm(&[arguments, &["--json"]].concat()).error(3);
    }
    for arguments in [
        &["task", "show", "x"][..],
        &["peek", "../x"],
        &["send", "a b", "text"],
    ] {
        world
            .swarm(&[arguments, &["--json"]].concat())
            .assert_code(2);
    }
}
