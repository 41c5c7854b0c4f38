//! The console on a terminal that is played.

use std::sync::Arc;

use parking_lot::Mutex;
use proptest::prelude::*;

use super::*;

/// A terminal as tall as it takes, with the few sequences that a console uses.
#[derive(Debug, Default)]
struct Played {
    rows: Vec<Vec<char>>,
    row: usize,
    column: usize,
}

impl Played {
    fn play(&mut self, text: &str) {
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\n' => (self.row, self.column) = (self.row + 1, 0),
                '\r' => self.column = 0,
                '\u{1b}' if chars.peek() == Some(&']') => drop(chars.find(|c| *c == TITLE_END)),
                '\u{1b}' => {
                    let rest: String =
                        std::iter::from_fn(|| chars.next_if(|c| !c.is_ascii_alphabetic()))
                            .collect();
                    self.obey(&rest, chars.next().unwrap());
                }
                c => self.put(c),
            }
        }
    }

    fn obey(&mut self, parameters: &str, letter: char) {
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

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shared {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().clone()).unwrap()
    }
}

fn console(screen: &Shared, copy: &Shared) -> Console {
    let (out, copy) = (Box::new(screen.clone()), Box::new(copy.clone()));
    Console::open(out, copy, Theme::PLAIN, Box::new(|| Some(40)), "bob > ")
}

fn shown(screen: &Shared) -> String {
    let mut played = Played::default();
    played.play(&screen.text());
    played.text()
}

#[test]
fn output_goes_on_where_it_stopped_with_the_line_below_it() {
    let (screen, copy) = (Shared::default(), Shared::default());
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
    // Keys of a terminal that was given back are not the console's, and what stood in the line stays there.
    console.reopen();
    console.key(Key::Text("kept".to_owned()));
    console.close();
    assert_eq!(console.key(Key::Text("lost".to_owned())), None);
    console.reopen();
    assert_eq!(shown(&screen), "one\ntwo and a half\nthe end\nbob > kept");
}

proptest! {
    #[test]
    fn whatever_comes_between_output_and_line_stay_whole(
        steps in prop::collection::vec(prop_oneof!["[a-z]{1,8}", "\n", "[0-9]{1,6}".prop_map(|keys| format!("#{keys}"))], 0..24),
    ) {
        let (screen, copy) = (Shared::default(), Shared::default());
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
        let joint = if output.is_empty() || output.ends_with('\n') { "" } else { "\n" };
        prop_assert_eq!(shown(&screen), format!("{output}{joint}bob > {typed}"));
        prop_assert_eq!(copy.text(), output);
    }
}
