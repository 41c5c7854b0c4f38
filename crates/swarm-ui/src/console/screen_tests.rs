//! Tests of the console on a simulated terminal.

use proptest::prelude::*;

use super::*;
use crate::console::Choice;
use crate::console::alert::BELL;
use crate::console::recorded_screen::Screen;
use crate::width::columns;

#[path = "screen_dialog_tests.rs"]
mod dialogs;

/// End of a title sequence.
const TITLE_END: char = '\u{7}';

/// A terminal of unlimited height that supports the sequences of a console.
#[derive(Debug, Default)]
struct FakeTerminal {
    rows: Vec<Vec<char>>,
    row: usize,
    column: usize,
}

impl FakeTerminal {
    fn play(&mut self, text: &str) {
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\n' => (self.row, self.column) = (self.row + 1, 0),
                '\r' => self.column = 0,
                BELL => {}
                '\u{1b}' if chars.peek() == Some(&']') => drop(chars.find(|c| *c == TITLE_END)),
                '\u{1b}' => {
                    let rest: String =
                        std::iter::from_fn(|| chars.next_if(|c| !c.is_ascii_alphabetic()))
                            .collect();
                    self.apply(&rest, chars.next().unwrap());
                }
                c => self.put(c),
            }
        }
    }

    fn apply(&mut self, parameters: &str, letter: char) {
        let number = parameters
            .trim_start_matches('[')
            .parse()
            .unwrap_or(1_usize);
        match letter {
            'A' => self.row -= number,
            'C' => self.column += number,
            'D' => self.column -= number,
            'J' => {
                self.rows.truncate(self.row + 1);
                if let Some(row) = self.rows.get_mut(self.row) {
                    row.truncate(self.column);
                }
            }
            _ => {}
        }
    }

    fn put(&mut self, c: char) {
        self.rows
            .resize(self.rows.len().max(self.row + 1), Vec::new());
        let row = &mut self.rows[self.row];
        row.resize(row.len().max(self.column + 1), ' ');
        row[self.column] = c;
        self.column += 1;
    }

    fn text(&self) -> String {
        let rows = self.rows.iter().map(|row| row.iter().collect::<String>());
        rows.collect::<Vec<_>>().join("\n")
    }
}

fn console(screen: &Screen, copy: &Screen) -> Console {
    let (out, copy) = (Box::new(screen.clone()), Box::new(copy.clone()));
    Console::closed(out, copy, Theme::PLAIN, Box::new(|| Some(40)), "bob > ").opened()
}

fn shown(screen: &Screen) -> String {
    let mut terminal = FakeTerminal::default();
    terminal.play(&screen.text());
    terminal.text()
}

#[test]
fn output_continues_at_its_last_position_above_the_input_line() {
    let (screen, copy) = (Screen::default(), Screen::default());
    let console = console(&screen, &copy);
    let mut out = console.writer();
    let mut say = |text: &str| {
        out.write_all(text.as_bytes()).unwrap();
        out.flush().unwrap();
    };
    say("\u{1b}]2;bob\u{7}one\ntwo");
    console.key(Key::Text("hi".to_owned()));
    assert_eq!(shown(&screen), "one\ntwo\nbob > hi");
    say(" and a half\n");
    assert_eq!(shown(&screen), "one\ntwo and a half\nbob > hi");
    let said = console.key(Key::Enter);
    assert_eq!(said, Some(PaneInput::Line("hi".to_owned())));
    assert_eq!(shown(&screen), "one\ntwo and a half\nbob > ");
    console.close();
    say("the end\n");
    assert_eq!(shown(&screen), "one\ntwo and a half\nthe end");
    assert_eq!(copy.text(), "one\ntwo and a half\nthe end\n");
    assert!(screen.text().ends_with("the end\n"));
    assert!(screen.text().contains(PASTE_MARKS_OFF));
    // Keys do not reach a closed console, and the input line keeps its text.
    console.reopen();
    console.key(Key::Text("kept".to_owned()));
    console.close();
    assert_eq!(console.key(Key::Text("lost".to_owned())), None);
    console.reopen();
    assert_eq!(shown(&screen), "one\ntwo and a half\nthe end\nbob > kept");
}

