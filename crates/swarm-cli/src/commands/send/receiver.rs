//! Notice for the sender about a recipient.

use swarm_protocol::{MemberState, TeamName, UnixMs};
use swarm_team::{ReadTime, ReceiverStatus};

use crate::commands::members::age;

/// Describes what a recipient is doing and when it reads the message.
pub(super) fn sentence(receiver: &ReceiverStatus, team: &TeamName, now: UnixMs) -> String {
    let doing = doing(receiver, now);
    match receiver.reads {
        ReadTime::Immediately => format!("{doing}; it reads this immediately"),
        ReadTime::BeforeNextCall => format!("{doing}; it reads this before its next tool call"),
        ReadTime::AtTurnEnd => format!(
            "{doing}; it reads this when its turn ends, with --urgent before its next tool call"
        ),
        ReadTime::WhenReady => format!("{doing}; it reads this when it is ready"),
        ReadTime::WhenContinued => format!("{doing}; it reads this after `swarm continue`"),
        ReadTime::WhenLed => format!("{doing}; it reads this after `swarm resume {team}`"),
        ReadTime::WhenSpawned => {
            format!("{doing}; it reads this after `swarm spawn` restarts it")
        }
        ReadTime::PerhapsNever => format!("{doing}; it may end without reading this"),
        ReadTime::ByHand => {
            "no program leads this team; `swarm inbox team-lead` shows the mail".to_owned()
        }
        ReadTime::Unknown => {
            "of another program; unknown whether and when it reads this".to_owned()
        }
    }
}

/// Describes the current activity, such as `working for 3m 05s (Bash cargo test)`.
fn doing(receiver: &ReceiverStatus, now: UnixMs) -> String {
    let busy = matches!(
        receiver.state,
        MemberState::Working | MemberState::Throttled
    );
    let word = if busy { "busy" } else { receiver.state.name() };
    let time = receiver
        .since
        .map_or_else(String::new, |since| format!(" for {}", age(now, since)));
    let detail = receiver
        .detail
        .as_ref()
        .map_or_else(String::new, |detail| format!(" ({detail})"));
    format!("{word}{time}{detail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d7_a_sender_is_told_since_when_the_receiver_is_busy_with_what_and_when_it_reads() {
        let team = TeamName::parse("demo").unwrap();
        let told = |reads| {
            let receiver = ReceiverStatus {
                state: MemberState::Working,
                since: Some(UnixMs(0)),
                detail: Some("Bash cargo test".to_owned()),
                reads,
            };
            sentence(&receiver, &team, UnixMs(185_000))
        };
        assert_eq!(
            told(ReadTime::AtTurnEnd),
            "busy for 3m 05s (Bash cargo test); it reads this when its turn ends, with --urgent before its next tool call"
        );
        assert_eq!(
            told(ReadTime::BeforeNextCall),
            "busy for 3m 05s (Bash cargo test); it reads this before its next tool call"
        );
    }
}
