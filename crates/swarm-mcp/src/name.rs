//! The names of MCP tools.

use swarm_permissions::mcp_name;

/// Maximum length of a tool name, a limit of the Messages API.
const MAX_NAME_CHARS: usize = 64;

/// Maximum length of a server's part of the name, which leaves room for the tool.
const MAX_SERVER_CHARS: usize = 40;

/// Returns a server's part of its tools' names: characters not allowed in tool names become `_`.
///
/// # Errors
/// Why the name is unusable: rules such as `mcp__server` would also match another server's tools.
pub fn server_part(server: &str) -> Result<String, String> {
    let part = mcp_name(server);
    if part.trim_matches(['_', '-']).is_empty() {
        return Err("the name has no letter or digit".to_owned());
    }
    if part.starts_with('_') || part.ends_with('_') || part.contains("__") {
        return Err(format!(
            "tools would be called `mcp__{part}__…`, which rules cannot distinguish from another server; \
            choose a name without `__` and without `_` at its start or end"
        ));
    }
    if part.len() > MAX_SERVER_CHARS {
        return Err(format!(
            "the name is longer than {MAX_SERVER_CHARS} characters"
        ));
    }
    Ok(part)
}

/// Returns the name by which models and rules know a tool: `mcp__<server>__<tool>`, truncated to
/// the maximum length.
pub fn tool_name(server_part: &str, tool: &str) -> String {
    let mut name = format!("mcp__{server_part}__{}", mcp_name(tool));
    // The sanitized text is ASCII.
    name.truncate(MAX_NAME_CHARS);
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_name_consists_of_server_and_tool_in_allowed_characters() {
        assert_eq!(
            tool_name("github", "create_issue"),
            "mcp__github__create_issue"
        );
        assert_eq!(server_part("my server.v2").unwrap(), "my_server_v2");
        assert_eq!(tool_name("a", "files/read ü"), "mcp__a__files_read__");
        let long = tool_name(&server_part(&"s".repeat(40)).unwrap(), &"t".repeat(80));
        assert_eq!(long.len(), MAX_NAME_CHARS);
        assert!(long.starts_with("mcp__") && long.contains("__t"));
    }

    #[test]
    fn a_server_name_that_rules_could_confuse_with_another_is_rejected() {
        for name in ["", "__", "a__b", "_a", "a_", "a..b", "é", "--", "-_-"] {
            assert!(server_part(name).is_err(), "{name}");
        }
        assert!(server_part(&"s".repeat(41)).is_err());
    }
}
