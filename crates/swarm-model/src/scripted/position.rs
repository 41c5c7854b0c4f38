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
/// Messages of the model in a row count as one: a transcript may keep the blocks of an answer apart.
pub(super) fn locate<'a>(
    turn: &'a Turn,
    captured: Captured,
    after: &[Message],
) -> Result<Position<'a>, String> {
    let mut walk = Walk {
        turn,
        captured,
        own: 0,
        interrupt: None,
        played: vec![false; turn.interrupts.len()],
        results: Vec::new(),
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
    /// The interrupt that has taken over, with its steps played.
    interrupt: Option<(&'a Interrupt, usize)>,
    /// Interrupts that have taken over once; each does so at most once in a turn.
    played: Vec<bool>,
    results: Vec<String>,
}

impl<'a> Walk<'a> {
    fn next_step(&self) -> Result<&'a Step, String> {
        let (steps, played) = match self.interrupt {
            Some((interrupt, played)) => (&interrupt.steps, played),
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
        match &mut self.interrupt {
            None => self.own += 1,
            Some((interrupt, played)) => {
                *played += 1;
                if interrupt.resume && *played == interrupt.steps.len() {
                    self.interrupt = None;
                }
            }
        }
        Ok(())
    }

    /// A user message has come: tool results, and perhaps a text that interrupts.
    fn listen(&mut self, message: &Message, previous: Role) {
        if previous == Role::Assistant {
            self.results.clear();
        }
        self.results.extend(results(message).map(str::to_owned));
        let injected: Vec<&str> = texts(message).collect();
        let injected = injected.join("\n");
        if injected.is_empty() {
            return;
        }
        for (index, interrupt) in self.turn.interrupts.iter().enumerate() {
            if self.played[index] {
                continue;
            }
            if let Some(captured) = interrupt.check(&injected) {
                self.captured.extend(captured);
                self.played[index] = true;
                self.interrupt = Some((interrupt, 0));
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
