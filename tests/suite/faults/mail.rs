//! Mail between processes that are killed.

use std::time::Duration;

use swarm_tests::faults::ground::Locking;
use swarm_tests::faults::mail::MailRun;

use super::setting::{SEED, programs};

#[test]
fn d1_d2_d9_every_acknowledged_message_is_read_once_and_in_order_whichever_process_is_killed() {
    let run = MailRun {
        writers: 8,
        messages: 20,
        kills: 30,
        ..MailRun::default()
    };
    let report = run.run(&programs(), SEED);
    assert_eq!(report.kills, (23, 7), "{report:?}");
    // A kill cuts one message short at most.
    assert!(report.acknowledged >= 8 * 20 - 23, "{report:?}");
}

#[test]
fn d1_writers_of_another_make_and_ours_lose_nothing_together() {
    let run = MailRun {
        writers: 3,
        others: 3,
        messages: 15,
        kills: 10,
        ..MailRun::default()
    };
    let report = run.run(&programs(), SEED);
    assert_eq!(report.kills, (8, 2), "{report:?}");
    assert!(report.acknowledged >= 6 * 15 - 8, "{report:?}");
}

#[test]
fn d16_a_foreign_writer_killed_with_the_lock_blocks_no_process() {
    let run = MailRun {
        writers: 3,
        others: 1,
        messages: 20,
        kills: 12,
        kills_holders: true,
        pause: Duration::from_millis(20),
        ..MailRun::default()
    };
    let report = run.run(&programs(), SEED);
    assert_eq!(report.kills, (9, 3), "{report:?}");
    assert!(report.acknowledged >= 4 * 20 - 9, "{report:?}");
}

#[test]
fn d17_lock_directories_alone_keep_every_message_too() {
    let run = MailRun {
        writers: 6,
        messages: 12,
        kills: 0,
        locking: Locking::DirectoryOnly,
        ..MailRun::default()
    };
    let report = run.run(&programs(), SEED);
    assert_eq!(report.acknowledged, 6 * 12, "{report:?}");
}
