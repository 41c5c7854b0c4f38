//! Tests of the pager on a terminal emulator.

use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use proptest::prelude::*;

use super::*;
use crate::console::emulator::Emulator;
use crate::console::{Choice, Console, Dialog, PaneInput, TextDocument};
use crate::theme::Theme;

impl Emulator {
    fn last(&self) -> String {
        self.rows().pop().unwrap_or_default()
    }
}

/// A console of 40 columns and 10 rows, and its terminal.
fn console() -> (Console, Emulator) {
    let emulator = Emulator::new((40, 10));
    let out = Box::new(emulator.clone());
    let width = Box::new(|| Some(40));
    let console =
        Console::closed(out, Box::new(io::sink()), Theme::PLAIN, width, "bob > ").opened();
    console.measure_height(Box::new(|| Some(10)));
    (console, emulator)
}

fn numbers(count: usize) -> String {
    let lines: Vec<String> = (1..=count)
        .map(|number| format!("line {number}\n"))
        .collect();
    lines.concat()
}

fn pager(text: &str) -> Pager {
    Pager::new("numbers", Box::new(TextDocument::new(text)))
}

fn press(console: &Console, keys: &str) {
    for key in keys.chars() {
        let key = match key {
            '\n' => Key::Enter,
            key => Key::Text(key.to_string()),
        };
        assert_eq!(console.key(key), None);
    }
}

#[test]
fn keys_scroll_and_the_last_page_is_full() {
    let (console, terminal) = console();
    console.page(pager(&numbers(300)));
    assert_eq!(terminal.rows()[..2], ["line 1", "line 2"]);
    assert!(
        terminal.last().starts_with("numbers · 2 %"),
        "{}",
        terminal.last()
    );
    for (key, first) in [
        (Key::Down, "line 2"),
        (Key::PageDown, "line 10"),
        (Key::Text("d".to_owned()), "line 14"),
        (Key::Up, "line 13"),
        (Key::Text("u".to_owned()), "line 9"),
        (Key::PageUp, "line 1"),
        (Key::Up, "line 1"),
        (Key::Text("G".to_owned()), "line 292"),
        (Key::Down, "line 292"),
        (Key::PageUp, "line 284"),
        (Key::End, "line 292"),
        (Key::Home, "line 1"),
    ] {
        console.key(key.clone());
        assert_eq!(terminal.rows()[0], first, "{key:?}");
    }
    press(&console, "G");
    assert_eq!(terminal.rows()[8], "line 300");
    assert!(
        terminal.last().starts_with("numbers · end"),
        "{}",
        terminal.last()
    );
}

#[test]
fn a_search_moves_to_the_next_match_and_says_if_there_is_none() {
    let (console, terminal) = console();
    console.page(pager(&numbers(300)));
    let shows = |line: &str| terminal.rows().iter().any(|row| row == line);
    press(&console, "/LINE 25");
    assert_eq!(terminal.last(), "/LINE 25");
    press(&console, "\n");
    assert!(
        terminal.last().starts_with("not found below: LINE 25"),
        "{}",
        terminal.last()
    );
    press(&console, "/ine 25\n");
    assert!(shows("line 25"));
    press(&console, "n");
    assert!(shows("line 250"));
    press(&console, "nn");
    assert!(shows("line 252"));
    press(&console, "NNN");
    assert!(shows("line 25"));
    press(&console, "N");
    assert!(
        terminal.last().starts_with("not found above"),
        "{}",
        terminal.last()
    );
    // An empty text repeats the search, and Esc cancels one.
    press(&console, "/\n");
    assert!(shows("line 250"));
    press(&console, "/x");
    console.key(Key::Interrupt);
    assert!(
        terminal.last().starts_with("numbers"),
        "{}",
        terminal.last()
    );
    // From the end the last match is found first.
    press(&console, "G/line 2\n");
    assert!(shows("line 299"));
}

#[test]
fn words_on_two_rows_are_found() {
    let (console, terminal) = console();
    let text = format!(
        "{}one two three four five six seven eight nine\n{}",
        numbers(50),
        numbers(50)
    );
    console.page(pager(&text));
    press(&console, "/seven eight nine\n");
    assert!(
        terminal.rows().contains(&"nine".to_owned()),
        "{:?}",
        terminal.rows()
    );
}

#[test]
fn output_dialogs_and_text_wait_until_the_pager_is_closed() {
    let (console, terminal) = console();
    let mut out = console.writer();
    let mut say = |text: &str| {
        out.write_all(text.as_bytes()).unwrap();
        out.flush().unwrap();
    };
    say("before\n");
    console.key(Key::Text("draft".to_owned()));
    console.page(pager(&numbers(3)));
    say("meanwhile\n");
    let dialog = Dialog {
        id: "perm-1".to_owned(),
        question: "bob asks: Bash make".to_owned(),
        choices: vec![Choice::new('1', "yes")],
        ..Dialog::default()
    };
    console.ask(Some(dialog), Duration::from_hours(1));
    assert_eq!(terminal.rows()[..4], ["line 1", "line 2", "line 3", ""]);
    assert!(
        terminal.last().starts_with("▲ bob asks"),
        "{}",
        terminal.last()
    );
    // Keys belong to the pager.
    press(&console, "1");
    press(&console, "q");
    let rows = [
        "before",
        "meanwhile",
        "▲ bob asks: Bash make",
        "  1: yes",
        "clear the line (Ctrl-C) to answer with…",
        "bob > draft",
    ];
    assert_eq!(terminal.rows()[..6], rows);
    console.clear_line();
    press(&console, "1");
    assert_eq!(
        terminal.rows()[5],
        "bob > 1",
        "it was not answered too early"
    );
}

