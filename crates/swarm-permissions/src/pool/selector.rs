//! An entry of a definition's `tools` or `disallowedTools`.

use super::known_tools;
use super::names::{FORMER_NAMES, OTHER_NAMES, names_mcp};
use crate::Rule;
use crate::rule::tool_and_content;
use crate::split::split_outside;

/// The tools selected by one entry of a tool list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ToolSelector {
    /// One tool, by its current name.
    Tool(String),
    /// Tools of MCP servers: `mcp__server`, `mcp__server__tool`, or a prefix with `*`.
    Mcp(String),
    /// The Agent tool, for these types only.
    AgentTypes(Vec<String>),
    /// The calls of a tool that match a rule.
    Calls(Rule),
}

/// An entry of a tool list is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a tool: {why}", .entry.escape_debug())]
pub(crate) struct SelectorError {
    /// The entry as given.
    pub(crate) entry: String,
    /// What is wrong, and the correct form.
    pub(crate) why: String,
}

impl ToolSelector {
    /// Parses an entry.
    ///
    /// # Errors
    /// [`SelectorError`], including an invalid rule pattern in the parentheses.
    pub(crate) fn parse(entry: &str) -> Result<Self, SelectorError> {
        let error = |why: String| SelectorError {
            entry: entry.to_owned(),
            why,
        };
        let (name, content) =
            tool_and_content(entry.trim()).ok_or_else(|| error("missing `)`".into()))?;
        let (name, content) = (name.trim(), content.map(str::trim));
        let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        let is_mcp = name.starts_with("mcp__");
        let bare = name.strip_suffix('*').filter(|_| is_mcp).unwrap_or(name);
        if bare.is_empty() || !bare.chars().all(known) {
            let why =
                "a tool name consists of letters, digits, `_` and `-`; separate several by commas";
            return Err(error(why.into()));
        }
        let tool = present_name(name);
        match content.filter(|content| *content != "*") {
            None if is_mcp => Ok(Self::Mcp(name.to_owned())),
            None => Ok(Self::Tool(tool)),
            Some(types) if tool == "Agent" => {
                let types: Vec<_> = split(types).collect();
                if types.is_empty() {
                    return Err(error("no type in the parentheses".into()));
                }
                Ok(Self::AgentTypes(types))
            }
            Some(content) => {
                let known = known_tools().find(|known| known.eq_ignore_ascii_case(&tool));
                let tool = known.unwrap_or(&tool);
                let rule = Rule::parse(&format!("{tool}({content})"));
                rule.map(Self::Calls).map_err(|wrong| error(wrong.why))
            }
        }
    }

    /// Returns whether the entry selects a tool, ignoring case.
    pub(crate) fn names(&self, tool: &str) -> bool {
        match self {
            Self::Tool(name) => name.eq_ignore_ascii_case(tool),
            Self::Mcp(pattern) => pattern == tool || names_mcp(pattern, tool),
            Self::AgentTypes(_) => tool == "Agent",
            Self::Calls(rule) => rule.tool() == tool || names_mcp(rule.tool(), tool),
        }
    }
}

fn present_name(name: &str) -> String {
    let mut names = FORMER_NAMES.iter().chain(OTHER_NAMES);
    let known = names
        .find(|(other, _)| other.eq_ignore_ascii_case(name))
        .map_or(name, |(_, now)| *now);
    if known.eq_ignore_ascii_case("agent") {
        return "Agent".to_owned();
    }
    known.to_owned()
}

/// Splits a list at commas outside of parentheses.
pub(crate) fn split(list: &str) -> impl Iterator<Item = String> {
    let parts = split_outside(['(', ')'], list, |c| c == ',').map(str::trim);
    parts.filter(|part| !part.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_split_outside_of_parentheses() {
        let parts: Vec<_> = split("Read, Agent(a, b),, Bash ").collect();
        assert_eq!(parts, ["Read", "Agent(a, b)", "Bash"]);
    }

    #[test]
    fn former_names_select_the_current_tools() {
        for (given, tool) in [
            ("Task", "Agent"),
            ("agent", "Agent"),
            ("read_file", "Read"),
            ("run_shell", "Bash"),
            ("Grep", "Grep"),
        ] {
            assert_eq!(
                ToolSelector::parse(given),
                Ok(ToolSelector::Tool(tool.into())),
                "{given}"
            );
        }
        let types = ToolSelector::parse("Task(explore, plan)").unwrap();
        assert_eq!(
            types,
            ToolSelector::AgentTypes(vec!["explore".into(), "plan".into()])
        );
        assert!(types.names("Agent"));
    }

    #[test]
    fn server_tools_are_selected_in_three_forms() {
        for entry in ["mcp__git", "mcp__git__*", "mcp__*", "mcp__git__log"] {
            let selector = ToolSelector::parse(entry).unwrap();
            assert!(selector.names("mcp__git__log"), "{entry}");
            assert!(!selector.names("Read"), "{entry}");
        }
        assert!(
            !ToolSelector::parse("mcp__git")
                .unwrap()
                .names("mcp__github__log")
        );
    }

    #[test]
    fn a_pattern_on_calls_is_a_rule() {
        for (given, rule) in [
            ("Bash(git log:*)", "Bash(git log:*)"),
            ("run_shell(git:*)", "Bash(git:*)"),
            ("bash( git:* )", "Bash(git:*)"),
        ] {
            let rule = Rule::parse(rule).unwrap();
            let selector = ToolSelector::parse(given).unwrap();
            assert!(
                selector.names("Bash") && !selector.names("BashOutput"),
                "{given}"
            );
            assert_eq!(selector, ToolSelector::Calls(rule), "{given}");
        }
        let whole = ToolSelector::parse("Bash(*)");
        assert_eq!(whole, Ok(ToolSelector::Tool("Bash".into())));
        for entry in [
            "",
            "Read Grep",
            "Bash(",
            "Bash()",
            "TodoWrite(x)",
            "Agent()",
            "*x",
        ] {
            assert!(ToolSelector::parse(entry).is_err(), "{entry}");
        }
    }
}
