//! Questions and plans that members put before a person, and the tools that keep their own books.

use serde_json::json;
use swarm_tests::fake_api::{Ask, Reply};
use swarm_tests::stage::{Finished, World};

use crate::scene::{
    MODEL, calls_once, enter_foreign, runs_once, spawn_with, team_with, wait_for_state, world_over,
    world_saying,
};

fn spawn_bob(world: &World, mode: &str) {
    spawn_with(world, "bob", &["--mode", mode, "--prompt", "go"]);
}

/// The id of the request that waits.
fn waiting(world: &World) -> String {
    waiting_as(world, "waiting-permission")
}

fn waiting_as(world: &World, state: &str) -> String {
    wait_for_state(world, "bob", state);
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
    let api = calls_once("AskUserQuestion", questions);
    let world = world_over(&api);
    // This mode asks about nothing else.
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
    // A plain approval is not an answer, nor are fewer answers than questions; the request remains.
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
    answered.ok().stdout_has("bob has your answer");
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
fn a_person_approves_a_plan_before_anything_is_changed() {
    let (_api, world) = team_with(|ask: &Ask| {
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
    spawn_bob(&world, "bypassPermissions");
    let id = waiting_as(&world, "waiting-plan");
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
fn p6_a_member_that_plans_first_changes_nothing_until_its_plan_is_approved() {
    let (api, world) = team_with(|ask: &Ask| {
        let plan = |text: &str| json!({ "plan": text });
        let made = json!({"command": "touch made"});
        let results = ["t1", "t2", "t3", "t4"].map(|id| ask.result_of(id).is_some());
        match results.iter().position(|there| !there) {
            Some(0) => Reply::tool("t1", "Bash", made),
            Some(1) => Reply::tool("t2", "ExitPlanMode", plan("# Touch it\nall of it")),
            Some(2) => Reply::tool("t3", "ExitPlanMode", plan("# Touch one file")),
            Some(_) => Reply::tool("t4", "Bash", made),
            None => Reply::text("done"),
        }
    });
    let arguments =
        "spawn bob --backend headless --plan --mode bypassPermissions --prompt go --model";
    let mut arguments: Vec<&str> = arguments.split(' ').collect();
    arguments.push(MODEL);
    let told = world.swarm(&arguments).ok().stdout.clone();
    assert!(told.contains("mode plan"), "{told}");
    let member = || world.team("demo").config()["members"][1].clone();
    assert_eq!(member()["planModeRequired"], true, "{}", member());

    let open = |number: u32| {
        wait_for_state(&world, "bob", "waiting-plan");
        world.wait_for("a plan", || {
            let requests = world.team("demo").requests();
            let request = requests.first()?.clone();
            (request["number"] == number).then_some(request)
        })
    };
    let first = open(1);
    let id = first["id"].as_str().unwrap();
    assert!(
        id.starts_with("plan_approval-") && id.ends_with("@bob@demo"),
        "{id}"
    );
    let path = first["planFilePath"].as_str().unwrap();
    assert_eq!(
        std::fs::read_to_string(path).unwrap(),
        "# Touch it\nall of it"
    );
    assert!(path.contains("/plans/"), "{path}");
    assert!(
        !world.project().join("made").exists(),
        "changed before the approval"
    );
    world
        .swarm(&["deny", "p1", "--why", "one file is enough"])
        .ok()
        .stdout_has("has to revise its plan");
    let second = open(2);
    assert_eq!(second["plan"], "# Touch one file");
    assert_eq!(second["mode"], "bypassPermissions", "{second}");
    world.swarm(&["approve", id, "--json"]).error(4);
    world
        .swarm(&["approve", "p2", "--answer", "and only once"])
        .ok();
    wait_for_state(&world, "bob", "idle");
    assert!(world.project().join("made").exists());
    assert_eq!(member()["mode"], "bypassPermissions", "{}", member());
    let last = api.requests().last().unwrap().ask.clone();
    let result = |id: &str| last.result_of(id).unwrap().0;
    assert!(result("t1").contains("plan"), "{}", result("t1"));
    assert!(
        result("t2").contains("one file is enough"),
        "{}",
        result("t2")
    );
    assert!(result("t3").contains("and only once"), "{}", result("t3"));
    // A second answer is refused, whichever it is.
    world.swarm(&["deny", "p2", "--json"]).error(4);
    let answers = world.team("demo").events("request_answered");
    let words: Vec<_> = answers
        .iter()
        .map(|event| event["answer"].clone())
        .collect();
    assert_eq!(words, ["denied", "answered"]);
    world.swarm(&["shutdown", "bob"]).ok();
}

#[test]
fn a_mode_and_a_rule_set_by_a_person_apply_immediately_and_to_later_members() {
    let (_api, world) = world_saying("done");
    enter_foreign(&world, "demo", &["stranger"]);
    spawn_bob(&world, "acceptEdits");
    wait_for_state(&world, "bob", "idle");
    let told = world.swarm(&["mode", "bob", "plan"]).ok().stdout.clone();
    assert_eq!(told, "bob is in mode plan\n");
    world
        .swarm(&["mode", "bob", "bypassPermissions", "--json"])
        .error(5);
    world.swarm(&["mode", "bob", "acceptEdits"]).ok();
    // The member records the mode of the former request as well.
    world.wait_until("the roster has the mode", || {
        world.team("demo").member("bob").unwrap()["mode"] == "acceptEdits"
    });
    world.swarm(&["allow", "Edit(//srv/docs/**)"]).ok();
    world.swarm(&["allow", "Bsh(make)", "--json"]).error(2);
    let has_rule = |name: &str| {
        let rights = world.swarm(&["permissions", name, "--json"]).json();
        rights["allow"].to_string().contains("Edit(//srv/docs/**)")
    };
    world.wait_until("the rule of bob", || has_rule("bob"));
    spawn_with(&world, "eve", &[]);
    assert!(has_rule("eve"));
    let config = world.team("demo").config();
    let path = &config["teamAllowedPaths"][0];
    assert_eq!(
        (&path["path"], &path["toolName"]),
        (&json!("/srv/docs"), &json!("Edit"))
    );
    // A member of another program gets the rule in that program's form.
    let frames = world
        .team("demo")
        .frames("stranger", "team_permission_update");
    let update = json!({"type": "addRules", "behavior": "allow", "destination": "session",
        "rules": [{"toolName": "Edit", "ruleContent": "//srv/docs/**"}]});
    assert_eq!(frames.len(), 1, "{frames:?}");
    assert_eq!(frames[0]["permissionUpdate"], update);
    assert_eq!(frames[0]["directoryPath"], "/srv/docs");
    assert_eq!(frames[0]["toolName"], "Edit");
    let from_team = json!({"rule": "Edit(//srv/docs/**)", "origin": "team"});
    let rights = world.swarm(&["permissions", "eve", "--json"]).json();
    assert_eq!(rights["allow"][0], from_team);
    let log = world.swarm(&["log"]).ok().stdout.clone();
    assert!(log.contains("Edit(//srv/docs/**)"), "{log}");
    let remove = ["allow", "--remove", "Edit(//srv/docs/**)", "--json"];
    world.swarm(&remove).ok();
    for name in ["bob", "eve"] {
        world.wait_until("a member loses the rule", || !has_rule(name));
    }
    world.swarm(&remove).error(3);
    assert_eq!(world.team("demo").config()["teamAllowedPaths"], json!([]));
    spawn_with(&world, "dan", &[]);
    assert!(!has_rule("dan"));
    let journal = world.team("demo").events("mode_set");
    assert_eq!(journal.len(), 2, "{journal:?}");
    assert!(journal[0]["signature"]["value"].is_string(), "{journal:?}");
    world.swarm(&["team", "remove", "stranger"]).ok();
    world.swarm(&["shutdown", "--all"]).ok();
}

#[test]
fn a_call_can_be_edited_on_approval_and_all_requests_be_answered_together() {
    let (_api, world) = team_with(|ask: &Ask| match ask.result_of("t1") {
        None => Reply::tool("t1", "Bash", json!({"command": "touch one"})),
        Some(_) if ask.result_of("t2").is_none() => {
            Reply::tool("t2", "Bash", json!({"command": "touch two"}))
        }
        Some(_) => Reply::text("done"),
    });
    spawn_bob(&world, "default");
    waiting(&world);
    for input in ["[]", r#"{"foo": 1}"#] {
        world
            .swarm(&["approve", "p1", "--input", input, "--json"])
            .error(2);
    }
    let changed = ["approve", "p1", "--input", r#"{"command": "touch other"}"#];
    let told = world.swarm(&changed).ok().stdout.clone();
    assert!(told.contains("touch other (p1)"), "{told}");
    world.wait_for("the second request", || {
        (world.team("demo").requests().first()?["number"] == 2).then_some(())
    });
    assert!(world.project().join("other").exists() && !world.project().join("one").exists());
    let told = world.swarm(&["approve", "--all"]).ok().stdout.clone();
    assert!(told.contains("touch two (p2)"), "{told}");
    wait_for_state(&world, "bob", "idle");
    assert!(world.project().join("two").exists());
    world.swarm(&["shutdown", "bob"]).ok();
}

/// Runs `swarm approve --edit` with an editor.
fn edit_with(world: &World, variables: &[(&str, &str)]) -> Finished {
    let variables: Vec<_> = variables
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    world.start_with(&["approve", "--edit"], &variables).wait()
}

#[test]
fn a_call_is_edited_in_the_persons_editor_and_answered_only_if_that_succeeds() {
    let api = runs_once("touch one");
    let world = world_over(&api);
    spawn_bob(&world, "default");
    waiting(&world);
    for (editor, words) in [
        ("", "no editor is set"),
        ("false", "the editor `false` failed"),
        ("no-such-editor --wait", "`no-such-editor --wait` failed"),
        ("sed -i s/}/]/", "the input is not JSON"),
        ("sed -i '1,$d'", "the text is empty: nothing was answered"),
        ("true", "nothing was changed: nothing was answered"),
    ] {
        let failed = edit_with(&world, &[("EDITOR", editor)]);
        failed.assert_code(2);
        assert!(
            failed.stderr.contains(words),
            "{editor}: {}",
            failed.story()
        );
    }
    let left = std::fs::read_dir(world.root().join("swarm")).unwrap();
    let left = left.filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_string_lossy().starts_with("edit-")
    });
    assert_eq!(left.count(), 0, "no edited text is left");
    assert_eq!(world.team("demo").requests()[0]["state"]["is"], "open");
    edit_with(
        &world,
        &[("EDITOR", "false"), ("VISUAL", "sed -i s/one/other/")],
    )
    .ok()
    .stdout_has("as you changed it");
    wait_for_state(&world, "bob", "idle");
    assert!(world.project().join("other").exists() && !world.project().join("one").exists());
    let answer = &world.team("demo").events("request_answered")[0];
    assert!(answer["updatedDigest"].is_string(), "{answer}");
    world.swarm(&["shutdown", "bob"]).ok();
}

#[test]
fn an_edited_plan_replaces_the_submitted_one() {
    let api = calls_once("ExitPlanMode", json!({"plan": "# Fix\none file"}));
    let world = world_over(&api);
    spawn_bob(&world, "plan");
    waiting_as(&world, "waiting-plan");
    // `:wq` in an editor that ends the last line, and an emptied text.
    for editor in ["true", "sed -i '$a\\'", "sed -i '1,$d'"] {
        let unanswered = edit_with(&world, &[("EDITOR", editor)]);
        unanswered.assert_code(2);
        assert!(
            unanswered.stderr.contains("nothing was answered"),
            "{editor}: {}",
            unanswered.story()
        );
    }
    let request = world.team("demo").requests().remove(0);
    edit_with(&world, &[("EDITOR", "sed -i s/one/two/")])
        .ok()
        .stdout_has("plan as you changed it");
    wait_for_state(&world, "bob", "idle");
    let last = api.requests().last().unwrap().ask.clone();
    let told = last.result_of("t1").unwrap().0;
    assert!(told.contains("two file"), "{told}");
    let path = request["planFilePath"].as_str().unwrap();
    assert!(std::fs::read_to_string(path).unwrap().contains("two file"));
    world.swarm(&["shutdown", "bob"]).ok();
}

#[test]
fn a_timeout_of_zero_never_denies_and_another_one_denies_at_its_end() {
    let api = runs_once("touch one");
    let world = world_over(&api);
    for (seconds, name) in [("0", "bob"), ("1", "carol")] {
        let text = format!("[permissions]\ntimeout_s = {seconds}\n");
        world.write("root/swarm.toml", &text);
        spawn_with(&world, name, &["--mode", "default", "--prompt", "go"]);
        if name == "bob" {
            waiting(&world);
        }
    }
    let told = || api.last_of("carol")?.ask.result_of("t1");
    let (told, failed) = world.wait_for("the denial", told);
    assert!(failed && told.contains("timed out"), "{told}");
    // Bob asked first and still waits.
    let requests = world.team("demo").requests();
    assert_eq!(requests.len(), 1, "{requests:?}");
    assert!(requests[0]["deadline"].is_null(), "{requests:?}");
    let listed = world.swarm(&["requests"]).ok().stdout.clone();
    assert!(!listed.contains("denied automatically"), "{listed}");
    world.swarm(&["approve", "bob"]).ok();
    wait_for_state(&world, "bob", "idle");
    assert!(world.project().join("one").exists());
    world.swarm(&["shutdown", "--all"]).ok();
}

#[test]
fn a_skill_is_offered_by_name_and_read_when_it_is_called() {
    let api = calls_once("Skill", json!({"skill": "review", "args": "src"}));
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
