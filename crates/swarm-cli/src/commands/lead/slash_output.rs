//! The output of commands in the terminal of a lead, and of the swarm commands that it runs.

use swarm_protocol::{AgentEvent, ErrorKind};
use swarm_ui::{Console, Pager, TextDocument};

use super::configured::{HELP, KEYS, plain_help};
use super::slash::{NO_TEAM, TerminalCommands};
use super::terminal::LeadTerminal;
use crate::command_line::RanCommand;
use crate::output::failure_text;

impl TerminalCommands {
    /// Shows a text with the lead's work.
    pub(super) fn show(&self, text: String) {
        self.view.emit(AgentEvent::CommandOutput { text });
    }

    /// Shows a line with the lead's work.
    pub(super) fn notice(&self, line: String) {
        self.view.emit(AgentEvent::Notice { line });
    }

    pub(super) fn show_run(&self, words: &str) {
        self.show_long(&format!("/{}", words.trim()), &self.run(words, false));
    }

    /// Shows a text, in the pager if it is longer than the screen.
    pub(super) fn show_long(&self, title: &str, text: &str) {
        let lines = text.trim_end().lines().count();
        match &self.console {
            Some(console) if console.is_longer_than_screen(lines) => {
                console.page(Pager::new(title, Box::new(TextDocument::new(text))));
                self.notice(format!("{title}: {lines} lines, shown in the pager"));
            }
            _ => self.show(text.to_owned()),
        }
    }

    pub(super) fn show_mode(&self) {
        self.show(format!("permission mode: {}", self.status.mode()));
    }

    /// Checks the installation with the lead's model.
    pub(super) fn show_doctor(&self) {
        let model = self.current_model();
        // Only a NUL character cannot be quoted.
        let model = shlex::try_quote(&model).unwrap_or_default();
        self.show_long(
            "/doctor",
            &self.run(&format!("doctor --model={model}"), false),
        );
    }

    pub(super) fn help(&self) {
        match &self.console {
            Some(console) => {
                let text = TextDocument::new(&format!("{HELP}\n\n{KEYS}"));
                console.page(Pager::new("help", Box::new(text)));
            }
            None => self.show(plain_help()),
        }
    }

    /// Returns the screen for a command that needs it, or shows that there is none.
    pub(super) fn console_for(&self, command: &str) -> Option<&Console> {
        if self.console.is_none() {
            self.show(format!(
                "/{command} is available only in a terminal with a screen"
            ));
        }
        self.console.as_ref()
    }

    /// Runs a command that opens the person's editor, and shows its output.
    pub(super) fn show_edit(&self, terminal: &LeadTerminal, words: &str) {
        let text = terminal.lend(|| self.run(words, true));
        self.show_long(&format!("/{}", words.trim()), &text);
    }

    /// Runs a command and returns its output. With `has_terminal` it may open the person's editor.
    pub(super) fn run(&self, words: &str, has_terminal: bool) -> String {
        let team = || self.team().unwrap_or_else(|| self.implicit.clone());
        let RanCommand {
            done,
            mut text,
            names_team,
        } = (self.app.command_line).run(
            words,
            &self.app.env.cwd,
            &team,
            &self.acting(),
            has_terminal,
        );
        match done {
            Err(failure)
                if failure.kind == ErrorKind::NotFound && !names_team && self.team().is_none() =>
            {
                text.push_str(NO_TEAM);
            }
            Err(failure) => text.push_str(&failure_text(&failure)),
            Ok(()) => {}
        }
        text
    }
}
