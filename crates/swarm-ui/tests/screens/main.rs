//! The main screens in terminals of several sizes, rendered by a terminal emulator.

#![allow(clippy::expect_used, reason = "helpers of tests fail as tests do")]

mod colours;
#[path = "../../src/console/tests/emulator.rs"]
mod emulator;

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use swarm_protocol::{
    AgentEvent, Color, ContextUse, DetailLine, LineChange, MailText, MemberName, MemberState,
    PermissionMode, Usage,
};
use swarm_ui::{
    Alert, Choice, Console, DesktopAlert, Dialog, Document, Pager, PaneHeader, PaneView,
    PanelContent, PanelMember, PanelTask, Picker, PickerItem, SessionStatus, Theme,
};

use emulator::Emulator;

const SIZES: [(u16, u16); 4] = [(60, 20), (80, 24), (120, 40), (200, 50)];

impl Emulator {
    /// Returns the content of the screen and the position of the cursor.
    fn picture(&self) -> String {
        let rows = self.rows().join("\n");
        let (row, column) = self.0.lock().screen().cursor_position();
        format!("{}\n[cursor {row}:{column}]", rows.trim_end())
    }
}

struct Lead {
    emulator: Emulator,
    console: Console,
    view: PaneView<swarm_ui::ConsoleWriter>,
    status: SessionStatus,
    begin: Instant,
}

impl Lead {
    fn on(size: (u16, u16), color: bool) -> Self {
        let emulator = Emulator::new(size);
        let theme = Theme {
            color,
            ..Theme::PLAIN
        };
        let width = Some(usize::from(size.0));
        let out = Box::new(emulator.clone());
        let console = Console::closed(
            out,
            Box::new(io::sink()),
            theme,
            Box::new(move || width),
            "team-lead > ",
        )
        .opened();
        let height = Some(usize::from(size.1));
        console.measure_height(Box::new(move || height));
        console.set_alert(Alert {
            osc: Some(DesktopAlert::Iterm),
            ..Alert::default()
        });
        let header = PaneHeader {
            name: MemberName::lead(),
            color: None,
            team: None,
            model: "anthropic/claude-sonnet-4-6".to_owned(),
            mode: PermissionMode::Default,
            cwd: "/home/dev/calc".into(),
            home: Some("/home/dev".into()),
        };
        let view = PaneView::measured(console.writer(), theme, Box::new(move || width), &header);
        let status = SessionStatus::new(
            "claude-sonnet-4-6".to_owned(),
            PermissionMode::Default,
            Some("main".to_owned()),
        );
        let begin = Instant::now();
        Self {
            emulator,
            console,
            view,
            status,
            begin,
        }
    }

    fn events(&mut self, events: Vec<AgentEvent>) {
        for event in events {
            self.status.follow(&event, self.begin);
            self.view.event(&event);
        }
        let now = self.begin + Duration::from_secs(12);
        let line = self.status.line(now);
        self.console.set_status(vec![
            line,
            "alice working, bob idle · 2 of 5 tasks done".to_owned(),
        ]);
    }
}

fn started(id: &str, line: &str) -> AgentEvent {
    AgentEvent::ToolStarted {
        id: id.to_owned(),
        tool: line.split(' ').next().unwrap_or_default().to_owned(),
        line: line.to_owned(),
    }
}

fn finished(id: &str, ok: bool, line: &str, detail: Vec<DetailLine>) -> AgentEvent {
    AgentEvent::ToolFinished {
        id: id.to_owned(),
        tool: String::new(),
        ok,
        line: line.to_owned(),
        detail,
    }
}

fn changed(number: u64, change: Option<LineChange>, text: &str) -> DetailLine {
    DetailLine {
        number: Some(number),
        change,
        text: text.to_owned(),
    }
}

const ANSWER: &str = "## The cause\n\nThe import reads **every file twice**: once in `scan()`, and once in `load()`.\n\n\
1. `scan()` opens each file to count its lines, although nobody reads that number any more.\n\
2. `load()` opens it again.\n\n\
| file | before | after |\n|---|---:|---:|\n| `small.csv` | 12 ms | 7 ms |\n| `large.csv` | 3.4 s | 1.8 s |\n\n\
```rust\nfn scan(path: &Path) {\n    load(path);\n}\n```\n";

