//! Keys and what the line shows.

use proptest::prelude::*;

use super::*;

fn typed(keys: &[Key]) -> InputLine {
    let mut line = InputLine::default();
    for key in keys {
        assert_eq!(line.key(key.clone()), None, "{key:?}");
    }
    line
}

fn text(text: &str) -> Key {
    Key::Text(text.to_owned())
}

#[test]
fn a_line_is_edited_and_submitted() {
    let mut line = typed(&[text("helo wrld"), Key::Home]);
    for key in [Key::Right, Key::Right, Key::Right, text("l"), Key::End] {
        line.key(key);
    }
    line.key(Key::DeleteWord);
    line.key(text("you"));
    assert_eq!(
        line.key(Key::Enter),
        Some(PaneInput::Line("hello you".to_owned()))
    );
    assert_eq!(line.key(Key::Enter), None, "nothing is submitted twice");
    let mut line = typed(&[text("abc"), Key::Left, Key::ClearBefore, Key::Delete]);
    assert_eq!(line.key(Key::EndOfInput), Some(PaneInput::Shutdown));
    let mut line = typed(&[text("ab"), Key::Home, Key::EndOfInput, Key::Backspace]);
    assert_eq!(line.key(Key::Interrupt), Some(PaneInput::Interrupt));
    assert_eq!(line.key(Key::Background), Some(PaneInput::Background));
    let compact = PaneInput::Line("/compact".to_owned());
    assert_eq!(line.key(Key::Compact), Some(compact));
    assert_eq!(line.key(Key::Enter), Some(PaneInput::Line("b".to_owned())));
}

#[test]
fn history_navigation_keeps_the_draft() {
    let mut line = InputLine::default();
    line.remember(vec!["one".to_owned(), "two".to_owned()]);
    line.key(text("thr"));
    let mut seen = Vec::new();
    for key in [Key::Up, Key::Up, Key::Up, Key::Down, Key::Down, Key::Down] {
        line.key(key);
        seen.push(line.text.clone());
    }
    assert_eq!(seen, ["two", "one", "one", "two", "thr", "thr"]);
    line.key(text("ee"));
    line.key(Key::Enter);
    line.key(Key::Up);
    assert_eq!(line.text, "three");
}

#[test]
fn enter_after_a_backslash_or_with_alt_inserts_a_line_break() {
    let mut line = typed(&[text("a\\"), Key::Enter, text("b"), Key::LineEnd, text("c")]);
    let said = PaneInput::Line("a\nb\nc".to_owned());
    assert_eq!(line.key(Key::Enter), Some(said));
}

#[test]
fn a_paste_of_several_lines_is_one_message() {
    let mut line = typed(&[text("a\r\nb\rc\n")]);
    let shown = line.shown(20, 8);
    assert_eq!(shown.rows, ["a", "b", "c", ""]);
    assert_eq!((shown.row, shown.before), (3, 0));
    let said = PaneInput::Line("a\nb\nc\n".to_owned());
    assert_eq!(line.key(Key::Enter), Some(said));
}

#[test]
fn wide_and_joined_graphemes_are_removed_whole() {
    for sign in ["日", "👩‍💻", "👍🏽", "e\u{301}", "🇨🇭", "❤\u{fe0f}"] {
        let mut line = typed(&[text("a"), text(sign), Key::Left, Key::Right, Key::Backspace]);
        assert_eq!(
            line.key(Key::Enter),
            Some(PaneInput::Line("a".to_owned())),
            "{sign}"
        );
    }
}

#[test]
fn a_long_text_is_shown_in_rows_around_its_cursor() {
    let mut line = typed(&[text("abcdefgh\ni")]);
    let shown = |line: &InputLine, most| {
        let shown = line.shown(4, most);
        (shown.rows.join("/"), shown.row, shown.before)
    };
    assert_eq!(shown(&line, 8), ("abcd/efgh/i".to_owned(), 2, 1));
    assert_eq!(shown(&line, 2), ("efgh/i".to_owned(), 1, 1));
    line.key(Key::Home);
    assert_eq!(shown(&line, 2), ("abcd/efgh".to_owned(), 0, 0));
    assert_eq!(shown(&line, 1), ("abcd".to_owned(), 0, 0));
}

