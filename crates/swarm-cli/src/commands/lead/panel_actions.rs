//! Actions of the team panel.

use std::process::Command;
use std::sync::Arc;

use swarm_protocol::{MemberName, PermissionMode, TeamName};
use swarm_ui::{PaneInput, PanelAction};
use tokio::sync::mpsc::UnboundedSender;

use super::terminal::LeadTerminal;

/// The modes that a key cycles through.
const CYCLE: [PermissionMode; 3] = [
    PermissionMode::Default,
    PermissionMode::AcceptEdits,
    PermissionMode::Plan,
];

/// What the actions need of the lead's terminal.
pub(super) trait PanelHost: Send + Sync {
    /// Returns the team, if there is one.
    fn team(&self) -> Option<TeamName>;

    /// Shows a text with the lead's work.
    fn show(&self, text: String);

    /// Runs a command and shows its output.
    fn run(&self, command: &str);

    /// Shows the lead's conversation.
    fn page_lead(&self);

    /// Shows a member's conversation, or what it printed if it has none.
    fn page_member(&self, name: &MemberName);

    /// Returns whether a person has paused a member.
    fn is_paused(&self, name: &MemberName) -> bool;

    /// Returns a member's permission mode, if known.
    fn mode_of(&self, name: &MemberName) -> Option<PermissionMode>;

    /// Returns the input that switches the lead to its next mode.
    fn next_mode_of_lead(&self) -> PaneInput;
}

/// Performs actions on members and tasks that a person chose in the panel.
pub(super) struct PanelActions {
    pub(super) host: Arc<dyn PanelHost>,
    pub(super) terminal: LeadTerminal,
    pub(super) lead: UnboundedSender<PaneInput>,
}

impl PanelActions {
    /// Performs an action on the member with this name, or on the task with this id.
    pub(super) fn act(&self, action: PanelAction, subject: &str) {
        if action == PanelAction::ShowTask {
            return self.host.run(&format!("task show {subject}"));
        }
        let Ok(name) = MemberName::parse(subject) else {
            return;
        };
        if name.is_lead() {
            return self.act_on_lead(action);
        }
        match action {
            PanelAction::Look => self.host.page_member(&name),
            PanelAction::Interrupt => self.run(format!("interrupt {name}")),
            PanelAction::Pause if self.host.is_paused(&name) => {
                self.run(format!("continue {name}"));
            }
            PanelAction::Pause => self.run(format!("pause {name}")),
            PanelAction::Mode => {
                let mode = next_mode(self.host.mode_of(&name));
                self.run(format!("mode {name} {mode}"));
            }
            PanelAction::ShutDown => self.run(format!("shutdown {name}")),
            PanelAction::Attach => self.attach(&name),
            // The console starts the message, and tasks were handled above.
            PanelAction::Write | PanelAction::ShowTask => {}
        }
    }

    fn act_on_lead(&self, action: PanelAction) {
        let refusal = match action {
            PanelAction::Look => return self.host.page_lead(),
            PanelAction::Interrupt => return self.tell(PaneInput::Interrupt),
            PanelAction::Mode => return self.tell(self.host.next_mode_of_lead()),
            PanelAction::Pause => "the lead cannot be paused; Esc interrupts it",
            PanelAction::ShutDown => "Ctrl-D on an empty line ends the session",
            PanelAction::Attach => "this is the lead's terminal",
            PanelAction::Write | PanelAction::ShowTask => return,
        };
        self.host.show(refusal.to_owned());
    }

    fn tell(&self, input: PaneInput) {
        // A stopped lead no longer receives.
        self.lead.send(input).ok();
    }

    /// Sends a message to a member.
    pub(super) fn message(&self, to: &str, text: &str) {
        match shlex::try_join(["send", to, "--", text]) {
            Ok(words) => self.run(words),
            Err(error) => self.host.show(format!("the message was not sent: {error}")),
        }
    }

    /// Runs a command that may wait for a member, on a separate thread, so that keys are still read.
    fn run(&self, words: String) {
        let host = Arc::clone(&self.host);
        std::thread::spawn(move || host.run(&words));
    }

    /// Shows the pane of a member in this terminal until the person detaches from it.
    fn attach(&self, name: &MemberName) {
        let Some(team) = self.host.team() else {
            return;
        };
        let attached = self.terminal.lend(|| {
            let mut command = Command::new(std::env::current_exe()?);
            command.args(["attach", name.as_str(), "--team", team.as_str()]);
            command.status()
        });
        match attached {
            Ok(status) if status.success() => {}
            Ok(_) => self.host.run(&format!("peek {name}")),
            Err(error) => self.host.show(format!("swarm could not be run: {error}")),
        }
    }
}

fn next_mode(mode: Option<PermissionMode>) -> PermissionMode {
    let at = CYCLE.iter().position(|known| Some(*known) == mode);
    at.map_or(CYCLE[0], |at| CYCLE[(at + 1) % CYCLE.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_cycled() {
        let next = |mode| next_mode(Some(mode));
        assert_eq!(next(PermissionMode::Default), PermissionMode::AcceptEdits);
        assert_eq!(next(PermissionMode::Plan), PermissionMode::Default);
        assert_eq!(next(PermissionMode::DontAsk), PermissionMode::Default);
    }
}