/// A turn with calls, a message and a response in Markdown.
fn turn() -> Vec<AgentEvent> {
    let printed = (1..=30).map(|n| DetailLine::output(format!("test import::case_{n} ... ok")));
    let difference = vec![
        changed(16, None, "fn scan(path: &Path) {"),
        changed(17, Some(LineChange::Removed), "    count_lines(path);"),
        changed(17, Some(LineChange::Added), "    load(path);"),
        changed(18, None, "}"),
    ];
    let report = "Both files are read once now.\n\nI measured three runs each; the numbers are in notes/import.md, with the commands that I used.";
    let pieces = ANSWER
        .split_inclusive(' ')
        .map(|piece| AgentEvent::TextDelta {
            text: piece.to_owned(),
        });
    let mut events = vec![
        AgentEvent::TurnStarted,
        started("1", "Bash cargo test --package import"),
        finished("1", true, "ok, 30 lines", printed.collect()),
        started("2", "Edit src/scan.rs"),
        finished("2", true, "+1 -1 lines", difference),
        AgentEvent::MailIn {
            from: "alice".to_owned(),
            color: Some("blue".to_owned()),
            line: "Both files are read once now.".to_owned(),
            more: Some(MailText {
                text: report.to_owned(),
                command: "swarm inbox team-lead".to_owned(),
            }),
        },
    ];
    events.extend(pieces);
    events.push(AgentEvent::MessageDone {
        text: ANSWER.to_owned(),
    });
    events.push(AgentEvent::Context(ContextUse {
        tokens: 24_000,
        window: 200_000,
    }));
    events
}

fn dialog() -> Dialog {
    Dialog {
        id: "perm-1".to_owned(),
        question: "alice asks: Bash cargo publish --dry-run".to_owned(),
        details: vec!["    $ cargo publish --dry-run".to_owned()],
        choices: vec![
            Choice::new('1', "yes, this once"),
            Choice::new('2', "yes, and also until it ends: Bash(cargo publish:*)"),
            Choice::new('3', "no; you can type a reason"),
        ],
        reason: Some('3'),
        ..Dialog::default()
    }
}

#[test]
fn a_turn_and_its_status_line_fit_every_size() {
    for (columns, rows) in SIZES {
        let mut lead = Lead::on((columns, rows), true);
        lead.events(turn());
        insta::assert_snapshot!(format!("turn-{columns}x{rows}"), lead.emulator.picture());
    }
}

#[test]
fn a_dialog_is_shown_above_an_input_of_several_rows() {
    for (columns, rows) in SIZES {
        let mut lead = Lead::on((columns, rows), true);
        lead.events(vec![
            AgentEvent::TurnStarted,
            started("1", "Bash cargo publish --dry-run"),
        ]);
        lead.console.ask(Some(dialog()), Duration::ZERO);
        lead.console.set_text("please wait for the review,\nand then publish it: the version has to be 0.4.1, as the others depend on it");
        insta::assert_snapshot!(
            format!("question-{columns}x{rows}"),
            lead.emulator.picture()
        );
    }
}

#[test]
fn without_colours_markdown_is_unchanged() {
    let mut lead = Lead::on((80, 24), false);
    lead.events(turn());
    insta::assert_snapshot!("plain-80x24", lead.emulator.picture());
}

#[test]
fn a_folded_result_is_expanded() {
    let mut lead = Lead::on((80, 24), true);
    let mut events = turn();
    events.push(AgentEvent::TurnEnded {
        text: String::new(),
        usage: Usage {
            output_tokens: 3200,
            ..Usage::default()
        },
        outcome: "finished".to_owned(),
        error: None,
    });
    events.push(AgentEvent::Expand);
    lead.events(events);
    insta::assert_snapshot!("unfolded-80x24", lead.emulator.picture());
}

/// A conversation of several turns in the pager.
struct Conversation;

impl Document for Conversation {
    fn blocks(&self) -> usize {
        20
    }

