//! What is wrong with a definition.

use std::fmt;
use std::path::Path;

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
    /// The type that the definition is of, where that is known.
    pub agent: Option<String>,
}

impl DefinitionProblem {
    /// Whether there is no definition of this type because of it: one that says so, or whose file is called so.
    pub fn costs(&self, agent_type: &str) -> bool {
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
        // Whoever reads several has to tell what was left out from what only might be better.
        let word = if self.refused { "refused: " } else { "" };
        write!(f, ": {word}{}", self.what)
    }
}
