//! Numbered messages to a lead that is killed while it receives and acknowledges them, and is
//! replaced by another process.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use swarm_protocol::MemberName;
use swarm_store::{BlockOn as _, Draft, TeamStore as _};

use super::super::dice::{Dice, Seed};
use super::super::workers::Programs;
use super::places::Scene;
use crate::fake_api::{Ask, Reply};
use crate::stage::{MODEL, Running};

/// Maximum lifetime of a lead that is to be killed.
const LIFE: Duration = Duration::from_millis(700);

/// Parameters of a run.
#[derive(Debug, Clone, Copy)]
pub struct Letters {
    /// Minimum number of messages; more are sent while kills are pending.
    pub letters: usize,
    /// Number of leads that are killed before the last one.
    pub kills: usize,
}

/// A lead that makes a few calls in each turn, so that messages arrive in between and afterwards.
fn busy(ask: &Ask) -> Reply {
    if ask.number.is_multiple_of(4) {
        Reply::text("so far")
    } else {
        let id = format!("t{}", ask.number);
        Reply::tool(id, "Bash", json!({"command": "sleep 0.02"}))
    }
}

fn lead(scene: &Scene) -> Running {
    let is_there = scene.world.team("demo").directory().exists();
    let how = [
        "--model",
        MODEL,
        "--mode",
        "bypassPermissions",
        "--backend",
        "headless",
    ];
    let arguments = if is_there {
        [&["resume", "demo", "go on"], &how[..]].concat()
    } else {
        [&["run", "begin", "--team", "demo"], &how[..]].concat()
    };
    scene.world.start(&arguments)
}

/// Returns the numbers of the messages in the order of a conversation.
fn numbers(messages: &[Value]) -> Vec<usize> {
    let text: String = messages.iter().map(Value::to_string).collect();
    let parts = text.split("letter no. ").skip(1);
    parts
        .filter_map(|part| {
            let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
            digits.parse().ok()
        })
        .collect()
}

/// Sends messages to leads that are killed at random. The conversation of the last one contains
/// each of them once and in order.
///
/// # Panics
/// If one is missing, duplicated, or out of order.
pub fn letters(programs: &Programs, run: Letters, seed: Seed) {
    let mut dice = Dice::new(seed);
    let scene = Scene::over(programs, busy);
    let urgent = dice.below(2) == 0;
    let mut leading = Some(lead(&scene));
    scene.world.wait_for("the team is there", || {
        scene.world.team("demo").directory().exists().then_some(())
    });
    let ground = scene.ground();
    let goes_on = AtomicBool::new(true);
    let sent = std::thread::scope(|scope| {
        let mut pauses = Dice::new(seed.of("letters"));
        let (ground, goes_on) = (&ground, &goes_on);
        let post = scope.spawn(move || {
            let mut number = 0;
            while number < run.letters || goes_on.load(Ordering::SeqCst) {
                number += 1;
                let draft = Draft::new("bob", format!("letter no. {number}."));
                let draft = if urgent { draft.urgent() } else { draft };
                let sent = ground
                    .store
                    .team(&ground.team)
                    .send(&MemberName::lead(), draft)
                    .block_on();
                sent.expect("sent");
                pauses.linger(LIFE * 2 / 10);
            }
            number
        });
        let end = Ends(goes_on);
        let mut kills = 0;
        while kills < run.kills {
            dice.linger(LIFE);
            if let Some(running) = leading.take() {
                running.signal(Signal::KILL);
                // A lead that had nothing left to do exited by itself.
                kills += usize::from(running.wait().code.is_none());
            }
            leading = Some(lead(&scene));
        }
        drop(end);
        post.join().expect("the post goes on")
    });
    let expected: Vec<usize> = (1..=sent).collect();
    // Messages that arrived after the last check of a stopped lead are for the next one.
    scene
        .world
        .wait_for("every letter is in the conversation", || {
            let last = scene.api.last_of("team-lead");
            let told = last.map(|asked| numbers(asked.ask.messages()));
            if told.is_some_and(|told| told.len() >= expected.len()) {
                return Some(());
            }
            if leading.as_mut().is_none_or(Running::has_ended) {
                leading = Some(lead(&scene));
            }
            None
        });
    drop(leading.map(Running::wait));
    let last = scene.api.last_of("team-lead").expect("a request");
    assert_eq!(
        numbers(last.ask.messages()),
        expected,
        "{}",
        scene.api.summary()
    );
    let unread = scene.world.team("demo").inbox("team-lead");
    let unread: Vec<_> = unread
        .iter()
        .filter(|entry| entry["read"] == false)
        .collect();
    assert!(unread.is_empty(), "{unread:?}");
    scene.assert_whole();
    scene.world.swarm(&["reap"]).ok();
    scene.delete(super::Place::Headless, &["--purge"]);
    scene.assert_nothing_left();
}

/// Sets a flag on drop, including a panic: the thread that sends messages would hang the run.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}
