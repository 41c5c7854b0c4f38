//! Programs that a repository configures, or that agents can write, run in the sandbox; others of the
//! user do not.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::json;
use swarm_tests::escapes::working_backends;
use swarm_tests::fake_api::{Ask, Reply};

use crate::scene::{demo_run_args, spawn_over, world_saying, world_with};

#[test]
fn hooks_and_servers_of_a_repository_run_in_the_sandbox() {
    let (_api, world) = world_saying("done");
    if working_backends(&world.program("swarm-teammate")).is_empty() {
        return;
    }
    world.commit_project();
    let outside = world.directory().join("out");
    let touch = |name: &str| format!("touch {}/{name}; touch {name}", outside.display());
    let hook = |line: &str| json!({"UserPromptSubmit": [{"hooks": [{"type": "command", "command": line}]}]});
    let hooks = |line: String| json!({"hooks": hook(&line)}).to_string();
    let servers =
        |line: String| json!({"mcpServers": {"own": {"command": "sh", "args": ["-c", line]}}});
    world.write("root/settings.json", &hooks(touch("hook-of-user")));
    world.write(
        "project/.claude/settings.json",
        &hooks(touch("hook-of-repository")),
    );
    let mine = servers(touch("server-of-user")).to_string();
    world.write("root/.mcp.json", &mine.replace("own", "mine"));
    let theirs = servers(touch("server-of-repository")).to_string();
    world.write("project/.mcp.json", &theirs);
    // A line that runs files of the project is the repository's, wherever it is configured.
    let has_npm = world.command("npm").arg("--version").output();
    let has_npm = has_npm.is_ok_and(|output| output.status.success());
    let npm = if has_npm {
        "npm run --silent lint"
    } else {
        "./stop.sh"
    };
    let stop = ["./stop.sh", npm].map(|line| json!({"type": "command", "command": line}));
    let mut user = json!({"hooks": hook(&touch("hook-of-user"))});
    user["hooks"]["Stop"] = json!([{"hooks": stop}]);
    let package = json!({"name": "x", "scripts": {"lint": touch("npm-script")}});
    world.write("project/package.json", &package.to_string());
    world.write("root/settings.json", &user.to_string());
    let script = world.write(
        "project/stop.sh",
        &format!("#!/bin/sh\n{}\n", touch("script")),
    );
    make_executable(&script);
    world.swarm(&["trust"]).ok();
    spawn_over(&world, "bob");
    world.swarm(&["send", "bob", "go"]).ok();
    let mut names = vec![
        "hook-of-user",
        "server-of-user",
        "hook-of-repository",
        "server-of-repository",
        "script",
    ];
    names.extend(has_npm.then_some("npm-script"));
    world.wait_until("all have run", || {
        names.iter().all(|name| world.project().join(name).exists())
    });
    names.retain(|name| outside.join(name).exists());
    assert_eq!(names, ["hook-of-user", "server-of-user"]);
    world.swarm(&["kill", "bob"]).ok();
}

#[test]
fn programs_of_the_user_that_agents_can_write_run_in_the_sandbox() {
    let (_api, world) = world_saying("done");
    if working_backends(&world.program("swarm-teammate")).is_empty() {
        return;
    }
    world.commit_project();
    let outside = world.directory().join("out");
    let script = |path: &str, name: &str| {
        let touch = format!("touch {}/{name}; touch {name}", outside.display());
        let path = world.write(path, &format!("#!/bin/sh\n{touch}\n"));
        make_executable(&path);
        path
    };
    script("home/bin/own", "own");
    script("home/.cache/hook", "in-cache");
    let linked = script("project/linked.sh", "behind-link");
    symlink(linked, world.directory().join("home/bin/link")).unwrap();
    let server = script("project/server.sh", "server");
    let hooks = ["~/bin/own", "~/.cache/hook", "~/bin/link"]
        .map(|line| json!({"type": "command", "command": line}));
    let settings = json!({"hooks": {"UserPromptSubmit": [{"hooks": hooks}]}});
    world.write("root/settings.json", &settings.to_string());
    let of_variable = script("project/variable.sh", "variable");
    let by_variable = json!({
        "command": "sh", "args": ["-c", "exec $RUN"], "env": {"RUN": of_variable},
    });
    let servers = json!({"mcpServers": {"mine": {"command": server}, "other": by_variable}});
    world.write("root/.mcp.json", &servers.to_string());
    spawn_over(&world, "bob");
    world.swarm(&["send", "bob", "go"]).ok();
    let mut names = vec!["own", "in-cache", "behind-link", "server", "variable"];
    world.wait_until("all have run", || {
        names.iter().all(|name| world.project().join(name).exists())
    });
    names.retain(|name| outside.join(name).exists());
    assert_eq!(names, ["own"]);
    world.swarm(&["kill", "bob"]).ok();
}

#[test]
fn a_lead_runs_a_repositorys_hooks_of_its_team_in_the_sandbox() {
    let (_api, world) = world_with(|_: &Ask| Reply::text("done"));
    if working_backends(&world.program("swarm-teammate")).is_empty() {
        return;
    }
    world.commit_project();
    let outside = world.directory().join("out");
    let touch = format!("touch {}/created; touch created", outside.display());
    let hook = json!({"hooks": [{"type": "command", "command": touch}]});
    let settings = json!({"hooks": {"TeamCreated": [hook]}}).to_string();
    world.write("project/.claude/settings.json", &settings);
    world.swarm(&demo_run_args("go", &["--trust"])).ok();
    assert!(world.project().join("created").exists());
    assert!(!outside.join("created").exists());
}

fn make_executable(path: &std::path::Path) {
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(path, mode).unwrap();
}
