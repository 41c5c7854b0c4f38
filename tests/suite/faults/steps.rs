//! Each operation on a team's files, cut short or made to fail at its system calls. Some of them here; all with `scripts/stress`.

use swarm_tests::faults::dice::Dice;
use swarm_tests::faults::steps::{InjectedFault, Operation, Trial, points};

use super::setting::{SEED, programs};

/// How many calls of each operation are tampered with.
const CALLS: usize = 10;

#[test]
fn an_operation_killed_at_any_system_call_loses_duplicates_and_blocks_nothing() {
    let programs = programs();
    let mut dice = Dice::new(SEED.of("kill"));
    for operation in Operation::ALL {
        let Some(points) = points(&programs, operation) else {
            return;
        };
        let chosen = dice.sample(&points, CALLS).into_iter();
        let tries: Vec<_> = chosen.map(|point| (point, InjectedFault::Kill)).collect();
        let report = Trial::of(operation).at_each(&programs, &tries);
        assert_eq!(report.trials, CALLS.min(points.len()), "{operation:?}");
    }
}

#[test]
fn an_operation_with_a_failing_system_call_reports_it_and_changes_nothing() {
    let programs = programs();
    let mut dice = Dice::new(SEED.of("errors"));
    for operation in Operation::ALL {
        let Some(points) = points(&programs, operation) else {
            return;
        };
        let tries: Vec<_> = points
            .iter()
            .flat_map(|point| {
                let errors = InjectedFault::errors_at(point).into_iter();
                errors.map(|error| (point.clone(), error))
            })
            .collect();
        let tries = dice.sample(&tries, CALLS);
        Trial::of(operation).at_each(&programs, &tries);
    }
}

/// Half a list looks like a short one.
#[test]
fn a_listing_that_breaks_off_is_an_error_and_not_a_short_list() {
    let programs = programs();
    let Some(points) = points(&programs, Operation::Claim) else {
        return;
    };
    let tries: Vec<_> = points
        .into_iter()
        .filter(|point| point.call.starts_with("getdents"))
        .map(|point| (point, InjectedFault::Fail("EIO")))
        .collect();
    assert!(!tries.is_empty(), "it lists nothing");
    Trial::of(Operation::Claim).at_each(&programs, &tries);
}
