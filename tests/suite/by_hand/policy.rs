//! What a settings file forbids, whichever command asks for it.

use swarm_tests::stage::World;

use crate::scene::{column, kill_member, world_with_team};

const NO_BYPASS: &str = r#"{"permissions": {"disableBypassPermissionsMode": "disable"}}"#;

fn spawn(world: &World, name: &str, mode: &str) {
    let model = format!(
        "scripted/{}",
        world.directory().join("scenario.toml").display()
    );
    world
        .swarm(&[
            "spawn",
            name,
            "--model",
            &model,
            "--mode",
            mode,
            "--backend",
            "headless",
        ])
        .ok();
}

/// A team with the dead members bob, who might do everything, and ann, and a policy that came after them.
fn world_after_a_ban() -> World {
    let world = world_with_team("demo");
    world.write(
        "scenario.toml",
        "chunk_ms = 0\n\n[[turn]]\n\n  [[turn.step]]\n  say = \"done\"\n",
    );
    spawn(&world, "bob", "bypassPermissions");
    spawn(&world, "ann", "default");
    for name in ["bob", "ann"] {
        kill_member(&world, name);
    }
    world.write("root/settings.json", NO_BYPASS);
    world
}

#[test]
fn a_mode_that_policy_forbids_is_refused_by_every_command_that_starts_agents() {
    let world = world_after_a_ban();
    let forbidden = [
        "--mode",
        "bypassPermissions",
        "--backend",
        "headless",
        "--json",
    ];
    for command in [
        &["spawn", "joe"][..],
        &["run", "go", "--team", "other"],
        &["resume", "demo", "go"],
    ] {
        let error = world.swarm(&[command, &forbidden].concat()).error(5);
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("settings.json"), "{command:?}: {message}");
    }
    // A member that had the mode does not get it back: only a flag that names another mode does that.
    world
        .swarm(&["spawn", "bob", "--backend", "headless", "--json"])
        .error(5);
    spawn(&world, "bob", "acceptEdits");
    world.swarm(&["team", "delete", "demo", "--force"]).ok();
}

#[test]
fn a_dead_member_whose_mode_policy_forbids_stays_dead_and_the_others_come_back() {
    let world = world_after_a_ban();
    let resumed = world.swarm(&[
        "resume",
        "demo",
        "--respawn",
        "--backend",
        "headless",
        "--json",
    ]);
    let error = resumed.error(5);
    let message = error["message"].as_str().unwrap();
    assert!(message.starts_with("bob is not started: "), "{message}");
    let found: serde_json::Value = serde_json::from_str(&resumed.stdout).unwrap();
    assert_eq!(column(&found["respawned"], "name"), ["ann"], "{found}");
    assert_eq!(column(&found["dead"], "name"), ["bob"], "{found}");
    world.swarm(&["team", "delete", "demo", "--force"]).ok();
}
