//! When a receiver reads a message that waits for it, as its sender is told.

use serde::Serialize;
use swarm_os::Liveness;
use swarm_protocol::{MemberState, UnixMs};
use swarm_store::MemberView;

/// When a queued message is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reads {
    /// The receiver waits for mail.
    AtOnce,
    /// Between two tool calls, because the message is urgent.
    BeforeNextCall,
    /// When the receiver's turn ends.
    AtTurnEnd,
    /// When it has started.
    WhenReady,
    /// When a person lets it go on.
    WhenContinued,
    /// When its team has a lead again.
    WhenLed,
    /// When it is spawned again.
    WhenSpawned,
    /// Perhaps not at all: it is about to end.
    PerhapsNever,
    /// When a person looks: no program reads for it.
    ByHand,
    /// Not known: it belongs to another program.
    Unknown,
}

/// What a receiver was doing when a message was put into its inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiverStatus {
    /// Its state by the facts: the last word of a dead one is not what it does.
    pub state: MemberState,
    /// Since when, where that is known.
    pub since: Option<UnixMs>,
    /// The call, request or reason that belongs to the state.
    pub detail: Option<String>,
    /// When it reads the message.
    pub reads: Reads,
}

impl ReceiverStatus {
    /// What a member is doing, and when it reads a message that is urgent or is not.
    pub fn of(view: &MemberView, urgent: bool) -> Self {
        let report = view.report.as_ref();
        let died = view.member.swarm.as_ref().and_then(|mark| mark.died_at);
        let is_over = matches!(view.state, MemberState::Dead | MemberState::Stopped);
        Self {
            state: view.state,
            since: died.or(report.map(|report| report.since)),
            detail: report
                .filter(|_| !is_over)
                .and_then(|report| report.detail.clone()),
            reads: reads(view, urgent),
        }
    }

    /// The second half of a sentence that a model is told: what the receiver is doing and when it
    /// reads the message.
    pub fn for_model(&self, now: UnixMs) -> String {
        let mut doing = self.state.name().to_owned();
        if let Some(since) = self.since {
            doing = format!("{doing} for {} s", now.since(since) / 1000);
        }
        if let Some(detail) = &self.detail {
            doing = format!("{doing}: {detail}");
        }
        let when = match self.reads {
            Reads::AtOnce => "reads it immediately",
            Reads::BeforeNextCall => "reads it before its next tool call",
            Reads::AtTurnEnd => {
                "reads it when its turn ends; with `urgent` it would be before its next tool call"
            }
            Reads::WhenReady => "reads it when it has started",
            Reads::WhenContinued => "reads it when a person continues it",
            Reads::WhenLed => "reads it when the team has a lead again",
            Reads::WhenSpawned => "reads it only if it is spawned again",
            Reads::PerhapsNever => "may stop without reading it",
            Reads::ByHand => "is a person, who reads the inbox by hand",
            Reads::Unknown => "belongs to another program, so it is unknown when it reads it",
        };
        match self.reads {
            Reads::ByHand | Reads::Unknown => format!("which {when}"),
            _ => format!("which is {doing} and {when}"),
        }
    }
}

fn reads(view: &MemberView, urgent: bool) -> Reads {
    match view.state {
        MemberState::Working
        | MemberState::Throttled
        | MemberState::WaitingPermission
        | MemberState::WaitingPlan => {
            if urgent {
                Reads::BeforeNextCall
            } else {
                Reads::AtTurnEnd
            }
        }
        // The last lead's run failed, and no process has led since.
        MemberState::Failed | MemberState::Exhausted if view.liveness == Liveness::Foreign => {
            Reads::ByHand
        }
        MemberState::Idle
        | MemberState::IdleUnreported
        | MemberState::Background
        | MemberState::Exhausted
        | MemberState::Failed => Reads::AtOnce,
        MemberState::Starting => Reads::WhenReady,
        MemberState::Paused => Reads::WhenContinued,
        MemberState::Parked => Reads::WhenLed,
        MemberState::Stopping => Reads::PerhapsNever,
        // A lead that has ended is not spawned but followed by another.
        MemberState::Stopped | MemberState::Dead if view.member.name.is_lead() => Reads::WhenLed,
        MemberState::Stopped | MemberState::Dead => Reads::WhenSpawned,
        MemberState::Foreign if view.member.name.is_lead() => Reads::ByHand,
        MemberState::Foreign => Reads::Unknown,
    }
}
