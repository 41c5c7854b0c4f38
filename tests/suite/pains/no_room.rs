//! A full disk while a member ends: files stay readable, and the end is recorded once there is space.

use swarm_tests::stage::{Finished, World};

use crate::scene::{idle_world, kill_member};

#[expect(
    clippy::print_stderr,
    reason = "the developer must see that the test was skipped"
)]
fn can_trace(world: &World) -> bool {
    let looked = world.start_program("sh", &["-c", "command -v strace"]);
    let found = looked.wait().code == Some(0);
    if !found {
        eprintln!("skipped: there is no strace here");
    }
    found
}

/// Runs `swarm` where no file can be replaced for want of room; `None` where nothing can be traced.
fn without_room(world: &World, words: &[&str]) -> Option<Finished> {
    let trace = world.directory().join("out/trace");
    let trace = trace.to_str().expect("a path of text");
    let tracer = [
        "strace",
        "-f",
        "-qq",
        "-o",
        trace,
        "-e",
        "trace=rename,renameat",
    ];
    let inject = ["-e", "inject=rename,renameat:error=ENOSPC"];
    if !can_trace(world) {
        return None;
    }
    Some(
        world
            .start_under(&[&tracer[..], &inject].concat(), words, &[])
            .wait(),
    )
}

fn world_of_the_dead() -> World {
    let (_api, world) = idle_world("done", "bob");
    kill_member(&world, "bob");
    world
}

#[test]
fn who_ended_without_room_for_it_is_seen_and_entered_once_there_is() {
    let world = world_of_the_dead();
    let said = "stopped members are not recorded yet";
    let Some(seen) = without_room(&world, &["status"]) else {
        return;
    };
    seen.ok();
    seen.stdout_has("dead").stdout_has(said);
    for words in [&["task", "list"][..], &["log"], &["team", "show"]] {
        let seen = without_room(&world, words).expect("it was there before");
        seen.ok();
        seen.stderr_has(said);
        seen.stderr_has("No space left");
    }
    // What changes something says what it is about.
    let refused = without_room(&world, &["kill", "bob"]).expect("it was there before");
    assert!(
        refused.code != Some(0) && refused.stderr.contains("config.json"),
        "{}",
        refused.story()
    );
    assert_eq!(world.team("demo").inbox("team-lead").len(), 1);

    let status = world.swarm(&["status"]);
    status.ok();
    status.stdout_lacks(said);
    assert_eq!(world.team("demo").events("member_died").len(), 1);
    let news = world.team("demo").inbox("team-lead");
    let deaths = news.iter().filter(|one| one.to_string().contains("died"));
    assert_eq!(deaths.count(), 1, "{news:?}");
    world.swarm(&["kill", "bob"]).ok();
}

#[test]
fn a_team_of_dead_members_is_deleted_by_force_when_their_deaths_cannot_be_recorded() {
    let world = world_of_the_dead();
    let words = ["team", "delete", "demo", "--force", "--purge"];
    let Some(deleted) = without_room(&world, &words) else {
        return;
    };
    deleted.ok();
    assert!(!world.root().join("teams/demo").exists());
    assert_eq!(world.processes(), []);
}
