//! Pictures of panes: aligned columns and valid markup for any content.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "an unreadable picture fails the test"
)]

use std::time::Duration;

use proptest::prelude::*;
use quick_xml::Reader;
use quick_xml::events::Event;
use swarm_protocol::Color;
use swarm_ui::picture::{Frame, Pane, Window, recording, svg, text};

/// A lead next to two teammates, in tmux's layout with titles on the border above each pane.
fn team() -> Window {
    let pane = |left, top, width, height| Pane {
        left,
        top,
        width,
        height,
        ..Pane::default()
    };
    Window {
        name: "swarm-view".to_owned(),
        columns: 40,
        rows: 10,
        panes: vec![
            Pane {
                title: "team-lead".to_owned(),
                color: Some(Color::Red),
                active: true,
                content: "$ swarm run\n\u{1b}[1mhello\u{1b}[0m\n".to_owned(),
                ..pane(0, 1, 14, 9)
            },
            Pane {
                title: "explorer · working".to_owned(),
                color: Some(Color::Blue),
                content: "\u{1b}[34m●\u{1b}[0m Read 日本.txt \u{1b}[2m… ok\u{1b}[0m\n── turn 2 ──"
                    .to_owned(),
                ..pane(15, 1, 25, 4)
            },
            Pane {
                title: "a title that is much too long for its border".to_owned(),
                color: Some(Color::Orange),
                content: "a < b & \"c\"\n\u{1b}[7mdone\u{1b}[0m \u{1b}[4munder lined\u{1b}[0m"
                    .to_owned(),
                ..pane(15, 6, 25, 4)
            },
        ],
        status: "[claude-swarm] 0:swarm-view*".to_owned(),
    }
}

#[test]
fn a_text_picture_draws_panes_as_boxes() {
    assert_eq!(
        text(&[team()]),
        "\
swarm-view
┌─[team-lead]──┬─ explorer · working ────┐
│$ swarm run   │● Read 日本.txt … ok     │
│hello         │── turn 2 ──             │
│              │                         │
│              │                         │
│              ├─ a title that is much… ─┤
│              │a < b & \"c\"              │
│              │done under lined         │
│              │                         │
│              │                         │
└──────────────┴─────────────────────────┘
[claude-swarm] 0:swarm-view*
"
    );
}

#[test]
fn a_single_pane_without_a_title_has_a_complete_frame() {
    let window = Window {
        columns: 6,
        rows: 1,
        panes: vec![Pane {
            width: 6,
            height: 1,
            content: "hi".to_owned(),
            ..Pane::default()
        }],
        ..Window::default()
    };
    assert_eq!(text(&[window]), "┌──────┐\n│hi    │\n└──────┘\n");
}

