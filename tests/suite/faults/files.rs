//! Files that are damaged, that are no files, that are too many, or that others could read.

use swarm_tests::faults::dice::Dice;
use swarm_tests::faults::disk::fill_one;
use swarm_tests::faults::everything::{on_damaged, open_to_others};
use swarm_tests::faults::planted::on_planted;

use super::setting::{SEED, programs};

#[test]
fn d15_whatever_a_file_holds_nothing_breaks_down_and_it_is_kept() {
    let mut dice = Dice::new(SEED.of("damage"));
    let tried = on_damaged(&programs(), || dice.below(7) == 0);
    assert!(tried > 20, "{tried}");
}

#[test]
fn what_is_planted_in_the_place_of_a_file_or_directory_is_neither_followed_nor_waited_for() {
    let mut dice = Dice::new(SEED.of("planted"));
    let tried = on_planted(&programs(), || dice.below(2) == 0);
    assert!(tried > 40, "{tried}");
}

#[test]
fn files_are_private_even_with_an_open_umask() {
    let open = open_to_others(&programs());
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn a_full_disk_is_named_in_the_error_and_loses_nothing_acknowledged() {
    let Some(report) = fill_one(&programs()) else {
        return;
    };
    assert!(report.sent > 3, "{report:?}");
}
