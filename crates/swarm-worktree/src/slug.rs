//! Names of worktrees, validated before they are used in paths.

use std::str::FromStr;

use swarm_protocol::{serde_as_text, wraps_text};

/// Maximum length of a slug in bytes, as in Claude Code.
const LONGEST: usize = 64;

/// The name of a worktree: parts of letters, digits, `.`, `_` and `-`, separated by `/`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slug(String);

/// A text is not a valid slug.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` cannot name a worktree: {why}; use letters, digits, `.`, `_` and `-`, for example `fix-import`", text.escape_debug())]
pub struct SlugError {
    text: String,
    why: &'static str,
}

impl Slug {
    /// Parses a slug.
    ///
    /// # Errors
    /// [`SlugError`] with the reason.
    pub fn parse(text: &str) -> Result<Self, SlugError> {
        match check(text) {
            None => Ok(Self(text.to_owned())),
            Some(why) => Err(SlugError {
                text: text.chars().take(100).collect(),
                why,
            }),
        }
    }

    /// Returns the slug of a sub-agent's worktree: `agent-` and the first eight characters of its
    /// id.
    ///
    /// # Errors
    /// [`SlugError`] if the id has characters that slugs do not allow.
    pub fn of_agent(id: &str) -> Result<Self, SlugError> {
        let short: String = id.chars().take(8).collect();
        Self::parse(&format!("agent-{short}"))
    }

    /// Returns the name of the directory: a single level, with `+` for each `/`.
    pub fn directory(&self) -> String {
        self.0.replace('/', "+")
    }

    /// Returns the name of the branch, without `refs/heads/`.
    pub fn branch(&self) -> String {
        format!("worktree-{}", self.directory())
    }
}

fn check(text: &str) -> Option<&'static str> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if text.is_empty() {
        return Some("it is empty");
    }
    if text.len() > LONGEST {
        return Some("it is longer than 64 characters");
    }
    let wrong_part = text.split('/').find_map(|part| {
        if part.is_empty() {
            Some("a part of it is empty")
        } else if part == "." || part == ".." {
            Some("`.` and `..` are not allowed")
        } else if !part.chars().all(allowed) {
            Some("it has a character that is not allowed")
        } else {
            None
        }
    });
    // Not allowed in branch names, see git-check-ref-format(1).
    let no_branch =
        text.contains("..") || text.ends_with('.') || text.to_ascii_lowercase().ends_with(".lock");
    wrong_part.or(no_branch.then_some("git does not allow a branch of that name"))
}

wraps_text!(Slug);
serde_as_text!(Slug);

impl FromStr for Slug {
    type Err = SlugError;

    fn from_str(text: &str) -> Result<Self, SlugError> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_maps_to_one_directory_and_one_branch() {
        let slug = Slug::parse("fix/Import_2.x").unwrap();
        assert_eq!(slug.directory(), "fix+Import_2.x");
        assert_eq!(slug.branch(), "worktree-fix+Import_2.x");
        assert_eq!(
            Slug::of_agent("a1b2c3d4e5f60718").unwrap().as_str(),
            "agent-a1b2c3d4"
        );
    }

    #[test]
    fn names_with_path_traversal_or_special_characters_are_refused() {
        let long = "x".repeat(65);
        let names = [
            "",
            ".",
            "..",
            "../x",
            "a/../b",
            "/etc",
            "a//b",
            "a/",
            "a;",
            "$(touch P)",
            "a b",
            "-d\n",
            "x\u{202e}",
            "ä",
            "a..b",
            "a.",
            "a.lock",
            "a.LOCK",
            "`id`",
            "a+b",
            &long,
        ];
        for name in names {
            assert!(Slug::parse(name).is_err(), "{name:?}");
        }
    }
}
