//! One permission rule: `Tool` or `Tool(content)`.

use std::fmt;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use swarm_protocol::ToolKind;

use super::behavior::Behavior;
use super::wildcard::Wildcard;
use super::{CommandPattern, PathPattern};
use crate::nearest;
use crate::pool::{is_other_name, known_tools, names_mcp, names_of};

/// A permission rule in Claude Code's grammar.
///
/// `Tool` and `Tool(*)` match every call of the tool. The parentheses contain a command pattern for
/// `Bash`, a gitignore-like path pattern for file tools, `domain:HOST` for `WebFetch`, a type for
/// `Agent`, and `parameter:value` for any other tool.
#[derive(Debug, Clone)]
pub struct Rule {
    tool: String,
    text: Option<String>,
    content: Content,
}

/// The condition of a rule on the input.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    /// None: every call.
    Any,
    /// For `Bash`.
    Command(CommandPattern),
    /// For file tools.
    Path(PathPattern),
    /// For `WebFetch`: the host of `url`.
    Domain(Wildcard),
    /// For other tools: the value of one parameter.
    Parameter(String, Wildcard),
}

/// An invalid rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid permission rule `{}`: {why}", .text.escape_debug())]
pub struct RuleError {
    /// The text as given.
    pub text: String,
    /// What is wrong, and the correct form.
    pub why: String,
}

/// The tools that a `Read` rule applies to.
const READ_FAMILY: [&str; 5] = ["Read", "Glob", "Grep", "LS", "NotebookRead"];
/// The tools that an `Edit` rule applies to.
const EDIT_FAMILY: [&str; 4] = ["Edit", "Write", "MultiEdit", "NotebookEdit"];
/// The two names of the Agent tool.
const AGENT_NAMES: [&str; 2] = ["Agent", "Task"];

impl Rule {
    /// Parses `Tool` or `Tool(content)`.
    pub fn parse(given: &str) -> Result<Self, RuleError> {
        let error = |why: String| RuleError {
            text: given.to_owned(),
            why,
        };
        let (tool, text) =
            tool_and_content(given.trim()).ok_or_else(|| error("it must end with `)`".into()))?;
        check_tool_name(tool).map_err(error)?;
        let text = text.filter(|text| *text != "*");
        let content = match text {
            None => Content::Any,
            Some(text) => parse_content(tool, text).map_err(error)?,
        };
        Ok(Self {
            tool: tool.to_owned(),
            text: text.map(str::to_owned),
            content,
        })
    }

    /// Returns the tool that the rule names.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Returns the intended tool if the name is a misspelled one. Other unknown names are accepted:
    /// rules are shared with programs that have other tools.
    pub fn suggested_tool(&self) -> Option<&'static str> {
        suggest_tool(&self.tool)
    }

    /// Returns the text in the parentheses.
    pub fn content_text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    pub(crate) fn content(&self) -> &Content {
        &self.content
    }

    /// Returns whether a rule of the list `behavior` applies to this tool.
    ///
    /// Deny and ask rules apply more widely than allow rules: `*` matches every tool, and
    /// `Write(path)` all editing tools, so that no other tool can do what is forbidden for one.
    pub(crate) fn names(&self, tool: &str, kind: ToolKind, behavior: Behavior) -> bool {
        let restricts = behavior != Behavior::Allow;
        let edits = EDIT_FAMILY.contains(&tool) || kind == ToolKind::Edit;
        match self.tool.as_str() {
            name if name == tool => true,
            "*" => restricts,
            "Read" => READ_FAMILY.contains(&tool) || kind == ToolKind::Read,
            "Edit" => edits,
            "Write" => edits && restricts && self.text.is_some(),
            name => names_of(tool).any(|other| other == name) || names_mcp(name, tool),
        }
    }
}

/// Splits `Tool` or `Tool(content)` into its parts. `None` if the closing parenthesis is missing.
pub(crate) fn tool_and_content(text: &str) -> Option<(&str, Option<&str>)> {
    match text.split_once('(') {
        None => Some((text, None)),
        Some((tool, rest)) => Some((tool, Some(rest.strip_suffix(')')?))),
    }
}

fn suggest_tool(tool: &str) -> Option<&'static str> {
    let known: Vec<&'static str> = known_tools().chain(AGENT_NAMES).collect();
    let is_known = known.contains(&tool)
        || READ_FAMILY.contains(&tool)
        || EDIT_FAMILY.contains(&tool)
        || is_other_name(tool)
        || tool.starts_with("mcp__");
    if is_known { None } else { nearest(tool, known) }
}

fn check_tool_name(tool: &str) -> Result<(), String> {
    if tool.is_empty() {
        return Err("missing tool name; use `Tool` or `Tool(content)`".into());
    }
    let name = tool.strip_suffix('*').unwrap_or(tool);
    let valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if !name.chars().all(valid) {
        return Err(
            "a tool name consists of letters, digits, `_` and `-`, followed by the content in parentheses"
                .into(),
        );
    }
    if tool.ends_with('*') && !(name.is_empty() || name.starts_with("mcp__")) {
        return Err("`*` in a tool name is only supported for `mcp__…`".into());
    }
    Ok(())
}

