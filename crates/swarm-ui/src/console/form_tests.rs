//! Tests of forms on a console.

use std::io;
use std::time::Duration;

use super::*;
use crate::console::input::PaneInput;
use crate::console::recorded_screen::Screen;
use crate::console::{Console, Dialog};

fn question(text: &str, options: &[&str], several: bool) -> FormQuestion {
    let options = options.iter();
    FormQuestion {
        text: text.to_owned(),
        options: options
            .map(|label| ((*label).to_owned(), String::new()))
            .collect(),
        several,
    }
}

fn asked(form: Vec<FormQuestion>) -> Dialog {
    Dialog {
        id: "perm-1".to_owned(),
        question: "bob asks".to_owned(),
        choices: vec![Choice {
            key: '0',
            label: "no".to_owned(),
        }],
        reason: Some('0'),
        form,
        ..Dialog::default()
    }
}

/// Two questions; the second one takes several options.
fn two() -> Dialog {
    asked(vec![
        question("Which colour?", &["red", "blue"], false),
        question("Which sides?", &["left", "right"], true),
    ])
}

/// A console of this many rows with a form.
struct Terminal {
    screen: Screen,
    console: Console,
}

impl Terminal {
    fn with(dialog: Dialog, unarmed: Duration) -> Self {
        let screen = Screen::default();
        let console = Console::closed(
            Box::new(screen.clone()),
            Box::new(io::sink()),
            Theme::PLAIN,
            Box::new(|| Some(60)),
            "lead > ",
        )
        .opened();
        console.ask(Some(dialog), unarmed);
        Self { screen, console }
    }

    fn press(&self, key: Key) -> Option<PaneInput> {
        self.screen.clear();
        self.console.key(key)
    }

    fn text(&self, text: &str) -> Option<PaneInput> {
        self.press(Key::Text(text.to_owned()))
    }

    /// What the last key drew, without the input line.
    fn shown(&self) -> String {
        let drawn = self.screen.text();
        let (_, drawn) = drawn.rsplit_once("\u{1b}[J").unwrap();
        let (rows, _) = drawn.rsplit_once("\r\n").unwrap();
        rows.replace("\r\n", "\n")
    }
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "compared with what a key returned"
)]
fn sent(answers: &[(&[usize], &str)]) -> Option<PaneInput> {
    let answers = answers.iter().map(|(options, text)| FormAnswer {
        options: options.iter().copied().collect(),
        text: (*text).to_owned(),
    });
    Some(PaneInput::Form {
        dialog: "perm-1".to_owned(),
        answers: answers.collect(),
    })
}

