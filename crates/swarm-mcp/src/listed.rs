//! The tools listed by servers and the names that models use for them.

use std::collections::BTreeMap;

use swarm_permissions::McpToolSpec;

use crate::name::tool_name;

/// Assigns names to the tools of one server, in the order in which it lists them. Tools that would
/// share a name are rejected, because rules and calls could not tell them apart. The second list
/// contains one message per rejected name.
pub(crate) fn name_tools(
    server_part: &str,
    specs: &[McpToolSpec],
) -> (Vec<(String, McpToolSpec)>, Vec<String>) {
    let mut by_name: BTreeMap<String, Vec<&McpToolSpec>> = BTreeMap::new();
    for spec in specs {
        let name = tool_name(server_part, &spec.name);
        by_name.entry(name).or_default().push(spec);
    }
    let taken = specs.iter().filter_map(|spec| {
        let name = tool_name(server_part, &spec.name);
        (by_name.get(&name)?.len() == 1).then(|| (name, spec.clone()))
    });
    let refused = by_name.iter().filter(|(_, specs)| specs.len() > 1);
    let refused = refused.map(|(name, specs)| {
        let names: Vec<_> = specs
            .iter()
            .map(|spec| format!("`{}`", spec.name))
            .collect();
        format!(
            "the tools {} would share the name `{name}` and are ignored",
            names.join(" and ")
        )
    });
    (taken.collect(), refused.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_that_would_share_a_name_are_rejected_with_a_message() {
        let spec = |name: &str| McpToolSpec {
            name: name.to_owned(),
            description: String::new(),
            input_schema: serde_json::json!({"type": "object"}),
        };
        let (taken, refused) = name_tools("s", &[spec("a.b"), spec("c"), spec("a/b")]);
        assert_eq!(taken.len(), 1);
        assert_eq!(taken[0].0, "mcp__s__c");
        assert_eq!(
            refused,
            ["the tools `a.b` and `a/b` would share the name `mcp__s__a_b` and are ignored"]
        );
    }
}
