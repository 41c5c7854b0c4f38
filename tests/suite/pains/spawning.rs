//! Spawns that only seem to succeed, lose arguments, or get the wrong environment.

use std::os::unix::fs::PermissionsExt;

use swarm_tests::stage::InsideTmux;

use crate::scene::{
    MODEL, idle_world, kill_member, runs_once, spawn_args, spawn_in_pane, spawn_with, world_over,
    world_saying,
};

#[test]
fn s1_s2_no_shell_of_the_user_takes_part_in_a_spawn() {
    let (api, world) = world_saying("here");
    let inside = InsideTmux::start(&world, 200, 60);
    // A shell that eats whatever is typed, and never runs a command.
    let shell = world.write(
        "eats-input",
        "#!/bin/sh\nwhile read -r line; do :; done\nexec sleep 600\n",
    );
    std::fs::set_permissions(&shell, PermissionsExt::from_mode(0o755)).unwrap();
    inside.tmux().run(&[
        "set-option",
        "-g",
        "default-shell",
        &shell.display().to_string(),
    ]);
    let awkward = "$(touch canary) `id` && ; 'quoted' \"twice\"\nsecond line \\";
    std::thread::scope(|scope| {
        for number in 0..4 {
            let (world, inside) = (&world, &inside);
            scope.spawn(move || {
                let name = format!("mate{number}");
                spawn_in_pane(world, inside, &name, &["--prompt", awkward]).ok();
            });
        }
    });
    for number in 0..4 {
        let asked = api.wait_for("the first request", &format!("mate{number}"), |_| true);
        assert!(asked.ask.news_has(awkward), "{}", asked.ask.news());
    }
    assert!(!world.project().join("canary").exists());
    world.swarm(&["kill", "--all"]).ok();
}

#[test]
fn s11_variables_arrive_unchanged_and_secrets_stay_hidden() {
    let api =
        runs_once("printf '%s|%s' \"$FOO\" \"$ANTHROPIC_API_KEY\" > seen; env > all; sleep 600");
    let world = world_over(&api);
    // The user's server knows neither the variable nor the key.
    let inside = InsideTmux::start(&world, 200, 50);
    let variable = ["--env", "FOO=a b;$x", "--prompt", "go"];
    let more = [&["--mode", "bypassPermissions"], &variable[..]].concat();
    spawn_in_pane(&world, &inside, "bob", &more).ok();
    let seen = world.wait_for("the command has run", || {
        let seen = std::fs::read_to_string(world.project().join("seen")).ok()?;
        world.project().join("all").exists().then_some(seen)
    });
    assert_eq!(seen, "a b;$x|");
    let secret = "sk-test-not-a-key";
    for (pid, command) in world.processes() {
        assert!(!command.contains(secret), "{pid}: {command}");
    }
    let global = inside.tmux().run(&["show-environment", "-g"]);
    let session = inside.tmux().run(&["show-environment", "-t", "user"]);
    assert!(
        !global.contains(secret) && !session.contains(secret),
        "{global}\n{session}"
    );
    let mut directories = vec![world.root()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                directories.push(path);
            } else {
                let text = std::fs::read(&path).unwrap_or_default();
                assert!(
                    !String::from_utf8_lossy(&text).contains(secret),
                    "{}",
                    path.display()
                );
            }
        }
    }
    world.swarm(&["kill", "bob"]).ok();
}

#[test]
fn a_member_keeps_its_modes_when_it_is_replaced_or_started_again() {
    let (_api, world) = world_saying("here");
    let modes = || {
        let bob = world.team("demo").member("bob").expect("bob");
        (bob["mode"].clone(), bob["swarm"]["workMode"].clone())
    };
    spawn_with(&world, "bob", &["--plan", "--mode", "acceptEdits"]);
    let given = modes();
    assert_eq!(given.0, "plan");
    assert_eq!(given.1, "acceptEdits");
    spawn_with(&world, "bob", &["--replace"]);
    assert_eq!(modes(), given, "it was replaced while it ran");
    // It has not taken a turn, so that there is no conversation.
    world.swarm(&["shutdown", "bob"]).ok();
    spawn_with(&world, "bob", &[]);
    assert_eq!(modes(), given, "it had left");
    spawn_with(&world, "bob", &["--replace", "--mode", "dontAsk"]);
    assert_eq!(modes().0, "dontAsk", "a flag overrides its plan");
    world.swarm(&["shutdown", "bob"]).ok();
}

#[test]
fn s16_the_pane_of_a_crashed_member_can_still_be_read() {
    let (_api, world) = world_saying("my last words");
    let inside = InsideTmux::start(&world, 200, 50);
    spawn_in_pane(&world, &inside, "bob", &["--prompt", "speak"]).ok();
    let pane = inside.tmux().pane_titled("bob").unwrap().id;
    inside.tmux().wait_for_text(&pane, "my last words");
    kill_member(&world, "bob");
    world.wait_for("tmux has seen it", || {
        inside
            .tmux()
            .panes()
            .into_iter()
            .find(|one| one.id == pane && one.is_dead)
    });
    assert!(inside.tmux().whole_text(&pane).contains("my last words"));
    world
        .swarm(&["peek", "bob"])
        .ok()
        .stdout_has("my last words");
}

#[test]
fn a_taken_name_is_replaced_only_on_request() {
    let (_api, world) = idle_world("here", "bob");
    let first = world.team("demo").hello("bob")["spawnId"].clone();
    world
        .swarm(&spawn_args("bob", "headless", &["--json"]))
        .error(4);
    // The name is refused first, whatever else is missing.
    world
        .swarm(&["spawn", "bob", "--model", "openai/no-key"])
        .stderr_has("a live member has this name")
        .assert_code(4);
    assert_eq!(world.team("demo").hello("bob")["spawnId"], first);
    spawn_with(&world, "bob", &["--replace"]);
    assert_ne!(world.team("demo").hello("bob")["spawnId"], first);
    assert_eq!(world.team("demo").names(), ["team-lead", "bob"]);
    world.swarm(&["shutdown", "bob"]).ok();
}

#[test]
fn s16_the_pane_of_a_crashed_member_is_closed_on_respawn_and_with_its_team() {
    let (_api, world) = world_saying("here I am");
    let inside = InsideTmux::start(&world, 200, 50);
    let again = || {
        let arguments = ["spawn", "bob", "--prompt", "hello again"];
        world.start_with(&arguments, inside.variables()).wait().ok();
    };
    let panes = || {
        let all = inside.tmux().panes();
        all.into_iter()
            .filter(|pane| pane.title.starts_with("bob · "))
            .count()
    };
    let more = ["--mode", "plan", "--prompt", "hello"];
    spawn_in_pane(&world, &inside, "bob", &more).ok();
    kill_member(&world, "bob");
    again();
    assert_eq!(panes(), 1, "the dead pane makes room for the live one");
    let roster = world.swarm(&["status", "--json"]).json();
    let bob = &roster["members"][1];
    assert_eq!(bob["mode"], "plan", "it comes back as it was: {bob}");
    assert_eq!(bob["model"], MODEL, "{bob}");
    kill_member(&world, "bob");
    world.swarm(&["team", "delete"]).ok();
    assert_eq!(panes(), 0, "nothing is left of a deleted team");
}