#[test]
fn a_suspended_or_closed_console_leaves_the_pager_and_returns_to_it() {
    let (console, terminal) = console();
    let mut out = console.writer();
    console.page(pager(&numbers(3)));
    out.write_all(b"meanwhile\n").unwrap();
    out.flush().unwrap();
    console.close();
    assert_eq!(terminal.rows()[0], "meanwhile");
    console.reopen();
    assert_eq!(terminal.rows()[0], "line 1");
    assert!(console.close_view());
    assert!(!console.close_view());
    assert_eq!(
        terminal.rows()[..2],
        ["meanwhile", "bob > "].map(str::trim_end)
    );
}

#[derive(Clone)]
struct Growing(Arc<Mutex<(usize, usize)>>);

impl Document for Growing {
    fn blocks(&self) -> usize {
        self.0.lock().0
    }

    fn rows(&self, block: usize, _theme: Theme) -> Vec<String> {
        vec![format!("block {block}")]
    }

    fn refresh(&mut self) -> bool {
        let mut counts = self.0.lock();
        let is_changed = counts.0 != counts.1;
        counts.0 = counts.1;
        is_changed
    }
}

#[test]
fn a_pager_at_the_end_follows_the_document() {
    let (console, terminal) = console();
    let document = Growing(Arc::new(Mutex::new((20, 20))));
    let mut out = console.writer();
    console.page(Pager::new("log", Box::new(document.clone())).from_end());
    assert_eq!(terminal.rows()[8], "block 19");
    let mut grow = |to: usize| {
        document.0.lock().1 = to;
        out.write_all(b"x").unwrap();
        out.flush().unwrap();
    };
    grow(21);
    assert_eq!(terminal.rows()[8], "block 20");
    console.key(Key::Up);
    grow(22);
    assert_eq!(terminal.rows()[8], "block 19");
}

#[test]
fn a_document_of_any_size_opens_immediately() {
    struct Endless;
    impl Document for Endless {
        fn blocks(&self) -> usize {
            1_000_000_000
        }

        fn rows(&self, block: usize, _theme: Theme) -> Vec<String> {
            vec![format!("block {block}")]
        }
    }
    let (console, terminal) = console();
    // Reading the whole document would exceed the test timeout.
    console.page(Pager::new("log", Box::new(Endless)).from_end());
    assert_eq!(terminal.rows()[8], "block 999999999");
    for _ in 0..50 {
        console.key(Key::PageUp);
    }
    assert_eq!(terminal.rows()[8], "block 999999599");
    console.key(Key::Home);
    assert_eq!(terminal.rows()[0], "block 0");
}

proptest! {
    #[test]
    fn any_keys_and_sizes_show_rows_that_fit(
        steps in prop::collection::vec((prop_oneof![
            "[a-zA-Z/? <>]".prop_map(Key::Text),
            prop::sample::select(vec![
                Key::Up, Key::Down, Key::PageUp, Key::PageDown, Key::Home, Key::End, Key::Enter,
                Key::Backspace, Key::Resized, Key::Background, Key::EndOfInput,
            ]),
        ], 1_usize..30, 1_usize..12), 1..60),
        text in "([a-c日 ]{0,50}\n){0,200}",
    ) {
        let mut pager = pager(&text);
        for (key, columns, rows) in steps {
            let area = Area { columns, rows, theme: Theme::PLAIN };
            if pager.typing.is_some() || key != Key::Text("q".to_owned()) {
                let is_closed = pager.key(&key, area) == Step::Close;
                prop_assert!(!is_closed || matches!(key, Key::Text(_)), "{:?}", key);
            }
            let (shown, _) = pager.draw(area);
            prop_assert!(shown.len() <= rows);
            let fits = |row: &String| crate::width::columns(&plain_text(row)) <= columns.max(2);
            prop_assert!(shown.iter().all(fits), "{:?}", shown);
        }
    }
}

#[test]
fn an_input_of_a_view_reaches_the_caller() {
    struct Picks;
    impl FullScreen for Picks {
        fn draw(&mut self, _area: Area) -> (Vec<String>, LastRow) {
            (Vec::new(), LastRow::Prompt("pick".to_owned()))
        }

        fn key(&mut self, _key: &Key, _area: Area) -> Step {
            Step::Done(PaneInput::Expand)
        }

        fn output_arrived(&mut self, _area: Area) -> bool {
            false
        }
    }
    let (console, _) = console();
    console.inner.lock().cover_with(Box::new(Picks));
    assert_eq!(console.key(Key::Enter), Some(PaneInput::Expand));
    assert!(!console.close_view());
}
