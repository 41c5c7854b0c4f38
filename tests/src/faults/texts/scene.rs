//! A world with the team `demo`, a person in tmux with a terminal, and all texts.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::PathBuf;

use super::super::workers::Programs;
use super::list::{SHORT, texts};
use super::matrix::Effort;
use super::obeyed::{assert_inert, assert_terminal_is_the_users};
use super::outside::{assert_names_are_names, outside};
use super::speech::answer;
use crate::fake_api::{Ask, FakeApi};
use crate::stage::{Finished, InsideTmux, MODEL, Terminal, World};

/// Columns and rows of the person's terminal: room for several members next to each other.
const SIZE: (u32, u32) = (200, 120);
/// Number of members with panes at a time: all of them are in the visible window.
const CROWD: usize = 6;

/// The world. Fields are dropped in this order.
#[derive(Debug)]
pub(super) struct Scene {
    pub(super) inside: InsideTmux,
    pub(super) terminal: Terminal,
    pub(super) world: World,
    pub(super) api: FakeApi,
    pub(super) texts: Vec<String>,
    canaries: PathBuf,
    before: (BTreeSet<PathBuf>, String),
    present: Cell<usize>,
    turns: Cell<usize>,
    effort: Effort,
    pub(super) started: Cell<usize>,
}

impl Scene {
    pub(super) fn new(programs: &Programs, effort: Effort) -> Self {
        let probe = World::new(&programs.swarm, &programs.links);
        let canaries = probe.directory().join("canaries");
        std::fs::create_dir(&canaries).expect("a directory");
        let texts = texts(&canaries);
        let said = texts.clone();
        let api = FakeApi::start(move |ask: &Ask| answer(ask, &said));
        let world = probe.with_api(&api);
        world.commit_project();
        world.swarm(&["team", "create", "demo"]).ok();
        let inside = InsideTmux::start(&world, SIZE.0, SIZE.1);
        let control = world.directory().join("out/control");
        furnish(&inside, &format!("touch {}", control.display()));
        let short = canaries.join("short").display().to_string();
        inside.tmux().run(&["set-environment", "-g", SHORT, &short]);
        let terminal = Terminal::attach(&world, inside.tmux(), SIZE.0, SIZE.1 + 1);
        world.wait_for("what is drawn is expanded", || {
            control.exists().then_some(())
        });
        let before = (outside(&world), inside.belongings());
        Self {
            inside,
            terminal,
            world,
            api,
            texts,
            canaries,
            before,
            present: Cell::new(0),
            turns: Cell::new(0),
            effort,
            started: Cell::new(0),
        }
    }

    /// Runs a command in the person's pane and checks that its output is only text.
    #[track_caller]
    pub(super) fn swarm(&self, words: &[&str]) -> Finished {
        let finished = self.world.start_with(words, self.inside.variables()).wait();
        assert_inert(&finished);
        finished
    }

    /// Runs a command that must fail with one of these codes and a one-line error, in both formats
    /// or alternately in one.
    #[track_caller]
    pub(super) fn refused(&self, words: &[&str], codes: &[i32]) {
        let mut with_json = words.to_vec();
        let at = words.iter().position(|word| *word == "--");
        with_json.insert(at.unwrap_or(words.len()), "--json");
        let both = self.effort == Effort::Whole;
        if both || self.turn() {
            let told = self.swarm(&with_json);
            let code = told.code.unwrap_or(-1);
            assert!(codes.contains(&code), "{}", told.story());
            told.error(code);
            if !both {
                return;
            }
        }
        let told = self.swarm(words);
        let code = told.code.unwrap_or(-1);
        let is_one = told.stderr.trim_end().lines().skip(1).all(|line| {
            // The hint, and the usage that the argument parser adds.
            line.is_empty()
                || line.starts_with("  ")
                || line.starts_with("For more")
                || line.starts_with("Usage:")
        });
        assert!(
            codes.contains(&code) && told.stdout.is_empty() && is_one,
            "{}",
            told.story()
        );
    }

    /// Alternates between true and false.
    pub(super) fn turn(&self) -> bool {
        let turns = self.turns.replace(self.turns.get() + 1);
        turns.is_multiple_of(2)
    }

    /// Runs a command that displays state, in JSON, and alternately in plain text and in colour.
    #[track_caller]
    pub(super) fn shows(&self, words: &[&str]) {
        let mut variables = self.inside.variables().to_vec();
        if self.turn() {
            variables.push(("CLICOLOR_FORCE".to_owned(), "1".to_owned()));
        }
        let told = self.world.start_with(words, &variables).wait();
        assert_inert(&told);
        let json = self.swarm(&[words, &["--json"]].concat());
        assert_eq!(told.code, json.code, "{}", told.story());
    }

