//! What an agent program says in one turn.

use std::collections::HashMap;

use swarm_agent::Turn;
use swarm_protocol::{AgentEvent, DetailLine, Usage};

/// Lines of a call's output that reach the pane.
const DETAIL_LINES: usize = 200;

/// The texts and calls of one turn, drawn as they arrive.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    /// Finished texts; calls were made between them.
    texts: Vec<String>,
    current: String,
    /// Names of the calls without a result, by id.
    calls: HashMap<String, String>,
    pub(crate) usage: Usage,
}

impl Reply {
    /// Adds a part of the current text.
    pub(crate) fn text(&mut self, turn: &Turn<'_>, text: &str) {
        self.current.push_str(text);
        turn.emit(AgentEvent::TextDelta {
            text: text.to_owned(),
        });
    }

    /// Adds a part of the agent's thinking.
    pub(crate) fn thinking(turn: &Turn<'_>, text: &str) {
        turn.emit(AgentEvent::ThinkingDelta {
            text: text.to_owned(),
        });
    }

    pub(crate) fn end_text(&mut self, turn: &Turn<'_>) {
        let text = std::mem::take(&mut self.current);
        if text.trim().is_empty() {
            return;
        }
        turn.emit(AgentEvent::MessageDone { text: text.clone() });
        self.texts.push(text);
    }

    /// Shows that a call started.
    pub(crate) fn call_started(&mut self, turn: &Turn<'_>, id: &str, tool: &str, line: String) {
        self.end_text(turn);
        self.calls.insert(id.to_owned(), tool.to_owned());
        turn.emit(AgentEvent::ToolStarted {
            id: id.to_owned(),
            tool: tool.to_owned(),
            line,
        });
    }

    /// Shows the result of a call that started.
    pub(crate) fn call_ended(&mut self, turn: &Turn<'_>, id: &str, ok: bool, output: &str) {
        let Some(tool) = self.calls.remove(id) else {
            return;
        };
        let lines = output.lines().count();
        let line = match (ok, lines) {
            (true, 0) => "ok".to_owned(),
            (true, 1) => "ok, 1 line".to_owned(),
            (true, lines) => format!("ok, {lines} lines"),
            (false, _) => "failed".to_owned(),
        };
        let detail = output.lines().take(DETAIL_LINES).map(DetailLine::output);
        turn.emit(AgentEvent::ToolFinished {
            id: id.to_owned(),
            tool,
            ok,
            line,
            detail: detail.collect(),
        });
    }

    /// Ends the turn: returns its texts, of which there is at least one.
    pub(crate) fn finish(mut self, turn: &Turn<'_>) -> (Vec<String>, Usage) {
        self.end_text(turn);
        let open: Vec<_> = self.calls.keys().cloned().collect();
        for id in open {
            self.call_ended(turn, &id, false, "");
        }
        if self.texts.is_empty() {
            self.texts.push("(no text)".to_owned());
        }
        (self.texts, self.usage)
    }
}
