//! Which tools or agent types a group of hooks speaks of.

use regex::Regex;

use crate::pool::names_of;

/// Whether a matcher speaks of this tool or agent type, read as Claude Code reads it: empty or `*` is everything; a
/// name, or names joined by `|` or `,`, is meant exactly; anything else is a regular expression that may match anywhere
/// in the name. A tool is meant by each of its names, whichever of them the model called.
pub(super) fn matches(matcher: &str, subject: &str) -> bool {
    if matcher.is_empty() || matcher == "*" {
        return true;
    }
    let mut names = names_of(subject);
    if is_plain(matcher) {
        let listed = matcher.split(['|', ',']).map(str::trim);
        return names.any(|name| listed.clone().any(|one| one == name));
    }
    // What is no expression was told at load and matches nothing.
    Regex::new(matcher).is_ok_and(|expression| names.any(|name| expression.is_match(name)))
}

/// What is wrong with a matcher.
pub(super) fn fault(matcher: &str) -> Option<String> {
    if is_plain(matcher) || matcher == "*" {
        return None;
    }
    let error = Regex::new(matcher).err()?;
    // The reason stands in the last line; the others show the place.
    let said = error.to_string();
    let last = said.lines().last().unwrap_or_default();
    Some(last.trim().trim_start_matches("error: ").to_owned())
}

fn is_plain(matcher: &str) -> bool {
    matcher
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "_|-, ".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matchers_are_read_as_claude_code_reads_them() {
        for (matcher, subject, speaks) in [
            ("", "Bash", true),
            ("*", "Bash", true),
            ("Bash", "Bash", true),
            ("bash", "Bash", false),
            ("Bash", "BashOutput", false),
            ("Edit|Write", "Write", true),
            ("Edit|Write", "MultiEdit", false),
            ("Edit.*", "EditNotebook", true),
            ("Notebook.*", "EditNotebook", true),
            ("^Notebook", "EditNotebook", false),
            ("mcp__.*__write", "mcp__files__write_all", true),
            ("mcp__files", "mcp__files__write", false),
            ("Task", "Agent", true),
            ("^Task$", "Agent", true),
            ("Agent", "Task", true),
            ("TaskStop", "KillShell", true),
            ("KillShell", "TaskStop", true),
            ("^BashOutput$", "TaskOutput", true),
            ("TaskStop", "TaskOutput", false),
            ("Edit, Write", "Write", true),
            ("code-reviewer", "code-reviewer", true),
            ("[", "Bash", false),
        ] {
            assert_eq!(matches(matcher, subject), speaks, "{matcher} {subject}");
        }
    }

    #[test]
    fn a_matcher_that_is_no_expression_is_told_why() {
        assert_eq!(fault("Edit|Write"), None);
        assert_eq!(fault("mcp__.*"), None);
        assert!(fault("[a").unwrap().contains("unclosed"));
    }
}
