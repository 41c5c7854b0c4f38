//! The task list from the shell.

use serde_json::json;

use crate::scene::{
    column, complete_first_task, enter_foreign, world_with_foreign, world_with_team,
};

#[test]
fn tasks_are_numbered_listed_and_blocked() {
    let world = world_with_team("demo");
    assert_eq!(
        world
            .swarm(&["task", "create", "dig", "--description", "a hole"])
            .ok()
            .stdout
            .trim(),
        "1"
    );
    assert_eq!(
        world
            .swarm(&["task", "create", "fill", "--blocked-by", "1"])
            .ok()
            .stdout
            .trim(),
        "2"
    );
    let list = world.swarm(&["task", "list", "--json"]).json();
    assert_eq!(column(&list, "subject"), ["dig", "fill"]);
    assert_eq!(column(&list, "state"), ["pending", "blocked"]);
    assert_eq!(world.team("demo").task(1)["blocks"], json!(["2"]));
    complete_first_task(&world, "a deep one");
    let shown = world.swarm(&["task", "show", "1", "--json"]).json();
    assert_eq!(shown["state"], "completed");
    assert_eq!(shown["metadata"]["swarm"]["result"], "a deep one");
    assert_eq!(
        world.swarm(&["task", "show", "2", "--json"]).json()["state"],
        "pending"
    );
}

#[test]
fn t1_a_task_has_one_winner_and_the_losers_learn_who() {
    let world = world_with_team("demo");
    enter_foreign(
        &world,
        "demo",
        &["m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7"],
    );
    world.swarm(&["task", "create", "the only one"]).ok();
    let finished: Vec<_> = std::thread::scope(|scope| {
        let racers: Vec<_> = (0..8)
            .map(|number| {
                let world = &world;
                scope.spawn(move || {
                    world.swarm(&[
                        "task",
                        "claim",
                        "1",
                        "--as",
                        &format!("m{number}"),
                        "--json",
                    ])
                })
            })
            .collect();
        racers
            .into_iter()
            .map(|racer| racer.join().unwrap())
            .collect()
    });
    let winners = finished.iter().filter(|one| one.code == Some(0)).count();
    assert_eq!(
        winners,
        1,
        "{:#?}",
        finished
            .iter()
            .map(swarm_tests::stage::Finished::story)
            .collect::<Vec<_>>()
    );
    let owner = world.team("demo").task(1)["owner"]
        .as_str()
        .unwrap()
        .to_owned();
    for loser in finished.iter().filter(|one| one.code != Some(0)) {
        let error = loser.error(4);
        assert!(
            error["message"].as_str().unwrap().contains(&owner),
            "{error}"
        );
    }
}

#[test]
fn t2_a_blocked_task_cannot_be_started_in_any_way() {
    let world = world_with_foreign("demo", &["bob"]);
    world.swarm(&["task", "create", "first"]).ok();
    world
        .swarm(&["task", "create", "second", "--blocked-by", "1"])
        .ok();
    world
        .swarm(&["task", "claim", "2", "--as", "bob", "--json"])
        .error(4);
    world
        .swarm(&["task", "update", "2", "--status", "in_progress", "--json"])
        .error(4);
    world
        .swarm(&["task", "update", "2", "--status", "completed", "--json"])
        .error(4);
    let next = world
        .swarm(&["task", "claim", "--next", "--as", "bob", "--json"])
        .json();
    assert_eq!(next["id"], "1");
    for edge in ["9", "1"] {
        let refused = world.swarm(&["task", "update", "1", "--add-blocked-by", edge]);
        assert_ne!(refused.code, Some(0), "{}", refused.story());
    }
    let circle = world.swarm(&["task", "update", "1", "--add-blocked-by", "2"]);
    assert_ne!(circle.code, Some(0), "{}", circle.story());
}

#[test]
fn t9_the_task_of_another_member_is_completed_only_with_force() {
    let world = world_with_foreign("demo", &["bob"]);
    world.swarm(&["task", "create", "bob's"]).ok();
    world.swarm(&["task", "claim", "1", "--as", "bob"]).ok();
    world
        .swarm(&["task", "update", "1", "--status", "completed", "--json"])
        .error(4);
    assert_eq!(world.team("demo").task(1)["status"], "in_progress");
    world
        .swarm(&["task", "update", "1", "--status", "completed", "--force"])
        .ok();
    assert_eq!(world.team("demo").task(1)["status"], "completed");
}

