//! Lines of sub-agents: start, end, and the calls in between.

use swarm_protocol::{AgentEvent, SubAgentId};

use crate::pane::log_canvas::INDENT;
use crate::print::{counted, short_count, short_duration};
use crate::sanitize::clean_line;
use crate::style::{Style, paint};
use crate::theme::Theme;
use crate::width::fit;

/// Edge of the first line of a sub-agent.
const BEGIN: &str = "┌─";
/// Edge of its other lines.
const SIDE: &str = "│ ";
/// Edge of its last line.
const END: &str = "└─";

/// Number of hex digits that distinguish the sub-agents of a pane.
const SHORT_ID: usize = 4;

#[derive(Debug, Default)]
pub(super) struct SubAgentLines {
    open: Vec<Open>,
}

#[derive(Debug)]
struct Open {
    id: SubAgentId,
    agent_type: String,
    depth: usize,
}

/// A line before it is drawn: its depth, its edge, its words and their style.
type Line = (usize, &'static str, String, Style);

impl SubAgentLines {
    pub(super) fn line(&mut self, theme: Theme, event: &AgentEvent) -> Option<String> {
        let (depth, edge, words, style) = self.words(event)?;
        let above = SIDE.repeat(depth);
        let edge = edge.trim_end();
        let line = format!("{}{above}{edge} {words}", " ".repeat(INDENT));
        let line = fit(&line, theme.room(0));
        Some(paint(theme, style, &line))
    }

    fn words(&mut self, event: &AgentEvent) -> Option<Line> {
        match event {
            AgentEvent::SubAgentStarted {
                id,
                parent,
                agent_type,
                description,
                background,
            } => {
                let above = self
                    .open
                    .iter()
                    .find(|open| Some(&open.id) == parent.as_ref());
                let depth = above.map_or(0, |open| open.depth + 1);
                self.open.push(Open {
                    id: id.clone(),
                    agent_type: clean_line(agent_type),
                    depth,
                });
                let beside = if *background { " (background)" } else { "" };
                let words = format!(
                    "Sub-agent [{} {}] {}{beside}",
                    clean_line(agent_type),
                    short(id),
                    clean_line(description)
                );
                Some((depth, BEGIN, words, Style::Bold))
            }
            AgentEvent::SubAgentEvent { id, event } => {
                let open = self.open.iter().find(|open| open.id == *id)?;
                let what = inner_words(event)?;
                let words = format!("[{} {}] {what}", open.agent_type, short(id));
                Some((open.depth, SIDE, words, Style::Dim))
            }
            AgentEvent::SubAgentEnded {
                id,
                agent_type,
                outcome,
                error,
                usage,
                tool_calls,
                duration_ms,
                ..
            } => {
                let at = self.open.iter().position(|open| open.id == *id);
                let depth = at.map_or(0, |at| self.open.remove(at).depth);
                let error = error
                    .as_deref()
                    .map(|error| format!(": {}", clean_line(error)));
                let words = format!(
                    "[{} {}] {outcome}{}, {}, {} tokens, {}",
                    clean_line(agent_type),
                    short(id),
                    error.unwrap_or_default(),
                    counted(*tool_calls, "call"),
                    short_count(usage.total()),
                    short_duration(*duration_ms)
                );
                let style = if outcome == "completed" {
                    Style::Dim
                } else {
                    Style::Bad
                };
                Some((depth, END, words, style))
            }
            _ => None,
        }
    }
}

fn inner_words(event: &AgentEvent) -> Option<String> {
    match event {
        AgentEvent::ToolStarted { line, .. } => Some(clean_line(line)),
        AgentEvent::ToolFinished {
            ok: false,
            tool,
            line,
            ..
        } => Some(format!("{} failed: {}", clean_line(tool), clean_line(line))),
        AgentEvent::Retrying {
            attempt,
            wait_ms,
            reason,
            ..
        } => Some(format!(
            "attempt {attempt} in {}: {}",
            short_duration(*wait_ms),
            clean_line(reason)
        )),
        _ => None,
    }
}

fn short(id: &SubAgentId) -> &str {
    let text = id.as_str();
    &text[..text.len().min(SHORT_ID + 1)]
}
