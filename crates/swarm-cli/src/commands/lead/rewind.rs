//! `/rewind`: the conversation, the files, or both return to an earlier prompt.

use swarm_agent::{RewindPoints, find_transcript};
use swarm_protocol::MemberName;
use swarm_tools::{Caller, FileHistory, ProtectedPaths, ToolContext};

use super::rewind_picker::{rewind_picker, scope_picker};
use super::slash::TerminalCommands;

impl TerminalCommands {
    /// Shows the earlier prompts, to continue before one of them.
    pub(super) fn pick_prompt(&self) {
        let Some(console) = self.console_for("rewind") else {
            return;
        };
        let Some(points) = self.prompts_in_conversation() else {
            return;
        };
        if points.points().is_empty() {
            return self.show("the conversation has no earlier prompt".to_owned());
        }
        console.pick(rewind_picker(&points));
    }

    /// Asks what returns to its state before the prompt in a line, and lists what is not undone.
    pub(super) fn pick_scope(&self, line: &str) {
        let Some(points) = self.prompts_in_conversation() else {
            return;
        };
        let point = points.points().iter().find(|point| point.line == line);
        let (Some(console), Some(point)) = (&self.console, point) else {
            return;
        };
        let cwd = &self.env.cwd;
        let transcript = find_transcript(&self.app.root, cwd, self.session);
        let history = FileHistory::of_transcript(&transcript);
        let context = ToolContext {
            protected: ProtectedPaths::new(&self.app.root).into(),
            ..ToolContext::new(cwd.clone(), Caller::new(MemberName::lead()))
        };
        match history.changed_since(point.position, &context) {
            Ok(files) => console.pick(scope_picker(point, points.effects(point), &files, cwd)),
            Err(error) => self.show(format!("the earlier files cannot be read: {error}")),
        }
    }

    /// Puts the prompt in a line into the input line, to change it and send it again.
    pub(super) fn edit_again(&self, line: &str) {
        let points = self.prompts_in_conversation();
        let points = points.iter().flat_map(RewindPoints::points);
        let mut prompts = points.filter(|point| point.line == line);
        if let (Some(console), Some(point)) = (&self.console, prompts.next())
            && console.text().is_empty()
        {
            console.set_text(&point.prompt);
        }
    }

    fn prompts_in_conversation(&self) -> Option<RewindPoints> {
        let path = find_transcript(&self.app.root, &self.env.cwd, self.session);
        let read = RewindPoints::open(&path);
        read.inspect_err(|error| self.show(format!("the conversation cannot be read: {error}")))
            .ok()
    }
}
