//! Format of single lines.

use swarm_protocol::{AgentEvent, DetailLine, LineChange, MailText, MemberName, MemberState};
use swarm_ui::{PaneHeader, PaneView, Theme};

use crate::events::{Screen, drawn, finished, header, mail, started, state, turn_ended};
use crate::session::session;

/// Returns the lines below the header.
fn lines(events: &[AgentEvent]) -> Vec<String> {
    let drawn = drawn(Theme::PLAIN, events);
    drawn.lines().skip(2).map(str::to_owned).collect()
}

#[test]
fn a_lead_without_a_team_has_a_header_too() {
    let lead = PaneHeader {
        name: MemberName::lead(),
        team: None,
        model: "anthropic/claude-sonnet-4-6".to_owned(),
        ..header()
    };
    let screen = Screen::default();
    drop(PaneView::new(screen.clone(), Theme::PLAIN, &lead));
    assert_eq!(
        screen.text(),
        "[team-lead] claude-sonnet-4-6 · acceptEdits · ~/calc\n\n"
    );
}

#[test]
fn a_request_shows_the_commands_that_answer_it() {
    let plain = drawn(Theme::PLAIN, &session());
    assert!(plain.contains("▲ needs an answer: Bash cargo publish\n"));
    assert!(plain.contains("\n    swarm approve r6huwgp --team demo\n"));
}

#[test]
fn a_call_is_drawn_immediately_and_followed_by_its_outcome() {
    let screen = Screen::default();
    let mut view = PaneView::new(screen.clone(), Theme::PLAIN, &header());
    view.event(&started("1", "Read src/lib.rs"));
    assert!(screen.text().ends_with("\n● Read src/lib.rs"));
    view.event(&finished("1", true, "ok, 42 lines"));
    assert!(
        screen
            .text()
            .ends_with("\n● Read src/lib.rs … ok, 42 lines\n")
    );
}

#[test]
fn paths_in_calls_and_outcomes_are_shortened() {
    let events = [
        started("1", "Read /home/dev/calc/src/lib.rs"),
        finished("1", false, "/home/dev/calc/src/lib.rs does not exist"),
        started("2", "Read /home/dev/other/x"),
        finished("2", true, ""),
        started("3", "Bash cd /srv && ls /home/dev/calc"),
        finished("3", true, ""),
        // The call that a person decides on is shown unchanged.
        state(
            MemberState::WaitingPlan,
            Some("Write /home/dev/calc/src/lib.rs"),
        ),
    ];
    assert_eq!(
        lines(&events),
        [
            "● Read src/lib.rs … failed: src/lib.rs does not exist",
            "● Read ~/other/x … ok",
            "● Bash cd /srv && ls ~/calc … ok",
            "▲ needs an answer: Write /home/dev/calc/src/lib.rs",
            "    swarm requests --all",
        ]
    );
}

#[test]
fn an_outcome_on_a_separate_line_repeats_its_call_in_short() {
    for (call, outcome, expected) in [
        (
            "Grep count|price in the whole of src/ and tests/",
            "3 lines in 1 file",
            "  └ Grep count|price in the who… 3 lines in 1 file",
        ),
        (
            "Read src/a/deep/path/lib.rs",
            "9 lines",
            "  └ Read lib.rs … 9 lines",
        ),
        ("Glob **/*.rs", "2 files", "  └ Glob **/*.rs … 2 files"),
    ] {
        let events = [
            started("1", call),
            mail("bob", None, "hello"),
            finished("1", true, outcome),
        ];
        assert_eq!(lines(&events)[2..], [expected]);
    }
}

#[test]
fn in_a_narrow_pane_the_outcome_takes_precedence_over_its_call() {
    let theme = Theme::PLAIN.with_width(34);
    let events = [
        started("1", "Bash cargo publish"),
        mail("bob", None, "hello"),
        finished("1", false, "denied: not today"),
    ];
    assert!(drawn(theme, &events).ends_with("\n  └ Bash … failed: denied: not to…\n"));
}

#[test]
fn before_its_first_turn_a_member_only_shows_that_it_waits() {
    let idle = state(MemberState::Idle, None);
    let events = [
        idle.clone(),
        idle.clone(),
        mail("team-lead", None, "Begin."),
        AgentEvent::TurnStarted,
        turn_ended(600, None),
        idle,
    ];
    assert_eq!(
        lines(&events),
        [
            "○ waiting for mail",
            "◀ from team-lead: Begin.",
            "○ idle · 1 turn · 600 tokens · waiting for mail",
        ]
    );
}

