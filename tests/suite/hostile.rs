//! The programs that misbehave do misbehave: a test that is passed by a lamb proves nothing about wolves.

use std::path::Path;

use rustix::process::Signal;
use swarm_tests::stage::{InsideTmux, World};

/// A world in which `swarm` is one of these programs.
fn world_of(program: &str) -> World {
    World::new(Path::new(program), Path::new(env!("CARGO_TARGET_TMPDIR")))
}

#[test]
fn ignores_shutdown_stays_when_it_is_asked_to_go() {
    let world = world_of(env!("CARGO_BIN_EXE_ignores-shutdown"));
    let mut running = world.start(&[]);
    world.wait_until("its line", || running.stdout().contains("I stay."));
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        running.signal(signal);
    }
    // The kernel shows that no signal is pending, and the program still runs.
    let status = || std::fs::read_to_string(format!("/proc/{}/status", running.pid())).unwrap();
    world.wait_until("the signals are taken", || {
        status()
            .lines()
            .any(|line| line.starts_with("ShdPnd:") && line.ends_with("\t0000000000000000"))
    });
    assert!(!running.has_ended());
}

#[test]
fn dies_early_leaves_its_last_words_and_a_code() {
    let world = world_of(env!("CARGO_BIN_EXE_dies-early"));
    let finished = world.swarm(&[]).code(7);
    assert!(
        finished.stdout.ends_with("giving up\n"),
        "{}",
        finished.story()
    );
    let version = world.swarm(&["--version"]);
    assert_eq!(
        version.ok().stdout,
        format!("swarm-teammate {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn floods_does_not_stop() {
    let world = world_of(env!("CARGO_BIN_EXE_floods"));
    let mut running = world.start(&[]);
    let megabyte = 1 << 20;
    world.wait_until("a flood", || running.stdout().len() > megabyte);
    assert!(!running.has_ended());
}

#[test]
fn leaves_grandchildren_that_outlive_it_in_other_sessions() {
    let world = world_of(env!("CARGO_BIN_EXE_leaves-grandchildren"));
    let running = world.start(&[]);
    let group = running.pid().to_string();
    running.wait().ok();
    let left = world.processes();
    assert_eq!(left.len(), 3, "{left:?}");
    world.wait_until("sessions of their own", || {
        let stats = left
            .iter()
            .map(|(pid, _)| std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap());
        let mut groups = stats.map(|stat| {
            stat.rsplit_once(") ")
                .unwrap()
                .1
                .split(' ')
                .nth(2)
                .unwrap()
                .to_owned()
        });
        groups.all(|other| other != group)
    });
    world.end_all();
}

#[test]
fn grabs_tty_takes_screen_and_keys() {
    let world = world_of(env!("CARGO_BIN_EXE_grabs-tty"));
    let inside = InsideTmux::start(&world, 80, 24);
    let program = world.program("swarm").display().to_string();
    let pane = inside
        .tmux()
        .run(&["split-window", "-d", "-P", "-F", "#{pane_id}", &program]);
    inside.tmux().wait_for_text(&pane, "mine");
    let format = "#{alternate_on} #{mouse_all_flag} #{cursor_flag}";
    assert_eq!(
        inside
            .tmux()
            .run(&["display-message", "-p", "-t", &pane, format]),
        "1 1 0"
    );
}

#[test]
fn prompts_waits_in_an_unfinished_line() {
    let world = world_of(env!("CARGO_BIN_EXE_prompts"));
    let mut running = world.start(&[]);
    world.wait_until("its question", || running.stdout().ends_with("[y/N] "));
    assert!(!running.has_ended());
}