    fn rows(&self, block: usize, theme: Theme) -> Vec<String> {
        let drawn = Drawn::default();
        let cwd = Path::new("/home/dev/calc");
        let mut view = PaneView::unfolded(drawn.clone(), theme, cwd, None);
        let mut events = turn();
        if block == 0 {
            events.insert(
                1,
                AgentEvent::ThinkingDelta {
                    text: "The import is slow.\nLook at scan() first.".to_owned(),
                },
            );
        }
        for event in events {
            view.event(&event);
        }
        drop(view);
        let text = drawn.0.lock();
        let text = String::from_utf8_lossy(&text);
        text.lines().map(str::to_owned).collect()
    }
}

#[derive(Clone, Default)]
struct Drawn(Arc<Mutex<Vec<u8>>>);

impl Write for Drawn {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn the_pager_shows_results_in_full_at_every_size() {
    for (columns, rows) in SIZES {
        let lead = Lead::on((columns, rows), true);
        lead.console
            .page(Pager::new("transcript", Box::new(Conversation)));
        insta::assert_snapshot!(format!("pager-{columns}x{rows}"), lead.emulator.picture());
    }
}

#[test]
fn the_end_of_a_conversation_is_readable_without_colours() {
    let lead = Lead::on((80, 24), false);
    lead.console.ask(Some(dialog()), Duration::ZERO);
    lead.console
        .page(Pager::new("transcript", Box::new(Conversation)).from_end());
    insta::assert_snapshot!("pager-end-plain-80x24", lead.emulator.picture());
}

fn team() -> PanelContent {
    let member = |name: &str, color, state, tokens, context, task: &str| PanelMember {
        name: MemberName::parse(name).expect("a valid name"),
        color,
        state,
        // In the future, so that no time has passed however slow the test is.
        since: Some(Instant::now() + Duration::from_hours(1)),
        task: task.to_owned(),
        tokens,
        context,
    };
    let work = "#2 Read each file only once, and measure it with three large files";
    PanelContent {
        members: vec![
            member("team-lead", None, MemberState::Idle, 51_000, Some(24), ""),
            member(
                "alice",
                Some(Color::Blue),
                MemberState::Working,
                128_400,
                Some(63),
                work,
            ),
            member(
                "bob",
                Some(Color::Green),
                MemberState::WaitingPermission,
                9_100,
                Some(4),
                "#3 Publish it",
            ),
            member("carol", Some(Color::Yellow), MemberState::Dead, 0, None, ""),
        ],
        tasks: vec![PanelTask {
            id: "2".to_owned(),
            state: "in_progress",
            owner: "alice".to_owned(),
            subject: work.to_owned(),
        }],
    }
}

#[test]
fn the_team_panel_fits_every_size() {
    for (columns, rows) in SIZES {
        let mut lead = Lead::on((columns, rows), true);
        lead.events(turn());
        lead.console.set_team(team());
        lead.console.open_team(false);
        insta::assert_snapshot!(format!("panel-{columns}x{rows}"), lead.emulator.picture());
    }
    let mut lead = Lead::on((80, 24), false);
    lead.events(turn());
    lead.console.set_team(team());
    lead.console.open_team(true);
    insta::assert_snapshot!("panel-tasks-plain-80x24", lead.emulator.picture());
}

#[test]
fn a_picker_lists_conversations_at_every_size() {
    let item = |id: &str, title: &str, note: &str| PickerItem {
        id: id.to_owned(),
        title: title.to_owned(),
        note: note.to_owned(),
    };
    let items = [
        item(
            "1",
            "Find out why the import is slow, make it faster, and prove it with a benchmark",
            "team calc · 2 h ago",
        ),
        item("2", "(no prompt)", "3 d ago"),
        item("3", "Explain the parser", "/home/dev/parser · 8 d ago"),
    ];
    for (size, color) in [((60, 20), true), ((80, 24), false), ((200, 50), true)] {
        let lead = Lead::on(size, color);
        lead.console.pick(Picker::new(
            "resume",
            "Continue a conversation",
            items.to_vec(),
        ));
        let (columns, rows) = size;
        insta::assert_snapshot!(format!("picker-{columns}x{rows}"), lead.emulator.picture());
    }
}
