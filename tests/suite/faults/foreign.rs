//! What other programs, people and models write, damaged in all ways.

use std::time::Duration;

use swarm_tests::faults::foreign::try_all;

use super::setting::SEED;

#[test]
fn d15_no_parser_of_foreign_data_breaks_down_or_loses_a_field() {
    let tried = try_all(SEED.of("foreign"), Duration::from_millis(300));
    assert!(tried > 100, "{tried}");
}
