//! One permission rule: `Tool` or `Tool(content)`.

use std::fmt;

/// A permission rule in Claude Code's grammar.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Rule {
    tool: String,
    content: Option<String>,
}

/// A text is not a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("permission rule `{}` is not valid: {why}", .text.escape_debug())]
pub struct RuleError {
    /// The text as it was given.
    pub text: String,
    /// What is wrong with it and what to write instead.
    pub why: String,
}

impl Rule {
    /// Reads `Tool` or `Tool(content)`.
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        let error = |why: &str| RuleError {
            text: text.to_owned(),
            why: why.to_owned(),
        };
        let (tool, content) = match text.split_once('(') {
            None => (text, None),
            Some((tool, rest)) => {
                let content = rest
                    .strip_suffix(')')
                    .ok_or_else(|| error("the bracket is not closed"))?;
                (tool, Some(content.to_owned()))
            }
        };
        if tool.is_empty() {
            return Err(error("it names no tool"));
        }
        Ok(Self {
            tool: tool.to_owned(),
            content,
        })
    }

    /// The tool it speaks of.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// What stands between the brackets.
    pub fn content(&self) -> Option<&str> {
        self.content.as_deref()
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.content {
            None => f.write_str(&self.tool),
            Some(content) => write!(f, "{}({content})", self.tool),
        }
    }
}
