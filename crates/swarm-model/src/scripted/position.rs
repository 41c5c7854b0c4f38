//! Where in a turn the conversation stands: which step is next, and with which values.

use super::conditions::{Captured, capture};
use super::scenario::{Interrupt, Step, Turn};
use super::situation::{results, texts};
use crate::message::{Message, Role};

/// The next step of a turn.
#[derive(Debug)]
pub(super) struct Position<'a> {
    pub(super) step: &'a Step,
    /// Everything captured up to here.
    pub(super) captured: Captured,
    /// Texts of the tool results that the step answers.
    pub(super) results: Vec<String>,
}

/// Walks through what came after the prompt. The error says what the scenario lacks.
///
/// Messages of the model in a row count as one: a transcript may keep the blocks of an answer apart. The
/// results that a turn answers after an interrupt that resumes are those that the interrupt came with.
pub(super) fn locate<'a>(
    turn: &'a Turn,
    captured: Captured,
    after: &[Message],
) -> Result<Position<'a>, String> {
    let mut walk = Walk {
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
            Role::Assistant if previous == Role::User => walk.consume()?,
            Role::Assistant => {}
            Role::User => walk.listen(message, previous),
        }
        previous = message.role;
    }
    let step = walk.next_step()?;
    walk.capture_for(step)?;
    Ok(Position {
        step,
        captured: walk.captured,
        results: walk.results,
    })
}

struct Walk<'a> {
    turn: &'a Turn,
    captured: Captured,
    /// Steps of the turn itself that have been played.
    own: usize,
    /// The interrupt that has taken over.
    active: Option<Active<'a>>,
    /// Interrupts that have taken over once; each does so at most once in a turn.
    played: Vec<bool>,
    /// Texts of the last tool results.
    results: Vec<String>,
    /// Results that wait for the turn's own next step, after an interrupt that resumes.
    resumed: Option<Vec<String>>,
}

struct Active<'a> {
    interrupt: &'a Interrupt,
    /// Its steps that have been played.
    played: usize,
    /// The results that the turn's own next step will answer, if the interrupt resumes.
    held: Vec<String>,
}

impl<'a> Walk<'a> {
    fn next_step(&self) -> Result<&'a Step, String> {
        let (steps, played) = match &self.active {
            Some(active) => (&active.interrupt.steps, active.played),
            None => (&self.turn.steps, self.own),
        };
        steps.get(played).ok_or_else(|| {
            format!(
                "has only {} steps for the turn at line {}, and the conversation goes on; add a [[turn.step]]",
                steps.len(),
                self.turn.line
            )
        })
    }

    /// The model has said the next step.
    fn consume(&mut self) -> Result<(), String> {
        let step = self.next_step()?;
        self.capture_for(step)?;
        let Some(mut active) = self.active.take() else {
            self.own += 1;
            return Ok(());
        };
        active.played += 1;
        if active.interrupt.resume && active.played == active.interrupt.steps.len() {
            self.resumed = Some(active.held);
        } else {
            self.active = Some(active);
        }
        Ok(())
    }

    /// A user message has come: tool results, and perhaps a text that interrupts.
    fn listen(&mut self, message: &Message, previous: Role) {
        if previous == Role::Assistant {
            self.results.clear();
        }
        self.results.extend(results(message).map(str::to_owned));
        if let Some(held) = self.resumed.take() {
            self.results = held;
        }
        let injected: Vec<&str> = texts(message).collect();
        if !injected.is_empty() {
            self.take_over(&injected.join("\n"));
        }
    }

    /// Hands over to the first interrupt that fits and has not played.
    fn take_over(&mut self, injected: &str) {
        for (interrupt, played) in self.turn.interrupts.iter().zip(&mut self.played) {
            if *played {
                continue;
            }
            if let Some(captured) = interrupt.check(injected) {
                *played = true;
                self.captured.extend(captured);
                let held = match self.active.take() {
                    Some(active) => active.held,
                    None => self.results.clone(),
                };
                self.active = Some(Active {
                    interrupt,
                    played: 0,
                    held,
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
                "captures {:?} at line {}, but the tool results do not match: {:?}",
                regex.as_str(),
                step.line,
                super::play::beginning(&text)
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
