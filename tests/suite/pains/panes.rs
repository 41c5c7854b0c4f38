//! Panes: the user's terminal stays the user's, and what is in a pane is what is said of it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use serde_json::json;
use swarm_tests::fake_api::{Ask, Block, FakeApi, Gate, Reply, Script, Step};
use swarm_tests::stage::{Finished, InsideTmux, World};

use crate::scene::{MODEL, kill_member, spawn_over, wait_for_state, world, world_over};

/// Spawns a member from the user's pane.
fn spawn(world: &World, inside: &InsideTmux, name: &str, more: &[&str]) -> Finished {
    let arguments = [
        &["spawn", name, "--model", MODEL, "--backend", "tmux"],
        more,
    ]
    .concat();
    world.start_with(&arguments, inside.variables()).wait()
}

/// Settings that people have, each of which has broken some tool that splits windows.
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
    let agents = [("a", "bob"), ("b", "eve")].map(|(id, name)| {
        let input = json!({"name": name, "description": "work", "prompt": "work for long"});
        Block::tool(id, "Agent", input)
    });
    let script = Script::new()
        .agent(
            "team-lead",
            [
                Step::says(Reply::blocks(agents)),
                Step::says(Reply::text("both work")),
            ],
        )
        .agent("bob", [Step::says(Reply::text("late").held_by(&gate, 1))])
        .agent("eve", [Step::says(Reply::text("I am done"))]);
    let api = FakeApi::start(script);
    let world = world().with_api(&api);
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
    world.wait_for("both have panes", || {
        (inside.tmux().panes().len() == 3).then_some(())
    });
    assert_ne!(inside.belongings(), before);
    lead.signal(Signal::KILL);
    lead.wait();
    world.swarm(&["team", "delete", "--force"]).ok();
    assert_eq!(inside.belongings(), before);
    gate.open();
}

