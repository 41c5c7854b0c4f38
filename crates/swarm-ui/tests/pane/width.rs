//! A pane follows the current width.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use swarm_protocol::AgentEvent;
use swarm_ui::{PaneView, Theme};
use unicode_width::UnicodeWidthStr as _;

use crate::events::{Screen, drawn, header, strip_sgr, turn_ended, words};
use crate::session::session;

const WIDTHS: [usize; 3] = [20, 54, 100];

fn theme(width: usize) -> Theme {
    Theme::PLAIN.with_width(width)
}

fn too_long(drawn: &str, width: usize) -> Option<&str> {
    drawn.lines().find(|line| line.width() > width)
}

/// Removes the positions at which the text is wrapped.
fn dense(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

#[test]
fn no_line_of_a_session_is_wider_than_the_pane() {
    for width in WIDTHS {
        for color in [false, true] {
            let theme = Theme {
                color,
                ..theme(width)
            };
            let bare = strip_sgr(&drawn(theme, &session()));
            assert_eq!(too_long(&bare, width), None, "{width}\n{bare}");
        }
    }
}

#[test]
fn wrapped_text_keeps_every_word_intact() {
    let said = "I'll look at the failing test first, and then at the code that it calls: \
                `mean` divides by `n - 1`, which is right for a sample and wrong for a whole.";
    for width in WIDTHS {
        let bare = drawn(theme(width), &words(said));
        let lines: Vec<&str> = bare.lines().skip_while(|line| !line.is_empty()).collect();
        assert!(lines[1..].iter().all(|line| line.starts_with("  ")));
        let again: Vec<&str> = lines
            .iter()
            .flat_map(|line| line.split_whitespace())
            .collect();
        assert_eq!(again, said.split_whitespace().collect::<Vec<_>>());
    }
}

#[test]
fn a_notice_has_hanging_indentation() {
    let notice = AgentEvent::Notice {
        line: "everybody is idle but tasks are open".to_owned(),
    };
    assert!(drawn(theme(20), &[notice]).ends_with("\n· everybody is idle\n  but tasks are open\n"));
}

#[test]
fn a_rule_fits_and_has_a_maximum_length() {
    for (width, rule) in [(20, 20), (54, 54), (100, 64)] {
        let drawn = drawn(
            theme(width),
            &[turn_ended(1, None), AgentEvent::TurnStarted],
        );
        let last = drawn.lines().last().unwrap();
        assert!(last.starts_with("── turn 2 ─"));
        assert_eq!(last.width(), rule);
    }
}

#[test]
fn each_word_is_wrapped_at_the_current_width() {
    let width = Arc::new(AtomicUsize::new(40));
    let source = Arc::clone(&width);
    let screen = Screen::default();
    let mut view = PaneView::measured(
        screen.clone(),
        Theme::PLAIN,
        Box::new(move || Some(source.load(Ordering::Relaxed))),
        &header(),
    );
    let say = |view: &mut PaneView<Screen>| {
        view.event(&AgentEvent::TextDelta {
            text: "one two three four five ".to_owned(),
        });
    };
    say(&mut view);
    width.store(20, Ordering::Relaxed);
    say(&mut view);
    width.store(60, Ordering::Relaxed);
    say(&mut view);
    assert!(screen.text().ends_with(
        "\n\n  one two three four five\n  one two three four\n  five one two three four five"
    ));
}

#[test]
fn a_word_is_drawn_once_it_is_complete_or_too_long() {
    let screen = Screen::default();
    let mut view = PaneView::new(screen.clone(), theme(20), &header());
    let mut shown = |text: &str| {
        view.event(&AgentEvent::TextDelta {
            text: text.to_owned(),
        });
        let text = screen.text();
        text.split_once("\n\n").unwrap().1.to_owned()
    };
    assert_eq!(shown("ab"), "");
    assert_eq!(shown("c d"), "  abc");
    assert_eq!(
        shown("efghijklmnopqrstuvwxyz"),
        "  abc\n  defghijklmnopqrstu"
    );
}

proptest! {
    #[test]
    fn no_text_is_lost_for_any_pieces_and_width(
        said in "([a-zA-Z0-9.,`]{1,30}[ \n]{1,2}|日本){0,20}",
        width in prop::sample::select(WIDTHS.to_vec()),
    ) {
        let bare = drawn(theme(width), &words(&said));
        let text = bare.split_once("\n\n").unwrap().1;
        prop_assert_eq!(dense(text), dense(&said));
        prop_assert_eq!(too_long(&bare, width), None);
    }
}
