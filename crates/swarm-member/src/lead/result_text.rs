//! The text that a run returns as its result.

/// The lead's report. A lead often ends with a remark after its report: it answers a late notice
/// with "Done.", or confirms that its teammates have shut down.
#[derive(Debug, Default)]
pub(super) struct ResultText {
    text: String,
    /// Whether all work was finished when it was written.
    is_report: bool,
}

impl ResultText {
    /// Adds the final text of a turn. Once the work is finished, a shorter text does not replace a
    /// longer one.
    pub(super) fn turn_ended(&mut self, text: &str, is_work_finished: bool) {
        let is_remark = self.is_report
            && is_work_finished
            && text.trim().chars().count() < self.text.trim().chars().count();
        if !text.trim().is_empty() && !is_remark {
            text.clone_into(&mut self.text);
        }
        self.is_report = is_work_finished && !self.text.is_empty();
    }

    /// The next text of the lead replaces this one: it was asked for its final report, a person has
    /// written, or a command is pending.
    pub(super) fn is_provisional(&mut self) {
        self.is_report = false;
    }

    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(turns: &[(&str, bool)]) -> String {
        let mut result = ResultText::default();
        for (text, is_work_finished) in turns {
            result.turn_ended(text, *is_work_finished);
        }
        result.take()
    }

    #[test]
    fn a_remark_after_the_report_does_not_replace_it() {
        let report = "## Result\nThe index is built once.";
        assert_eq!(after(&[(report, true), ("Done.", true)]), report);
        assert_eq!(after(&[(report, true), ("", true)]), report);
        assert_eq!(
            after(&[("Done.", true), ("", true), (report, true)]),
            report,
            "a longer one says more"
        );
    }

    #[test]
    fn text_during_work_is_replaced() {
        let plan = "Three teammates are at work; I wait for their reports.";
        assert_eq!(after(&[(plan, false), ("It is 42.", true)]), "It is 42.");
        assert_eq!(
            after(&[(plan, true), ("More.", false), ("42.", true)]),
            "42.",
            "new work began"
        );
        assert_eq!(after(&[(plan, false), ("", true)]), plan);
    }

    #[test]
    fn an_answer_to_a_person_replaces_the_report() {
        let mut result = ResultText::default();
        result.turn_ended("a long report of everything", true);
        result.is_provisional();
        result.turn_ended("yes", true);
        assert_eq!(result.take(), "yes");
    }
}