#[test]
fn a_border_follows_its_member_through_a_team_led_by_hand() {
    let api = FakeApi::start(|ask: &Ask| {
        if ask.result_of("t1").is_some() {
            Reply::text("done")
        } else {
            Reply::tool("t1", "Bash", json!({"command": "cargo publish"}))
        }
    });
    let world = world_over(&api);
    let inside = InsideTmux::start(&world, 200, 50);
    spawn(&world, &inside, "bob", &["--prompt", "publish it"]).ok();
    let pane = inside.tmux().pane_titled("bob").unwrap().id;
    let titled = |words: &str| {
        world.wait_for(words, || {
            let format = "#{E:pane-border-format}";
            let words_of = inside
                .tmux()
                .run(&["display-message", "-p", "-t", &pane, format]);
            let title = inside.tmux().pane_titled(words);
            (title.is_some() && words_of.contains(words.trim_start_matches("bob "))).then_some(())
        });
    };
    titled("bob · NEEDS AN ANSWER · Bash");
    let requests = world.swarm(&["requests", "--json"]).json();
    let id = requests[0]["id"].as_str().unwrap().to_owned();
    world.swarm(&["deny", &id]).ok();
    titled("bob · idle");
    // What the terminal was told is not among what is read later.
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
fn s16_the_border_of_a_crashed_member_says_so_and_logs_end_with_it() {
    let api = FakeApi::start(|_: &Ask| Reply::text("my last words"));
    let world = world_over(&api);
    let inside = InsideTmux::start(&world, 200, 50);
    spawn(&world, &inside, "bob", &["--prompt", "speak"]).ok();
    wait_for_state(&world, "bob", "idle");
    let pane = inside.tmux().pane_titled("bob").unwrap().id;
    let reader = world.start(&["logs", "bob", "--follow"]);
    kill_member(&world, "bob");
    let read = reader.wait();
    assert!(
        read.ok().stdout.contains("my last words"),
        "{}",
        read.story()
    );
    let format = "#{E:pane-border-format}";
    let border = || {
        inside
            .tmux()
            .run(&["display-message", "-p", "-t", &pane, format])
    };
    // Nobody looks after the pane, so tmux itself may learn only later by what it ended.
    world.wait_for("the border says so", || {
        border().contains("· exited").then_some(())
    });
    let peeked = world.swarm(&["peek", "bob"]).ok().stdout.clone();
    assert!(
        !peeked.contains("\n\n\n"),
        "no gap before tmux's notice: {peeked}"
    );
    world.swarm(&["team", "delete"]).ok();
}

#[test]
fn s4_a_child_that_asks_a_person_instead_of_saying_hello_is_told_with_its_question() {
    let api = FakeApi::start(|_: &Ask| Reply::text("here"));
    let world = world_over(&api);
    spawn_over(&world, "ann");
    wait_for_state(&world, "ann", "idle");
    let world = world.with_teammate(Path::new(env!("CARGO_BIN_EXE_prompts")));
    let inside = InsideTmux::start(&world, 200, 50);
    for backend in ["tmux", "headless"] {
        let arguments = [
            "spawn",
            "bob",
            "--model",
            MODEL,
            "--backend",
            backend,
            "--timeout",
            "1",
            "--json",
        ];
        let spawning = world.start_with(&arguments, inside.variables());
        // The others go on meanwhile.
        world
            .swarm(&["send", "ann", "and?", "--wait", "acked"])
            .ok();
        let error = spawning.wait().error(6);
        let message = error["message"].as_str().unwrap();
        for words in [
            "needs a person",
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
fn s15_a_closed_pane_and_a_failed_start_leave_no_pane_and_stop_no_spawn() {
    let api = FakeApi::start(|_: &Ask| Reply::text("here"));
    let world = world_over(&api);
    let inside = InsideTmux::start(&world, 200, 50);
    let before = inside.belongings();
    spawn(&world, &inside, "bob", &["--prompt", "hello"]).ok();
    let pane = inside.tmux().pane_titled("bob").unwrap().id;
    inside.tmux().run(&["kill-pane", "-t", &pane]);
    let pid = world.team("demo").hello("bob")["pid"].clone();
    world.wait_for("its program has ended", || {
        let processes = world.processes();
        let lives = processes.iter().any(|(process, _)| json!(process) == pid);
        (!lives).then_some(())
    });
    spawn(&world, &inside, "bob", &["--prompt", "hello again"]).ok();
    world.swarm(&["kill", "bob"]).ok();
    assert_eq!(inside.belongings(), before);
    // A program that the system will not run: the pane is there, and nothing can be started in it.
    let broken = world.write("broken", "\u{7f}ELF, but not really");
    let world = world.with_teammate(&broken);
    let broken = world.program("swarm-teammate");
    for (mode, words) in [(0o755, "exit status"), (0o644, "not executable")] {
        std::fs::set_permissions(&broken, PermissionsExt::from_mode(mode)).unwrap();
        let failed = spawn(&world, &inside, "eve", &["--timeout", "5"]);
        assert_ne!(failed.code, Some(0), "{}", failed.story());
        assert!(failed.stderr.contains(words), "{}", failed.story());
        assert!(
            !failed.stderr.contains("Pane is dead"),
            "{}",
            failed.story()
        );
        assert_eq!(inside.belongings(), before);
        assert_eq!(world.team("demo").names(), ["team-lead"]);
    }
    drop(inside);
}

#[test]
fn a_pane_that_cannot_be_closed_is_told_by_whoever_ends_its_member() {
    let api = FakeApi::start(|_: &Ask| Reply::text("here"));
    let world = world_over(&api);
    let inside = InsideTmux::start(&world, 200, 50);
    spawn(&world, &inside, "bob", &["--prompt", "hello"]).ok();
    wait_for_state(&world, "bob", "idle");
    // Where this runs there is no tmux program.
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
    let api = FakeApi::start(|_: &Ask| Reply::text("here"));
    let world = world_over(&api);
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
    // And a tmux that is asked for outside of one is never replaced by something else.
    let nowhere = [("PATH".to_owned(), "/nonexistent".to_owned())];
    let arguments = [
        "spawn",
        "bob",
        "--model",
        MODEL,
        "--backend",
        "tmux",
        "--json",
    ];
    let refused = world.start_with(&arguments, &nowhere).wait();
    refused.error(7);
}

/// Puts a tmux before the real one that ends whoever has had it do this.
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
    let api = FakeApi::start(|_: &Ask| Reply::text("here"));
    let world = world_over(&api);
    let inside = InsideTmux::start(&world, 200, 50);
    let before = inside.belongings();
    for (name, place, command) in [
        ("bob", "auto", "split-window"),
        ("eve", "window", "new-window"),
    ] {
        world.write("root/swarm.toml", &format!("[tmux]\nplace = \"{place}\"\n"));
        let wrapper = deadly_tmux(&world, command);
        let killed = spawn(&world, &inside, name, &["--timeout", "1"]);
        assert_eq!(killed.code, None, "{}", killed.story());
        std::fs::remove_file(wrapper).unwrap();
        let left =
            inside
                .tmux()
                .run(&["list-panes", "-a", "-F", "#{@swarm_member}@#{@swarm_team}"]);
        assert_eq!(left.lines().count(), 2, "{left}");
        // A window's pane cannot be named in the call that makes it; its process bears the mark of the spawn.
        assert_eq!(left.contains("bob@demo"), place == "auto", "{left}");
        // Called from outside of that tmux, until the spawn's time is over.
        world.wait_for("the pane is closed", || {
            world.swarm(&["gc"]).ok();
            (inside.tmux().panes().len() == 1).then_some(())
        });
        assert_eq!(inside.belongings(), before);
    }
}
