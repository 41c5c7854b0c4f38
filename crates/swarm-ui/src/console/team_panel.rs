//! The team panel: members or tasks between the output and the input line.

use std::time::Instant;

use swarm_protocol::{Color, MemberName, MemberState};

use super::input::{Key, PanelAction};
use crate::print::{Cell, Table, short_count, short_duration};
use crate::style::{Style, paint};
use crate::theme::Theme;
use crate::width::{columns, fit};

/// Rows of a panel besides its entries: the heading and the keys.
const FRAME_ROWS: usize = 2;

/// The keys for members, for wide, usual and narrow terminals; `/help` lists all.
const MEMBER_KEYS: [&str; 3] = [
    "Enter look  m write  i interrupt  p pause  c mode  x shut down  a attach  t tasks  Tab type  Esc close",
    "Enter look  m write  i interrupt  p pause  c mode  x stop  a attach  t tasks",
    "Enter look  m write  i interrupt  p pause  x stop  (/help)",
];

const TASK_KEYS: &str = "Enter show  t members  Tab type  Esc close";

/// The keys while the input line has the focus.
const UNFOCUSED_KEYS: &str = "Ctrl-T: to the panel";

/// A member in the team panel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PanelMember {
    /// Its name.
    pub name: MemberName,
    /// Its colour.
    pub color: Option<Color>,
    /// Its state.
    pub state: MemberState,
    /// When the state began, if known.
    pub since: Option<Instant>,
    /// What it works on.
    pub task: String,
    /// Tokens used.
    pub tokens: u64,
    /// Share of the context window in use, in percent.
    pub context: Option<u64>,
}

/// A task in the team panel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PanelTask {
    /// Number of the task.
    pub id: String,
    /// Name of its state.
    pub state: &'static str,
    /// Name of its owner; empty if there is none.
    pub owner: String,
    /// Its subject.
    pub subject: String,
}

/// What the team panel shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PanelContent {
    /// The members, the lead first.
    pub members: Vec<PanelMember>,
    /// The tasks.
    pub tasks: Vec<PanelTask>,
}

/// The member to whom the typed text goes.
#[derive(Debug)]
pub(super) struct Addressee {
    pub(super) name: String,
    /// The text of the input line before.
    pub(super) draft: String,
}

/// What a panel does with a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PanelKey {
    /// The key is not for the panel.
    NotMine,
    /// The panel changed.
    Handled,
    Close,
    /// An action on a member or a task.
    Act(PanelAction, String),
}

#[derive(Debug, Default)]
pub(super) struct TeamPanel {
    shows_tasks: bool,
    selected: usize,
    is_focused: bool,
    /// The member that the next `x` shuts down.
    confirming: Option<String>,
}

impl TeamPanel {
    pub(super) fn open(shows_tasks: bool) -> Self {
        Self {
            shows_tasks,
            is_focused: true,
            ..Self::default()
        }
    }

    /// Handles Ctrl-T. Returns whether the panel closes.
    pub(super) fn toggle(&mut self) -> bool {
        std::mem::replace(&mut self.is_focused, true)
    }

    pub(super) fn is_focused(&self) -> bool {
        self.is_focused
    }

    pub(super) fn key(&mut self, key: &Key, content: &PanelContent) -> PanelKey {
        if !self.is_focused {
            return PanelKey::NotMine;
        }
        let confirming = self.confirming.take();
        let last = self.subjects(content).len().saturating_sub(1);
        self.selected = self.selected.min(last);
        match key {
            Key::Up => self.selected = self.selected.saturating_sub(1),
            Key::Down => self.selected = last.min(self.selected + 1),
            Key::Home => self.selected = 0,
            Key::End => self.selected = last,
            Key::Complete => self.is_focused = false,
            Key::Interrupt => return PanelKey::Close,
            Key::Enter if self.shows_tasks => return self.act(PanelAction::ShowTask, content),
            Key::Enter => return self.act(PanelAction::Look, content),
            Key::Pasted(_) => {
                // It is meant for the line.
                self.is_focused = false;
                return PanelKey::NotMine;
            }
            Key::Text(letter) => return self.letter(letter, confirming.as_deref(), content),
            _ => return PanelKey::NotMine,
        }
        PanelKey::Handled
    }

    fn letter(
        &mut self,
        letter: &str,
        confirming: Option<&str>,
        content: &PanelContent,
    ) -> PanelKey {
        let action = match letter {
            "k" => return self.key(&Key::Up, content),
            "j" => return self.key(&Key::Down, content),
            "q" => return PanelKey::Close,
            "t" => {
                self.shows_tasks = !self.shows_tasks;
                self.selected = 0;
                return PanelKey::Handled;
            }
            // Keys of a dialog.
            digit if digit.chars().all(|c| c.is_ascii_digit()) => return PanelKey::NotMine,
            _ if self.shows_tasks => return PanelKey::Handled,
            "m" => PanelAction::Write,
            "i" => PanelAction::Interrupt,
            "p" => PanelAction::Pause,
            "c" => PanelAction::Mode,
            "a" => PanelAction::Attach,
            "x" => {
                let subject = self.subject(content);
                if subject.is_some() && confirming == subject.as_deref() {
                    return self.act(PanelAction::ShutDown, content);
                }
                self.confirming = subject;
                return PanelKey::Handled;
            }
            _ => return PanelKey::Handled,
        };
        self.act(action, content)
    }

