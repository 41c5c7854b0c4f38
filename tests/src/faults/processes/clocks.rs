//! Programs with jumping clocks, each independently: an hour forward or back, to the year 1970 and
//! to 2262.

use serde_json::Value;

use super::super::dice::{Dice, Seed};
use super::super::workers::Programs;
use super::places::{Place, Scene, spawn_words};
use crate::stage::{Faketime, Finished};

/// Clock settings in the syntax of libfaketime.
const TIMES: [&str; 5] = [
    "+0",
    "+3600",
    "-3600",
    "@1970-01-01 00:00:10",
    "@2262-04-01 00:00:00",
];

/// Runs a team in which every command and every member has another time; `false` without
/// libfaketime.
///
/// # Panics
/// If messages are lost or out of order, something expires, or a process crashes.
pub fn clocks(programs: &Programs, rounds: usize, seed: Seed) -> bool {
    let Some(library) = Faketime::find() else {
        eprintln!("skipped: no libfaketime here");
        return false;
    };
    let mut dice = Dice::new(seed);
    for _ in 0..rounds {
        one_team(programs, &library, &mut dice);
    }
    true
}

fn one_team(programs: &Programs, library: &Faketime, dice: &mut Dice) {
    let scene = Scene::new(programs).with_team();
    scene.world.pass_clocks();
    let run = |time: &str, words: &[&str]| -> Finished {
        let variables = library.at(time);
        let done = scene.world.start_with(words, &variables).wait();
        assert!(
            !done.stderr.contains("panicked"),
            "{time}: {}",
            done.story()
        );
        done
    };
    let members = ["ann", "bob"];
    for name in members {
        let time = some(dice);
        let spawned = run(time, &spawn_words(name, Place::Headless));
        assert_eq!(spawned.code, Some(0), "{time}: {}", spawned.story());
    }
    let letters = 10;
    for number in 1..=letters {
        let text = format!("letter no. {number}.");
        for name in members {
            run(some(dice), &["send", name, &text, "--team", "demo"]).ok();
        }
        run(some(dice), &["task", "create", &text, "--team", "demo"]).ok();
        run(some(dice), &["status", "--team", "demo"]).ok();
        // No deadline expires because of a clock.
        run(some(dice), &["gc"]).ok();
        run(some(dice), &["reap"]).ok();
    }
    for name in members {
        scene.world.wait_for("every letter is read", || {
            let inbox = scene.world.team("demo").inbox(name);
            let unread = inbox.iter().any(|entry| entry["read"] == false);
            (!unread && is_idle(&scene, name)).then_some(())
        });
        let last = scene.api.last_of(name).expect("a request");
        let told: String = last.ask.messages().iter().map(Value::to_string).collect();
        let numbers: Vec<usize> = told
            .split("\\nletter no. ")
            .skip(1)
            .filter_map(|part| part.split('.').next()?.parse().ok())
            .collect();
        assert_eq!(numbers, (1..=letters).collect::<Vec<_>>(), "{name}");
    }
    assert_eq!(scene.world.team("demo").tasks().len(), letters);
    assert_eq!(scene.world.team("demo").events("member_died").len(), 0);
    for number in 1..=letters {
        let id = number.to_string();
        let claim = ["task", "claim", &id, "--as", "ann", "--team", "demo"];
        run(some(dice), &claim).ok();
    }
    run(some(dice), &["shutdown", "ann", "--team", "demo"]).ok();
    assert!(
        scene
            .world
            .team("demo")
            .tasks()
            .iter()
            .all(|task| task["owner"].is_null())
    );
    scene.assert_roster_is_true();
    let delete = ["team", "delete", "demo", "--force"];
    run(some(dice), &delete).ok();
    scene.assert_nothing_left();
}

/// Returns one of the times.
fn some(dice: &mut Dice) -> &'static str {
    let time: &&str = dice.pick(&TIMES);
    time
}

fn is_idle(scene: &Scene, name: &str) -> bool {
    let team = scene.world.team("demo");
    !team.has_unread(name) && team.state(name)["state"] == "idle"
}
