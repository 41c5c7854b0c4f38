//! Free tasks that no member claims.

use serde_json::json;

use crate::scene::{idle_world, kill_member, spawn_idle, wait_for_state, world_saying};

#[test]
fn t3_the_owner_of_a_task_is_woken_once_when_its_last_blocker_is_completed() {
    let (api, world) = idle_world("I see.", "bob");
    world.swarm(&["task", "create", "lay the ground"]).ok();
    world.swarm(&["task", "create", "lay the road"]).ok();
    world
        .swarm(&[
            "task",
            "create",
            "drive",
            "--blocked-by",
            "1,2",
            "--owner",
            "bob",
        ])
        .ok();
    world
        .swarm(&["task", "update", "1", "--status", "completed"])
        .ok();
    wait_for_state(&world, "bob", "idle");
    let mails = || world.team("demo").inbox("bob").len();
    let (before, asked) = (mails(), api.requests_of("bob").len());
    world
        .swarm(&["task", "update", "2", "--status", "completed"])
        .ok();
    world.wait_for("bob is asked about it", || {
        let requests = api.requests_of("bob").split_off(asked);
        requests
            .into_iter()
            .find(|recorded| recorded.ask.news_has("drive"))
    });
    world.swarm(&["task", "update", "2", "--status", "completed"]);
    world.swarm(&["status"]).ok();
    assert_eq!(
        mails(),
        before + 1,
        "{:#?}",
        world.team("demo").inbox("bob")
    );
    world.swarm(&["shutdown", "bob"]).ok();
}

#[test]
fn d6_an_assignment_wakes_an_idle_member() {
    let (api, world) = idle_world("I see.", "bob");
    world
        .swarm(&["task", "create", "paint it black", "--owner", "bob"])
        .ok();
    let woken = api.wait_for("the assignment", "bob", |ask| {
        ask.news_has("paint it black")
    });
    assert!(
        !woken.ask.news().contains("\"type\""),
        "a frame is for the program: {}",
        woken.ask.news()
    );
    world.swarm(&["shutdown", "bob"]).ok();
}

#[test]
fn t4_the_task_of_a_killed_owner_is_free_again_with_a_note_and_fails_after_three_attempts() {
    let (_api, world) = world_saying("ready");
    world.swarm(&["task", "create", "hard work"]).ok();
    for attempt in 1..=3 {
        spawn_idle(&world, "bob");
        world.swarm(&["task", "claim", "1", "--as", "bob"]).ok();
        kill_member(&world, "bob");
        // Any command that looks at the team notices.
        world.swarm(&["status"]).ok();
        let task = world.team("demo").task(1);
        let mark = &task["metadata"]["swarm"];
        assert_eq!(
            (&task["status"], &mark["attempt"]),
            (&json!("pending"), &json!(attempt)),
            "{task}"
        );
        assert!(
            mark["note"].as_str().unwrap().contains("bob ended"),
            "{task}"
        );
        assert!(
            task["owner"].is_null() && mark["claimedBy"].is_null(),
            "{task}"
        );
    }
    let shown = world.swarm(&["task", "show", "1", "--json"]).json();
    assert_eq!(shown["state"], "failed");
    let text = world.swarm(&["task", "show", "1"]).ok().stdout.clone();
    assert!(
        text.contains("3 failed when their owner stopped; the last: bob"),
        "{text}"
    );
    world.swarm(&["task", "claim", "1", "--json"]).error(4);
    world.swarm(&["task", "release", "1"]).ok();
    world.swarm(&["task", "claim", "1"]).ok();
}