#[test]
fn control_characters_are_not_displayed() {
    let line = typed(&[text("\u{1b}[2Ja\u{7}")]);
    assert_eq!(line.shown(20, 8).rows, ["␛[2Ja␇"]);
}

#[test]
fn a_huge_paste_is_displayed_quickly_and_dropped_bytes_are_counted() {
    for sign in ["a", "日", "e\u{301}", "👩‍💻", "\n"] {
        let mut line = typed(&[text(&sign.repeat(MAX_LENGTH / sign.len()))]);
        // Processing the whole text each time would take minutes and exceed the test timeout.
        for _ in 0..50 {
            line.key(Key::Left);
            let shown = line.shown(80, 8);
            assert!(shown.rows.len() <= 8 && shown.rows.iter().all(|row| columns(row) <= 80));
        }
    }
    let mut line = typed(&[text(&"a".repeat(MAX_LENGTH + 3))]);
    assert_eq!((line.take_left_out(), line.take_left_out()), (3, 0));
}

#[test]
fn a_search_can_be_cancelled_and_restores_the_draft() {
    let mut line = InputLine::default();
    line.remember(["fix a", "run tests", "fix b"].map(str::to_owned).to_vec());
    let mut seen = Vec::new();
    for key in [
        text("draft"),
        Key::Search,
        text("fi"),
        text("x"),
        Key::Search,
        Key::Search,
    ] {
        line.key(key);
        seen.push(line.text.clone());
    }
    assert_eq!(seen, ["draft", "draft", "fix b", "fix b", "fix a", "fix a"]);
    assert_eq!(line.searched(), Some("fix"));
    line.key(Key::Interrupt);
    assert_eq!((line.text(), line.searched()), ("draft", None));
    for key in [Key::Search, text("run")] {
        line.key(key);
    }
    let said = PaneInput::Line("run tests".to_owned());
    assert_eq!(line.key(Key::Enter), Some(said));
}

#[test]
fn tab_cycles_through_the_completions_of_a_word() {
    let mut line = typed(&[text("see @s")]);
    assert_eq!(line.to_complete(), Some("see @s"));
    line.offer(4, ["@src/", "@setup.py"].map(str::to_owned).to_vec());
    let mut seen = Vec::new();
    for _ in 0..3 {
        line.key(Key::Complete);
        seen.push(line.text.clone());
    }
    assert_eq!(seen, ["see @src/", "see @setup.py", "see @src/"]);
    line.key(text("x"));
    assert_eq!(line.to_complete(), Some("see @src/x"));
    assert_eq!(line.completions(), None);
}

proptest! {
    #[test]
    fn graphemes_do_not_depend_on_the_starting_point(
        text in "(\\PC|a|\u{301}|\u{200d}|🇨|🇭|👩|🏽|日){0,20}",
    ) {
        let mut at = 0;
        for sign in graphemes(&text) {
            at += sign.len();
            let run = run_start(&text, at);
            prop_assert_eq!(graphemes(&text[run..at]).last(), Some(sign));
        }
        prop_assert_eq!(at, text.len());
    }

    #[test]
    fn any_input_fits_and_the_cursor_stays_at_grapheme_boundaries(
        keys in prop::collection::vec(prop_oneof![
            "\\PC{0,6}|日本|👩‍💻|\n".prop_map(Key::Text), Just(Key::Backspace), Just(Key::Delete), Just(Key::Left),
            Just(Key::Right), Just(Key::Home), Just(Key::End), Just(Key::ClearBefore), Just(Key::DeleteWord),
            Just(Key::Search), Just(Key::Complete), Just(Key::Up), Just(Key::Down),
        ], 0..30),
        room in 2_usize..30,
        most in 1_usize..6,
    ) {
        let mut line = InputLine::default();
        for key in keys {
            line.key(key);
            prop_assert!(line.text.is_char_boundary(line.cursor));
            let shown = line.shown(room, most);
            let fits = shown.rows.iter().all(|row| columns(row) <= room);
            prop_assert!(fits && shown.rows.len() <= most, "{:?}", shown);
            prop_assert!(shown.row < shown.rows.len() && shown.before <= room, "{:?}", shown);
        }
    }
}
