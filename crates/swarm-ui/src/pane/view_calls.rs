//! Tool calls and their results in the log of a pane.

use std::io::Write;

use swarm_protocol::DetailLine;

use crate::pane::calls::{
    Call, CallResult, Drawn, call_line, outcome_behind, outcome_line, outcome_words,
};
use crate::pane::detail::{folded, unfolded};
use crate::pane::view::PaneView;
use crate::sanitize::clean_line;
use crate::style::Style;
use crate::syntax::Syntax;

impl<W: Write> PaneView<W> {
    pub(super) fn call(&mut self, id: &str, tool: &str, line: &str) {
        self.close_text();
        let line = self.places.shorten(tool, &clean_line(line));
        self.calls.start(id, tool, &line);
        self.draw_calls();
    }

    /// Draws the calls and results whose turn has come: results belong below their calls, also if
    /// they arrive in another order.
    pub(super) fn draw_calls(&mut self) {
        loop {
            if let Some((id, line)) = self.calls.next_line() {
                self.draw_call(&id, &line);
            }
            let Some((call, result)) = self.calls.next_result() else {
                return;
            };
            self.draw_result(&call, &result);
        }
    }

    /// Draws the line of a call and leaves it open for the outcome.
    fn draw_call(&mut self, id: &str, line: &str) {
        let (line, taken) = call_line(self.theme(), self.color, line);
        self.last_call = Some((id.to_owned(), taken));
        self.sheet.open_line(&line);
    }

    pub(super) fn outcome(&mut self, id: &str, ok: bool, line: &str, detail: &[DetailLine]) {
        let result = CallResult {
            ok,
            line: line.to_owned(),
            detail: detail.to_vec(),
        };
        self.calls.finish(id, result);
        self.draw_calls();
    }

    fn draw_result(&mut self, call: &Call, result: &CallResult) {
        let (ok, detail) = (result.ok, &result.detail);
        if call.drawn == Drawn::Mail && ok {
            return;
        }
        if call.drawn == Drawn::Nothing {
            self.draw_call(&call.id, &call.line);
        }
        let style = if ok { Style::Dim } else { Style::Bad };
        let line = self.places.shorten(&call.tool, &clean_line(&result.line));
        self.draw_outcome(call, style, &outcome_words(ok, &line));
        let syntax = Syntax::of_file_in(&call.line);
        let (lines, is_cut) = if self.folds {
            folded(self.theme(), detail, syntax)
        } else {
            (unfolded(self.theme(), detail, syntax), false)
        };
        for line in lines {
            self.sheet.line(&line);
        }
        if is_cut {
            self.folded = Some((call.line.clone(), detail.clone()));
        }
    }

    /// Draws the last folded result in full.
    pub(super) fn expand(&mut self) {
        let Some((call, detail)) = self.folded.take() else {
            return self.notice("nothing to expand");
        };
        self.sheet.close_line();
        self.draw_call("", &call);
        for line in unfolded(self.theme(), &detail, Syntax::of_file_in(&call)) {
            self.sheet.line(&line);
        }
        self.folded = Some((call, detail));
    }

    /// Draws an outcome after its call's line if that is open and has enough room, otherwise on a
    /// separate line.
    fn draw_outcome(&mut self, call: &Call, style: Style, outcome: &str) {
        let theme = self.theme();
        let open = self.last_call.as_ref();
        let open = open.filter(|(id, _)| self.sheet.is_open() && *id == call.id);
        let behind = open.and_then(|(_, taken)| outcome_behind(theme, style, outcome, *taken));
        let name = open.is_none().then_some(call.line.as_str());
        match behind {
            Some(end) => self.sheet.finish_line(&end),
            None => self.sheet.line(&outcome_line(theme, style, name, outcome)),
        }
    }
}
