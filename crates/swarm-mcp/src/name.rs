//! How tools of servers are called.

/// The most characters that a tool's name may have, by the Messages API.
const LONGEST: usize = 64;

/// The most characters of a server's part of it, so that some are left for the tool.
const LONGEST_SERVER: usize = 40;

/// The part that a server has in the names of its tools: characters that no tool name may hold become `_`.
///
/// # Errors
/// Why the name cannot be used: rules such as `mcp__server` would speak of another server's tools too.
pub fn server_part(server: &str) -> Result<String, String> {
    let part = sanitized(server);
    if part.trim_matches(['_', '-']).is_empty() {
        return Err("it has no letter or digit".to_owned());
    }
    if part.starts_with('_') || part.ends_with('_') || part.contains("__") {
        return Err(format!(
            "tools would be called `mcp__{part}__…`, where rules cannot tell it from another server; take a name without `__`, \
             and without `_` at its ends"
        ));
    }
    if part.len() > LONGEST_SERVER {
        return Err(format!("it is longer than {LONGEST_SERVER} characters"));
    }
    Ok(part)
}

/// The name by which models and rules know a tool: `mcp__<server>__<tool>`, cut at its end where it would be too long.
pub fn tool_name(server_part: &str, tool: &str) -> String {
    let mut name = format!("mcp__{server_part}__{}", sanitized(tool));
    // Every character is one byte now.
    name.truncate(LONGEST);
    name
}

fn sanitized(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') {
                c
            } else {
                '_'
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_named_by_server_and_tool_in_the_characters_that_models_take() {
        assert_eq!(
            tool_name("github", "create_issue"),
            "mcp__github__create_issue"
        );
        assert_eq!(server_part("my server.v2").unwrap(), "my_server_v2");
        assert_eq!(tool_name("a", "files/read ü"), "mcp__a__files_read__");
        let long = tool_name(&server_part(&"s".repeat(40)).unwrap(), &"t".repeat(80));
        assert_eq!(long.len(), LONGEST);
        assert!(long.starts_with("mcp__") && long.contains("__t"));
    }

    #[test]
    fn a_server_whose_name_rules_would_take_for_another_is_refused() {
        for name in ["", "__", "a__b", "_a", "a_", "a..b", "é", "--", "-_-"] {
            assert!(server_part(name).is_err(), "{name}");
        }
        assert!(server_part(&"s".repeat(41)).is_err());
    }
}
