//! The team panel of a console, and messages that are started in it.

use super::input::{Key, PaneInput, PanelAction};
use super::screen::{Console, Inner};
use super::team_panel::{Addressee, PanelContent, PanelKey, TeamPanel};

/// Fewest lines of a panel: the heading, an entry and the keys.
const SMALLEST: usize = 3;

/// Rows that remain for output and input next to a panel.
const INPUT_AND_OUTPUT: usize = 4;

impl Console {
    /// Sets what the team panel shows.
    pub fn set_team(&self, team: PanelContent) {
        let mut inner = self.inner.lock();
        if inner.panel.is_some() {
            inner.repaint(|inner| inner.team = Some(team));
        } else {
            inner.team = Some(team);
        }
    }

    /// Redraws the team panel, because time has passed. Returns whether it is open.
    pub fn redraw_team(&self) -> bool {
        let mut inner = self.inner.lock();
        let is_open = inner.panel.is_some();
        if is_open && inner.cover.is_none() {
            inner.repaint(|_| ());
        }
        is_open
    }

    /// Opens the team panel, with the tasks if `shows_tasks`.
    pub fn open_team(&self, shows_tasks: bool) {
        let mut inner = self.inner.lock();
        inner.repaint(|inner| inner.panel = Some(TeamPanel::open(shows_tasks)));
    }
}

impl Inner {
    /// Passes a key to the panel; returns it if it is not for the panel.
    pub(super) fn panel_key(&mut self, key: Key) -> Result<Option<PaneInput>, Key> {
        if self.is_explaining() {
            return Err(key);
        }
        let Some(team) = &self.team else {
            return Err(key);
        };
        if key == Key::Team {
            match &mut self.panel {
                None => {
                    self.panel = Some(TeamPanel::open(false));
                    return Ok(Some(PaneInput::TeamPanel));
                }
                Some(panel) => {
                    if panel.toggle() {
                        self.panel = None;
                    }
                }
            }
            return Ok(None);
        }
        if key == Key::Interrupt && self.addressee.is_some() {
            self.line.clear();
            self.end_message();
            return Ok(None);
        }
        if self.panel.is_none() || !self.is_panel_drawn() {
            return Err(key);
        }
        let Some(panel) = &mut self.panel else {
            return Err(key);
        };
        if key == Key::Interrupt && self.dialog.is_some() {
            // A question is more important.
            return Err(key);
        }
        match panel.key(&key, team) {
            PanelKey::NotMine => return Err(key),
            PanelKey::Handled => {}
            PanelKey::Close => self.panel = None,
            PanelKey::Act(PanelAction::Write, name) => {
                let draft = self.line.text().to_owned();
                self.line.clear();
                self.addressee = Some(Addressee { name, draft });
            }
            PanelKey::Act(action, subject) => {
                return Ok(Some(PaneInput::Panel { action, subject }));
            }
        }
        Ok(None)
    }

    /// Returns the lines of the panel: at most half the height, and none if a dialog of `dialog`
    /// lines leaves too little room.
    pub(super) fn panel_lines(&self, room: usize, dialog: usize) -> Vec<String> {
        let Some((panel, team)) = self.panel.as_ref().zip(self.team.as_ref()) else {
            return Vec::new();
        };
        match self.rows_for_panel(dialog) {
            most if most < SMALLEST => Vec::new(),
            most => panel.lines(team, self.theme, room, most),
        }
    }

    /// Returns the most rows of the panel next to a dialog of `dialog` lines.
    fn rows_for_panel(&self, dialog: usize) -> usize {
        let around = dialog + self.status.len() + INPUT_AND_OUTPUT;
        self.rows().saturating_sub(around).min(self.rows() / 2)
    }

    /// Returns whether there is room for the panel: keys must not act on what nobody sees.
    fn is_panel_drawn(&self) -> bool {
        let room = self.columns().saturating_sub(1);
        let rows = self.rows_for_dialog();
        let dialog = self.dialog.as_ref();
        let dialog = dialog.map_or(0, |open| open.lines(self.theme, room, rows).len());
        self.rows_for_panel(dialog) >= SMALLEST
    }

    pub(super) fn has_panel_focus(&self) -> bool {
        self.panel.as_ref().is_some_and(TeamPanel::is_focused) && self.is_panel_drawn()
    }

    /// Sends a line to the member that was chosen in the panel, if any.
    pub(super) fn addressed(&mut self, said: PaneInput) -> PaneInput {
        match said {
            PaneInput::Line(text) if self.addressee.is_some() => match self.end_message() {
                Some(to) => PaneInput::Message { to, text },
                None => PaneInput::Line(text),
            },
            said => said,
        }
    }

    /// Ends a message: the text before it returns to the input line.
    fn end_message(&mut self) -> Option<String> {
        let Addressee { name, draft } = self.addressee.take()?;
        self.line.set_text(&draft);
        Some(name)
    }
}
