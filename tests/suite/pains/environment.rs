//! What the machine has, has not, or has in an odd version (rows R).

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::process::Stdio;

use serde_json::json;
use swarm_os::process::{command_line, pids};
use swarm_tests::fake_api::{Ask, Reply};
use swarm_tests::stage::World;

use crate::scene::{MODEL, run_args, world_saying, world_with};

/// The owner and group of a process's files in `/proc`: those of its user, or root's where the process is closed to
/// inspection.
fn owner_in_proc(pid: u64) -> (u32, u32) {
    let found = std::fs::metadata(format!("/proc/{pid}/environ")).unwrap();
    (found.uid(), found.gid())
}

#[test]
fn leads_and_members_are_closed_to_inspection_and_what_they_start_is_not() {
    let (_api, world) = world_with(|ask: &Ask| {
        if ask.has_seen("BOB-GO") {
            return Reply::text("here");
        }
        let bob = json!({"name": "bob", "description": "x", "prompt": "BOB-GO"});
        let shell = json!({"command": "exec tail -f $PWD/project.txt"});
        match ask.result_of("bob") {
            None => Reply::tool("bob", "Agent", bob),
            Some(_) => Reply::tool("shell", "Bash", shell),
        }
    });
    world.write("project/project.txt", "x\n");
    let user = rustix::process::getuid();
    // Files of root have the same owner either way, so the group shows the difference.
    let group = if user.is_root() {
        65534
    } else {
        rustix::process::getgid().as_raw()
    };
    let mut lead = world.command(world.program("swarm"));
    let run = run_args("go", &["--team", "demo"]);
    lead.args(run)
        .args(["--mode", "bypassPermissions"])
        .gid(group);
    let mut lead = lead
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // In the sandbox a process has another number than outside.
    let line = format!("tail -f {}", world.project().join("project.txt").display());
    let shell: u64 = world.wait_for("its shell", || {
        let mut pids = pids().into_iter();
        let found = pids.find(|pid| command_line(pid.cast_signed()) == line);
        found.map(u64::from)
    });
    let member = world.team("demo").hello("bob")["pid"].as_u64().unwrap();
    assert_eq!(owner_in_proc(shell), (user.as_raw(), group));
    assert_eq!(owner_in_proc(lead.id().into()), (0, 0), "the lead");
    assert_eq!(owner_in_proc(member), (0, 0), "the member");
    world.end_all();
    lead.wait().unwrap();
}

/// Where the world's programs come before all others.
fn path_with(world: &World, first: &str) -> String {
    let ours = world.program("swarm");
    let ours = ours.parent().unwrap().display().to_string();
    format!("{first}:{ours}:/usr/local/bin:/usr/bin:/bin")
}

/// A directory with only a program called tmux, which prints a version.
fn tmux_that_says(world: &World, version: &str) -> String {
    let path = world.write("fake/tmux", &format!("#!/bin/sh\necho '{version}'\n"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.parent().unwrap().display().to_string()
}

/// A directory with what a member's shell needs, and no tmux.
fn directory_without_tmux(world: &World) -> String {
    let directory = world.directory().join("bare");
    std::fs::create_dir_all(&directory).unwrap();
    for name in ["sh", "bash", "env", "git", "cat"] {
        let from = ["/usr/bin", "/bin", "/usr/local/bin"]
            .map(|place| std::path::Path::new(place).join(name));
        if let Some(from) = from.into_iter().find(|from| from.exists()) {
            std::os::unix::fs::symlink(from, directory.join(name)).unwrap();
        }
    }
    let ours = world.program("swarm");
    format!(
        "{}:{}",
        directory.display(),
        ours.parent().unwrap().display()
    )
}

fn spawn<'a>(name: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut words = vec!["spawn", name, "--model", MODEL, "--mode", "plan"];
    words.extend(more);
    words
}

fn finding(world: &World, path: &str, name: &str) -> serde_json::Value {
    let variables = [("PATH".to_owned(), path.to_owned())];
    let looked = world.start_with(&["doctor", "--json"], &variables).wait();
    let findings: serde_json::Value = serde_json::from_str(&looked.stdout).unwrap();
    let found = findings
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["name"] == name);
    found
        .unwrap_or_else(|| panic!("{name} in {findings}"))
        .clone()
}

