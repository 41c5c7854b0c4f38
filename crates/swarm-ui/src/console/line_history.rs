//! Earlier lines of the input line.

#[derive(Debug, Default)]
pub(super) struct LineHistory {
    pub(super) lines: Vec<String>,
    /// Index of the line in the input line.
    pub(super) at: Option<usize>,
    /// The input line before history navigation.
    pub(super) draft: String,
}

impl LineHistory {
    pub(super) fn add(&mut self, line: &str) {
        let draft = std::mem::take(&mut self.draft);
        if self.at.take().is_some() && !draft.trim().is_empty() {
            self.lines.push(draft);
        }
        if self.lines.last().is_none_or(|last| last != line) {
            self.lines.push(line.to_owned());
        }
    }

    /// After an edit, the line becomes the draft; the previous draft becomes a history entry.
    fn notice_change(&mut self, text: &str) {
        let line = self.at.and_then(|at| self.lines.get(at));
        if line.is_some_and(|line| line != text) {
            let draft = std::mem::take(&mut self.draft);
            if !draft.trim().is_empty() {
                self.lines.push(draft);
            }
            self.at = None;
        }
    }

    /// Returns the previous line, if any; `text` is the current input line.
    pub(super) fn previous(&mut self, text: &str) -> Option<String> {
        self.notice_change(text);
        let before = self.at.unwrap_or(self.lines.len()).checked_sub(1)?;
        if self.at.is_none() {
            text.clone_into(&mut self.draft);
        }
        self.at = Some(before);
        self.lines.get(before).cloned()
    }

    /// Returns the next line, or the draft after the last one.
    pub(super) fn next(&mut self, text: &str) -> Option<String> {
        self.notice_change(text);
        let next = self.at? + 1;
        let line = self.lines.get(next).cloned();
        self.at = line.as_ref().map(|_| next);
        Some(line.unwrap_or_else(|| std::mem::take(&mut self.draft)))
    }
}
