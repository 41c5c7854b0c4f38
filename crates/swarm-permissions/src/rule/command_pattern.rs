//! The content of a `Bash` rule.

use super::wildcard::Wildcard;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CommandPattern {
    /// This text: `npm test`.
    Exact(String),
    /// This text, alone or followed by further words: `git log:*` or `git log *`.
    Prefix(String),
    /// A star in another position: `git * main`, `ls*`.
    Wildcard(Wildcard),
}

impl CommandPattern {
    /// Parses the content of a `Bash` rule. The error says what is wrong.
    pub(crate) fn parse(content: &str) -> Result<Self, String> {
        let content = content.trim();
        if let Some(head) = content.strip_suffix(":*") {
            let head = Wildcard::new(head.trim_end());
            return match head.literal() {
                Some("") => Err("a prefix rule needs a command before `:*`".into()),
                Some(prefix) => Ok(Self::Prefix(prefix.to_owned())),
                None => Err("use either `:*` at the end or `*` within, not both".into()),
            };
        }
        let pattern = Wildcard::new(content);
        if let Some(text) = pattern.literal() {
            return match text {
                "" => Err("the parentheses are empty; use `Bash` for all commands".into()),
                text => Ok(Self::Exact(text.to_owned())),
            };
        }
        match pattern
            .only_trailing_star()
            .and_then(|head| head.strip_suffix(' '))
        {
            Some(prefix) => Ok(Self::Prefix(prefix.trim_end().to_owned())),
            None => Ok(Self::Wildcard(pattern)),
        }
    }

    /// Returns whether a simple command, as words joined by single spaces, matches.
    pub(crate) fn matches(&self, command: &str) -> bool {
        match self {
            Self::Exact(text) => text == command,
            Self::Prefix(prefix) => has_prefix(command, prefix),
            Self::Wildcard(pattern) => pattern.matches(command),
        }
    }

    /// Returns the text of an exact pattern.
    pub(crate) fn exact(&self) -> Option<&str> {
        match self {
            Self::Exact(text) => Some(text),
            Self::Prefix(_) | Self::Wildcard(_) => None,
        }
    }
}

/// A prefix must end at a word boundary: `git log` is not a prefix of `git logs`.
fn has_prefix(command: &str, prefix: &str) -> bool {
    command
        .strip_prefix(prefix)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(content: &str) -> CommandPattern {
        CommandPattern::parse(content).unwrap()
    }

    #[test]
    fn the_three_forms_match_as_documented() {
        for (content, command, fits) in [
            ("npm test", "npm test", true),
            ("npm test", "npm test -- x", false),
            ("git log:*", "git log", true),
            ("git log:*", "git log -p", true),
            ("git log:*", "git logs", false),
            ("git log :*", "git log -p", true),
            ("npm run *", "npm run build", true),
            ("npm run *", "npm run", true),
            ("npm run *", "npm runx", false),
            ("ls*", "lsof", true),
            ("ls *", "lsof", false),
            ("git * main", "git push origin main", true),
            ("git * main", "git push origin next", false),
            ("* --version", "node --version", true),
        ] {
            assert_eq!(
                pattern(content).matches(command),
                fits,
                "{content} on {command}"
            );
        }
    }

    #[test]
    fn empty_and_mixed_forms_are_rejected() {
        for content in ["", "  ", ":*", "git * main:*"] {
            assert!(CommandPattern::parse(content).is_err(), "{content:?}");
        }
    }
}
