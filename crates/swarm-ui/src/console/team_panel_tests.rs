//! Tests of the team panel in a console.

use std::time::Duration;

use super::*;
use crate::console::{Choice, Console, Dialog, PaneInput};

fn member(name: &str, state: MemberState, task: &str) -> PanelMember {
    PanelMember {
        name: MemberName::parse(name).unwrap(),
        color: None,
        state,
        since: None,
        task: task.to_owned(),
        tokens: 1200,
        context: Some(12),
    }
}

fn content(members: usize) -> PanelContent {
    let mates = (1..members).map(|number| member(&format!("mate{number}"), MemberState::Idle, ""));
    let lead = member("team-lead", MemberState::Working, "");
    PanelContent {
        members: std::iter::once(lead).chain(mates).collect(),
        tasks: vec![PanelTask {
            id: "7".to_owned(),
            state: "in progress",
            owner: "mate1".to_owned(),
            subject: "Fix it".to_owned(),
        }],
    }
}

fn console(members: usize) -> Console {
    let out = Box::new(std::io::sink());
    let copy = Box::new(std::io::sink());
    let console = Console::closed(
        out,
        copy,
        Theme::PLAIN,
        Box::new(|| Some(60)),
        "team-lead > ",
    )
    .opened();
    console.measure_height(Box::new(|| Some(20)));
    console.set_team(content(members));
    console
}

fn text(text: &str) -> Key {
    Key::Text(text.to_owned())
}

fn act(action: PanelAction, subject: &str) -> PaneInput {
    let subject = subject.to_owned();
    PaneInput::Panel { action, subject }
}

#[test]
fn keys_act_on_the_selected_member() {
    let console = console(4);
    assert_eq!(console.key(Key::Team), Some(PaneInput::TeamPanel));
    assert_eq!(
        console.key(Key::Enter),
        Some(act(PanelAction::Look, "team-lead"))
    );
    for key in [Key::Down, text("j"), Key::Up] {
        assert_eq!(console.key(key), None);
    }
    for (letter, action) in [
        ("i", PanelAction::Interrupt),
        ("p", PanelAction::Pause),
        ("c", PanelAction::Mode),
        ("a", PanelAction::Attach),
    ] {
        assert_eq!(console.key(text(letter)), Some(act(action, "mate1")));
    }
    assert_eq!(console.key(text("x")), None, "a shutdown is confirmed");
    assert_eq!(console.key(Key::Down), None);
    assert_eq!(console.key(text("x")), None, "for the same member");
    assert_eq!(
        console.key(text("x")),
        Some(act(PanelAction::ShutDown, "mate2"))
    );
    console.key(text("t"));
    assert_eq!(
        console.key(Key::Enter),
        Some(act(PanelAction::ShowTask, "7"))
    );
    assert_eq!(console.key(text("i")), None, "a task cannot be interrupted");
    assert_eq!(console.text(), "");
}

#[test]
fn a_message_goes_to_the_member_and_the_draft_returns() {
    let console = console(4);
    console.key(text("dear lead"));
    console.key(Key::Team);
    for key in [Key::Down, text("m"), text("hello\nbob")] {
        assert_eq!(console.key(key), None);
    }
    let (to, message) = ("mate1".to_owned(), "hello\nbob".to_owned());
    assert_eq!(
        console.key(Key::Enter),
        Some(PaneInput::Message { to, text: message })
    );
    assert_eq!(console.text(), "dear lead");
    let line = PaneInput::Line("dear lead".to_owned());
    assert_eq!(console.key(Key::Enter), Some(line));
    console.key(Key::Team);
    assert_eq!(console.key(Key::Team), None, "a focused panel closes");
    console.key(Key::Team);
    for key in [text("m"), text("never mind"), Key::Interrupt] {
        assert_eq!(console.key(key), None);
    }
    assert_eq!(console.text(), "", "Esc cancels the message");
}

#[test]
fn the_focus_decides_who_gets_a_key() {
    let console = console(2);
    console.key(Key::Team);
    console.key(Key::Complete);
    console.key(text("i"));
    assert_eq!(console.text(), "i", "the line has the focus");
    console.key(Key::Team);
    assert_eq!(
        console.key(text("i")),
        Some(act(PanelAction::Interrupt, "team-lead"))
    );
    console.key(Key::Pasted("k".to_owned()));
    assert_eq!(console.text(), "ik", "a paste is for the line");
    console.key(Key::Team);
    assert_eq!(console.key(Key::Interrupt), None, "Esc closes the panel");
    assert_eq!(console.key(Key::Interrupt), Some(PaneInput::Interrupt));
}

#[test]
fn the_panel_takes_at_most_the_given_rows_and_shows_the_selected_member() {
    for (count, most) in [(1, 3), (3, 10), (30, 10), (30, 3)] {
        let content = content(count);
        let mut panel = TeamPanel::open(false);
        for selected in 0..count {
            let lines = panel.lines(&content, Theme::PLAIN, 59, most);
            assert!(lines.len() <= most, "{lines:?}");
            assert!(lines.iter().all(|line| columns(line) <= 59), "{lines:?}");
            let name = content.members[selected].name.as_str();
            let is_selected = |line: &String| line.starts_with(&format!("> {name}"));
            assert!(lines.iter().any(is_selected), "{lines:?}");
            panel.key(&Key::Down, &content);
        }
    }
    let empty = TeamPanel::open(false).lines(&PanelContent::default(), Theme::PLAIN, 59, 10);
    assert!(empty[0].starts_with("no team yet"));
}

#[test]
fn keys_do_not_act_on_a_panel_without_room() {
    let console = console(4);
    console.measure_height(Box::new(|| Some(14)));
    console.key(Key::Team);
    let dialog = Dialog {
        id: "perm-1".to_owned(),
        question: "bob asks: Bash make".to_owned(),
        details: vec!["a line".to_owned(); 40],
        choices: vec![Choice::new('1', "yes")],
        ..Dialog::default()
    };
    console.ask(Some(dialog), Duration::ZERO);
    console.key(Key::Complete);
    assert!(console.close_view(), "Tab shows the whole dialog");
    assert_eq!(console.key(text("i")), None);
    assert_eq!(console.text(), "i", "it is for the line");
    console.set_text("");
    console.ask(None, Duration::ZERO);
    let interrupt = act(PanelAction::Interrupt, "team-lead");
    assert_eq!(console.key(text("i")), Some(interrupt), "there is room");
}
