//! A session with everything that a pane can show.

use swarm_protocol::{AgentEvent, MemberState};

use crate::events::{finished, mail, started, state, turn_ended, words};

/// Returns the events of a session with everything that a pane can show.
pub(crate) fn session() -> Vec<AgentEvent> {
    let mut events = vec![
        state(MemberState::Starting, None),
        state(MemberState::Idle, None),
        mail(
            "team-lead",
            Some("red"),
            "Find out why the tests fail and tell implementer.",
        ),
        AgentEvent::TurnStarted,
        state(MemberState::Working, None),
        AgentEvent::ThinkingDelta {
            text: "hm".to_owned(),
        },
        AgentEvent::ThinkingDelta {
            text: "well".to_owned(),
        },
    ];
    events.extend(words("I'll look at the failing test first, and then at the code that it calls.\n\n\nBoth at once:\n"));
    events.extend([
        started("1", "Read /home/dev/calc/src/lib.rs"),
        finished("1", true, "ok, 42 lines"),
        started("2", "Grep fn mean"),
        started("3", "Read tests/mean.rs"),
        finished("2", true, "ok, 2 matches"),
        finished("3", true, ""),
        started(
            "4",
            "Bash cargo test --quiet --package calc --test mean -- --nocapture",
        ),
        finished("4", false, "exit 101"),
        AgentEvent::TextDelta {
            text: "`mean` div".to_owned(),
        },
        AgentEvent::TextDiscarded,
        AgentEvent::Retrying {
            attempt: 2,
            wait_ms: 1500,
            reason: "529 overloaded".to_owned(),
        },
    ]);
    events.extend(words("`mean` divides by `n - 1`: 平均を計算する関数です。"));
    events.extend([
        started("5", "SendMessage → implementer: mean() divides by n - 1"),
        AgentEvent::MailOut {
            to: "implementer".to_owned(),
            line: "mean() divides by n - 1: src/lib.rs:17".to_owned(),
        },
        finished("5", true, "queued for implementer"),
        started("6", "SendMessage → nobody: hello"),
        finished("6", false, "there is no member `nobody`"),
        turn_ended(12_400, None),
        state(MemberState::Idle, None),
        state(MemberState::Idle, None),
        mail(
            "tester",
            Some("no-colour"),
            "evil \u{1b}]52;c;ZXZpbA==\u{7} mail \u{202e}txt.exe",
        ),
        mail("system", Some("red"), "task #2: Prove it"),
        mail(
            "implementer",
            Some("green"),
            "idle: Solved, see src/lib.rs.",
        ),
        AgentEvent::TurnStarted,
        AgentEvent::TextDelta {
            text: "It is ".to_owned(),
        },
        AgentEvent::Notice {
            line: "tester is ready".to_owned(),
        },
        AgentEvent::TextDelta {
            text: "fixed.".to_owned(),
        },
        AgentEvent::MessageDone {
            text: "It is solved.".to_owned(),
        },
        started("7", "Bash cargo publish"),
        state(
            MemberState::WaitingPermission,
            Some("perm-1795195848228-r6huwgp: Bash cargo publish"),
        ),
        state(MemberState::Working, None),
        finished("7", false, "denied: not today"),
        AgentEvent::MessageDone {
            text: "Then I will not publish.".to_owned(),
        },
        AgentEvent::Notice {
            line: "asked to stop by team-lead: the work is done, thank you all for your patience"
                .to_owned(),
        },
        turn_ended(600, Some("the model answered 400: prompt is too long")),
        state(MemberState::Stopping, Some("approved")),
    ]);
    events
}
