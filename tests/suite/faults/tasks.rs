//! A race for tasks.

use swarm_tests::faults::tasks::TaskRun;

use super::setting::{SEED, programs};

fn race() -> TaskRun {
    TaskRun {
        claimants: 8,
        tasks: 40,
        kills: 10,
        without_lock: false,
    }
}

#[test]
fn t1_t2_t4_what_claimants_report_could_have_happened_in_one_order_though_they_are_killed() {
    let report = race().run(&programs(), SEED);
    assert_eq!(report.unsound, [0; 0], "{report:?}");
    assert_eq!(report.too_early, [(0, 0); 0], "{report:?}");
    // Each task is claimed and completed at least.
    assert!(report.calls >= 80, "{report:?}");
}

/// A check that would pass whatever happens proves nothing.
#[test]
fn t1_claimants_that_skip_the_lock_are_detected() {
    let run = TaskRun {
        kills: 0,
        without_lock: true,
        ..race()
    };
    let found = (0..20).any(|_| !run.run(&programs(), SEED).unsound.is_empty());
    assert!(found, "nobody noticed that a task was done twice");
}
