//! Panes: the user's terminal is left alone, and what swarm reports about a pane is correct.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use serde_json::json;
use swarm_tests::fake_api::{Ask, Gate, Reply};
use swarm_tests::stage::{InsideTmux, World};

use crate::scene::{
    MODEL, busy_bob_and_idle_eve, idle_world, kill_member, spawn_args, spawn_in_pane, team_with,
    wait_for_state, world_saying, world_with,
};

/// Common settings, each of which has broken a tool that splits windows.
fn furnish(inside: &InsideTmux) {
    for words in [
        &["set-option", "-g", "base-index", "1"][..],
        &["set-option", "-gw", "pane-base-index", "1"],
        &["set-option", "-gw", "automatic-rename", "on"],
        &["set-option", "-gw", "aggressive-resize", "on"],
        &["set-option", "-g", "set-titles", "on"],
        &["set-option", "-g", "destroy-unattached", "on"],
        &["set-option", "-gw", "window-size", "smallest"],
        &["set-option", "-gw", "pane-border-status", "bottom"],
        &[
            "set-option",
            "-gw",
            "pane-border-format",
            "#{pane_index} mine",
        ],
        &["set-option", "-gw", "main-pane-width", "20"],
        &["set-option", "-g", "default-command", "exec sleep 100000"],
        &["set-option", "-gw", "remain-on-exit", "on"],
        &[
            "set-hook",
            "-g",
            "after-split-window",
            "select-layout even-horizontal",
        ],
        &["set-hook", "-g", "after-new-window", "display-message x"],
        &["set-buffer", "what the user copied"],
        &["bind-key", "X", "kill-server"],
    ] {
        inside.tmux().run(words);
    }
}

#[test]
fn s10_a_killed_lead_and_a_forced_delete_leave_the_users_tmux_as_it_was() {
    let gate = Gate::closed();
    let (api, world) = world_with(busy_bob_and_idle_eve(&gate));
    let inside = InsideTmux::start(&world, 200, 50);
    furnish(&inside);
    let before = inside.belongings();
    let arguments = [
        "run",
        "have them work",
        "--model",
        MODEL,
        "--mode",
        "bypassPermissions",
    ];
    let lead = world.start_with(&arguments, inside.variables());
    api.wait_for("bob's turn", "bob", |_| true);
    api.wait_for("eve's turn", "eve", |_| true);
    world.wait_until("both have panes", || inside.tmux().panes().len() == 3);
    assert_ne!(inside.belongings(), before);
    lead.signal(Signal::KILL);
    lead.wait();
    world.swarm(&["team", "delete", "--force"]).ok();
    assert_eq!(inside.belongings(), before);
    gate.open();
}

#[test]
fn a_pane_border_shows_the_state_of_its_member() {
    let (_api, world) = team_with(|ask: &Ask| {
        if ask.result_of("t1").is_some() {
            Reply::text("done")
        } else {
            Reply::tool("t1", "Bash", json!({"command": "cargo publish"}))
        }
    });
    let inside = InsideTmux::start(&world, 200, 50);
    let rang = "set-option -g @rang yes";
    inside.tmux().run(&["set-hook", "-g", "alert-bell", rang]);
    spawn_in_pane(&world, &inside, "bob", &["--prompt", "publish it"]).ok();
    let pane = inside.tmux().pane_titled("bob").unwrap().id;
    let titled = |words: &str| {
        world.wait_until(words, || {
            let format = "#{E:pane-border-format}";
            let words_of = inside
                .tmux()
                .run(&["display-message", "-p", "-t", &pane, format]);
            let title = inside.tmux().pane_titled(words);
            title.is_some() && words_of.contains(words.trim_start_matches("bob "))
        });
    };
    titled("bob · NEEDS AN ANSWER · Bash");
    world.wait_until("the pane rings, so that tmux marks its window", || {
        let rang = inside.tmux().run(&["show-options", "-gqv", "@rang"]);
        rang.trim() == "yes"
    });
    let requests = world.swarm(&["requests", "--json"]).json();
    let id = requests[0]["id"].as_str().unwrap().to_owned();
    world.swarm(&["deny", &id]).ok();
    titled("bob · idle");
    // Control sequences for the terminal are not part of the log.
    for arguments in [
        &["logs", "bob"][..],
        &["peek", "bob"],
        &["peek", "bob", "-n", "1000"],
    ] {
        let shown = world.swarm(arguments).ok().stdout.clone();
        assert!(shown.contains("cargo publish"), "{shown}");
        assert!(!shown.contains("]2;"), "{shown}");
    }
    let nothing = world.swarm(&["peek", "bob", "-n", "0"]);
    assert_eq!(
        (nothing.ok().stdout.as_str(), nothing.stderr.as_str()),
        ("", "")
    );
    world.swarm(&["kill", "bob"]).ok();
    assert_eq!(inside.tmux().panes().len(), 1);
}

