//! Problems in agent definitions.

use std::fmt;
use std::path::Path;

/// A problem in a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinitionProblem {
    /// The file, or the flag.
    pub origin: String,
    /// The line of the file, counted from 1.
    pub line: Option<usize>,
    /// The problem and the correct form, as a sentence without a full stop.
    pub what: String,
    /// Whether the definition is rejected. Otherwise it is used and this is a warning.
    pub refused: bool,
    /// The type of the definition, if known.
    pub agent: Option<String>,
}

impl DefinitionProblem {
    /// Returns whether this problem rejects the definition of a type, identified by its name or,
    /// without one, its file name.
    pub fn rejects(&self, agent_type: &str) -> bool {
        let stem = || {
            let file = Path::new(&self.origin).file_stem()?;
            file.to_str().map(str::to_owned)
        };
        let name = self.agent.clone().or_else(stem);
        self.refused && name.is_some_and(|name| name.eq_ignore_ascii_case(agent_type))
    }
}

impl fmt::Display for DefinitionProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.origin)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        // Distinguishes rejected definitions from warnings.
        let word = if self.refused { "refused: " } else { "" };
        write!(f, ": {word}{}", self.what)
    }
}

/// Why a value is invalid, to complete a sentence about the field.
pub(super) type ValueError = String;

/// The effect of a problem on the definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// The definition is rejected.
    Refused,
    /// The definition is used; the text says what applies instead.
    Instead(&'static str),
    /// The definition is used unchanged.
    None,
}

/// The problems of one field.
#[derive(Debug, Default)]
pub(super) struct Notes(pub(super) Vec<(ValueError, Effect)>);

impl Notes {
    /// Adds an invalid value, with what applies `instead`.
    pub(super) fn instead(&mut self, what: impl Into<ValueError>, instead: &'static str) {
        self.0.push((what.into(), Effect::Instead(instead)));
    }

    pub(super) fn remark(&mut self, what: impl Into<ValueError>) {
        self.0.push((what.into(), Effect::None));
    }

    pub(super) fn value<T>(&mut self, value: Result<T, ValueError>) -> Option<T> {
        value
            .map_err(|wrong| self.instead(wrong, "it is ignored"))
            .ok()
    }

    /// Returns a value that the definition requires.
    pub(super) fn required(&mut self, value: Result<String, ValueError>) -> String {
        value.unwrap_or_else(|wrong| {
            self.0.push((wrong, Effect::Refused));
            String::new()
        })
    }
}