#[test]
fn a_task_file_is_imported_completely_or_not_at_all() {
    let world = world_with_team("demo");
    let good = json!([{"subject": "a"}, {"subject": "b", "blockedBy": ["1"]}]).to_string();
    let bad = json!([{"subject": "c"}, {"subject": "d", "blockedBy": ["77"]}]).to_string();
    world
        .swarm_reading(&["task", "create", "--file", "-"], &good)
        .ok();
    let refused = world.swarm_reading(&["task", "create", "--file", "-"], &bad);
    assert_ne!(refused.code, Some(0), "{}", refused.story());
    assert_eq!(
        column(&world.swarm(&["task", "list", "--json"]).json(), "subject"),
        ["a", "b"]
    );
}

#[test]
fn tasks_of_a_file_wait_for_each_other_by_name() {
    let world = world_with_team("demo");
    world.swarm(&["task", "create", "there already"]).ok();
    let list = json!([
        {"subject": "fill", "blockedBy": ["dig", "1"]},
        {"ref": "dig", "subject": "dig"},
    ]);
    let made = world
        .swarm_reading(
            &["task", "create", "--file", "-", "--json"],
            &list.to_string(),
        )
        .json();
    assert_eq!(column(&made, "id"), ["2", "3"]);
    assert_eq!(made[0]["blockedBy"], json!(["1", "3"]));
    assert_eq!(made[1]["ref"], "dig");
    assert_eq!(world.team("demo").task(3)["blocks"], json!(["2"]));
    let listed = world.swarm(&["task", "list"]).ok().stdout.clone();
    let dig = listed.lines().find(|line| line.contains("#3 ")).unwrap();
    assert!(dig.contains("#2"), "{listed}");
    let circle = json!([{"ref": "a", "subject": "a", "blockedBy": ["b"]}, {"ref": "b", "subject": "b", "blockedBy": ["a"]}]);
    world
        .swarm_reading(
            &["task", "create", "--file", "-", "--json"],
            &circle.to_string(),
        )
        .error(4);
    assert_eq!(world.team("demo").tasks().len(), 3);
}

#[test]
fn tasks_are_listed_by_state_and_owner_and_given_to_members_only() {
    let world = world_with_foreign("demo", &["ann"]);
    for arguments in [
        &["create", "a", "--owner", "ann"][..],
        &["create", "b"],
        &["create", "c", "--blocked-by", "2"],
    ] {
        world.swarm(&[&["task"], arguments].concat()).ok();
    }
    let listed = |more: &[&str]| {
        let list = world
            .swarm(&[&["task", "list", "--json"], more].concat())
            .json();
        column(&list, "subject")
    };
    assert_eq!(listed(&["--owner", "ann"]), ["a"]);
    assert_eq!(listed(&["--status", "pending,blocked"]), ["a", "b", "c"]);
    assert_eq!(listed(&["--status", "blocked"]), ["c"]);
    world
        .swarm(&["task", "list", "--owner", "nobody", "--json"])
        .error(3);
    for arguments in [
        &["task", "create", "x", "--owner", "an"][..],
        &["task", "update", "2", "--owner", "an"],
    ] {
        let error = world.swarm(&[arguments, &["--json"]].concat()).error(3);
        assert!(error["hint"].as_str().unwrap().contains("ann"), "{error}");
    }
    assert_eq!(world.team("demo").tasks().len(), 3);
}

#[test]
fn t7_an_assignment_is_sent_once_and_a_completed_task_cannot_be_assigned() {
    let world = world_with_foreign("demo", &["ann", "bob"]);
    world
        .swarm(&["task", "create", "paint", "--owner", "bob"])
        .ok();
    world.swarm(&["task", "update", "1", "--owner", "bob"]).ok();
    world.swarm(&["task", "claim", "1", "--as", "bob"]).ok();
    world
        .swarm(&["task", "claim", "--next", "--as", "bob", "--json"])
        .error(3);
    assert_eq!(world.team("demo").frames("bob", "task_assignment").len(), 1);
    world
        .swarm(&[
            "task",
            "update",
            "1",
            "--status",
            "completed",
            "--result",
            "red",
            "--force",
        ])
        .ok();
    world
        .swarm(&["task", "update", "1", "--owner", "ann", "--json"])
        .error(4);
    assert_eq!(world.team("demo").inbox("ann").len(), 0);
    // A task without an owner that becomes free is not assigned.
    world.swarm(&["task", "create", "first"]).ok();
    world
        .swarm(&["task", "create", "second", "--blocked-by", "2"])
        .ok();
    world
        .swarm(&["task", "update", "2", "--status", "completed"])
        .ok();
    assert_eq!(world.team("demo").inbox("ann").len(), 0);
    assert_eq!(world.team("demo").inbox("bob").len(), 1);
}

