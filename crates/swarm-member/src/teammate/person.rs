//! What a person types into the member's pane.
//!
//! A line becomes a message in the member's own inbox, so it is as durable as any other and goes the same way. It says
//! that it is from the lead, as `swarm send` does for a person, and carries no rights: nothing that is typed here
//! answers a request or grants anything.

use std::collections::VecDeque;
use std::mem::Discriminant;
use std::sync::Arc;

use swarm_protocol::{LEAD_NAME, PERSON};
use swarm_store::{Draft, StoreError};
use swarm_team::{ShutdownAsk, request_shutdown};
use swarm_ui::PaneInput;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::reporter::Reporter;
use crate::teammate::desk::MailDesk;

/// Why a shutdown was asked for.
const ASKED_HERE: &str = "asked for in its pane";

/// The person at the pane, if it is a terminal.
#[derive(Debug)]
pub(crate) struct Person {
    inputs: Option<UnboundedReceiver<PaneInput>>,
    desk: Arc<MailDesk>,
    reporter: Arc<Reporter>,
    /// What could not be put into the inbox yet.
    waiting: VecDeque<PaneInput>,
    /// The kind of error that keeps it waiting and that the person knows of.
    told: Option<Discriminant<StoreError>>,
}

impl Person {
    pub(crate) fn new(
        inputs: Option<UnboundedReceiver<PaneInput>>,
        desk: Arc<MailDesk>,
        reporter: Arc<Reporter>,
    ) -> Self {
        Self {
            inputs,
            desk,
            reporter,
            waiting: VecDeque::new(),
            told: None,
        }
    }

    /// Waits for the next input. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> PaneInput {
        let input = match &mut self.inputs {
            Some(inputs) => inputs.recv().await,
            None => None,
        };
        if let Some(input) = input {
            return input;
        }
        self.inputs = None;
        std::future::pending().await
    }

    /// Puts what was typed into the inbox. `when` says when a line will be read, where that is not at once.
    pub(crate) fn take(&mut self, input: PaneInput, when: Option<&str>) {
        if let (PaneInput::Line(text), Some(when)) = (&input, when) {
            self.reporter.notice(format!("you: {text} ({when})"));
        }
        self.waiting.push_back(input);
        self.post();
    }

    /// Tries again what could not be put into the inbox. Lines keep their order, and a shutdown waits for none of them.
    pub(crate) fn post(&mut self) {
        let mut trouble = None;
        for input in std::mem::take(&mut self.waiting) {
            if trouble.is_some() && matches!(input, PaneInput::Line(_)) {
                self.waiting.push_back(input);
                continue;
            }
            match self.try_post(&input) {
                Ok(()) => {}
                Err(StoreError::MessageTooLarge { bytes, limit, .. }) => {
                    self.reporter.notice(too_large(bytes, limit));
                }
                Err(error) => {
                    trouble.get_or_insert(error);
                    self.waiting.push_back(input);
                }
            }
        }
        let kind = trouble.as_ref().map(std::mem::discriminant);
        if let Some(error) = trouble.filter(|_| kind != self.told) {
            let line = format!("what you typed is not in the inbox yet: {error}");
            self.reporter.notice(line);
        }
        self.told = kind;
    }

    fn try_post(&self, input: &PaneInput) -> Result<(), StoreError> {
        let (seat, team) = (&self.desk.seat, &self.desk.team);
        match input {
            PaneInput::Line(text) => {
                let draft = Draft::new(LEAD_NAME, text.trim_end()).urgent();
                let id = seat.store.send(team, &seat.name, draft)?;
                self.desk.typed_here(id);
            }
            PaneInput::Shutdown => {
                let now = seat.clock.now();
                let ask = ShutdownAsk {
                    reason: Some(ASKED_HERE),
                    by: PERSON,
                    force: false,
                };
                request_shutdown(&*seat.store, team, &seat.name, now, ask)?;
            }
            // Only in a turn is there something to interrupt or to wait for, and whoever runs it sees to that.
            PaneInput::Interrupt | PaneInput::Background => {}
        }
        Ok(())
    }
}

/// Said of a line that no inbox would ever take.
fn too_large(bytes: usize, limit: usize) -> String {
    format!(
        "what you typed was dropped: it has {bytes} bytes and a message may have {limit}. Put it into a file and name \
         that here"
    )
}
