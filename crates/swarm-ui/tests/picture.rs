//! Pictures of panes: straight columns, no broken markup, whatever a pane showed.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a picture that cannot be read is a failed test"
)]

use proptest::prelude::*;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use swarm_protocol::Color;
use swarm_ui::picture::{Pane, Window, svg, text};

/// A lead beside two teammates, as `tmux` lays them out with titles on the border above each pane.
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
fn a_window_in_characters_has_its_panes_in_boxes() {
    assert_eq!(
        text(&[team()], true),
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
fn boxes_are_drawn_in_ascii_where_that_is_all_there_is() {
    let mut window = team();
    window.panes.truncate(2);
    window.panes[1].height = 9;
    window.status.clear();
    let drawn = text(&[window], false);
    assert!(
        drawn.contains("\n+-[team-lead]--+- explorer · working ----+\n"),
        "{drawn}"
    );
    assert!(
        drawn.ends_with("\n+--------------+-------------------------+\n"),
        "{drawn}"
    );
}

#[test]
fn a_lone_pane_without_a_title_gets_a_whole_frame() {
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
    assert_eq!(text(&[window], true), "┌──────┐\n│hi    │\n└──────┘\n");
}

/// An element of a picture.
struct Element {
    name: String,
    attributes: Vec<(String, String)>,
    text: String,
}

impl Element {
    fn of(tag: &BytesStart<'_>) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let attributes = tag.attributes().map(|attribute| {
            let attribute = attribute.unwrap();
            (
                text(attribute.key.as_ref()),
                attribute.unescape_value().unwrap().into_owned(),
            )
        });
        Self {
            name: text(tag.name().as_ref()),
            attributes: attributes.collect(),
            text: String::new(),
        }
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.attributes
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    fn length(&self, name: &str) -> f64 {
        self.get(name).unwrap().parse().unwrap()
    }
}

/// The elements of a picture. Fails on markup that is not well-formed.
fn elements(svg: &str) -> Vec<Element> {
    assert!(svg.chars().all(is_xml_char));
    let mut reader = Reader::from_str(svg);
    let (mut found, mut depth, mut roots) = (Vec::<Element>::new(), 0, 0);
    loop {
        match reader.read_event().unwrap() {
            Event::Start(tag) => {
                roots += usize::from(depth == 0);
                depth += 1;
                found.push(Element::of(&tag));
            }
            Event::Empty(tag) => found.push(Element::of(&tag)),
            Event::End(_) => depth -= 1,
            Event::Text(piece) => {
                let piece = piece.decode().unwrap();
                if depth > 0 && piece != "\n" {
                    found.last_mut().unwrap().text += &piece;
                }
            }
            Event::GeneralRef(entity) => {
                let entity = entity.decode().unwrap();
                let resolved = quick_xml::escape::resolve_predefined_entity(&entity);
                found.last_mut().unwrap().text += resolved.unwrap();
            }
            Event::Eof => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((depth, roots), (0, 1));
    found
}

/// Production `Char` of XML 1.0.
fn is_xml_char(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

/// The run with this text.
fn run<'a>(elements: &'a [Element], text: &str) -> &'a Element {
    let found = elements
        .iter()
        .find(|element| element.name == "text" && element.text == text);
    found.unwrap_or_else(|| panic!("no run `{text}`"))
}

/// Width of one cell in the picture.
const CELL: f64 = 8.4;

#[test]
fn every_run_of_text_stands_in_its_own_cells() {
    let elements = elements(&svg(&[team()]));
    let left = run(&elements, "$").length("x");
    let runs = [
        ("swarm", 2, 5),
        ("日", 22, 2),
        ("本", 24, 2),
        (".txt", 26, 4),
        ("…", 31, 1),
    ];
    for (text, column, cells) in runs {
        let (x, length) = (
            run(&elements, text).length("x"),
            run(&elements, text).length("textLength"),
        );
        assert!(
            (x - left - CELL * f64::from(column)).abs() < 0.01,
            "{text} at {x}"
        );
        assert!(
            (length - CELL * f64::from(cells)).abs() < 0.01,
            "{text} takes {length}"
        );
    }
}

#[test]
fn attributes_of_the_terminal_are_those_of_the_picture() {
    let elements = elements(&svg(&[team()]));
    assert_eq!(run(&elements, "hello").get("font-weight"), Some("bold"));
    assert_eq!(run(&elements, "ok").get("fill-opacity"), Some(".6"));
    assert_eq!(run(&elements, "●").get("fill"), Some("#6ea8fe"));
    assert_eq!(run(&elements, "done").get("fill"), Some("#14161c"));
    assert_eq!(run(&elements, "\"c\"").get("fill"), None);
    assert_eq!(run(&elements, "explorer").get("fill"), Some("#6ea8fe"));
    run(&elements, "[claude-swarm] 0:swarm-view*");
}

#[test]
fn lines_of_boxes_are_strokes() {
    let elements = elements(&svg(&[team()]));
    assert!(
        elements
            .iter()
            .all(|element| !element.text.contains(['─', '│', '┬']))
    );
    let strokes: Vec<_> = elements
        .iter()
        .filter_map(|element| element.get("stroke"))
        .collect();
    for color in ["#f0717a", "#6ea8fe", "#ff8700", "#d5d9e2"] {
        assert!(strokes.contains(&color), "{color} in {strokes:?}");
    }
}

#[test]
fn a_border_reaches_the_edge_of_its_window() {
    let elements = elements(&svg(&[team()]));
    let edge = format!("M{} ", run(&elements, "$").get("x").unwrap());
    let red = elements
        .iter()
        .find(|element| element.get("stroke") == Some("#f0717a"));
    let path = red.and_then(|element| element.get("d")).unwrap();
    assert!(path.starts_with(&edge), "{path} begins at {edge}");
}

#[test]
fn a_window_beyond_all_measure_is_cut() {
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
        text(std::slice::from_ref(&huge), true)
            .lines()
            .all(|line| line.chars().count() <= 514)
    );
    elements(&svg(&[huge]));
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
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_capture_gives_sound_markup(windows in prop::collection::vec(any_window(), 0..3)) {
        elements(&svg(&windows));
    }

    #[test]
    fn any_capture_gives_lines_that_a_terminal_only_shows(windows in prop::collection::vec(any_window(), 0..3)) {
        let drawn = text(&windows, true);
        let obeyed = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        prop_assert!(!drawn.contains(obeyed));
    }
}
