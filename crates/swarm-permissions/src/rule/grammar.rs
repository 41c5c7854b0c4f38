//! One permission rule: `Tool` or `Tool(content)`.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use swarm_protocol::ToolKind;

use super::wildcard::Wildcard;
use super::{CommandPattern, PathPattern};
use crate::Behavior;
use crate::nearest;
use crate::pool::{is_other_name, known_tools, names_of};

/// A permission rule in Claude Code's grammar.
///
/// `Tool` and `Tool(*)` speak of every call of the tool. Between brackets stands a command pattern for `Bash`, a path
/// pattern in the manner of gitignore for file tools, `domain:HOST` for `WebFetch`, a type for `Agent`, and
/// `parameter:value` for any other tool.
#[derive(Debug, Clone)]
pub struct Rule {
    tool: String,
    text: Option<String>,
    content: Content,
}

/// What a rule says of the input.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    /// Nothing: every call.
    Any,
    /// For `Bash`.
    Command(CommandPattern),
    /// For file tools.
    Path(PathPattern),
    /// For `WebFetch`: the host of `url`.
    Domain(Wildcard),
    /// For the rest: the value of one parameter.
    Parameter(String, Wildcard),
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

/// The tools that a `Read` rule speaks of.
const READ_FAMILY: [&str; 5] = ["Read", "Glob", "Grep", "LS", "NotebookRead"];
/// The tools that an `Edit` rule speaks of.
const EDIT_FAMILY: [&str; 4] = ["Edit", "Write", "MultiEdit", "NotebookEdit"];
/// Two names of one tool.
const AGENT_NAMES: [&str; 2] = ["Agent", "Task"];

impl Rule {
    /// Reads `Tool` or `Tool(content)`.
    pub fn parse(given: &str) -> Result<Self, RuleError> {
        let error = |why: String| RuleError {
            text: given.to_owned(),
            why,
        };
        let trimmed = given.trim();
        let (tool, text) = match trimmed.split_once('(') {
            None => (trimmed, None),
            Some((tool, rest)) => match rest.strip_suffix(')') {
                Some(content) => (tool, Some(content)),
                None => return Err(error("it must end with `)`".into())),
            },
        };
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

    /// The tool it speaks of.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The tool that was probably meant, where there is none of this name and one that is nearly the same. Other names are
    /// left alone: other programs have tools of their own, and rules are shared with them.
    pub fn slip(&self) -> Option<&'static str> {
        slip(&self.tool)
    }

    /// What stands between the brackets.
    pub fn content_text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    pub(crate) fn content(&self) -> &Content {
        &self.content
    }

    /// Whether a rule of the list `behavior` speaks of this tool at all.
    ///
    /// A denial or question reaches further than a grant: `*` names every tool, and `Write(path)` the whole family of
    /// editing tools, so that no other tool does what was forbidden to one.
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

fn slip(tool: &str) -> Option<&'static str> {
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
        return Err("it names no tool; write `Tool` or `Tool(content)`".into());
    }
    let name = tool.strip_suffix('*').unwrap_or(tool);
    let valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if !name.chars().all(valid) {
        return Err(
            "a tool's name has letters, digits, `_` and `-`, and the content stands in brackets"
                .into(),
        );
    }
    if tool.ends_with('*') && !(name.is_empty() || name.starts_with("mcp__")) {
        return Err("a star in a tool's name is known for `mcp__…` only".into());
    }
    Ok(())
}

fn parse_content(tool: &str, text: &str) -> Result<Content, String> {
    if text.trim().is_empty() {
        return Err(format!(
            "there is nothing between the brackets; write `{tool}` for every call"
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
        _ => Err(match slip(tool) {
            Some(meant) => format!("there is no tool `{tool}`; did you mean `{meant}`?"),
            None => format!("`{tool}` takes `parameter:value` between the brackets"),
        }),
    }
}

/// `mcp__server` and `mcp__server__*` name every tool of a server, `mcp__*` every tool of every server.
pub(crate) fn names_mcp(rule: &str, tool: &str) -> bool {
    if !rule.starts_with("mcp__") {
        return false;
    }
    match rule.strip_suffix('*') {
        Some(head) => tool.starts_with(head),
        None => tool
            .strip_prefix(rule)
            .is_some_and(|rest| rest.starts_with("__")),
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

impl FromStr for Rule {
    type Err = RuleError;
    fn from_str(text: &str) -> Result<Self, RuleError> {
        Self::parse(text)
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
    fn rules_read_and_print_alike() {
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
    fn what_is_not_a_rule_is_refused_with_a_reason() {
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

    use Behavior::{Allow, Deny};

    #[test]
    fn families_take_their_tools_along() {
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
    fn a_tool_of_another_name_belongs_to_the_family_that_its_kind_says() {
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