#[test]
fn pasted_text_is_replaced_only_in_prompts() {
    let console = console(&Screen::default(), &Screen::default());
    console.attach_with(Box::new(|text: &str| {
        (text == "a.png").then(|| "[Image #1] ".to_owned())
    }));
    for (before, expected) in [
        ("", "[Image #1] "),
        ("see ", "see [Image #1] "),
        ("!file ", "!file a.png"),
        ("/send bob ", "/send bob a.png"),
    ] {
        console.set_text(before);
        console.key(Key::Pasted("a.png".to_owned()));
        assert_eq!(console.text(), expected);
    }
}

fn question() -> Dialog {
    Dialog {
        id: "perm-1".to_owned(),
        question: "bob asks: Bash touch made".to_owned(),
        details: (1..=10).map(|line| format!("    line {line}")).collect(),
        choices: vec![Choice::new('y', "yes"), Choice::new('n', "no")],
        ..Dialog::default()
    }
}

#[test]
fn output_is_deferred_while_another_program_uses_the_terminal() {
    let (screen, copy) = (Screen::default(), Screen::default());
    let console = console(&screen, &copy);
    console.set_text("a draft\nof two rows");
    assert_eq!(shown(&screen), "bob > a draft\n      of two rows");
    console.suspend();
    let lent = screen.text();
    let mut out = console.writer();
    out.write_all(b"meanwhile\n").unwrap();
    out.flush().unwrap();
    assert_eq!(screen.text(), lent);
    console.set_text("edited");
    console.reopen();
    assert_eq!(shown(&screen), "meanwhile\nbob > edited");
    assert_eq!(copy.text(), "meanwhile\n");
}

#[test]
fn searches_completions_and_truncated_pastes_are_shown_above_the_line() {
    let screen = Screen::default();
    let console = console(&screen, &Screen::default());
    console.remember(vec!["fix it".to_owned()]);
    console.key(Key::Search);
    console.key(Key::Text("fi".to_owned()));
    assert_eq!(
        shown(&screen),
        "search: fi (Ctrl-R: earlier, Enter: se…\nbob > fix it"
    );
    console.key(Key::Interrupt);
    console.complete_with(Box::new(|text| {
        (text.len() - 1, vec!["@src".to_owned(), "@spec".to_owned()])
    }));
    console.key(Key::Text("@".to_owned()));
    console.key(Key::Complete);
    assert_eq!(shown(&screen), "[@src] @spec\nbob > @src");
    console.key(Key::Pasted("x".repeat(MAX_LENGTH)));
    assert!(shown(&screen).starts_with("4 bytes of the paste were dropped"));
    console.key(Key::End);
    assert!(!shown(&screen).contains("dropped"));
}

#[test]
fn commands_are_listed_while_their_name_is_typed() {
    let screen = Screen::default();
    let console = console(&screen, &Screen::default());
    console.complete_with(Box::new(|text| {
        let all = ["/resume ", "/requests ", "/status "].map(str::to_owned);
        (
            0,
            all.into_iter()
                .filter(|command| command.starts_with(text))
                .collect(),
        )
    }));
    console.key(Key::Text("/re".to_owned()));
    assert_eq!(shown(&screen), "Tab: /resume /requests\nbob > /re");
    console.key(Key::Text("view".to_owned()));
    assert_eq!(shown(&screen), "bob > /review");
    console.set_text("/resume it");
    assert_eq!(shown(&screen), "bob > /resume it");
}

/// Keys of all kinds; the caller distinguishes the letters.
fn any_key() -> impl Strategy<Value = Key> {
    prop_oneof![
        4 => Just(Key::Text("?".to_owned())),
        1 => Just(Key::Text("\\".to_owned())),
        1 => Just(Key::Pasted("two\r\nrows\t\u{1b}[31m".to_owned())),
        8 => prop::sample::select(vec![
            Key::Enter, Key::Left, Key::Right, Key::Home, Key::End, Key::Up, Key::Down, Key::LineEnd,
            Key::Background, Key::Expand, Key::CycleMode, Key::Complete, Key::EndOfInput, Key::Resized,
            Key::Interrupt, Key::Editor, Key::Team, Key::SendNow, Key::PageUp, Key::PageDown,
        ]),
    ]
}

fn any_deleting_key() -> impl Strategy<Value = Key> {
    prop_oneof![
        3 => any_key(),
        1 => prop::sample::select(vec![
            Key::Backspace, Key::Delete, Key::ClearBefore, Key::DeleteWord, Key::Search,
        ]),
    ]
}