#[test]
fn t6_a_deleted_team_leaves_its_tasks_and_its_journal_in_the_archive() {
    let world = world_with_team("demo");
    world
        .swarm(&["task", "create", "precious", "--description", "words"])
        .ok();
    complete_first_task(&world, "done");
    let task = world.team("demo").task(1);
    let deleted = world.swarm(&["team", "delete", "demo", "--json"]).json();
    let archive = std::path::PathBuf::from(deleted["archive"].as_str().unwrap());
    let kept = std::fs::read_to_string(archive.join("tasks/1.json")).unwrap();
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&kept).unwrap(),
        task
    );
    let journal = std::fs::read_to_string(archive.join("journal.jsonl")).unwrap();
    assert!(journal.contains("\"description\":\"words\""), "{journal}");
}

#[test]
fn task_numbers_are_never_reused() {
    let world = world_with_team("demo");
    for subject in ["a", "b"] {
        world.swarm(&["task", "create", subject]).ok();
    }
    world.swarm(&["task", "delete", "2"]).ok();
    world.swarm(&["task", "show", "2", "--json"]).error(3);
    assert_eq!(
        world.swarm(&["task", "create", "c"]).ok().stdout.trim(),
        "3"
    );
}

#[test]
fn a_released_task_is_free_again() {
    let world = world_with_foreign("demo", &["ann", "bob"]);
    world.swarm(&["task", "create", "hot potato"]).ok();
    world.swarm(&["task", "claim", "1", "--as", "ann"]).ok();
    world.swarm(&["task", "release", "1"]).ok();
    assert_eq!(
        world.swarm(&["task", "list", "--json"]).json()[0]["state"],
        "pending"
    );
    world.swarm(&["task", "claim", "1", "--as", "bob"]).ok();
    assert_eq!(world.team("demo").task(1)["owner"], "bob");
}

#[test]
fn an_assigned_owner_is_notified() {
    let world = world_with_foreign("demo", &["bob"]);
    world.swarm(&["task", "create", "for you"]).ok();
    world.swarm(&["task", "update", "1", "--owner", "bob"]).ok();
    let frames = world.team("demo").frames("bob", "task_assignment");
    assert_eq!(frames.len(), 1);
    assert_eq!(frames[0]["taskId"], "1");
    assert_eq!(frames[0]["assignedBy"], "team-lead");
}

#[test]
fn a_bad_task_file_is_named_and_only_that_task_is_refused() {
    let world = world_with_team("demo");
    for subject in ["one", "two"] {
        world.swarm(&["task", "create", subject]).ok();
    }
    let bad = world.team("demo").tasks_directory().join("1.json");
    std::fs::write(&bad, "{bad").unwrap();
    let listed = world.swarm(&["task", "list"]);
    listed.ok().stdout_has("two");
    listed.stderr_has("1.json");
    let json = world.swarm(&["task", "list", "--json"]);
    let warning: serde_json::Value = serde_json::from_str(json.ok().stderr.trim()).unwrap();
    let message = warning["warning"]["message"].as_str().unwrap();
    assert!(message.contains("1.json"), "{warning}");
    assert_eq!(column(&json.json(), "subject"), ["two"]);
    world.swarm(&["status"]).ok();
    world.swarm(&["task", "show", "2"]).ok();
    for refused in [
        &["task", "show", "1"][..],
        &["task", "update", "1", "--status", "completed"],
        &["task", "claim", "1"],
    ] {
        world.swarm(refused).assert_code(8);
    }
    world
        .swarm(&["task", "claim", "--next"])
        .ok()
        .stdout_has("#2");
}
