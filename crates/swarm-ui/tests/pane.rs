//! What a teammate's pane looks like, against transcripts kept as files.
//!
//! `cargo test -p swarm-ui --test pane -- --ignored` writes the files anew; look at the difference before you keep it.

#![expect(
    clippy::unwrap_used,
    reason = "what cannot be drawn or read is a failed test"
)]

use std::path::{Path, PathBuf};

use swarm_protocol::{AgentEvent, Color, MemberName, MemberState, PermissionMode, TeamName, Usage};
use swarm_ui::{PaneHeader, PaneView, Theme};

fn header() -> PaneHeader {
    PaneHeader {
        name: MemberName::parse("explorer").unwrap(),
        team: Some(TeamName::parse("demo").unwrap()),
        color: Some(Color::Blue),
        model: "scripted/demo".to_owned(),
        mode: PermissionMode::AcceptEdits,
        cwd: PathBuf::from("/home/dev/calc"),
        home: Some(PathBuf::from("/home/dev")),
    }
}

fn words(text: &str) -> Vec<AgentEvent> {
    let pieces = text.split_inclusive(' ').map(|word| AgentEvent::TextDelta {
        text: word.to_owned(),
    });
    let done = AgentEvent::MessageDone {
        text: text.to_owned(),
    };
    pieces.chain([done]).collect()
}

fn started(id: &str, line: &str) -> AgentEvent {
    AgentEvent::ToolStarted {
        id: id.to_owned(),
        tool: line.split(' ').next().unwrap().to_owned(),
        line: line.to_owned(),
    }
}

fn finished(id: &str, ok: bool, line: &str) -> AgentEvent {
    AgentEvent::ToolFinished {
        id: id.to_owned(),
        tool: String::new(),
        ok,
        line: line.to_owned(),
    }
}

fn state(state: MemberState, detail: Option<&str>) -> AgentEvent {
    AgentEvent::State {
        state,
        detail: detail.map(str::to_owned),
    }
}

fn mail(from: &str, color: Option<&str>, line: &str) -> AgentEvent {
    AgentEvent::MailIn {
        from: from.to_owned(),
        color: color.map(str::to_owned),
        line: line.to_owned(),
    }
}

fn turn_ended(tokens: u64, error: Option<&str>) -> AgentEvent {
    AgentEvent::TurnEnded {
        text: String::new(),
        usage: Usage {
            input_tokens: tokens,
            ..Usage::default()
        },
        error: error.map(str::to_owned),
    }
}

/// A life with everything that a pane can show.
fn life() -> Vec<AgentEvent> {
    let mut events = vec![
        state(MemberState::Starting, None),
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
        started("1", "Read src/lib.rs"),
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
        AgentEvent::TurnStarted,
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

fn transcript(theme: Theme) -> String {
    let mut screen = Vec::new();
    let mut view = PaneView::new(&mut screen, theme, &header());
    for event in life() {
        view.event(&event);
    }
    String::from_utf8(screen).unwrap()
}

/// The kept transcripts and how each is drawn. Escapes stand as `\e` in the files.
fn kept() -> Vec<(PathBuf, String)> {
    let wide = Theme {
        color: false,
        width: Some(72),
        unicode: true,
    };
    let themes = [
        ("plain.txt", wide),
        (
            "color.txt",
            Theme {
                color: true,
                ..wide
            },
        ),
        ("unbroken.txt", Theme::PLAIN),
        (
            "narrow-ascii.txt",
            Theme {
                width: Some(34),
                unicode: false,
                ..wide
            },
        ),
    ];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    themes
        .into_iter()
        .map(|(name, theme)| {
            (
                folder.join(name),
                transcript(theme).replace('\u{1b}', "\\e"),
            )
        })
        .collect()
}

#[test]
fn a_pane_looks_as_it_is_kept() {
    for (path, drawn) in kept() {
        let expected = std::fs::read_to_string(&path).unwrap();
        assert_eq!(drawn, expected, "{}", path.display());
    }
}

#[test]
#[ignore = "writes the kept transcripts anew"]
#[expect(
    clippy::disallowed_methods,
    reason = "a file of the sources, written by hand"
)]
fn write_kept_transcripts() {
    for (path, drawn) in kept() {
        std::fs::write(path, drawn).unwrap();
    }
}

