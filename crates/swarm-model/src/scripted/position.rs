//! Finds the position of a conversation within a turn: the next step and its values.

use super::scenario::{Captured, Interrupt, Step, Turn, capture};
use super::situation::{beginning, results, texts};
use crate::message::{Message, Role};

/// The next step of a turn.
#[derive(Debug)]
pub(super) struct Position<'a> {
    pub(super) step: &'a Step,
    /// Groups captured so far.
    pub(super) captured: Captured,
    /// Texts of the tool results that the step answers.
    pub(super) results: Vec<String>,
}

/// Replays the messages after the prompt. The error says what is missing in the scenario.
///
/// Consecutive messages of the model count as one, because a transcript may store the blocks of an
/// answer separately. After an interrupt that resumes, the turn answers the results that arrived
/// with the interrupt.
pub(super) fn locate<'a>(
    turn: &'a Turn,
    captured: Captured,
    after: &[Message],
) -> Result<Position<'a>, String> {
    let mut replay = Replay {
        turn,
        captured,
        own: 0,
        active: None,
        played: vec![false; turn.interrupts.len()],
        results: Vec::new(),
        resumed: None,
    };
    let mut previous = Role::User;
    for message in after {
        match message.role {
            Role::Assistant if previous == Role::User => replay.consume()?,
            Role::Assistant => {}
            Role::User => replay.receive(message, previous),
        }
        previous = message.role;
    }
    let step = replay.next_step()?;
    replay.capture_for(step)?;
    Ok(Position {
        step,
        captured: replay.captured,
        results: replay.results,
    })
}

struct Replay<'a> {
    turn: &'a Turn,
    captured: Captured,
    /// Number of the turn's steps that have been played.
    own: usize,
    /// The interrupt that is being played.
    active: Option<Active<'a>>,
    /// Which interrupts have been played; each is played at most once per turn.
    played: Vec<bool>,
    /// Texts of the last tool results.
    results: Vec<String>,
    /// Results for the turn's next step after an interrupt that resumes.
    resumed: Option<Vec<String>>,
}

struct Active<'a> {
    interrupt: &'a Interrupt,
    /// Number of the interrupt's steps that have been played.
    played: usize,
    /// Results that the turn's next step answers if the interrupt resumes.
    pending_results: Vec<String>,
}

impl<'a> Replay<'a> {
    fn next_step(&self) -> Result<&'a Step, String> {
        let (steps, played) = match &self.active {
            Some(active) => (&active.interrupt.steps, active.played),
            None => (&self.turn.steps, self.own),
        };
        steps.get(played).ok_or_else(|| {
            format!(
                "the turn at line {} has only {} steps, and the conversation continues; add a [[turn.step]]",
                                self.turn.line,
                steps.len()
            )
        })
    }

    /// Advances past a message of the model.
    fn consume(&mut self) -> Result<(), String> {
        let step = self.next_step()?;
        self.capture_for(step)?;
        let Some(mut active) = self.active.take() else {
            self.own += 1;
            return Ok(());
        };
        active.played += 1;
        if active.interrupt.resume && active.played == active.interrupt.steps.len() {
            self.resumed = Some(active.pending_results);
        } else {
            self.active = Some(active);
        }
        Ok(())
    }

    /// Processes a user message: tool results, and possibly a text that triggers an interrupt.
    fn receive(&mut self, message: &Message, previous: Role) {
        if previous == Role::Assistant {
            self.results.clear();
        }
        self.results.extend(results(message).map(str::to_owned));
        if let Some(pending_results) = self.resumed.take() {
            self.results = pending_results;
        }
        let injected: Vec<&str> = texts(message).collect();
        if !injected.is_empty() {
            self.start_interrupt(&injected.join("\n"));
        }
    }

    /// Starts the first matching interrupt that has not been played.
    fn start_interrupt(&mut self, injected: &str) {
        for (interrupt, played) in self.turn.interrupts.iter().zip(&mut self.played) {
            if *played {
                continue;
            }
            if let Some(captured) = interrupt.check(injected) {
                *played = true;
                self.captured.extend(captured);
                let pending_results = match self.active.take() {
                    Some(active) => active.pending_results,
                    None => self.results.clone(),
                };
                self.active = Some(Active {
                    interrupt,
                    played: 0,
                    pending_results,
                });
                return;
            }
        }
    }

    fn capture_for(&mut self, step: &Step) -> Result<(), String> {
        let Some(regex) = &step.capture else {
            return Ok(());
        };
        let text = self.results.join("\n");
        match capture(regex, &text) {
            Some(captured) => {
                self.captured.extend(captured);
                Ok(())
            }
            None => Err(format!(
                "the capture {:?} at line {} does not match the tool results: {:?}",
                regex.as_str(),
                step.line,
                beginning(&text)
            )),
        }
    }
}

impl Interrupt {
    fn check(&self, injected: &str) -> Option<Captured> {
        if let Some(part) = &self.contains
            && !injected.contains(part.as_str())
        {
            return None;
        }
        match &self.matches {
            Some(regex) => capture(regex, injected),
            None => Some(Captured::new()),
        }
    }
}
