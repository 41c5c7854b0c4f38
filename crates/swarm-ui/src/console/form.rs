//! A form in a dialog: questions with options, answered one after the other.

use std::collections::BTreeSet;
use std::ops::Range;

use super::dialog::{Choice, FormAnswer, FormQuestion};
use super::input::Key;
use super::styled::in_rows;
use crate::sanitize::clean_line;
use crate::signs::DONE;
use crate::style::{Style, paint};
use crate::theme::Theme;
use crate::width::fit;

/// Largest number that a single key selects.
const MOST_NUMBERS: usize = 9;

/// Maximum number of rows of a question.
const MOST_QUESTION: usize = 3;

/// Columns before a question.
const INDENT: usize = 2;

/// Columns before the label of a row: the marker, a key with its colon, and spaces.
const LABEL_INDENT: usize = 5;

/// Rows that say how many choices are left out above and below.
const COUNTS: usize = 2;

/// The answers so far and the page that is shown.
#[derive(Debug)]
pub(super) struct Form {
    pub(super) questions: Vec<FormQuestion>,
    /// Other answers to the dialog, on every page.
    choices: Vec<Choice>,
    answers: Vec<FormAnswer>,
    /// Index of the question that is shown; the number of questions for the last look at all answers.
    page: usize,
    /// Index of the marked row.
    marked: usize,
    /// Why the answers were not sent.
    hint: Option<&'static str>,
}

/// A row that can be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Row {
    Option(usize),
    OwnWords,
    /// Goes to the next question, or sends the only answer.
    Next,
    Send,
    Choice(usize),
}

/// What a key does to a form.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FormStep {
    Stay,
    /// An answer is typed, which begins with this text.
    Type(String),
    /// Another answer to the dialog, by its key.
    Choose(char),
    Send(Vec<FormAnswer>),
}

impl Form {
    pub(super) fn new(questions: Vec<FormQuestion>, choices: Vec<Choice>) -> Self {
        Self {
            answers: vec![FormAnswer::default(); questions.len()],
            questions,
            choices,
            page: 0,
            marked: 0,
            hint: None,
        }
    }

    /// Handles a key. `None` if it has no meaning for the form.
    pub(super) fn key(&mut self, key: &Key) -> Option<FormStep> {
        self.hint = None;
        let rows = self.rows();
        let marked = rows[self.marked];
        match key {
            Key::Enter | Key::SendNow => return Some(self.act(marked)),
            Key::Up => self.marked = self.marked.checked_sub(1).unwrap_or(rows.len() - 1),
            Key::Down => self.marked = (self.marked + 1) % rows.len(),
            Key::Right | Key::Complete => self.turn_to(self.page + 1),
            Key::Left | Key::CycleMode => self.turn_to(self.page.saturating_sub(1)),
            Key::Text(text) => return self.text_key(text, &rows),
            Key::Pasted(text) => return Some(self.begin_answer(text, &rows)),
            _ => return None,
        }
        Some(FormStep::Stay)
    }

    /// Handles typed text. `None` if it begins a command.
    fn text_key(&mut self, text: &str, rows: &[Row]) -> Option<FormStep> {
        let named = rows.iter().position(|row| self.name(*row) == text);
        if let Some(at) = named {
            self.marked = at;
            return Some(self.act(rows[at]));
        }
        if !self.is_typed_only() {
            if text == " " {
                return Some(self.act(rows[self.marked]));
            }
            if matches!(text.as_bytes(), [digit] if digit.is_ascii_digit()) {
                self.hint = Some("this number is not one of the choices");
                return Some(FormStep::Stay);
            }
        }
        // Commands are typed as usual.
        if matches!(text, "/" | "!") {
            return None;
        }
        Some(self.begin_answer(text, rows))
    }

    /// Begins an answer in the person's own words with a text.
    fn begin_answer(&mut self, text: &str, rows: &[Row]) -> FormStep {
        if text.is_empty() {
            return FormStep::Stay;
        }
        let Some(own) = rows.iter().position(|row| *row == Row::OwnWords) else {
            self.hint = Some("1 or Enter sends the answers; Left: back to a question");
            return FormStep::Stay;
        };
        self.marked = own;
        FormStep::Type(text.to_owned())
    }

