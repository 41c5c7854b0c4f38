//! One trial: a lead is terminated once.

use std::fs;
use std::time::Duration;

use serde_json::Value;

use super::super::places::{Place, Scene};
use super::blow::{Leading, Termination};
use super::duty::{ALLOWED, Activity};
use super::trees::{self, Stage};
use crate::fake_api::Gate;
use crate::faults::dice::{Dice, Seed};
use crate::faults::workers::Programs;
use crate::stage::MODEL;

/// Maximum pause between the awaited moment and the signal.
const PAUSE: Duration = Duration::from_millis(120);

/// Values of `on_lost`.
const ON_LOST: [&str; 3] = ["park", "stop", "continue"];

/// Terminates a lead during this activity at a moment that depends on the seed, and takes over its
/// team by hand.
///
/// # Panics
/// If something is lost, unusable, or has no owner.
pub fn takeover(programs: &Programs, duty: Activity, blow: Termination, seed: Seed) {
    let mut dice = Dice::new(seed);
    let (begin, end) = (Gate::closed(), Gate::closed());
    let scene = Scene::over(programs, duty.script(&begin, &end));
    let place = *dice.pick(&[Place::Split, Place::Headless]);
    let on_lost = match duty {
        Activity::Spawns => *dice.pick(&ON_LOST),
        // A stopped member requests nothing, and its worktree has no owner.
        Activity::IsAsked | Activity::AddsTree => "park",
    };
    // An interrupted spawn holds its name until it expires.
    let patience = if duty == Activity::IsAsked { 60 } else { 4 };
    let settings =
        format!("[spawn]\nhello_timeout_s = {patience}\n[lead]\non_lost = \"{on_lost}\"\n");
    scene.world.write("root/swarm.toml", &settings);
    if duty == Activity::AddsTree {
        trees::make_project(&scene.world);
    }
    let panes = scene.inside.tmux().panes().len();
    let trial = Trial {
        scene: &scene,
        duty,
        blow,
        place,
    };
    let leading = Leading::start(&scene, &lead_words(place), place, blow);
    trial.begin(&begin);
    trial.await_moment(&mut dice);
    dice.linger(PAUSE);
    leading.end(&scene, blow, &mut dice);
    if blow.leaves_members() {
        trial.members_heed(on_lost);
    }
    trial.is_taken_over(&mut dice);
    scene.delete(place, &["--purge"]);
    if duty == Activity::AddsTree {
        trees::assert_kept(&scene.world, "bob");
        trees::prune_to(&scene, &["bob"]);
        trees::assert_kept(&scene.world, "bob");
    }
    scene.assert_nothing_left();
    scene.world.wait_for("panes are as before", || {
        let now = scene.inside.tmux().panes();
        let empty = now.iter().filter(|pane| pane.is_dead).count();
        // A lead killed between splitting and tagging a pane leaves an empty pane.
        let allowed = usize::from(blow.is_sudden() || blow == Termination::TerminateAndKill);
        (now.len() - empty == panes && empty <= allowed).then_some(())
    });
    // The server no longer delays requests.
    end.open();
}

fn lead_words(place: Place) -> Vec<&'static str> {
    let backend = match place {
        Place::Split | Place::Own => "tmux",
        Place::Headless => "headless",
    };
    let run = ["run", "begin", "--team", "demo", "--model", MODEL];
    let how = ["--mode", "bypassPermissions", "--backend", backend];
    [&run[..], &how].concat()
}

struct Trial<'a> {
    scene: &'a Scene,
    duty: Activity,
    blow: Termination,
    place: Place,
}

