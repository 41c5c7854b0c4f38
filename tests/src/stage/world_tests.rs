use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;
use crate::stage::InsideTmux;

fn world() -> (World, tempfile::TempDir) {
    let programs = tempfile::tempdir().unwrap();
    let world = World::new(Path::new("/bin/sh"), programs.path());
    (world, programs)
}

#[test]
fn programs_see_only_the_world() {
    let (world, _programs) = world();
    let world = world.with_variable("EXTRA", "a b;$x");
    let shown = world.swarm(&["-c", "env; pwd; exit 3"]).code(3);
    let home = format!("HOME={}/home\n", world.directory().display());
    shown.stdout_has(&home);
    shown.stdout_has("EXTRA=a b;$x\n");
    shown.stdout_lacks("CARGO");
    shown.stdout_has(&format!("{}\n", world.project().display()));
    assert_eq!(
        world.swarm_reading(&["-c", "cat >&2"], "text").stderr,
        "text"
    );
}

#[test]
fn a_leftover_process_fails_the_test_and_is_killed() {
    let (mut world, _programs) = world();
    world.ending = Duration::ZERO;
    let directory = world.directory().to_owned();
    world
        .swarm(&["-c", "setsid sleep 600 >/dev/null 2>&1 &"])
        .ok();
    // `sh` and `setsid` come first, and a process during exec has no environment.
    world.wait_for("the sleeper", || {
        let processes = world.processes();
        let sleeps = |(_, command): &(i32, String)| command.starts_with("sleep 600");
        processes.iter().any(sleeps).then_some(())
    });
    let dropped = catch_unwind(AssertUnwindSafe(|| drop(world)));
    let complaint = *dropped.unwrap_err().downcast::<String>().unwrap();
    assert!(complaint.contains("sleep 600"), "{complaint}");
    assert_eq!(marked(&directory), []);
    assert!(!directory.exists());
}

#[test]
fn programs_run_inside_the_users_tmux() {
    let (world, _programs) = world();
    let inside = InsideTmux::start(&world, 150, 40);
    let panes = inside.tmux().panes();
    assert_eq!(panes.len(), 1, "{panes:?}");
    assert_eq!((panes[0].width, panes[0].height), (150, 40), "{panes:?}");
    assert_eq!(panes[0].id, inside.pane());
    let asked = world.start_with(
        &["-c", "tmux display-message -p '#{pane_id}'"],
        inside.variables(),
    );
    assert_eq!(asked.wait().ok().stdout.trim(), inside.pane());
    inside
        .tmux()
        .run(&["split-window", "-d", "echo hello; cat"]);
    let pane = inside.tmux().panes().remove(1).id;
    inside.tmux().wait_for_text(&pane, "hello");
    assert!(world.report().contains("hello"));
}