    /// Returns whether the question that is shown has no options, so that every key begins its
    /// answer.
    fn is_typed_only(&self) -> bool {
        let question = self.questions.get(self.page);
        question.is_some_and(|question| question.options.is_empty())
    }

    /// Sets the typed answer to the question that is shown; an empty one withdraws it.
    pub(super) fn set_text(&mut self, text: &str) -> FormStep {
        let Some(question) = self.questions.get(self.page) else {
            return FormStep::Stay;
        };
        let answer = &mut self.answers[self.page];
        text.trim().clone_into(&mut answer.text);
        if answer.text.is_empty() {
            return FormStep::Stay;
        }
        if question.several {
            self.marked += 1;
            return FormStep::Stay;
        }
        answer.options.clear();
        self.advance()
    }

    fn act(&mut self, row: Row) -> FormStep {
        match row {
            Row::Option(at) => {
                let answer = &mut self.answers[self.page];
                if self.questions[self.page].several {
                    if !answer.options.remove(&at) {
                        answer.options.insert(at);
                    }
                    return FormStep::Stay;
                }
                *answer = FormAnswer {
                    options: BTreeSet::from([at]),
                    text: String::new(),
                };
                self.advance()
            }
            Row::OwnWords => FormStep::Type(self.answers[self.page].text.clone()),
            Row::Next => self.advance(),
            Row::Send => self.send(),
            Row::Choice(at) => FormStep::Choose(self.choices[at].key),
        }
    }

    /// Shows the next page; the answer to the only question is sent.
    fn advance(&mut self) -> FormStep {
        if self.questions.len() == 1 {
            return self.send();
        }
        self.turn_to(self.page + 1);
        FormStep::Stay
    }

    fn send(&mut self) -> FormStep {
        let Some(open) = self.answers.iter().position(FormAnswer::is_empty) else {
            return FormStep::Send(self.answers.clone());
        };
        self.turn_to(open);
        self.hint = Some("this question has no answer yet");
        FormStep::Stay
    }

    /// Shows a page and marks its answer, if there is one.
    fn turn_to(&mut self, page: usize) {
        let last = match self.questions.len() {
            1 => 0,
            many => many,
        };
        self.page = page.min(last);
        let chosen = self.answers.get(self.page).and_then(|answer| {
            let own = (!answer.text.is_empty()).then(|| self.questions[self.page].options.len());
            answer.options.first().copied().or(own)
        });
        self.marked = chosen.unwrap_or(0);
    }

