//! What stands between the brackets of a `Bash` rule.

use super::wildcard::Wildcard;

/// A pattern for one simple command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CommandPattern {
    /// `npm test`: this text.
    Exact(String),
    /// `git log:*`, or `git log *`: this text alone or followed by further words.
    Prefix(String),
    /// A star anywhere else: `git * main`, `ls*`.
    Wildcard(Wildcard),
}

impl CommandPattern {
    /// Reads the content of a `Bash` rule, or says what is wrong with it.
    pub(crate) fn parse(content: &str) -> Result<Self, String> {
        let content = content.trim();
        if let Some(head) = content.strip_suffix(":*") {
            let head = Wildcard::new(head.trim_end());
            return match head.literal() {
                Some("") => Err("a prefix rule needs a command before `:*`".into()),
                Some(prefix) => Ok(Self::Prefix(prefix.to_owned())),
                None => Err("a rule has either `:*` at its end or `*` within, not both".into()),
            };
        }
        let pattern = Wildcard::new(content);
        if let Some(text) = pattern.literal() {
            return match text {
                "" => Err(
                    "there is nothing between the brackets; write `Bash` for all commands".into(),
                ),
                text => Ok(Self::Exact(text.to_owned())),
            };
        }
        match pattern
            .only_trailing_star()
            .and_then(|head| head.strip_suffix(' '))
        {
            Some(prefix) if !prefix.trim().is_empty() => {
                Ok(Self::Prefix(prefix.trim_end().to_owned()))
            }
            _ => Ok(Self::Wildcard(pattern)),
        }
    }

    /// Whether one simple command, words joined by single blanks, fits.
    pub(crate) fn matches(&self, command: &str) -> bool {
        match self {
            Self::Exact(text) => text == command,
            Self::Prefix(prefix) => has_prefix(command, prefix),
            Self::Wildcard(pattern) => pattern.matches(command),
        }
    }

    /// The text of an exact pattern.
    pub(crate) fn exact(&self) -> Option<&str> {
        match self {
            Self::Exact(text) => Some(text),
            Self::Prefix(_) | Self::Wildcard(_) => None,
        }
    }
}

/// A prefix ends where a word ends: `git log` is no prefix of `git logs`.
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
    fn empty_and_mixed_forms_are_refused() {
        for content in ["", "  ", ":*", "git * main:*"] {
            assert!(CommandPattern::parse(content).is_err(), "{content:?}");
        }
    }
}
