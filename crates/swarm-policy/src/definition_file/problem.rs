//! What is wrong with a definition.

use std::fmt;

/// Something about a definition that its author should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinitionProblem {
    /// The file, or the flag.
    pub origin: String,
    /// The line of the file, counted from 1.
    pub line: Option<usize>,
    /// What is wrong and what to write instead, as one sentence without its end.
    pub what: String,
    /// Whether there is no definition because of it. Otherwise it counts, and this is a remark.
    pub refused: bool,
}

impl fmt::Display for DefinitionProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.origin)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.what)
    }
}