#[test]
fn a_narrow_idle_line_omits_the_obvious() {
    let theme = Theme::PLAIN.with_width(34);
    let events = [turn_ended(600, None), state(MemberState::Idle, None)];
    assert!(drawn(theme, &events).ends_with("\n○ idle · 1 turn · 600 tokens\n"));
}

#[test]
fn a_closed_terminal_does_not_stop_the_view() {
    struct Gone;
    impl std::io::Write for Gone {
        fn write(&mut self, _bytes: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
    }
    let mut view = PaneView::new(Gone, Theme::PLAIN, &header());
    for event in session() {
        view.event(&event);
    }
}

#[test]
fn a_retry_is_shown_once_and_uncounted_tokens_are_omitted() {
    let reason = "slow down".to_owned();
    let events = [
        state(MemberState::Throttled, Some("retries in 2 s: slow down")),
        AgentEvent::Retrying {
            attempt: 2,
            wait_ms: 1500,
            reason,
        },
        state(MemberState::Working, None),
        turn_ended(0, None),
        state(MemberState::Idle, None),
    ];
    assert_eq!(
        lines(&events),
        [
            "↻ attempt 2 in 1.5 s: slow down",
            "○ idle · 1 turn · waiting for mail",
        ]
    );
}

fn with_detail(event: AgentEvent, lines: Vec<DetailLine>) -> AgentEvent {
    let mut event = event;
    if let AgentEvent::ToolFinished { detail, .. } = &mut event {
        *detail = lines;
    }
    event
}

#[test]
fn output_is_folded_below_its_call_and_expanded_on_request() {
    let printed: Vec<_> = (1..=8)
        .map(|line| DetailLine::output(format!("  test {line}\u{1b}[31m ok")))
        .collect();
    let changed = DetailLine {
        number: Some(17),
        change: Some(LineChange::Added),
        text: "    sum / n".to_owned(),
    };
    let events = [
        AgentEvent::Expand,
        started("1", "Bash cargo test"),
        with_detail(finished("1", true, "ok, 8 lines"), printed),
        started("2", "Edit src/lib.rs"),
        with_detail(finished("2", true, "+1 -0 lines"), vec![changed]),
        AgentEvent::Expand,
    ];
    let lines = lines(&events);
    assert_eq!(
        lines[..10],
        [
            "· nothing to expand",
            "● Bash cargo test … ok, 8 lines",
            "    … +3 lines (Ctrl-O)",
            "      test 4 ok",
            "      test 5 ok",
            "      test 6 ok",
            "      test 7 ok",
            "      test 8 ok",
            "● Edit src/lib.rs … +1 -0 lines",
            "    17 +     sum / n",
        ]
    );
    assert_eq!(lines[10], "● Bash cargo test");
    assert_eq!(lines[11], "      test 1 ok");
    assert_eq!(lines.len(), 19);
}

#[test]
fn a_long_message_shows_its_first_rows_and_a_command_for_the_rest() {
    let long = |line: &str, text: &str| {
        let mut event = mail("team-lead", None, line);
        if let AgentEvent::MailIn { more, .. } = &mut event {
            *more = Some(MailText {
                text: text.to_owned(),
                command: "swarm inbox bob".to_owned(),
            });
        }
        event
    };
    let text: String = (1..=12).fold(String::new(), |text, line| text + &format!("step {line}\n"));
    assert_eq!(
        lines(&[long("step 1", text.trim())]),
        [
            "◀ from team-lead: step 1",
            "  step 2",
            "  step 3",
            "  step 4",
            "  step 5",
            "  step 6",
            "  step 7",
            "  … +5 lines: swarm inbox bob",
        ]
    );
    let theme = Theme::PLAIN.with_width(40);
    let prompt = "Find out why the import is slow, and write down what you find.";
    let screen = drawn(theme, &[long(prompt, prompt)]);
    assert!(
        screen.ends_with(
            "\n◀ from team-lead\n  Find out why the import is slow, and\n  write down what you find.\n"
        ),
        "{screen}"
    );
}