/// Returns the text of a picture. Fails on markup that is not well-formed.
fn text_of(svg: &str) -> String {
    assert!(svg.chars().all(is_xml_char));
    let mut reader = Reader::from_str(svg);
    let (mut text, mut depth, mut roots) = (String::new(), 0, 0);
    loop {
        match reader.read_event().unwrap() {
            Event::Start(_) => {
                roots += usize::from(depth == 0);
                depth += 1;
            }
            Event::End(_) => depth -= 1,
            Event::Text(piece) => text += &piece.decode().unwrap(),
            Event::GeneralRef(entity) => {
                let entity = entity.decode().unwrap();
                let numeric = entity.strip_prefix('#').map(|_| "?");
                let resolved = quick_xml::escape::resolve_predefined_entity(&entity).or(numeric);
                text += resolved.unwrap();
            }
            Event::Empty(_) => {}
            Event::Eof => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((depth, roots), (0, 1));
    text
}

#[test]
fn a_recording_shows_one_frame_at_a_time_from_the_first_to_the_last() {
    let frame = |second, name: &str| Frame {
        at: Duration::from_secs(second),
        windows: vec![Window {
            name: name.to_owned(),
            ..team()
        }],
    };
    let svg = recording(&[frame(3, "one"), frame(4, "two"), frame(9, "three")]);
    let text = text_of(&svg);
    let at = ["one", "two", "three"].map(|name| text.find(name).unwrap());
    assert!(at.is_sorted());
    // Ten seconds: six between the frames, and four of the last one.
    for line in [
        ".frame { visibility: hidden; animation: 10.00s step-end infinite }",
        "@keyframes f0 { 0% { visibility: hidden } 0.000% { visibility: visible } 10.000% { visibility: hidden } }",
        "@keyframes f1 { 0% { visibility: hidden } 10.000% { visibility: visible } 60.000% { visibility: hidden } }",
        "@keyframes f2 { 0% { visibility: hidden } 60.000% { visibility: visible } 100.000% { visibility: hidden } }",
    ] {
        assert!(svg.contains(line), "{line}");
    }
    assert_eq!(svg.matches("<g class=\"frame\"").count(), 3);
    text_of(&recording(&[]));
}

/// Production `Char` of XML 1.0.
fn is_xml_char(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

#[test]
fn a_picture_has_the_text_and_the_colours_of_the_panes() {
    let drawn = svg(&[team()]);
    let text = text_of(&drawn);
    for part in [
        "hello",
        "日本",
        "a < b & \"c\"",
        "explorer · working",
        "[claude-swarm]",
    ] {
        let has = |text: &str| text.replace('\n', "").contains(part);
        assert!(has(&text), "{part} in {text}");
    }
    for class in [
        "bold",
        "dimmed",
        "underline",
        "bg-white",
        "fg-red",
        "fg-bright-blue",
        "fg-ansi256-208",
    ] {
        assert!(drawn.contains(class), "{class} in {drawn}");
    }
}

#[test]
fn a_window_of_excessive_size_is_truncated() {
    let huge = Window {
        columns: u16::MAX,
        rows: 3,
        panes: vec![Pane {
            left: 500,
            top: u16::MAX,
            width: u16::MAX,
            height: u16::MAX,
            ..Pane::default()
        }],
        ..Window::default()
    };
    assert!(
        text(std::slice::from_ref(&huge))
            .lines()
            .all(|line| line.chars().count() <= 514)
    );
    text_of(&svg(&[huge]));
}

fn any_content() -> impl Strategy<Value = String> {
    let nasty = prop::sample::select(vec![
        "\u{1b}[",
        "31m",
        "38;5;",
        "48;2;1;2;3m",
        "\u{1b}]8;;",
        "\u{1b}\\",
        "\u{e}",
        "\u{f}",
        "\u{0}",
        "<",
        "&",
        "\"",
        "]]>",
        "日",
        "\u{301}",
        "\u{200d}",
        "\u{fffe}",
        "\u{ffff}",
        "\u{202e}",
        "\n",
        "\t",
        "─",
        " ",
    ]);
    let piece = prop_oneof![
        nasty.prop_map(str::to_owned),
        any::<char>().prop_map(String::from)
    ];
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

fn any_pane() -> impl Strategy<Value = Pane> {
    let place = (0..30_u16, 0..12_u16, 0..30_u16, 0..12_u16);
    let color = prop::option::of(prop::sample::select(Color::ALL.to_vec()));
    (place, any_content(), color, any::<bool>(), any_content()).prop_map(
        |((left, top, width, height), title, color, active, content)| Pane {
            left,
            top,
            width,
            height,
            title,
            color,
            active,
            content,
        },
    )
}

fn any_window() -> impl Strategy<Value = Window> {
    let size = (0..40_u16, 0..14_u16);
    (
        size,
        any_content(),
        prop::collection::vec(any_pane(), 0..4),
        any_content(),
    )
        .prop_map(|((columns, rows), name, panes, status)| Window {
            name,
            columns,
            rows,
            panes,
            status,
        })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn any_capture_gives_valid_markup(windows in prop::collection::vec(any_window(), 0..3)) {
        text_of(&svg(&windows));
    }

    #[test]
    fn any_capture_gives_lines_without_control_sequences(windows in prop::collection::vec(any_window(), 0..3)) {
        let drawn = text(&windows);
        let obeyed = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        prop_assert!(!drawn.contains(obeyed));
    }
}