    /// Runs every command that displays the state of a team.
    #[track_caller]
    pub(super) fn show_all(&self) {
        for words in [
            &["status"][..],
            &["team", "list"],
            &["team", "show"],
            &["task", "list"],
            &["requests"],
            &["log"],
            &["ps"],
            &["worktree", "list"],
            &["agents", "list"],
        ] {
            self.shows(words);
        }
    }

    /// Starts a member with the next name in a pane; a full window is emptied first.
    #[track_caller]
    pub(super) fn spawn(&self, more: &[&str]) -> (String, Finished) {
        if self.present.get() == CROWD {
            self.end_members();
        }
        let number = self.started.replace(self.started.get() + 1);
        let name = format!("mate{number}");
        let usual = ["spawn", &name, "--backend", "tmux"];
        let mut words = usual.to_vec();
        if !more.iter().any(|word| word.starts_with("--model")) {
            words.extend(["--model", MODEL]);
        }
        words.extend(more);
        let told = self.swarm(&words);
        if told.code == Some(0) {
            self.present.set(self.present.get() + 1);
        }
        self.assert_panes();
        (name, told)
    }

    /// Starts a member that must exist afterwards.
    #[track_caller]
    pub(super) fn spawn_ok(&self, more: &[&str]) -> String {
        let (name, told) = self.spawn(more);
        told.ok();
        self.terminal.wait_for_drawn(&format!(" {name} "));
        name
    }

    /// Asserts that the panes are those of the person and the members.
    #[track_caller]
    pub(super) fn assert_panes(&self) {
        let panes = self.inside.tmux().panes();
        assert_eq!(
            panes.len(),
            1 + self.present.get(),
            "{}",
            self.world.report()
        );
    }

    /// Stops all members once everything about them was drawn.
    #[track_caller]
    pub(super) fn end_members(&self) {
        self.show_all();
        self.assert_nothing_ran();
        self.swarm(&["kill", "--all"]).ok();
        self.present.set(0);
        self.assert_panes();
    }

    /// Nothing that a text names was run, at the latest when all was drawn.
    #[track_caller]
    pub(super) fn assert_nothing_ran(&self) {
        self.terminal.wait_until_drawn();
        let canaries = self.canaries.display().to_string();
        // Commands that tmux runs for a format have been started by now, as a shell or its
        // successor.
        self.world.wait_for("what was started has ended", || {
            let running = self.world.processes().into_iter();
            let mut running = running
                .filter(|(_, command)| command.contains(&canaries) || command.contains(">$C"));
            let shell = |command: &str| {
                ["sh ", "/bin/sh ", "touch "]
                    .iter()
                    .any(|word| command.starts_with(word))
            };
            (!running.any(|(_, command)| shell(&command))).then_some(())
        });
        let made: Vec<_> = std::fs::read_dir(&self.canaries)
            .expect("the directory")
            .flatten()
            .collect();
        assert!(
            made.is_empty(),
            "a text was run: {made:?}\n{}",
            self.world.report()
        );
    }

    /// Asserts at the end: nothing was executed, no unexpected path exists, the tmux server is
    /// unchanged, and no raw text reached the terminal.
    #[track_caller]
    pub(super) fn end(self) {
        if self.present.get() > 0 {
            self.end_members();
        }
        self.assert_nothing_ran();
        assert_names_are_names(&self.world, &["demo", "CON"]);
        self.swarm(&["team", "delete", "demo", "--force"]).ok();
        assert_terminal_is_the_users(&self.terminal.drawn());
        assert_eq!(self.inside.belongings(), self.before.1);
        let now = outside(&self.world);
        let new: Vec<_> = now.symmetric_difference(&self.before.0).collect();
        assert!(new.is_empty(), "outside of its places there is {new:?}");
    }

    /// Asserts that a member in a pane has exited by itself.
    #[track_caller]
    pub(super) fn left(&self) {
        self.present.set(self.present.get() - 1);
        self.assert_panes();
    }
}

/// Sets options that display everything, and the option that lets a program in a pane access the
/// terminal.
fn furnish(inside: &InsideTmux, touch: &str) {
    let right = format!("#({touch})#{{P:#{{pane_title}} }}");
    for words in [
        &["set-option", "-s", "set-clipboard", "on"][..],
        &["set-option", "-gw", "allow-passthrough", "on"],
        &["set-option", "-g", "set-titles", "on"],
        &["set-option", "-g", "status-right-length", "1000"],
        &["set-option", "-g", "status-right", &right],
    ] {
        inside.tmux().run(words);
    }
}
