//! Power cuts while a transcript is written, see `disk`.

use std::fs;
use std::path::Path;

use swarm_agent::Injected;
use swarm_protocol::MessageId;

#[path = "../../../swarm-store/tests/power_cuts/disk.rs"]
mod disk;

use crate::setup::Setup;
use disk::replay;

/// Replays `work` on the transcript of a setup. `is_done` gets the text of the transcript.
fn replay_transcript(setup: &Setup, work: impl FnOnce(), is_done: impl Fn(&str, &Path) -> bool) {
    let path = setup.path();
    let root = path.ancestors().nth(3).unwrap();
    let file = path.strip_prefix(root).unwrap();
    replay(root, work, |at, ()| {
        let file = at.join(file);
        let text = fs::read_to_string(&file).unwrap_or_default();
        is_done(&text, &file)
    });
}

#[test]
fn what_was_delivered_is_in_the_transcript_after_a_power_cut() {
    for is_first in [true, false] {
        let setup = Setup::new(vec![]);
        if !is_first {
            let before = vec![Injected::prompt("before")];
            setup.open().deliver(before).unwrap();
        }
        replay_transcript(
            &setup,
            || {
                let message = Injected::message(MessageId::new("m1"), "hello");
                setup.open().deliver(vec![message]).unwrap();
            },
            |text, _| {
                assert!(is_first || text.contains("before"));
                text.contains("hello")
            },
        );
    }
}

#[test]
fn lines_of_a_killed_process_count_after_a_power_cut_once_the_next_one_has_delivered() {
    let setup = Setup::new(vec![]);
    let path = setup.path();
    let prompt = |text: &str| setup.open().deliver(vec![Injected::prompt(text)]).unwrap();
    prompt("first");
    replay_transcript(
        &setup,
        || {
            let line = fs::read(&path).unwrap();
            let line = String::from_utf8(line).unwrap().replace("first", "second");
            // Its writer is killed before it waits for the disk.
            drop(swarm_os::append(&path, line.as_bytes()).unwrap());
            prompt("third");
        },
        |text, _| {
            let is_done = text.contains("third");
            assert!(text.contains("second") || !is_done, "{text}");
            is_done
        },
    );
}

#[test]
fn broken_lines_of_a_transcript_are_kept_whenever_the_power_is_cut() {
    let setup = Setup::new(vec![]);
    setup
        .open()
        .deliver(vec![Injected::prompt("first")])
        .unwrap();
    swarm_os::append_durable(&setup.path(), b"{ broken").unwrap();
    replay_transcript(
        &setup,
        || drop(setup.open()),
        |text, file| {
            assert!(text.contains("first"));
            let aside = file.with_extension("jsonl.broken");
            let aside = fs::read_to_string(aside).unwrap_or_default();
            let is_left = text.contains("{ broken");
            assert!(is_left || aside.contains("{ broken"));
            !is_left
        },
    );
}

#[test]
fn the_mark_of_a_coordinator_survives_a_power_cut() {
    let setup = Setup::new(vec![]);
    replay_transcript(
        &setup,
        || setup.transcript().mark_coordinator().unwrap(),
        |text, _| text.contains("coordinator"),
    );
}