proptest! {
    #[test]
    fn no_key_panics(keys in prop::collection::vec(any_deleting_key(), 0..60), width in 1_usize..50) {
        let screen = Screen::default();
        let out = Box::new(screen.clone());
        let console = Console::closed(out, Box::new(std::io::sink()), Theme::PLAIN, Box::new(move || Some(width)), "bob > ").opened();
        console.complete_with(Box::new(|text| (text.len(), vec!["日本".to_owned(), "x".to_owned()])));
        for (at, key) in keys.into_iter().enumerate() {
            if at % 7 == 3 {
                console.ask(Some(question()), Duration::ZERO);
            }
            console.key(key);
            console.set_status(vec![format!("step {at}")]);
        }
    }

    #[test]
    fn no_typed_letter_is_lost(keys in prop::collection::vec(any_key(), 0..80)) {
        let screen = Screen::default();
        let console = console(&screen, &Screen::default());
        let (mut typed, mut said) = (String::new(), String::new());
        for (at, key) in keys.into_iter().enumerate() {
            // A distinct letter for each key.
            let letter = char::from_u32(0x4e00 + u32::try_from(at).unwrap()).unwrap();
            let key = match key {
                Key::Text(text) if text == "?" => {
                    typed.push(letter);
                    Key::Text(letter.to_string())
                }
                // At the end of the line it deletes nothing, elsewhere a letter.
                Key::EndOfInput => Key::End,
                key => key,
            };
            if let Some(PaneInput::Line(line)) = console.key(key) {
                said.push_str(&line);
            }
            // Tab opens a long dialog, whose keys are not text.
            console.close_view();
            if at % 5 == 0 {
                console.set_status(vec![format!("step {at}")]);
                console.ask((at % 2 == 0).then(question), Duration::ZERO);
            }
        }
        said.push_str(&console.inner.lock().line.everything());
        let lost: Vec<char> = typed.chars().filter(|letter| !said.contains(*letter)).collect();
        prop_assert!(lost.is_empty(), "{:?} of {:?}", lost, typed);
    }
}

proptest! {
    #[test]
    fn output_and_input_stay_intact_in_any_interleaving(
        steps in prop::collection::vec(prop_oneof!["[a-z]{1,8}", "\n", "[0-9]{1,6}".prop_map(|keys| format!("#{keys}"))], 0..24),
    ) {
        let (screen, copy) = (Screen::default(), Screen::default());
        let console = console(&screen, &copy);
        let mut out = console.writer();
        let (mut output, mut typed) = (String::new(), String::new());
        for step in steps {
            if let Some(keys) = step.strip_prefix('#') {
                typed.push_str(keys);
                console.key(Key::Text(keys.to_owned()));
            } else if columns(output.rsplit('\n').next().unwrap_or_default()) + step.len() < 40 {
                output.push_str(&step);
                out.write_all(step.as_bytes()).unwrap();
                out.flush().unwrap();
            }
        }
        prop_assume!(typed.len() < 30);
        let separator = if output.is_empty() || output.ends_with('\n') { "" } else { "\n" };
        prop_assert_eq!(shown(&screen), format!("{output}{separator}bob > {typed}"));
        prop_assert_eq!(copy.text(), output);
    }
}

#[test]
fn pieces_of_output_share_a_frame_and_a_key_is_drawn_immediately() {
    let (screen, copy) = (Screen::default(), Screen::default());
    let console = console(&screen, &copy);
    console.limit_frames();
    let mut out = console.writer();
    let mut say = |text: &str| {
        out.write_all(text.as_bytes()).unwrap();
        out.flush().unwrap();
    };
    let began = std::time::Instant::now();
    for _ in 0..1000 {
        say("a line\n");
    }
    let most = began.elapsed().as_millis() / 16 + 3;
    let frames = screen.text().matches("bob > ").count();
    assert!(frames as u128 <= most, "{frames} frames");
    assert_eq!(copy.text().lines().count(), 1000);
    console.key(Key::Text("hi".to_owned()));
    let drawn = shown(&screen);
    assert!(drawn.ends_with("bob > hi"), "{drawn}");
    assert_eq!(drawn.matches("a line").count(), 1000);
    // Nothing else happens, and it is drawn.
    say("one\n");
    say("two\n");
    while !shown(&screen).ends_with("one\ntwo\nbob > hi") {
        std::thread::yield_now();
    }
    // Nothing is left behind at the end.
    say("three\n");
    console.close();
    say("four\n");
    assert!(shown(&screen).ends_with("two\nthree\nfour"));
}