fn parse_content(tool: &str, text: &str) -> Result<Content, String> {
    if text.trim().is_empty() {
        return Err(format!(
            "the parentheses are empty; use `{tool}` for every call"
        ));
    }
    if tool == "Bash" {
        return CommandPattern::parse(text).map(Content::Command);
    }
    if READ_FAMILY.contains(&tool) || EDIT_FAMILY.contains(&tool) {
        return PathPattern::parse(text).map(Content::Path);
    }
    if AGENT_NAMES.contains(&tool) {
        return Ok(Content::Parameter(
            "subagent_type".into(),
            Wildcard::new(text),
        ));
    }
    if tool == "Skill" {
        let name = Wildcard::new(text.trim_start_matches('/'));
        return Ok(Content::Parameter("skill".into(), name));
    }
    match text.split_once(':') {
        Some(("domain", host)) if tool == "WebFetch" => {
            Ok(Content::Domain(Wildcard::new(&host.to_ascii_lowercase())))
        }
        Some((name, value)) if !name.is_empty() => {
            Ok(Content::Parameter(name.to_owned(), Wildcard::new(value)))
        }
        _ => Err(match suggest_tool(tool) {
            Some(meant) => format!("unknown tool `{tool}`; did you mean `{meant}`?"),
            None => format!("`{tool}` takes `parameter:value` in parentheses"),
        }),
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.text {
            None => f.write_str(&self.tool),
            Some(text) => write!(f, "{}({text})", self.tool),
        }
    }
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(de::Error::custom)
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.tool == other.tool && self.text == other.text
    }
}

impl Eq for Rule {}

impl Hash for Rule {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.tool.hash(state);
        self.text.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_displayed_as_they_are_parsed() {
        for text in [
            "Bash",
            "Bash(git log:*)",
            "Edit(src/**)",
            "mcp__github__*",
            "Agent(explorer)",
            "*",
        ] {
            assert_eq!(Rule::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Rule::parse(" Bash(*) ").unwrap().to_string(), "Bash");
        assert_eq!(
            Rule::parse("Bash(echo (a))").unwrap().content_text(),
            Some("echo (a)")
        );
    }

    #[test]
    fn invalid_rules_are_rejected_with_a_reason() {
        for text in [
            "",
            "(x)",
            "Bash(",
            "Bash()",
            "Bash( )",
            "git log",
            "Ba*",
            "Edit(../x)",
            "Foo(bar)",
        ] {
            let error = Rule::parse(text).unwrap_err();
            assert!(!error.why.is_empty(), "{text}");
            assert_eq!(error.text, text);
        }
    }

    #[test]
    fn the_tools_of_a_family_are_known() {
        for tool in READ_FAMILY.iter().chain(&EDIT_FAMILY) {
            assert_eq!(suggest_tool(tool), None, "{tool}");
        }
        assert_eq!(suggest_tool("Raed"), Some("Read"));
    }

    use Behavior::{Allow, Deny};

    #[test]
    fn a_family_rule_applies_to_all_tools_of_the_family() {
        let names = |rule: &str, tool: &str, behavior| {
            Rule::parse(rule)
                .unwrap()
                .names(tool, ToolKind::Other, behavior)
        };
        for (rule, tool, behavior, named) in [
            ("Edit(a)", "Write", Allow, true),
            ("Edit", "NotebookEdit", Deny, true),
            ("Read(a)", "Grep", Deny, true),
            ("Write(a)", "Edit", Allow, false),
            ("Write(a)", "Edit", Deny, true),
            ("Write", "Edit", Deny, false),
            ("Edit", "Read", Deny, false),
            ("*", "Anything", Deny, true),
            ("*", "Anything", Allow, false),
            ("mcp__a", "mcp__a__tool", Allow, true),
            ("mcp__a", "mcp__ab__tool", Allow, false),
            ("mcp__a__*", "mcp__a__tool", Allow, true),
            ("mcp__*", "mcp__a__tool", Deny, true),
            ("Task(x)", "Agent", Deny, true),
            ("Agent(x)", "Task", Deny, true),
            ("KillShell", "TaskStop", Deny, true),
            ("BashOutput", "TaskOutput", Allow, true),
            ("KillShell", "TaskOutput", Deny, false),
            ("Bash", "BashOutput", Allow, false),
        ] {
            assert_eq!(
                names(rule, tool, behavior),
                named,
                "{rule} {behavior:?} on {tool}"
            );
        }
    }

    #[test]
    fn an_unknown_tool_belongs_to_the_family_of_its_kind() {
        let names = |rule: &str, kind| Rule::parse(rule).unwrap().names("Other", kind, Deny);
        for (rule, kind, named) in [
            ("Edit", ToolKind::Edit, true),
            ("Edit", ToolKind::Read, false),
            ("Write(a)", ToolKind::Edit, true),
            ("Write", ToolKind::Edit, false),
            ("Read", ToolKind::Read, true),
            ("Read", ToolKind::Edit, false),
            ("Bash", ToolKind::Execute, false),
        ] {
            assert_eq!(names(rule, kind), named, "{rule} on {kind:?}");
        }
    }
}