#[test]
fn a_form_steps_through_its_questions_and_shows_all_answers_before_they_are_sent() {
    let terminal = Terminal::with(two(), Duration::ZERO);
    insta::assert_snapshot!(terminal.shown(), @r"
    ▲ bob asks (1 of 2)
      Which colour?
    > 1: red
      2: blue
      3: in your own words
      0: no
      Up, Down, Enter; Left, Right: other questions; Esc: later
    ");
    assert_eq!(terminal.text("2"), None);
    insta::assert_snapshot!(terminal.shown(), @r"
    ▲ bob asks (2 of 2)
      Which sides?
    > 1: [ ] left
      2: [ ] right
      3: [ ] in your own words
      4: next question
      0: no
      Up, Down, Enter; Left, Right: other questions; Esc: later
    ");
    for key in ["1", "2", "2"] {
        assert_eq!(terminal.text(key), None, "a number switches an option");
    }
    terminal.press(Key::Down);
    terminal.text("b");
    terminal.text("oth");
    insta::assert_snapshot!(terminal.shown(), @r"
    ▲ bob asks (2 of 2)
      Which sides?
      1: [✓] left
      2: [ ] right
    > 3: [ ] in your own words
      4: next question
      0: no
      Up, Down, Enter; Left, Right: other questions; Esc: later
    Enter: keep the answer; Esc: back to the options
    ");
    assert_eq!(terminal.press(Key::Enter), None);
    insta::assert_snapshot!(terminal.shown(), @r"
    ▲ bob asks (2 of 2)
      Which sides?
      1: [✓] left
      2: [ ] right
      3: [✓] in your own words: both
    > 4: next question
      0: no
      Up, Down, Enter; Left, Right: other questions; Esc: later
    ");
    assert_eq!(terminal.press(Key::Enter), None);
    insta::assert_snapshot!(terminal.shown(), @r"
    ▲ bob asks: send these answers?
      Which colour?
        blue
      Which sides?
        left, both
    > 1: send the answers
      0: no
      Up, Down, Enter; Left, Right: other questions; Esc: later
    ");
    assert_eq!(
        terminal.press(Key::Enter),
        sent(&[(&[1], ""), (&[0], "both")])
    );
}

#[test]
fn the_only_question_is_answered_by_its_number_or_the_marked_row() {
    let one = || asked(vec![question("Which colour?", &["red", "blue"], false)]);
    let terminal = Terminal::with(one(), Duration::ZERO);
    assert_eq!(terminal.text("2"), sent(&[(&[1], "")]));
    let terminal = Terminal::with(one(), Duration::ZERO);
    terminal.press(Key::Up);
    terminal.press(Key::Up);
    assert_eq!(terminal.press(Key::Enter), None, "own words are typed");
    assert_eq!(terminal.press(Key::Enter), None, "an empty answer is none");
    terminal.press(Key::Down);
    terminal.text("g");
    terminal.text("reen ");
    assert_eq!(terminal.press(Key::Enter), sent(&[(&[], "green")]));
    let several = asked(vec![question("Which?", &["left", "right"], true)]);
    let terminal = Terminal::with(several, Duration::ZERO);
    assert_eq!(terminal.text("4"), None);
    assert!(terminal.shown().contains("no answer yet"));
    terminal.press(Key::Down);
    terminal.text(" ");
    assert_eq!(terminal.text("4"), sent(&[(&[1], "")]));
}

#[test]
fn an_unanswered_question_is_shown_instead_of_sent() {
    let terminal = Terminal::with(two(), Duration::ZERO);
    terminal.press(Key::Right);
    terminal.press(Key::Complete);
    assert!(terminal.shown().contains("(no answer yet)"));
    assert_eq!(terminal.text("5"), None);
    assert!(terminal.shown().contains("not one of the choices"));
    assert_eq!(terminal.console.text(), "", "it is not a prompt");
    assert_eq!(terminal.text("1"), None);
    let shown = terminal.shown();
    assert!(
        shown.contains("(1 of 2)") && shown.contains("no answer yet"),
        "{shown}"
    );
}

#[test]
fn a_form_that_is_shown_again_has_its_answers() {
    let terminal = Terminal::with(two(), Duration::ZERO);
    terminal.text("1");
    let postponed = terminal.press(Key::Interrupt);
    assert!(matches!(
        postponed,
        Some(PaneInput::Choice { key: '\u{1b}', .. })
    ));
    terminal.console.ask(Some(two()), Duration::ZERO);
    assert!(terminal.shown().contains("(2 of 2)"));
    terminal.text("1");
    terminal.press(Key::Right);
    assert_eq!(terminal.text("1"), sent(&[(&[0], ""), (&[0], "")]));
    let other = asked(vec![question("Other?", &["x", "y"], false)]);
    terminal.console.ask(Some(other), Duration::ZERO);
    assert_eq!(terminal.text("2"), sent(&[(&[1], "")]));
}

#[test]
fn a_form_can_be_declined_with_a_reason() {
    let terminal = Terminal::with(two(), Duration::ZERO);
    assert_eq!(terminal.text("0"), None);
    terminal.text("ask later");
    let declined = Some(PaneInput::Choice {
        dialog: "perm-1".to_owned(),
        key: '0',
        text: "ask later".to_owned(),
    });
    assert_eq!(terminal.press(Key::Enter), declined);
}

#[test]
fn keys_typed_before_a_form_appeared_and_commands_do_not_answer_it() {
    let terminal = Terminal::with(two(), Duration::from_hours(1));
    assert_eq!(terminal.text("1"), None);
    assert_eq!(terminal.console.text(), "1");
    let terminal = Terminal::with(two(), Duration::ZERO);
    terminal.text("/");
    terminal.text("1");
    assert_eq!(terminal.console.text(), "/1");
    assert_eq!(
        terminal.press(Key::Enter),
        Some(PaneInput::Line("/1".to_owned()))
    );
}

#[test]
fn long_options_in_a_low_terminal_are_cut_and_can_be_read_in_full() {
    let long = "a long description ".repeat(12);
    let mut asked = two();
    for (_, about) in &mut asked.form[0].options {
        about.clone_from(&long);
    }
    let terminal = Terminal::with(asked, Duration::ZERO);
    terminal.console.measure_height(Box::new(|| Some(12)));
    terminal.press(Key::Resized);
    let shown = terminal.shown();
    assert!(shown.contains("Ctrl-O: in full"), "{shown}");
    assert!(shown.lines().count() <= 12, "{shown}");
    assert_eq!(terminal.press(Key::Expand), None);
    assert!(terminal.console.close_view());
}

#[test]
fn the_rows_of_a_long_option_are_aligned() {
    let words = "a description that needs more than one row of this terminal";
    let terminal = Terminal::with(
        asked(vec![question("Which?", &[words, "b"], false)]),
        Duration::ZERO,
    );
    let rows = "> 1: a description that needs more than one row of this\n     terminal\n  2: b\n";
    assert!(terminal.shown().contains(rows), "{}", terminal.shown());
}

#[test]
fn every_key_begins_the_answer_to_a_question_without_options() {
    for text in ["0", "1", "7", "/usr/local/bin is missing"] {
        let terminal = Terminal::with(
            asked(vec![question("How many?", &[], false)]),
            Duration::ZERO,
        );
        assert_eq!(terminal.text(text), None);
        terminal.text("2");
        let answer = format!("{text}2");
        assert_eq!(terminal.press(Key::Enter), sent(&[(&[], answer.as_str())]));
    }
    let terminal = Terminal::with(
        asked(vec![question("How many?", &[], false)]),
        Duration::ZERO,
    );
    insta::assert_snapshot!(terminal.shown(), @r"
    ▲ bob asks
    >    in your own words
         no
      type the answer; Esc: later
    ");
    terminal.press(Key::Down);
    assert_eq!(terminal.press(Key::Enter), None);
    assert!(terminal.shown().contains("also without a reason"));
}

#[test]
fn text_on_the_last_page_is_no_prompt_and_esc_clears_a_command_before_it_interrupts() {
    let terminal = Terminal::with(two(), Duration::ZERO);
    terminal.text("1");
    terminal.text("1");
    terminal.press(Key::Right);
    assert_eq!(terminal.text("y"), None);
    assert_eq!(terminal.console.text(), "");
    assert!(terminal.shown().contains("1 or Enter sends the answers"));
    terminal.text("/");
    assert_eq!(terminal.console.text(), "/");
    assert_eq!(terminal.press(Key::Interrupt), None);
    assert_eq!(terminal.console.text(), "");
    assert_eq!(terminal.text("1"), sent(&[(&[0], ""), (&[0], "")]));
}

#[test]
fn of_many_options_those_around_the_marked_one_are_shown() {
    let labels: Vec<String> = (1..=30)
        .map(|number| format!("region-{number:02}"))
        .collect();
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    let terminal = Terminal::with(
        asked(vec![question("Where?", &labels, false)]),
        Duration::ZERO,
    );
    terminal.console.measure_height(Box::new(|| Some(12)));
    for _ in 0..14 {
        terminal.press(Key::Down);
    }
    let shown = terminal.shown();
    assert!(shown.lines().count() < 12, "{shown}");
    assert!(
        shown.contains("bob asks") && shown.contains(">    region-15"),
        "{shown}"
    );
    let left_out: usize = shown
        .lines()
        .filter_map(|line| line.trim().strip_prefix("… ")?.strip_suffix(" more"))
        .map(|count| count.parse::<usize>().unwrap())
        .sum();
    // Two more rows are "in your own words" and "no".
    let rows = shown.lines().filter(|line| line.contains("region-"));
    assert_eq!(left_out + rows.count(), 32, "{shown}");
}

#[test]
fn long_answers_are_wrapped_before_they_are_sent() {
    let terminal = Terminal::with(two(), Duration::ZERO);
    let words = "words that are rather long so that they need more than one row of it";
    terminal.text(words);
    terminal.press(Key::Enter);
    terminal.text("1");
    terminal.press(Key::Right);
    let shown = terminal.shown();
    let joined: Vec<&str> = shown.split_whitespace().collect();
    assert!(joined.join(" ").contains(words), "{shown}");
}

#[test]
fn two_postponed_forms_both_keep_their_answers() {
    let terminal = Terminal::with(two(), Duration::ZERO);
    terminal.text("1");
    let other = || Dialog {
        id: "perm-2".to_owned(),
        ..two()
    };
    terminal.console.ask(Some(other()), Duration::ZERO);
    terminal.text("2");
    terminal.console.ask(Some(two()), Duration::ZERO);
    terminal.press(Key::Left);
    assert!(terminal.shown().contains("red ✓"), "{}", terminal.shown());
    terminal.console.ask(Some(other()), Duration::ZERO);
    terminal.press(Key::Left);
    assert!(terminal.shown().contains("blue ✓"), "{}", terminal.shown());
}

#[test]
fn a_path_of_an_image_that_is_pasted_as_an_answer_stays_a_path() {
    let terminal = Terminal::with(
        asked(vec![question("Which?", &["a"], false)]),
        Duration::ZERO,
    );
    terminal
        .console
        .attach_with(Box::new(|_| Some("[Image #1]".to_owned())));
    terminal.press(Key::Pasted("/tmp/shot.png".to_owned()));
    assert_eq!(terminal.press(Key::Enter), sent(&[(&[], "/tmp/shot.png")]));
}

#[test]
fn a_pasted_number_is_an_answer_and_chooses_nothing() {
    let dialog = asked(vec![question("How many?", &["a", "b"], false)]);
    let terminal = Terminal::with(dialog, Duration::ZERO);
    assert_eq!(terminal.press(Key::Pasted(String::new())), None);
    assert_eq!(terminal.press(Key::Pasted("2".to_owned())), None);
    assert_eq!(terminal.press(Key::Enter), sent(&[(&[], "2")]));
}
