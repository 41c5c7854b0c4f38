//! The names under which tools are known: former ones, those of other programs, and those of MCP servers.

/// Former names of Claude Code's tools, still used by models, rules and hook matchers.
pub(super) const FORMER_NAMES: &[(&str, &str)] = &[
    ("Task", "Agent"),
    ("KillShell", "TaskStop"),
    ("KillBash", "TaskStop"),
    ("BashOutput", "TaskOutput"),
    ("AgentOutputTool", "TaskOutput"),
];

/// Tool names of tutorials whose definitions are often copied, and of tools merged into others.
pub(super) const OTHER_NAMES: &[(&str, &str)] = &[
    ("MultiEdit", "Edit"),
    ("read_file", "Read"),
    ("write_file", "Write"),
    ("edit_file", "Edit"),
    ("list_files", "Glob"),
    ("grep_search", "Grep"),
    ("run_shell", "Bash"),
];

/// Returns whether this is a former name or a tool name of another program.
pub(crate) fn is_other_name(tool: &str) -> bool {
    let mut names = FORMER_NAMES.iter().chain(OTHER_NAMES);
    names.any(|(other, _)| *other == tool)
}

/// Returns all names of a tool, given any of them: the current name, then the former ones.
pub(crate) fn names_of(tool: &str) -> impl Iterator<Item = &str> {
    let present = FORMER_NAMES.iter().find(|(former, _)| *former == tool);
    let present = present.map_or(tool, |(_, present)| present);
    let former = FORMER_NAMES.iter().filter(move |(_, of)| *of == present);
    std::iter::once(present).chain(former.map(|(former, _)| *former))
}

/// Returns the name of an MCP server, or of one of its tools, as it is written in the full names of
/// these tools: characters not allowed there become `_`.
pub fn mcp_name(name: &str) -> String {
    let is_other = |c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-');
    name.replace(is_other, "_")
}

/// Returns whether an MCP rule matches a tool: `mcp__server` and `mcp__server__*` match every tool
/// of a server, `mcp__*` every MCP tool.
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