#[test]
fn s16_the_border_shows_a_crashed_member_and_its_logs_end() {
    let (_api, world) = world_saying("my last words");
    let inside = InsideTmux::start(&world, 200, 50);
    spawn_in_pane(&world, &inside, "bob", &["--prompt", "speak"]).ok();
    wait_for_state(&world, "bob", "idle");
    let pane = inside.tmux().pane_titled("bob").unwrap().id;
    let reader = world.start(&["logs", "bob", "--follow"]);
    kill_member(&world, "bob");
    reader.wait().ok().stdout_has("my last words");
    let format = "#{E:pane-border-format}";
    let border = || {
        inside
            .tmux()
            .run(&["display-message", "-p", "-t", &pane, format])
    };
    // No process watches the pane, so tmux itself may notice the end only later.
    world.wait_until("the border says so", || border().contains("· exited"));
    let peeked = world.swarm(&["peek", "bob"]).ok().stdout.clone();
    assert!(
        !peeked.contains("\n\n\n"),
        "no gap before tmux's notice: {peeked}"
    );
    world.swarm(&["team", "delete"]).ok();
}

#[test]
fn s4_a_child_that_prompts_instead_of_saying_hello_is_reported_with_its_question() {
    let (_api, world) = idle_world("here", "ann");
    let world = world.with_teammate(Path::new(env!("CARGO_BIN_EXE_prompts")));
    let inside = InsideTmux::start(&world, 200, 50);
    for backend in ["tmux", "headless"] {
        let arguments = spawn_args("bob", backend, &["--timeout", "1", "--json"]);
        let spawning = world.start_with(&arguments, inside.variables());
        // Other members work meanwhile.
        world
            .swarm(&["send", "ann", "and?", "--wait", "acked"])
            .ok();
        let error = spawning.wait().error(6);
        let message = error["message"].as_str().unwrap();
        for words in [
            "a program in its pane is waiting for input",
            "Do you trust the files in this directory? [y/N]",
        ] {
            assert!(message.contains(words), "{message}");
        }
        assert_eq!(world.team("demo").names(), ["team-lead", "ann"]);
        assert_eq!(
            inside.tmux().panes().len(),
            1,
            "{}",
            inside.tmux().picture()
        );
    }
    world.swarm(&["shutdown", "ann"]).ok();
}

#[test]
fn s15_a_closed_pane_and_a_failed_start_leave_no_pane_and_block_no_spawn() {
    let (_api, world) = world_saying("here");
    let inside = InsideTmux::start(&world, 200, 50);
    let before = inside.belongings();
    spawn_in_pane(&world, &inside, "bob", &["--prompt", "hello"]).ok();
    let pane = inside.tmux().pane_titled("bob").unwrap().id;
    inside.tmux().run(&["kill-pane", "-t", &pane]);
    let pid = world.team("demo").hello("bob")["pid"].clone();
    world.wait_until("its program has ended", || {
        let processes = world.processes();
        let lives = processes.iter().any(|(process, _)| json!(process) == pid);
        !lives
    });
    spawn_in_pane(&world, &inside, "bob", &["--prompt", "hello again"]).ok();
    world.swarm(&["kill", "bob"]).ok();
    assert_eq!(inside.belongings(), before);
    // A program that the system cannot execute: the pane exists, but nothing can be started in it.
    let broken = world.write("broken", "\u{7f}ELF, but not really");
    let world = world.with_teammate(&broken);
    let broken = world.program("swarm-teammate");
    for (mode, words) in [(0o755, "exit status"), (0o644, "not executable")] {
        std::fs::set_permissions(&broken, PermissionsExt::from_mode(mode)).unwrap();
        let failed = spawn_in_pane(&world, &inside, "eve", &["--timeout", "5"]);
        assert_ne!(failed.code, Some(0), "{}", failed.story());
        failed.stderr_has(words);
        failed.stderr_lacks("Pane is dead");
        assert_eq!(inside.belongings(), before);
        assert_eq!(world.team("demo").names(), ["team-lead"]);
    }
    drop(inside);
}

