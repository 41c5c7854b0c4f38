//! The calls of a turn whose results are not in the output yet.

use std::time::Instant;

use crate::pane::MAIL_TOOL;
use crate::sanitize::clean_line;
use crate::signs::{DONE, FAILED};

/// Maximum number of rows about finished calls.
const ROWS: usize = 4;

#[derive(Debug, Clone)]
struct TurnCall {
    id: String,
    tool: String,
    line: String,
    began: Instant,
    /// Whether it has succeeded, once it has finished.
    ok: Option<bool>,
}

impl TurnCall {
    fn is_running(&self) -> bool {
        self.ok.is_none()
    }

    fn is_mail(&self) -> bool {
        self.tool == MAIL_TOOL
    }
}

/// The calls of a turn, in the order in which they started.
#[derive(Debug, Clone, Default)]
pub(super) struct TurnCalls(Vec<TurnCall>);

impl TurnCalls {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn start(&mut self, id: &str, tool: &str, line: &str, now: Instant) {
        self.0.push(TurnCall {
            id: id.to_owned(),
            tool: tool.to_owned(),
            line: clean_line(line),
            began: now,
            ok: None,
        });
    }

    /// Marks a call as finished, and removes the calls that the output shows: results are below
    /// their calls, in the order of the calls. Messages are shown when they are sent.
    pub(super) fn finish(&mut self, id: &str, ok: bool) {
        for call in self.0.iter_mut().filter(|call| call.id == id) {
            call.ok = Some(ok);
        }
        let mut is_held = false;
        self.0.retain(|call| {
            is_held |= call.is_running() && !call.is_mail();
            call.is_running() || (is_held && !call.is_mail())
        });
    }

    /// Returns tool and start of each running call.
    pub(super) fn running(&self) -> Vec<(&str, Instant)> {
        let running = self.0.iter().filter(|call| call.is_running());
        running
            .map(|call| (call.tool.as_str(), call.began))
            .collect()
    }

    /// Returns a row for each finished call whose result is not in the output yet.
    pub(super) fn finished_rows(&self) -> Vec<String> {
        let finished = self.0.iter().filter_map(|call| {
            let sign = if call.ok? { DONE } else { FAILED };
            Some(format!("{sign} {}", call.line))
        });
        let mut rows: Vec<String> = finished.collect();
        if rows.len() > ROWS {
            let others = rows.len() - (ROWS - 1);
            rows.truncate(ROWS - 1);
            rows.push(format!("{DONE} {others} more calls"));
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finished_calls_have_rows_until_the_calls_before_them_have_finished() {
        let mut calls = TurnCalls::default();
        for (id, tool, line) in [
            ("1", "Bash", "Bash make"),
            ("2", "Read", "Read y"),
            ("m", "SendMessage", "SendMessage bob"),
            ("3", "Grep", "Grep x"),
            ("4", "Bash", "Bash wait"),
        ] {
            calls.start(id, tool, line, Instant::now());
        }
        let rows = TurnCalls::finished_rows;
        assert!(rows(&calls).is_empty());
        calls.finish("3", false);
        calls.finish("m", true);
        calls.finish("2", true);
        assert_eq!(rows(&calls), ["✓ Read y", "✗ Grep x"]);
        let tools: Vec<&str> = calls.running().iter().map(|(tool, _)| *tool).collect();
        assert_eq!(tools, ["Bash", "Bash"]);
        calls.finish("1", true);
        assert!(rows(&calls).is_empty(), "their results are drawn");
        assert_eq!(calls.running().len(), 1);
    }

    #[test]
    fn many_finished_calls_have_few_rows() {
        let mut calls = TurnCalls::default();
        for number in 0..10 {
            let id = number.to_string();
            calls.start(&id, "Read", &format!("Read {id}"), Instant::now());
        }
        for number in 1..10 {
            calls.finish(&number.to_string(), true);
        }
        let rows = calls.finished_rows();
        assert_eq!(rows, ["✓ Read 1", "✓ Read 2", "✓ Read 3", "✓ 6 more calls"]);
    }
}