    fn act(&mut self, action: PanelAction, content: &PanelContent) -> PanelKey {
        let Some(subject) = self.subject(content) else {
            return PanelKey::Handled;
        };
        if action == PanelAction::Write {
            self.is_focused = false;
        }
        PanelKey::Act(action, subject)
    }

    /// Returns the names of the members, or the ids of the tasks.
    fn subjects(&self, content: &PanelContent) -> Vec<String> {
        if self.shows_tasks {
            content.tasks.iter().map(|task| task.id.clone()).collect()
        } else {
            let members = content.members.iter();
            members.map(|member| member.name.to_string()).collect()
        }
    }

    /// Returns the selected member or task.
    fn subject(&self, content: &PanelContent) -> Option<String> {
        self.subjects(content).into_iter().nth(self.selected)
    }

    /// Returns the lines of the panel, at most `most`, each in one row of `room` columns.
    pub(super) fn lines(
        &self,
        content: &PanelContent,
        theme: Theme,
        room: usize,
        most: usize,
    ) -> Vec<String> {
        let dim = |text: &str| {
            let text = fit(text, room);
            paint(theme, Style::Dim, &text)
        };
        if self.subjects(content).is_empty() {
            let empty = if self.shows_tasks {
                "no tasks yet"
            } else {
                "no team yet: the lead creates one when it needs one"
            };
            return vec![dim(empty), dim(self.keys(room))];
        }
        let inside = theme.with_width(room.saturating_sub(2));
        let table = if self.shows_tasks {
            tasks(content)
        } else {
            members(content)
        };
        let table = table.render(inside);
        let mut rows = table.lines();
        let heading = rows.next().unwrap_or_default();
        let rows: Vec<&str> = rows.collect();
        let shown = most.saturating_sub(FRAME_ROWS).max(1).min(rows.len());
        let selected = self.selected.min(rows.len().saturating_sub(1));
        let first = (selected + 1).saturating_sub(shown);
        let mut lines = vec![format!("  {heading}")];
        for (at, row) in rows.iter().enumerate().skip(first).take(shown) {
            let is_marked = at == selected && self.is_focused;
            let mark = paint(theme, Style::Bold, if is_marked { ">" } else { " " });
            lines.push(format!("{mark} {row}"));
        }
        let hidden = rows.len() - shown;
        let keys = match &self.confirming {
            Some(name) => format!("press x again to shut {name} down"),
            None if hidden > 0 => {
                format!("{} of {}  {}", selected + 1, rows.len(), self.keys(room))
            }
            None => self.keys(room).to_owned(),
        };
        lines.push(dim(&keys));
        lines
    }

    fn keys(&self, room: usize) -> &'static str {
        match (self.is_focused, self.shows_tasks) {
            (false, _) => UNFOCUSED_KEYS,
            (true, true) => TASK_KEYS,
            (true, false) => {
                let fitting = MEMBER_KEYS.iter().find(|keys| columns(keys) <= room);
                fitting.unwrap_or(&MEMBER_KEYS[2])
            }
        }
    }
}

fn members(content: &PanelContent) -> Table {
    let headings = ["MEMBER", "STATE", "TIME", "TOKENS", "CONTEXT", "TASK"];
    let mut table = Table::new(headings).right([2, 3, 4]).spare([3, 4, 2]);
    for member in &content.members {
        let time = member.since.map(|since| match since.elapsed().as_secs() {
            0 => "0 s".to_owned(),
            seconds => short_duration(seconds * 1000),
        });
        let share = member.context.map(|percent| format!("{percent} %"));
        let tokens = match member.tokens {
            0 => String::new(),
            tokens => short_count(tokens),
        };
        table.row([
            Cell::name(member.name.as_str(), member.color),
            Cell::of_state(member.state.name(), member.state),
            Cell::new(time.unwrap_or_default()),
            Cell::new(tokens),
            Cell::new(share.unwrap_or_default()),
            Cell::new(&member.task),
        ]);
    }
    table
}

fn tasks(content: &PanelContent) -> Table {
    let mut table = Table::new(["TASK", "STATE", "OWNER", "SUBJECT"]).right([0]);
    for task in &content.tasks {
        table.row([&task.id, task.state, &task.owner, &task.subject].map(Cell::new));
    }
    table
}

#[cfg(test)]
#[path = "team_panel_tests.rs"]
mod tests;
