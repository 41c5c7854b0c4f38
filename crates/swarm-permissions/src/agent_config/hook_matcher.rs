//! Matchers of hook groups for tools and agent types.

use regex::Regex;

use crate::pool::names_of;

/// Returns whether a matcher matches a tool or agent type, with Claude Code's syntax: empty or `*` matches everything; a name, or names separated by `|` or `,`, match exactly; anything else is an unanchored regular expression. A tool matches under each of its names, regardless of which one the model used.
pub(super) fn matches(matcher: &str, subject: &str) -> bool {
    if matcher.is_empty() || matcher == "*" {
        return true;
    }
    let mut names = names_of(subject);
    if is_plain(matcher) {
        let listed = matcher.split(['|', ',']).map(str::trim);
        return names.any(|name| listed.clone().any(|one| one == name));
    }
    // An invalid expression was reported when the settings were loaded, and matches nothing.
    Regex::new(matcher).is_ok_and(|expression| names.any(|name| expression.is_match(name)))
}

pub(super) fn matcher_error(matcher: &str) -> Option<String> {
    if is_plain(matcher) || matcher == "*" {
        return None;
    }
    let error = Regex::new(matcher).err()?;
    // The last line holds the reason; the others show the position.
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
    fn matchers_have_the_syntax_of_claude_code() {
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
    fn an_invalid_expression_is_reported_with_its_reason() {
        assert_eq!(matcher_error("Edit|Write"), None);
        assert_eq!(matcher_error("mcp__.*"), None);
        assert!(matcher_error("[a").unwrap().contains("unclosed"));
    }
}
