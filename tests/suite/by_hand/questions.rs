//! Questions and plans that members put before a person, and the tools that keep their own books.

use serde_json::json;
use swarm_tests::fake_api::{Ask, FakeApi, Reply};
use swarm_tests::stage::World;

use crate::scene::{MODEL, wait_for_state, world_over};

fn spawn_bob(world: &World, mode: &str) {
    let arguments = [
        "spawn",
        "bob",
        "--model",
        MODEL,
        "--backend",
        "headless",
        "--mode",
        mode,
        "--prompt",
        "go",
    ];
    world.swarm(&arguments).ok();
}

/// The id of the request that waits.
fn waiting(world: &World) -> String {
    wait_for_state(world, "bob", "waiting-permission");
    world.wait_for("a request", || {
        let requests = world.team("demo").requests();
        let id = requests.first()?["id"].as_str()?;
        Some(id.to_owned())
    })
}

#[test]
fn a_person_answers_the_questions_of_a_member_in_any_mode() {
    let questions = json!({"questions": [
        {"question": "Which database?", "header": "Database", "options": [
            {"label": "Postgres", "description": "big"}, {"label": "SQLite", "description": "small"}]},
        {"question": "Its name?", "header": "Name", "options": [
            {"label": "main", "description": ""}, {"label": "test", "description": ""}]},
    ]});
    let asked = questions.clone();
    let api = FakeApi::start(move |ask: &Ask| match ask.result_of("t1") {
        None => Reply::tool("t1", "AskUserQuestion", asked.clone()),
        Some(_) => Reply::text("done"),
    });
    let world = world_over(&api);
    // Nothing else is asked about in this mode.
    spawn_bob(&world, "bypassPermissions");
    let id = waiting(&world);
    let listed = world.swarm(&["requests"]).ok().stdout.clone();
    for words in [
        "Which database?",
        "2 SQLite: small",
        "--answer TEXT --answer TEXT",
    ] {
        assert!(listed.contains(words), "{words}: {listed}");
    }
    // A mere yes is no answer, nor are fewer answers than questions; nothing is lost by the attempt.
    let no_option = vec!["--answer", "7", "--answer", "x"];
    for wrong in [
        vec![],
        vec!["--answer", "1"],
        vec!["--always"],
        no_option.clone(),
    ] {
        let arguments: Vec<&str> = ["approve", &id, "--json"]
            .into_iter()
            .chain(wrong)
            .collect();
        world.swarm(&arguments).error(2);
    }
    let arguments = [&["approve", &id][..], &no_option].concat();
    let told = world.swarm(&arguments).stderr;
    assert!(told.contains("1 Postgres, 2 SQLite"), "{told}");
    let answered = world.swarm(&[
        "approve",
        &id,
        "--answer",
        "2",
        "--answer",
        "neither: call it x",
    ]);
    assert!(
        answered.ok().stdout.contains("bob has your answer"),
        "{}",
        answered.stdout
    );
    wait_for_state(&world, "bob", "idle");
    let told = api
        .requests()
        .last()
        .unwrap()
        .ask
        .result_of("t1")
        .unwrap()
        .0;
    for words in ["Which database?", "SQLite", "neither: call it x"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let journal = world.team("demo").events("request_answered");
    assert_eq!(journal[0]["answer"], "answered", "{journal:?}");
    world.swarm(&["shutdown", "bob"]).ok();
}

#[test]
fn a_plan_is_agreed_to_by_a_person_before_anything_is_changed() {
    let api = FakeApi::start(|ask: &Ask| {
        let write = json!({"command": "touch made"});
        match (
            ask.result_of("t1"),
            ask.result_of("t2"),
            ask.result_of("t3"),
            ask.result_of("t4"),
        ) {
            (None, ..) => Reply::tool("t1", "EnterPlanMode", json!({})),
            (_, None, ..) => Reply::tool("t2", "Bash", write),
            (_, _, None, _) => Reply::tool(
                "t3",
                "ExitPlanMode",
                json!({"plan": "# Touch a file\n1. touch made"}),
            ),
            (_, _, _, None) => Reply::tool("t4", "Bash", write),
            _ => Reply::text("done"),
        }
    });
    let world = world_over(&api);
    spawn_bob(&world, "bypassPermissions");
    let id = waiting(&world);
    assert!(
        !world.project().join("made").exists(),
        "changed in plan mode"
    );
    let rights = world.swarm(&["permissions", "bob", "--json"]).json();
    assert_eq!(rights["mode"], "plan", "{rights}");
    let listed = world.swarm(&["requests"]).ok().stdout.clone();
    assert!(listed.contains("1. touch made"), "{listed}");
    world.swarm(&["approve", &id]).ok();
    wait_for_state(&world, "bob", "idle");
    assert!(world.project().join("made").exists());
    let rights = world.swarm(&["permissions", "bob", "--json"]).json();
    assert_eq!(rights["mode"], "bypassPermissions", "{rights}");
    world.swarm(&["shutdown", "bob"]).ok();
}

#[test]
fn a_member_that_was_started_in_plan_mode_bothers_nobody_with_a_way_out() {
    let api = FakeApi::start(|ask: &Ask| match ask.result_of("t1") {
        None => Reply::tool("t1", "ExitPlanMode", json!({"plan": "go"})),
        Some(_) => Reply::text("done"),
    });
    let world = world_over(&api);
    spawn_bob(&world, "plan");
    wait_for_state(&world, "bob", "idle");
    let told = api
        .requests()
        .last()
        .unwrap()
        .ask
        .result_of("t1")
        .unwrap()
        .0;
    assert!(told.contains("no right to any other"), "{told}");
    assert_eq!(world.team("demo").events("request_opened").len(), 0);
    world.swarm(&["shutdown", "bob"]).ok();
}

#[test]
fn a_skill_is_offered_by_name_and_read_when_it_is_called() {
    let api = FakeApi::start(|ask: &Ask| match ask.result_of("t1") {
        None => Reply::tool("t1", "Skill", json!({"skill": "review", "args": "src"})),
        Some(_) => Reply::text("done"),
    });
    let world = world_over(&api);
    world.write(
        "root/skills/review/SKILL.md",
        "---\ndescription: How we review\n---\nLook at $ARGUMENTS twice.\n",
    );
    spawn_bob(&world, "default");
    wait_for_state(&world, "bob", "idle");
    let last = api.requests().last().unwrap().ask.clone();
    assert!(last.tools().contains(&"Skill"), "{:?}", last.tools());
    assert!(
        last.body["tools"]
            .to_string()
            .contains("review: How we review")
    );
    let told = last.result_of("t1").unwrap().0;
    assert!(
        told.contains("Look at src twice.") && !told.contains("description:"),
        "{told}"
    );
    world.swarm(&["shutdown", "bob"]).ok();
}
