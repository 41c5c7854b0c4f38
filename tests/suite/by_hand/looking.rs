//! Looking at what goes on.

use serde_json::json;
use swarm_tests::fake_api::{Ask, Reply};
use swarm_tests::stage::World;

use crate::scene::{
    column, enter_foreign, idle_world, spawn_idle, team_with, wait_for_first_turn, world_saying,
    world_with_foreign, world_with_team,
};

#[test]
fn o5_the_journal_tells_what_happened_and_can_be_sifted() {
    let world = world_with_foreign("demo", &["ann", "bob"]);
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
fn the_journal_is_not_asked_for_names_and_types_that_do_not_exist() {
    let world = world_with_foreign("demo", &["ann"]);
    world.swarm(&["log", "--from", "ann"]).ok();
    let error = world.swarm(&["log", "--from", "nobody", "--json"]).error(3);
    assert!(error["hint"].as_str().unwrap().contains("ann"), "{error}");
    world.swarm(&["log", "--to", "nobody", "--json"]).error(3);
    world.swarm(&["log", "--type", "queud", "--json"]).error(2);
}

#[test]
fn status_shows_members_tasks_and_pending_requests() {
    let (_api, world) = idle_world("here", "bob");
    world.swarm(&["task", "create", "a"]).ok();
    world
        .swarm(&["task", "create", "b", "--blocked-by", "1"])
        .ok();
    let status = world.swarm(&["status", "--json"]).json();
    assert_eq!(column(&status["members"], "name"), ["team-lead", "bob"]);
    assert_eq!(column(&status["members"], "state")[1], "idle");
    wait_for_first_turn(&world, "bob");
    let text = world.swarm(&["status"]).ok().stdout.clone();
    insta::assert_snapshot!("status", world.stable(&text));
    world.swarm(&["peek", "bob"]).ok().stdout_has("here");
    world.swarm(&["attach", "bob", "--json"]).error(7);
    world.swarm(&["shutdown", "bob"]).ok();
}

#[test]
fn d7_send_and_status_show_what_a_busy_member_does_and_count_tokens_of_former_members() {
    let (_api, world) = team_with(|ask: &Ask| match ask.result_of("t1") {
        None if ask.news_has("dig on") => Reply::tool("t1", "Bash", json!({"command": "sleep 30"})),
        _ => Reply::text("here"),
    });
    spawn_idle(&world, "ann");
    let status = || world.swarm(&["status", "--json"]).json();
    let tokens_in = |status: &serde_json::Value| status["usage"]["output_tokens"].as_u64().unwrap();
    let before = world.wait_for("tokens in the journal", || {
        Some(tokens_in(&status())).filter(|tokens| *tokens > 0)
    });
    world.swarm(&["kill", "ann"]).ok();
    let after = status();
    assert_eq!(column(&after["members"], "name"), ["team-lead"]);
    assert_eq!(tokens_in(&after), before);
    spawn_idle(&world, "bob");
    world
        .swarm(&["task", "create", "dig", "--active-form", "Digging"])
        .ok();
    world.swarm(&["task", "claim", "1", "--as", "bob"]).ok();
    world.swarm(&["send", "bob", "dig on"]).ok();
    world.wait_until("bob is at its call", || {
        let text = world.swarm(&["status"]).ok().stdout.clone();
        text.contains("#1 Digging; Bash sleep 30")
    });
    let told = world.swarm(&["send", "bob", "hurry"]).ok().stdout.clone();
    assert!(
        told.contains("queued for bob (busy for")
            && told.contains("(Bash sleep 30); it reads this when its turn ends"),
        "{told}"
    );
    let sent = world
        .swarm(&["send", "bob", "stop", "--urgent", "--json"])
        .json();
    assert_eq!(sent["receiver"]["reads"], "before-next-call", "{sent}");
    world.swarm(&["kill", "bob"]).ok();
    let late = world.swarm(&["log", "--from", "ann"]).ok().stdout.clone();
    assert!(late.contains("ann"), "{late}");
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

/// What a command opens below the config directory, in its order; nothing where no call can be traced.
fn opened(world: &World, arguments: &[&str]) -> Option<Vec<String>> {
    let trace = world.directory().join("trace");
    let traced = world
        .command("strace")
        .args(["-f", "-qq", "-e", "trace=open,openat", "-o"])
        .arg(&trace)
        .arg(world.program("swarm"))
        .args(arguments)
        .output();
    if !traced.is_ok_and(|traced| traced.status.success()) {
        return None;
    }
    let trace = std::fs::read_to_string(trace).unwrap();
    let root = world.root().display().to_string();
    let paths = trace.lines().filter_map(|line| line.split('"').nth(1));
    let below = paths.filter_map(|path| path.strip_prefix(&root));
    Some(below.map(str::to_owned).collect())
}

#[test]
fn a_status_opens_each_file_once() {
    let (_api, world) = world_saying("here");
    for name in ["ann", "bob"] {
        spawn_idle(&world, name);
    }
    enter_foreign(&world, "demo", &["eve"]);
    world.swarm(&["send", "eve", "hello"]).ok();
    world.swarm(&["task", "create", "dig"]).ok();
    for arguments in [&["status"][..], &["status", "--json"], &["team", "list"]] {
        let Some(mut files) = opened(&world, arguments) else {
            break;
        };
        for part in ["ann/life", "bob/life", "inboxes/eve.json", "config.json"] {
            let with_it = files.iter().filter(|path| path.ends_with(part));
            assert_eq!(with_it.count(), 1, "{part} in {arguments:?}: {files:?}");
        }
        files.sort();
        let twice: Vec<_> = files.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{arguments:?}: {twice:?}");
    }
    world.end_all();
}

#[test]
fn a_watched_status_says_on_a_terminal_how_to_leave_it() {
    let world = world_with_team("demo");
    let piped = world.start(&["status", "--watch"]);
    world.wait_until("the status is printed", || {
        piped.stdout().contains("no tasks")
    });
    assert!(!piped.stdout().contains("Ctrl-C"), "{}", piped.stdout());
    let command = "stty cols 80 rows 24; exec swarm status --watch";
    let seen = world.start_program("script", &["-q", "-f", "-c", command, "/dev/null"]);
    world.wait_for("the way out is drawn below the status", || {
        let drawn = seen.stdout();
        let status = drawn.find("no tasks")?;
        drawn[status..].contains("Ctrl-C leaves").then_some(())
    });
}

#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn programs_start_without_relocations() {
    let world = world_with_team("demo");
    for name in ["swarm", "swarm-teammate"] {
        let file = std::fs::read(world.program(name)).unwrap();
        // `e_type` of the ELF header; 2 is an executable with a fixed address, 3 one without.
        assert_eq!(file[16..18], 2u16.to_ne_bytes(), "{name}");
    }
}