#[test]
fn r4_doctor_and_every_start_say_what_an_old_tmux_lacks() {
    let (_api, world) = world_saying("done");
    let path = path_with(&world, &tmux_that_says(&world, "tmux 3.1c"));
    let with = |words: &[&str]| {
        let variables = [("PATH".to_owned(), path.clone())];
        world.start_with(words, &variables).wait()
    };
    let refused = with(&spawn("ann", &["--backend", "tmux", "--json"])).error(7);
    let run = with(&["run", "go", "--model", MODEL, "--backend", "tmux", "--json"]);
    for lacks in [
        "tmux 3.1c",
        "remain-on-exit failed",
        "pane-border-format",
        "upgrade to tmux 3.3",
    ] {
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains(lacks), "{lacks}: {message}");
    }
    assert_eq!(world.team("demo").names(), ["team-lead"]);
    assert!(run.error(7).to_string().contains("3.1c"));
    let demo = with(&["demo", "--no-attach", "--json"]).error(7);
    assert!(demo["message"].as_str().unwrap().contains("3.1c"), "{demo}");
    let told = finding(&world, &path, "tmux");
    assert_eq!(told["state"], "warning");
    assert!(
        told["found"]
            .as_str()
            .unwrap()
            .contains("remain-on-exit failed"),
        "{told}"
    );
    let headless = with(&spawn("ann", &[]));
    headless.ok().stderr_has("tmux 3.1c");
    assert_eq!(
        world.team("demo").member("ann").unwrap()["backendType"],
        "headless"
    );
    world.swarm(&["kill", "--all"]).ok();
}

#[test]
fn r4_an_untested_tmux_version_is_a_warning_and_a_program_that_is_not_tmux_is_reported() {
    let (_api, world) = world_saying("done");
    let path = path_with(&world, &tmux_that_says(&world, "tmux 9.1"));
    let told = finding(&world, &path, "tmux");
    assert_eq!(told["state"], "warning");
    assert!(
        told["hint"].as_str().unwrap().contains("tested up to"),
        "{told}"
    );
    let path = path_with(&world, &tmux_that_says(&world, "no such thing"));
    let variables = [("PATH".to_owned(), path)];
    let words = spawn("ann", &["--backend", "tmux", "--json"]);
    let refused = world.start_with(&words, &variables).wait().error(7);
    assert!(
        refused["message"]
            .as_str()
            .unwrap()
            .contains("no such thing"),
        "{refused}"
    );
}

#[test]
fn r2_r4_without_tmux_headless_is_chosen_and_reported_and_tmux_is_refused() {
    let (_api, world) = world_saying("done");
    let variables = [("PATH".to_owned(), directory_without_tmux(&world))];
    let with = |words: &[&str]| world.start_with(words, &variables).wait();
    let refused = with(&spawn("ann", &["--backend", "tmux", "--json"])).error(7);
    assert!(
        refused["message"]
            .as_str()
            .unwrap()
            .contains("tmux not found"),
        "{refused}"
    );
    for (backend, why) in [
        ("iterm2", "it2 not found"),
        ("command", "`spawn.pane_program` names no program"),
        (
            "in-process",
            "only the lead itself (`swarm run`, `swarm lead`)",
        ),
    ] {
        let refused = with(&spawn("ann", &["--backend", backend, "--json"])).error(7);
        let message = refused["message"].as_str().unwrap();
        assert!(
            message.contains(backend) && message.contains(why),
            "{message}"
        );
    }
    with(&spawn("ann", &["--backend", "screen"])).assert_code(2);
    assert_eq!(
        world.team("demo").names(),
        ["team-lead"],
        "nothing is left of what was refused"
    );
    let taken = with(&spawn("ann", &["--json"])).json();
    assert_eq!(taken["backendType"], "headless");
    assert!(
        taken["why"].as_str().unwrap().contains("tmux not found"),
        "{taken}"
    );
    with(&spawn("bob", &[]))
        .ok()
        .stderr_has("running headless (tmux not found)");
    for name in ["ann", "bob"] {
        assert_eq!(
            world.team("demo").member(name).unwrap()["backendType"],
            "headless"
        );
    }
    world.swarm(&["kill", "--all"]).ok();
}

#[test]
fn doctor_names_what_is_missing_and_only_then_exits_with_7() {
    let (_api, world) = world_saying("done");
    let well = world.swarm(&["doctor"]);
    well.ok().stdout_has("swarm-teammate: ");
    assert!(
        !well.stdout.contains("sk-test"),
        "a key is never shown\n{}",
        well.story()
    );
    let unwell = |name: &str, variables: &[(&str, &str)]| {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let variables: Vec<_> = variables.iter().map(own).collect();
        let looked = world
            .start_with(&["doctor", "--json"], &variables)
            .wait()
            .code(7);
        let findings: serde_json::Value = serde_json::from_str(&looked.stdout).unwrap();
        let missing = findings
            .as_array()
            .unwrap()
            .iter()
            .filter(|it| it["state"] == "missing");
        let missing: Vec<_> = missing.map(|it| it["name"].clone()).collect();
        assert_eq!(missing, [name], "{findings}");
    };
    unwell("model", &[("ANTHROPIC_API_KEY", "")]);
    let file = world.write("a-file", "");
    unwell(
        "config directory",
        &[("CLAUDE_CONFIG_DIR", file.to_str().unwrap())],
    );
    unwell("settings", &[("SWARM_TURN_MAX_REQUESTS", "many")]);
}
