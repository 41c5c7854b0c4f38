//! Dialogs above the input line and their answers.

use std::collections::BTreeSet;

use swarm_protocol::Color;

/// A question and the keys that answer it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dialog {
    /// Id that identifies the dialog in the answer.
    pub id: String,
    /// The question, in one line.
    pub question: String,
    /// The name with which the question begins, and its colour.
    pub asker: Option<(String, Option<Color>)>,
    /// Details, line by line.
    pub details: Vec<String>,
    /// The possible answers.
    pub choices: Vec<Choice>,
    /// Key of the choice that asks for a reason, which may be empty.
    pub reason: Option<char>,
    /// Questions that are answered one after the other, before all answers are sent.
    pub form: Vec<FormQuestion>,
}

/// An answer and its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The key.
    pub key: char,
    /// Description of the answer.
    pub label: String,
}

impl Choice {
    /// Creates the answer of a key.
    pub fn new(key: char, label: impl Into<String>) -> Self {
        let label = label.into();
        Self { key, label }
    }

    /// Returns the row of the choice.
    pub(super) fn line(&self) -> String {
        format!("  {}: {}", self.key, self.label)
    }
}

/// A question of a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormQuestion {
    /// Text of the question.
    pub text: String,
    /// Label and description of each option.
    pub options: Vec<(String, String)>,
    /// Whether several options may be chosen.
    pub several: bool,
}

/// The answer to a question of a form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FormAnswer {
    /// Indexes of the chosen options.
    pub options: BTreeSet<usize>,
    /// The person's own words; empty if there are none.
    pub text: String,
}

impl FormAnswer {
    pub(super) fn is_empty(&self) -> bool {
        self.options.is_empty() && self.text.is_empty()
    }
}
