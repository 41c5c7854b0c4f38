//! What other programs, people and models write, damaged in all ways.

use swarm_tests::faults::foreign::{Effort, try_all};

use super::setting::SEED;

#[test]
fn d15_no_parser_of_foreign_data_breaks_down_or_loses_a_field() {
    try_all(SEED.of("foreign"), Effort::Times(250));
}