#[test]
fn a_pane_that_cannot_be_closed_is_reported_by_the_command_that_stops_its_member() {
    let (_api, world) = world_saying("here");
    let inside = InsideTmux::start(&world, 200, 50);
    spawn_in_pane(&world, &inside, "bob", &["--prompt", "hello"]).ok();
    wait_for_state(&world, "bob", "idle");
    // This command finds no tmux program.
    let nowhere = [("PATH".to_owned(), "/nonexistent".to_owned())];
    let killed = world
        .start_with(&["kill", "bob", "--json"], &nowhere)
        .wait();
    let said = killed.json();
    let why = said["paneLeft"].as_str().unwrap_or_default();
    assert!(why.contains("tmux not found"), "{}", killed.story());
}

#[test]
fn r2_a_split_that_was_asked_for_and_cannot_be_is_an_error() {
    let (_api, world) = world_saying("here");
    world.write("root/swarm.toml", "[tmux]\nplace = \"split\"\n");
    let inside = InsideTmux::start(&world, 80, 24);
    let before = inside.belongings();
    let arguments = ["spawn", "bob", "--model", MODEL, "--json"];
    let refused = world.start_with(&arguments, inside.variables()).wait();
    let error = refused.error(7);
    assert!(
        error["message"].as_str().unwrap().contains("no room"),
        "{error}"
    );
    assert_eq!(inside.belongings(), before);
    assert_eq!(world.team("demo").names(), ["team-lead"]);
    // A tmux backend that was requested outside of tmux is never replaced by another backend.
    let nowhere = [("PATH".to_owned(), "/nonexistent".to_owned())];
    let arguments = spawn_args("bob", "tmux", &["--json"]);
    let refused = world.start_with(&arguments, &nowhere).wait();
    refused.error(7);
}

/// Installs a tmux wrapper that runs the command and then kills its caller.
fn deadly_tmux(world: &World, command: &str) -> PathBuf {
    let wrapper = world.program("tmux");
    let script = format!(
        "#!/bin/sh\nPATH=\"${{PATH#*:}}\"\ncase \" $* \" in\n*\" {command} \"*) tmux \"$@\"; kill -9 $PPID ;;\n\
         *) exec tmux \"$@\" ;;\nesac\n"
    );
    std::fs::write(&wrapper, script).unwrap();
    std::fs::set_permissions(&wrapper, PermissionsExt::from_mode(0o755)).unwrap();
    wrapper
}

#[test]
fn a_spawner_that_dies_between_two_calls_of_tmux_leaves_a_pane_that_is_found_and_closed() {
    let (_api, world) = world_saying("here");
    let inside = InsideTmux::start(&world, 200, 50);
    let before = inside.belongings();
    for (name, place, command) in [
        ("bob", "auto", "split-window"),
        ("eve", "window", "new-window"),
    ] {
        world.write("root/swarm.toml", &format!("[tmux]\nplace = \"{place}\"\n"));
        let wrapper = deadly_tmux(&world, command);
        let killed = spawn_in_pane(&world, &inside, name, &["--timeout", "1"]);
        assert_eq!(killed.code, None, "{}", killed.story());
        std::fs::remove_file(wrapper).unwrap();
        let left =
            inside
                .tmux()
                .run(&["list-panes", "-a", "-F", "#{@swarm_member}@#{@swarm_team}"]);
        assert_eq!(left.lines().count(), 2, "{left}");
        // The pane of a new window cannot be tagged in the call that creates it; its process has the mark of the spawn.
        assert_eq!(left.contains("bob@demo"), place == "auto", "{left}");
        // Called from outside that tmux, until the spawn's deadline has passed.
        world.wait_until("the pane is closed", || {
            world.swarm(&["gc"]).ok();
            inside.tmux().panes().len() == 1
        });
        assert_eq!(inside.belongings(), before);
    }
}