    /// Returns the rows of the page that can be chosen.
    fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        if let Some(question) = self.questions.get(self.page) {
            rows.extend((0..question.options.len()).map(Row::Option));
            rows.push(Row::OwnWords);
            rows.extend(question.several.then_some(Row::Next));
        } else {
            rows.push(Row::Send);
        }
        rows.extend((0..self.choices.len()).map(Row::Choice));
        rows
    }

    /// Returns the text that selects a row; empty if only the marker does.
    fn name(&self, row: Row) -> String {
        if self.is_typed_only() {
            return String::new();
        }
        let number = match row {
            Row::Option(at) => at + 1,
            Row::OwnWords => self.questions[self.page].options.len() + 1,
            Row::Next => self.questions[self.page].options.len() + 2,
            Row::Send => 1,
            Row::Choice(at) => return self.choices[at].key.to_string(),
        };
        let name = (number <= MOST_NUMBERS).then(|| number.to_string());
        name.unwrap_or_default()
    }

    fn label(&self, row: Row) -> String {
        let question = self.questions.get(self.page);
        let answer = self.answers.get(self.page);
        let mark = |is_chosen: bool, label: String| match question {
            Some(question) if question.several && is_chosen => format!("[{DONE}] {label}"),
            Some(question) if question.several => format!("[ ] {label}"),
            _ if is_chosen => format!("{label} {DONE}"),
            _ => label,
        };
        match row {
            Row::Option(at) => {
                let option = question.and_then(|question| question.options.get(at));
                let is_chosen = answer.is_some_and(|answer| answer.options.contains(&at));
                mark(is_chosen, option.map_or_else(String::new, described))
            }
            Row::OwnWords => match answer.map(|answer| answer.text.as_str()) {
                None | Some("") => mark(false, "in your own words".to_owned()),
                Some(text) => mark(true, format!("in your own words: {text}")),
            },
            Row::Next if self.questions.len() == 1 => "send the answer".to_owned(),
            Row::Next => "next question".to_owned(),
            Row::Send => "send the answers".to_owned(),
            Row::Choice(at) => self.choices[at].label.clone(),
        }
    }

    /// Returns a row in the lines of the screen.
    fn label_rows(&self, at: usize, row: Row, room: usize) -> Vec<String> {
        let marker = if at == self.marked { ">" } else { " " };
        let name = match self.name(row) {
            name if name.is_empty() => "  ".to_owned(),
            name => format!("{name}:"),
        };
        let label = clean_line(&self.label(row));
        let rows = in_rows(&label, room.saturating_sub(LABEL_INDENT));
        let rows = rows.iter().enumerate().map(|(at, row)| match at {
            0 => format!("{marker} {name} {row}"),
            _ => format!("{:LABEL_INDENT$}{row}", ""),
        });
        rows.collect()
    }

    /// Returns the page below its heading, in at most `rows` rows unless these are very few. Of
    /// more choices those around the marked one are shown. Returns also whether a part is cut.
    pub(super) fn lines(&self, theme: Theme, room: usize, rows: usize) -> (Vec<String>, bool) {
        let choices = self.rows();
        // The keys have the last row.
        let (mut lines, is_long) = self.above(room, rows.saturating_sub(choices.len() + 1));
        let labels = choices.iter().enumerate();
        let labels: Vec<Vec<String>> = labels
            .map(|(at, row)| self.label_rows(at, *row, room))
            .collect();
        let left = rows.saturating_sub(lines.len() + 1);
        let is_tall = labels.iter().map(Vec::len).sum::<usize>() > left;
        let is_cut = is_tall || is_long;
        let window = around(self.marked, labels.len(), left);
        let left_out = |count: usize| {
            let row = fit(&format!("{:LABEL_INDENT$}… {count} more", ""), room);
            (count > 0 && left > COUNTS).then(|| paint(theme, Style::Dim, &row))
        };
        let below = left_out(labels.len() - window.end);
        lines.extend(left_out(window.start));
        let labels = labels.into_iter().enumerate();
        for (at, label) in labels.filter(|(at, _)| window.contains(at)) {
            let shown = match &label[..] {
                [first, _, ..] if is_tall => {
                    vec![fit(&format!("{first} …"), room)]
                }
                _ => label,
            };
            let style = |row: String| {
                if at == self.marked {
                    paint(theme, Style::Bold, &row)
                } else {
                    row
                }
            };
            lines.extend(shown.into_iter().map(style));
        }
        lines.extend(below);
        let keys = fit(&self.keys(is_cut), room);
        lines.push(paint(theme, Style::Dim, &keys));
        (lines, is_cut)
    }

    /// Returns what the page shows above its choices, and whether a part is cut. All answers have
    /// at most `most` rows.
    fn above(&self, room: usize, most: usize) -> (Vec<String>, bool) {
        if self.questions.len() == 1 {
            return (Vec::new(), false);
        }
        let Some(question) = self.questions.get(self.page) else {
            return self.all_answers(room, most);
        };
        let text = clean_line(&question.text);
        let rows = in_rows(&text, room.saturating_sub(INDENT));
        let is_long = rows.len() > MOST_QUESTION;
        let shown = rows.iter().take(MOST_QUESTION).enumerate();
        let shown = shown.map(|(at, row)| match at + 1 {
            MOST_QUESTION if is_long => fit(&format!("  {row} …"), room),
            _ => format!("  {row}"),
        });
        (shown.collect(), is_long)
    }

    /// Returns each question with its answer, one row each if all of their rows exceed `most`, and
    /// whether a part is cut.
    fn all_answers(&self, room: usize, most: usize) -> (Vec<String>, bool) {
        let pairs = self.questions.iter().zip(&self.answers);
        let texts: Vec<(usize, String)> = pairs
            .flat_map(|(question, answer)| {
                let question_text = clean_line(&question.text);
                let words = clean_line(&words(question, answer));
                [(INDENT, question_text), (2 * INDENT, words)]
            })
            .collect();
        let in_full = texts.iter().flat_map(|&(indent, ref text)| {
            let rows = in_rows(text, room.saturating_sub(indent)).into_iter();
            rows.map(move |row| format!("{:indent$}{row}", ""))
        });
        let in_full: Vec<String> = in_full.collect();
        if in_full.len() <= most {
            return (in_full, false);
        }
        let short = texts.iter().take(most);
        let short = short.map(|&(indent, ref text)| fit(&format!("{:indent$}{text}", ""), room));
        (short.collect(), true)
    }

    fn keys(&self, is_cut: bool) -> String {
        if let Some(hint) = self.hint {
            return format!("  {hint}");
        }
        let first = match (is_cut, self.questions.len()) {
            (true, _) => "Ctrl-O: in full",
            (false, _) if self.is_typed_only() => "type the answer",
            (false, 1) => "Up, Down, Enter or a number",
            (false, _) => "Up, Down, Enter",
        };
        let mut keys = vec![first];
        if self.questions.len() > 1 {
            keys.push("Left, Right: other questions");
        }
        keys.push("Esc: later");
        format!("  {}", keys.join("; "))
    }

    /// Returns what the heading says about the page.
    pub(super) fn progress(&self) -> String {
        match self.questions.len() {
            1 => String::new(),
            _ if self.page == self.questions.len() => ": send these answers?".to_owned(),
            many => format!(" ({} of {many})", self.page + 1),
        }
    }

    /// Returns all questions with their options and answers.
    pub(super) fn in_full(&self) -> Vec<String> {
        let one = |(question, answer): (&FormQuestion, &FormAnswer)| {
            let options = question.options.iter().enumerate();
            let options =
                options.map(|(at, option)| format!("  {}: {}", at + 1, described(option)));
            let text = vec![String::new(), question.text.clone()];
            let answer =
                (!answer.is_empty()).then(|| format!("  answer: {}", words(question, answer)));
            text.into_iter()
                .chain(options)
                .chain(answer)
                .collect::<Vec<_>>()
        };
        self.questions
            .iter()
            .zip(&self.answers)
            .flat_map(one)
            .collect()
    }
}

/// Returns which of `count` rows around the marked one are shown in `room` rows. Unless these are too
/// few, one above and one below say how many are left out.
fn around(marked: usize, count: usize, room: usize) -> Range<usize> {
    if count <= room {
        return 0..count;
    }
    let shown = match room {
        0 => 1,
        1..=COUNTS => room,
        _ => room - COUNTS,
    };
    let start = marked.saturating_sub(shown / 2).min(count - shown);
    start..start + shown
}

/// Returns the answer to a question in words.
fn words(question: &FormQuestion, answer: &FormAnswer) -> String {
    let chosen = answer.options.iter();
    let chosen = chosen.filter_map(|at| question.options.get(*at));
    let mut words: Vec<_> = chosen.map(|(label, _)| label.as_str()).collect();
    words.extend(Some(answer.text.as_str()).filter(|text| !text.is_empty()));
    match words.join(", ") {
        none if none.is_empty() => "(no answer yet)".to_owned(),
        words => words,
    }
}

/// Returns an option in one line.
fn described((label, about): &(String, String)) -> String {
    match about.as_str() {
        "" => label.clone(),
        about => format!("{label}: {about}"),
    }
}

#[cfg(test)]
#[path = "form_tests.rs"]
mod tests;
