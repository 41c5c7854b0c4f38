//! Tests of dialogs on a simulated terminal.

use super::*;

#[test]
fn a_dialog_is_shown_between_output_and_input_until_a_key_answers_it() {
    let (screen, copy) = (Screen::default(), Screen::default());
    let console = console(&screen, &copy);
    let mut out = console.writer();
    out.write_all(b"some out").unwrap();
    out.flush().unwrap();
    console.ask(Some(question()), Duration::ZERO);
    let lines: Vec<String> = (1..=8).map(|line| format!("    line {line}")).collect();
    let region = format!(
        "▲ bob asks: Bash touch made\n{}\n  … +2 lines (Tab)\n  y: yes\n  n: no",
        lines.join("\n")
    );
    assert_eq!(shown(&screen), format!("some out\n{region}\nbob > "));
    out.write_all(b"put\n").unwrap();
    out.flush().unwrap();
    assert_eq!(shown(&screen), format!("some output\n{region}\nbob > "));
    // Other keys are text, and keys do not answer while the line has text.
    for key in ["x", "y"] {
        assert_eq!(console.key(Key::Text(key.to_owned())), None);
    }
    assert!(shown(&screen).ends_with("bob > xy"));
    console.set_status(vec!["crew: bob working".to_owned()]);
    assert!(
        shown(&screen)
            .ends_with("crew: bob working\nclear the line (Ctrl-C) to answer with…\nbob > xy")
    );
    console.set_status(Vec::new());
    console.clear_line();
    assert_eq!(console.key(Key::Pasted("y".to_owned())), None);
    assert!(shown(&screen).ends_with("bob > y"), "a paste is no key");
    console.clear_line();
    let answer = console.key(Key::Text("Y".to_owned()));
    let dialog = "perm-1".to_owned();
    let key = 'y';
    let text = String::new();
    assert_eq!(answer, Some(PaneInput::Choice { dialog, key, text }));
    assert_eq!(shown(&screen), "some output\nbob > ");
    assert_eq!(copy.text(), "some output\n");
}

#[test]
fn a_long_call_is_wrapped_and_can_be_read_in_full() {
    let screen = Screen::default();
    let console = console(&screen, &Screen::default());
    let long = Dialog {
        details: vec![format!(
            "    $ {} && rm -rf important",
            "cargo test ".repeat(4).trim_end()
        )],
        ..question()
    };
    console.ask(Some(long), Duration::ZERO);
    let wrapped = "    $ cargo test cargo test cargo test\n    cargo test && rm -rf important\n";
    assert!(shown(&screen).contains(wrapped), "{}", shown(&screen));
    // Nothing is hidden, so Tab has its usual meaning.
    assert_eq!(console.key(Key::Complete), None);
    assert!(!console.close_view());
    console.ask(Some(question()), Duration::ZERO);
    assert_eq!(console.key(Key::Complete), None);
    assert!(
        screen.text().contains("    line 10"),
        "all of it is in the pager"
    );
    assert_eq!(
        console.key(Key::Text("y".to_owned())),
        None,
        "a key of the pager answers nothing"
    );
    assert!(console.close_view());
    let dialog = "perm-1".to_owned();
    let answer = console.key(Key::Text("y".to_owned()));
    let key = 'y';
    let text = String::new();
    assert_eq!(answer, Some(PaneInput::Choice { dialog, key, text }));
}

#[test]
fn a_long_question_is_wrapped() {
    let screen = Screen::default();
    let console = console(&screen, &Screen::default());
    let asked = |text: &str| Dialog {
        question: text.to_owned(),
        details: Vec::new(),
        ..question()
    };
    console.ask(
        Some(asked("bob asks: which of the two databases do we use?")),
        Duration::ZERO,
    );
    let rows = "▲ bob asks: which of the two databases\n  do we use?\n  y: yes\n";
    assert!(shown(&screen).contains(rows), "{}", shown(&screen));
    console.ask(Some(asked(&"abcde fghij ".repeat(20))), Duration::ZERO);
    let row = "abcde fghij abcde fghij abcde fghij";
    let rows = format!("▲ {row}\n  {row}\n  {row}…\n  y: yes\n");
    assert!(shown(&screen).contains(&rows), "{}", shown(&screen));
    console.key(Key::Complete);
    assert!(console.close_view(), "Tab shows it in full");
}

#[test]
fn a_choice_is_never_cut() {
    let screen = Screen::default();
    let console = console(&screen, &Screen::default());
    let rule = "Edit(//home/me/project/src/parser.rs)";
    let label = format!("yes, and for the whole team: {rule}");
    let asked = Dialog {
        choices: vec![Choice::new('y', label)],
        ..question()
    };
    console.ask(Some(asked), Duration::ZERO);
    let rows = "  y: yes, and for the whole team:\n  Edit(//home/me/project/src/parser.rs)\n";
    assert!(shown(&screen).contains(rows), "{}", shown(&screen));
}

#[test]
fn a_dialog_in_a_small_pane_shows_fewer_details() {
    let screen = Screen::default();
    let console = console(&screen, &Screen::default());
    console.measure_height(Box::new(|| Some(8)));
    console.ask(Some(question()), Duration::ZERO);
    let rows = shown(&screen);
    assert_eq!(rows.lines().count(), 7, "{rows}");
    assert!(rows.contains("line 2\n  … +8 lines (Tab)\n"), "{rows}");
}

#[test]
fn a_dialog_without_keys_does_not_ask_to_clear_the_line() {
    let screen = Screen::default();
    let console = console(&screen, &Screen::default());
    let dialog = Dialog {
        choices: Vec::new(),
        ..question()
    };
    console.ask(Some(dialog), Duration::ZERO);
    assert_eq!(console.key(Key::Text("y".to_owned())), None);
    let rows = shown(&screen);
    assert!(rows.ends_with("bob > y"), "{rows}");
    assert!(!rows.contains("clear the line"), "{rows}");
}

#[test]
fn a_key_that_was_typed_before_a_dialog_appeared_does_not_answer_it() {
    let screen = Screen::default();
    let console = console(&screen, &Screen::default());
    console.ask(Some(question()), Duration::from_hours(1));
    assert_eq!(console.key(Key::Text("y".to_owned())), None);
    assert!(
        shown(&screen).ends_with("clear the line (Ctrl-C) to answer with…\nbob > y"),
        "{}",
        shown(&screen)
    );
    // Esc dismisses it, and a dialog that was answered elsewhere disappears.
    console.clear_line();
    let dialog = "perm-1".to_owned();
    let put_off = Some(PaneInput::Choice {
        dialog,
        key: DISMISS,
        text: String::new(),
    });
    assert_eq!(console.key(Key::Interrupt), put_off);
    assert_eq!(console.key(Key::Interrupt), Some(PaneInput::Interrupt));
    console.ask(Some(question()), Duration::ZERO);
    console.ask(None, Duration::ZERO);
    assert_eq!(shown(&screen), "bob > ");
}