impl Trial<'_> {
    /// Lets the lead start once everything that it needs exists.
    fn begin(&self, begin: &Gate) {
        let world = &self.scene.world;
        self.scene
            .api
            .wait_for("the lead's first turn", "team-lead", |_| true);
        world.wait_for("the team is there", || {
            world.team("demo").directory().exists().then_some(())
        });
        if self.duty == Activity::AddsTree {
            let with_tree = ["--worktree", "--timeout", "60"];
            self.scene.spawn("bob", self.place, &with_tree).wait().ok();
            world.wait_for("bob has written something", || {
                let state = &world.team("demo").state("bob")["state"];
                (state == "idle").then_some(())
            });
            trees::assert_kept(world, "bob");
        }
        begin.open();
    }

    /// Waits for one of the moments of this activity.
    fn await_moment(&self, dice: &mut Dice) {
        let world = &self.scene.world;
        let team = world.team("demo");
        match self.duty {
            Activity::Spawns => {
                // Each spawn records its start, and its commit or abort.
                let count = dice.below(2 * self.duty.members().len());
                world.wait_for("so many steps of spawns are done", || {
                    let kinds = ["spawn_reserved", "spawn_committed", "spawn_aborted"];
                    let steps = kinds.map(|kind| team.events(kind).len());
                    (steps.iter().sum::<usize>() >= count).then_some(())
                });
            }
            Activity::IsAsked => {
                world.wait_for("ann asks", || (!team.requests().is_empty()).then_some(()));
            }
            Activity::AddsTree => {
                let stage = *dice.pick(&Stage::ALL);
                world.wait_for("the worktree has come so far", || {
                    stage.is_reached(world, "ann").then_some(())
                });
            }
        }
    }

    /// Asserts that running members follow `on_lost`.
    fn members_heed(&self, on_lost: &str) {
        let world = &self.scene.world;
        let committed = || {
            let entered = world.team("demo").events("spawn_committed");
            let ids = entered.iter().map(|event| event["spawnId"].clone());
            ids.collect::<Vec<Value>>()
        };
        let committed = committed();
        let living = || {
            let mut living = self.scene.teammates();
            living.retain(|one| committed.contains(&Value::from(one.spawn_id.clone())));
            living
        };
        world.wait_for("members have heard that their lead is lost", || {
            let heeds = |name: &str| match on_lost {
                "park" => world.team("demo").state(name)["state"] == "parked",
                "stop" => false,
                _ => true,
            };
            living().iter().all(|one| heeds(&one.name)).then_some(())
        });
    }

    /// Asserts that the team can be taken over.
    fn is_taken_over(&self, dice: &mut Dice) {
        let world = &self.scene.world;
        world.swarm(&["resume", "demo", "--json"]).json();
        self.scene.assert_roster_is_true();
        match self.duty {
            Activity::Spawns => {
                // Each name can be used, regardless of its state.
                let name = *dice.pick(self.duty.members());
                self.can_be_spawned(name, &[]);
            }
            Activity::IsAsked => self.can_be_answered(),
            Activity::AddsTree => {
                trees::assert_kept(world, "bob");
                if dice.below(2) == 0 {
                    self.can_be_spawned("ann", &["--worktree"]);
                    assert!(Stage::Filled.is_reached(world, "ann"));
                } else {
                    let lives = self.scene.teammates().iter().any(|one| one.name == "ann");
                    let expected: &[&str] = if lives { &["ann", "bob"] } else { &["bob"] };
                    trees::prune_to(self.scene, expected);
                }
                trees::assert_kept(world, "bob");
            }
        }
    }

    fn can_be_spawned(&self, name: &str, more: &[&str]) {
        let words = [&["--timeout", "60", "--json"], more].concat();
        let lives = self.scene.teammates().iter().any(|one| one.name == name);
        let spawned = self.scene.spawn(name, self.place, &words).wait();
        spawned.assert_code(if lives { 4 } else { 0 });
        self.scene.assert_roster_is_true();
    }

    /// Returns the id of ann's request; `None` if a gracefully terminated lead has shut her down. A
    /// lead whose terminal is gone leaves her to another lead.
    fn question_of_ann(&self) -> Option<String> {
        let world = &self.scene.world;
        let may_have_ended = !self.blow.leaves_members();
        world.wait_for("ann's question is in the queue, or she has ended", || {
            if may_have_ended && self.scene.teammates().is_empty() {
                return Some(None);
            }
            // A member that is shutting down withdraws its request.
            if may_have_ended && world.team("demo").state("ann")["state"] == "stopping" {
                return None;
            }
            let asked = world
                .swarm(&["requests", "--team", "demo", "--json"])
                .json();
            let id = asked[0]["requestId"].as_str().or(asked[0]["id"].as_str());
            id.map(|id| Some(id.to_owned()))
        })
    }

    /// Asserts that ann's request can be answered, or is repeated; the approval lets the call run
    /// once.
    fn can_be_answered(&self) {
        let world = &self.scene.world;
        let Some(id) = self.question_of_ann() else {
            let left = world
                .swarm(&["requests", "--team", "demo", "--json"])
                .json();
            assert_eq!(left, Value::Array(Vec::new()), "no request is pending");
            return;
        };
        world.swarm(&["approve", &id, "--team", "demo"]).ok();
        let file = world.project().join(ALLOWED);
        world.wait_for("ann has done what was allowed", || {
            let is_idle = world.team("demo").state("ann")["state"] == "idle";
            (is_idle && file.exists()).then_some(())
        });
        assert_eq!(fs::read_to_string(&file).ok().as_deref(), Some("once\n"));
        let left = world
            .swarm(&["requests", "--team", "demo", "--json"])
            .json();
        assert_eq!(
            left,
            Value::Array(Vec::new()),
            "the answered request is no longer pending"
        );
    }
}
