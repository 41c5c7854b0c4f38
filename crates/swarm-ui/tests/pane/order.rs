//! Events that arrive while text is streaming are drawn after it.

use swarm_protocol::{AgentEvent, MemberState};
use swarm_ui::{PaneView, Theme};

use crate::events::{Screen, finished, header, mail, started, state, turn_ended};

struct Pane {
    screen: Screen,
    view: PaneView<Screen>,
}

impl Pane {
    fn with_half_a_text() -> Self {
        let screen = Screen::default();
        let mut view = PaneView::new(screen.clone(), Theme::PLAIN, &header());
        view.event(&AgentEvent::TurnStarted);
        view.event(&text("The tester "));
        Self { screen, view }
    }

    fn events(&mut self, events: &[AgentEvent]) {
        for event in events {
            self.view.event(event);
        }
    }

    fn lines(&self) -> Vec<String> {
        let text = self.screen.text();
        text.lines().skip(2).map(str::to_owned).collect()
    }
}

fn text(text: &str) -> AgentEvent {
    AgentEvent::TextDelta {
        text: text.to_owned(),
    }
}

fn notice(line: &str) -> AgentEvent {
    AgentEvent::Notice {
        line: line.to_owned(),
    }
}

/// All events with an external cause.
fn asides() -> [AgentEvent; 4] {
    [
        notice("explorer shuts down"),
        mail("tester", None, "All pass."),
        AgentEvent::MailOut {
            to: "tester".to_owned(),
            line: "Good.".to_owned(),
        },
        state(MemberState::Stopping, None),
    ]
}

const ASIDES: [&str; 4] = [
    "· explorer shuts down",
    "◀ from tester: All pass.",
    "▶ to tester: Good.",
    "■ stopping",
];

#[test]
fn a_text_is_not_interrupted() {
    let mut pane = Pane::with_half_a_text();
    pane.events(&asides());
    assert_eq!(pane.lines(), ["  The tester"]);
    let whole = "The tester agrees.".to_owned();
    pane.events(&[text("agrees."), AgentEvent::MessageDone { text: whole }]);
    assert_eq!(pane.lines()[0], "  The tester agrees.");
    assert_eq!(pane.lines()[1..], ASIDES);
    pane.events(&[notice("later")]);
    assert_eq!(pane.lines()[5], "· later");
}

#[test]
fn deferred_events_are_drawn_after_the_text() {
    for (end, shown) in [
        (started("1", "Read x"), Some("● Read x")),
        (
            turn_ended(1, Some("no answer")),
            Some("✗ turn failed: no answer"),
        ),
        (turn_ended(1, None), None),
    ] {
        let mut pane = Pane::with_half_a_text();
        pane.events(&asides());
        pane.events(&[end]);
        assert_eq!(pane.lines()[1..5], ASIDES);
        assert_eq!(pane.lines().get(5).map(String::as_str), shown);
    }
    let mut pane = Pane::with_half_a_text();
    pane.events(&asides());
    pane.events(&[AgentEvent::TextDiscarded]);
    assert!(pane.lines()[1].contains("discarded"));
    assert_eq!(pane.lines()[2..], ASIDES);
}

#[test]
fn dropping_a_view_draws_deferred_events() {
    let mut pane = Pane::with_half_a_text();
    pane.events(&asides());
    let Pane { screen, view } = pane;
    drop(view);
    assert!(screen.text().ends_with("■ stopping\n"));
}

#[test]
fn a_request_to_a_person_is_drawn_immediately() {
    let mut pane = Pane::with_half_a_text();
    pane.events(&[
        notice("later"),
        state(MemberState::WaitingPermission, Some("Bash rm x")),
    ]);
    assert_eq!(
        pane.lines(),
        [
            "  The tester",
            "▲ needs an answer: Bash rm x",
            "    swarm requests --all"
        ]
    );
}

#[test]
fn results_of_parallel_calls_are_below_their_calls() {
    let mut pane = Pane::with_half_a_text();
    pane.events(&[
        started("1", "Bash make"),
        started("2", "Grep x"),
        started("3", "Read y"),
        started("4", "Bash wait"),
        started("5", "Read z"),
        finished("3", true, "3 lines"),
        finished("5", true, "5 lines"),
    ]);
    let call = ["  The tester", "● Bash make"];
    assert_eq!(pane.lines(), call);
    pane.events(&[finished("1", true, "1 line")]);
    assert_eq!(pane.lines()[1..], ["● Bash make … 1 line", "● Grep x"]);
    pane.events(&[notice("now"), finished("2", false, "no")]);
    let rest = [
        "  └ Grep x … failed: no",
        "● Read y … 3 lines",
        "● Bash wait",
    ];
    assert_eq!(pane.lines()[3..], [["· now"].as_slice(), &rest].concat());
    pane.events(&[turn_ended(1, None)]);
    assert_eq!(pane.lines()[7..], ["● Read z … 5 lines"]);
}

#[test]
fn without_streaming_text_events_are_drawn_immediately() {
    let mut pane = Pane::with_half_a_text();
    let whole = "The tester".to_owned();
    pane.events(&[AgentEvent::MessageDone { text: whole }]);
    pane.events(&[started("1", "Bash make"), notice("now")]);
    assert_eq!(pane.lines(), ["  The tester", "● Bash make", "· now"]);
}
