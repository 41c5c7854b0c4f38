//! No event can send control sequences to a terminal.

use proptest::prelude::*;
use swarm_protocol::{AgentEvent, MailText, MemberState};
use swarm_ui::Theme;
use unicode_width::UnicodeWidthStr as _;

use crate::events::{drawn, finished, strip_sgr, turn_ended};

fn evil() -> impl Strategy<Value = String> {
    let nasty = prop::sample::select(vec![
        "\u{1b}",
        "\u{1b}[",
        "\u{1b}]52;",
        "\u{9b}",
        "\u{202e}",
        "\u{7}",
        "m",
        "31;",
        "\r",
        "\n",
        "\t",
        "word ",
    ]);
    let piece = prop_oneof![
        nasty.prop_map(str::to_owned),
        any::<char>().prop_map(String::from)
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn any_state() -> impl Strategy<Value = MemberState> {
    prop::sample::select(vec![
        MemberState::Working,
        MemberState::WaitingPermission,
        MemberState::Idle,
        MemberState::Throttled,
        MemberState::OverBudget,
        MemberState::Stopped,
    ])
}

fn events() -> impl Strategy<Value = AgentEvent> {
    let id = || prop::sample::select(vec!["1", "2", "3"]).prop_map(str::to_owned);
    let tool = prop::sample::select(vec!["Read", "SendMessage"]).prop_map(str::to_owned);
    prop_oneof![
        Just(AgentEvent::TurnStarted),
        Just(AgentEvent::TextDiscarded),
        evil().prop_map(|text| AgentEvent::TextDelta { text }),
        evil().prop_map(|text| AgentEvent::ThinkingDelta { text }),
        evil().prop_map(|text| AgentEvent::MessageDone { text }),
        (id(), tool, evil()).prop_map(|(id, tool, line)| AgentEvent::ToolStarted {
            id,
            tool,
            line
        }),
        (id(), any::<bool>(), evil()).prop_map(|(id, ok, line)| finished(&id, ok, &line)),
        (
            evil(),
            prop::option::of(evil()),
            evil(),
            prop::option::of(evil())
        )
            .prop_map(|(from, color, line, more)| AgentEvent::MailIn {
                from,
                color,
                line,
                more: more.map(|text| MailText {
                    command: text.clone(),
                    text
                }),
            }),
        (evil(), evil()).prop_map(|(to, line)| AgentEvent::MailOut { to, line }),
        (any::<u32>(), any::<u64>(), evil()).prop_map(|(attempt, wait_ms, reason)| {
            AgentEvent::Retrying {
                attempt,
                wait_ms,
                reason,
            }
        }),
        (any_state(), prop::option::of(evil()))
            .prop_map(|(state, detail)| AgentEvent::State { state, detail }),
        (any::<u32>(), prop::option::of(evil()))
            .prop_map(|(tokens, error)| turn_ended(tokens.into(), error.as_deref())),
        evil().prop_map(|line| AgentEvent::Notice { line }),
        (evil(), any::<u64>(), any::<u64>()).prop_map(|(trigger, before, after)| {
            AgentEvent::Compacted {
                trigger,
                before,
                after,
            }
        }),
    ]
}

fn is_interpreted(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Below this width, signs and fixed texts of the program need more room.
const NARROW: usize = 20;

proptest! {
    #[test]
    fn no_event_sends_control_sequences(
        events in prop::collection::vec(events(), 0..12),
        color: bool,
        width in prop::option::of(0_usize..100),
    ) {
        let drawn = drawn(Theme { color, width }, &events);
        let bare = if color { strip_sgr(&drawn) } else { drawn };
        prop_assert!(!bare.contains(is_interpreted), "{bare:?}");
    }

    #[test]
    fn no_event_exceeds_the_width(
        events in prop::collection::vec(events(), 0..12),
        color: bool,
        width in NARROW..100,
    ) {
        let drawn = drawn(Theme { color, width: Some(width) }, &events);
        let bare = if color { strip_sgr(&drawn) } else { drawn };
        for line in bare.lines() {
            prop_assert!(line.width() <= width, "{line:?}");
        }
    }
}
