//! What servers say of their tools, and what of it a model is shown.

use std::collections::BTreeMap;

use swarm_permissions::McpToolSpec;

use crate::name::tool_name;

/// A tool under the name that models call it by.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) spec: McpToolSpec,
}

/// Names the tools of one server, in the order in which it lists them. Of those that get the same name none is taken:
/// nobody could tell which one a rule or a call means. The second list says which.
pub(crate) fn named(server_part: &str, specs: &[McpToolSpec]) -> (Vec<Named>, Vec<String>) {
    let mut by_name: BTreeMap<String, Vec<&McpToolSpec>> = BTreeMap::new();
    for spec in specs {
        let name = tool_name(server_part, &spec.name);
        by_name.entry(name).or_default().push(spec);
    }
    let taken = specs.iter().filter_map(|spec| {
        let name = tool_name(server_part, &spec.name);
        (by_name.get(&name)?.len() == 1).then(|| Named {
            name,
            spec: spec.clone(),
        })
    });
    let refused = by_name.iter().filter(|(_, specs)| specs.len() > 1);
    let refused = refused.map(|(name, specs)| {
        let names: Vec<_> = specs
            .iter()
            .map(|spec| format!("`{}`", spec.name))
            .collect();
        format!(
            "its tools {} would all be called `{name}` and are left out",
            names.join(" and ")
        )
    });
    (taken.collect(), refused.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_that_would_share_a_name_are_refused_by_name() {
        let spec = |name: &str| McpToolSpec {
            name: name.to_owned(),
            description: String::new(),
            input_schema: serde_json::json!({"type": "object"}),
        };
        let (taken, refused) = named("s", &[spec("a.b"), spec("c"), spec("a/b")]);
        assert_eq!(taken.len(), 1);
        assert_eq!(taken[0].name, "mcp__s__c");
        assert_eq!(
            refused,
            ["its tools `a.b` and `a/b` would all be called `mcp__s__a_b` and are left out"]
        );
    }
}
