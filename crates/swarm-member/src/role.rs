//! What distinguishes a lead from a teammate.

use std::fmt;

use swarm_agent::{AgentError, TurnOutcome};
use swarm_protocol::MemberState;
use swarm_store::StoreError;
use swarm_team::Incoming;

use crate::mail::MailHandler;
use crate::member_loop::MemberLoop;
use crate::turn::Turn;

/// What the loop does about an error of a step.
pub(crate) enum Recovery<End> {
    /// The member cannot go on.
    Fail,
    /// The member ends without a failure.
    End(End),
    /// The member waits and tries again.
    Retry,
}

/// The part of a lead or of a teammate in [`MemberLoop`]. A hook that returns an end stops the loop.
pub(crate) trait Role: Sized {
    /// How the loop ends.
    type End;
    /// Why the loop cannot go on.
    type Error: From<StoreError> + From<AgentError> + fmt::Display;
    /// What the role watches during a turn.
    type TurnEvent;

    /// Whether messages pass the user's `UserPromptSubmit` hooks before the model reads them.
    fn mail_fires_prompt_hooks(&self) -> bool {
        true
    }

    /// Runs at the beginning of each step, before the mail is read.
    fn begin_step(member: &mut MemberLoop<Self>) -> Result<Option<Self::End>, Self::Error>;

    /// Whether the member takes no turns at present.
    fn is_suspended(&self) -> bool {
        false
    }

    /// Whether a message is read now. Others stay unread.
    fn reads_now(&self, _mail: &MailHandler, _message: &Incoming) -> bool {
        true
    }

    /// Runs when the mail was taken from the inbox, before the model reads it.
    async fn mail_taken(_member: &mut MemberLoop<Self>) -> Result<Option<Self::End>, Self::Error> {
        Ok(None)
    }

    /// Runs when the mail is in the transcript, before a turn or a wait.
    async fn mail_read(_member: &mut MemberLoop<Self>) -> Result<Option<Self::End>, Self::Error> {
        Ok(None)
    }

    /// Acts when there is nothing for the model to do, and waits for a change.
    async fn idle(member: &mut MemberLoop<Self>) -> Result<Option<Self::End>, Self::Error>;

    /// Resolves when the role has a reason to look again while the member waits. Dropping the future loses nothing.
    async fn changed(&mut self);

    /// The state that a waiting member without background work reports.
    fn idle_state(&mut self) -> (MemberState, Option<String>);

    /// Runs before a turn.
    fn turn_begins(&mut self, _turn: &Turn) {}

    /// Runs once the first request of a turn is on its way.
    fn request_sent(&mut self, _turn: &Turn) {}

    /// Waits for the next event during a turn. Dropping the future loses nothing.
    async fn turn_event(&mut self, turn: &Turn) -> Self::TurnEvent;

    /// Handles an event during a turn.
    async fn on_turn_event(&mut self, turn: &Turn, event: Self::TurnEvent);

    /// Looks at mail that arrives during a turn.
    async fn on_turn_mail(&mut self, turn: &Turn);

    /// Runs after a turn, when all deferred writes are done.
    async fn turn_ended(
        member: &mut MemberLoop<Self>,
        outcome: TurnOutcome,
    ) -> Result<Option<Self::End>, Self::Error>;

    /// Decides what happens after an error of a step.
    fn recovery(error: &Self::Error) -> Recovery<Self::End>;
}