#[test]
fn without_colour_there_is_not_one_escape() {
    assert!(!transcript(Theme::PLAIN).contains('\u{1b}'));
}

#[test]
fn colours_change_nothing_but_the_look() {
    let theme = Theme {
        color: true,
        width: Some(72),
        unicode: true,
    };
    let bare = strip_sgr(&transcript(theme));
    // The two marks that colours replace by a ground of their own.
    let bare = bare
        .replace(" explorer ", "[explorer]")
        .replace(" ▲ needs an answer  ", "▲ needs an answer: ");
    let plain = transcript(Theme {
        color: false,
        ..theme
    });
    assert_eq!(bare, plain);
}

#[test]
fn a_lead_without_a_team_has_a_header_too() {
    let lead = PaneHeader {
        name: MemberName::lead(),
        team: None,
        ..header()
    };
    let mut screen = Vec::new();
    drop(PaneView::new(&mut screen, Theme::PLAIN, &lead));
    let drawn = String::from_utf8(screen).unwrap();
    assert_eq!(
        drawn,
        "[team-lead] scripted/demo · acceptEdits · ~/calc\n\n"
    );
}

#[test]
fn a_person_is_told_the_command_that_answers() {
    let plain = transcript(Theme::PLAIN);
    assert!(plain.contains("▲ needs an answer: Bash cargo publish\n"));
    assert!(plain.contains("\n    swarm approve perm-1795195848228-r6huwgp\n"));
}

#[test]
fn a_call_shows_at_once_and_its_outcome_behind_it() {
    let mut screen = Vec::new();
    let mut view = PaneView::new(&mut screen, Theme::PLAIN, &header());
    view.event(&started("1", "Read src/lib.rs"));
    drop(view);
    let before = String::from_utf8(screen).unwrap();
    assert!(before.ends_with("● Read src/lib.rs"));
    assert!(transcript(Theme::PLAIN).contains("\n● Read src/lib.rs … ok, 42 lines\n"));
}

#[test]
fn a_screen_that_is_gone_stops_nothing() {
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
    for event in life() {
        view.event(&event);
    }
}

/// The text without swarm's own sequences: `ESC [ digits and semicolons m`.
fn strip_sgr(text: &str) -> String {
    let mut pieces = text.split("\u{1b}[");
    let mut bare = pieces.next().unwrap().to_owned();
    for piece in pieces {
        let (parameters, rest) = piece.split_once('m').unwrap();
        assert!(
            parameters.bytes().all(|b| b.is_ascii_digit() || b == b';'),
            "{parameters:?}"
        );
        bare.push_str(rest);
    }
    bare
}

mod any_event {
    use super::*;
    use proptest::prelude::*;

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
            (evil(), prop::option::of(evil()), evil())
                .prop_map(|(from, color, line)| AgentEvent::MailIn { from, color, line }),
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
        ]
    }

    fn is_obeyed(c: char) -> bool {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    }

    proptest! {
        #[test]
        fn no_event_makes_a_terminal_obey(
            events in prop::collection::vec(events(), 0..12),
            color: bool, unicode: bool,
            width in prop::option::of(0_usize..100),
        ) {
            let mut screen = Vec::new();
            let mut view = PaneView::new(&mut screen, Theme { color, width, unicode }, &header());
            for event in &events {
                view.event(event);
            }
            drop(view);
            let drawn = String::from_utf8(screen).unwrap();
            let bare = if color { strip_sgr(&drawn) } else { drawn };
            prop_assert!(!bare.contains(is_obeyed), "{bare:?}");
        }
    }
}
