//! Actions of the team panel.

use std::process::Command;
use std::sync::Arc;

use swarm_protocol::{Member, MemberName, PermissionMode};
use swarm_store::BlockOn as _;
use swarm_ui::{PaneInput, PanelAction};

use super::slash::TerminalCommands;
use super::terminal::LeadTerminal;

/// The modes that a key cycles through.
const CYCLE: [PermissionMode; 3] = [
    PermissionMode::Default,
    PermissionMode::AcceptEdits,
    PermissionMode::Plan,
];

/// Performs actions on members and tasks that a person chose in the panel.
pub(super) struct PanelActions {
    pub(super) commands: Arc<TerminalCommands>,
    pub(super) terminal: LeadTerminal,
}

impl PanelActions {
    /// Performs an action on the member with this name, or on the task with this id.
    pub(super) fn act(&self, action: PanelAction, subject: &str) {
        if action == PanelAction::ShowTask {
            return self.commands.show_run(&format!("task show {subject}"));
        }
        let Ok(name) = MemberName::parse(subject) else {
            return;
        };
        if name.is_lead() {
            return self.act_on_lead(action);
        }
        match action {
            PanelAction::Look => self.page_member(&name),
            PanelAction::Interrupt => self.run(format!("interrupt {name}")),
            PanelAction::Pause if self.is_paused(&name) => {
                self.run(format!("continue {name}"));
            }
            PanelAction::Pause => self.run(format!("pause {name}")),
            PanelAction::Mode => {
                let config = self.commands.config();
                let member = config.as_ref().and_then(|config| config.member(&name));
                let ceiling = self.ceiling(&name);
                let mode = next_mode(member.and_then(Member::known_mode), ceiling);
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
            PanelAction::Look => return self.commands.page_transcript(),
            PanelAction::Interrupt => return self.tell(PaneInput::Interrupt),
            PanelAction::Mode => return self.tell(self.commands.mode_input(None)),
            PanelAction::Pause => "the lead cannot be paused; Esc interrupts it",
            PanelAction::ShutDown => "Ctrl-D on an empty line ends the session",
            PanelAction::Attach => "this is the lead's terminal",
            PanelAction::Write | PanelAction::ShowTask => return,
        };
        self.commands.show(refusal.to_owned());
    }

    fn tell(&self, input: PaneInput) {
        // A stopped lead no longer receives.
        self.commands.lead.send(input).ok();
    }

    pub(super) fn message(&self, to: &str, text: &str) {
        match shlex::try_join(["send", to, "--", text]) {
            Ok(words) => self.run(words),
            Err(error) => self
                .commands
                .show(format!("the message was not sent: {error}")),
        }
    }

    /// Runs a command that may wait for a member, on a separate thread, so that keys are still read.
    fn run(&self, words: String) {
        let commands = Arc::clone(&self.commands);
        std::thread::spawn(move || commands.show_run(&words));
    }

    /// Shows a member's conversation, or what it printed if it has none.
    fn page_member(&self, name: &MemberName) {
        let config = self.commands.config();
        let member = config.as_ref().and_then(|config| config.member(name));
        match member.and_then(|member| Some((member, member.session()?))) {
            Some((member, session)) => {
                let title = format!("transcript of {name}");
                self.commands
                    .page_conversation(&title, &member.cwd, session);
            }
            None => self.commands.show_run(&format!("logs {name}")),
        }
    }

    /// Returns the highest mode that a member may have, if it has reported it.
    fn ceiling(&self, name: &MemberName) -> Option<PermissionMode> {
        let team = self.commands.app.store.team(&self.commands.team()?);
        let rights = team.rights(name).block_on().ok()??;
        Some(rights.ceiling)
    }

    fn is_paused(&self, name: &MemberName) -> bool {
        let team = self.commands.team();
        let team = team.map(|team| self.commands.app.store.team(&team));
        let views = team.and_then(|team| team.member_view().block_on().ok());
        let mut views = views.into_iter().flatten();
        views.any(|view| view.member.name == *name && view.pause.is_some())
    }

    /// Shows the pane of a member in this terminal until the person detaches from it.
    fn attach(&self, name: &MemberName) {
        let Some(team) = self.commands.team() else {
            return;
        };
        let attached = self.terminal.lend(|| {
            let mut command = Command::new(std::env::current_exe()?);
            command.args(["attach", name.as_str(), "--team", team.as_str()]);
            command.status()
        });
        match attached {
            Ok(status) if status.success() => {}
            Ok(_) => self.commands.show_run(&format!("peek {name}")),
            Err(error) => self
                .commands
                .show(format!("swarm could not be run: {error}")),
        }
    }
}

/// Returns the mode after `mode` that does not exceed the ceiling, if that is known.
fn next_mode(mode: Option<PermissionMode>, ceiling: Option<PermissionMode>) -> PermissionMode {
    let at = CYCLE.iter().position(|known| Some(*known) == mode);
    let after = at.map_or(0, |at| at + 1);
    let mut modes = CYCLE.iter().cycle().skip(after).take(CYCLE.len());
    let next = modes.find(|mode| ceiling.is_none_or(|ceiling| ceiling.covers(**mode)));
    next.copied().unwrap_or(PermissionMode::Plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_cycled() {
        let next = |mode| next_mode(Some(mode), None);
        assert_eq!(next(PermissionMode::Default), PermissionMode::AcceptEdits);
        assert_eq!(next(PermissionMode::Plan), PermissionMode::Default);
        assert_eq!(next(PermissionMode::DontAsk), PermissionMode::Default);
    }

    #[test]
    fn modes_above_the_ceiling_are_skipped() {
        let next = |mode| next_mode(Some(mode), Some(PermissionMode::Default));
        assert_eq!(next(PermissionMode::Default), PermissionMode::Plan);
        assert_eq!(next(PermissionMode::Plan), PermissionMode::Default);
    }
}
