//! Tool search: with many MCP tools, the model sees only their names and loads the schemas it
//! needs.
//!
//! The request contains all tools and marks the deferred ones; the Messages API keeps those out of
//! the prompt until a result refers to them
//! (<https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool>). Loaded
//! schemas are appended to the conversation, so the cached prefix does not change. For other
//! servers the client omits deferred tools and sends the schema instead of the reference.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use swarm_protocol::ToolKind;
use swarm_tools::{Attachment, Tool, ToolContext, ToolOutput, TypedTool, one_line, prompt};

/// Up to this many tokens of schemas nothing is deferred; a token counts as four bytes.
const MOST_TOKENS: usize = 10_000;

/// Default number of results, as in Claude Code.
const MOST_RESULTS: usize = 5;

/// Adds the search tool if the deferrable tools are too large for a prompt. Returns whether they
/// are deferred.
pub(crate) fn defer(tools: &mut Vec<Arc<dyn Tool>>) -> bool {
    let deferred: Vec<SearchEntry> = tools
        .iter()
        .filter(|tool| tool.is_deferrable())
        .map(|tool| SearchEntry::of(&**tool))
        .collect();
    let bytes: usize = deferred.iter().map(|tool| tool.bytes).sum();
    if bytes / 4 <= MOST_TOKENS {
        return false;
    }
    tools.push(Arc::new(ToolSearch { deferred }));
    true
}

/// A searchable tool.
#[derive(Debug)]
struct SearchEntry {
    name: String,
    /// The name in lower case.
    folded: String,
    description: String,
    /// Size in a prompt in bytes.
    bytes: usize,
}

impl SearchEntry {
    fn of(tool: &dyn Tool) -> Self {
        let (name, description) = (tool.name().to_owned(), tool.description());
        let schema = tool.input_schema().to_string();
        Self {
            folded: name.to_lowercase(),
            bytes: name.len() + description.len() + schema.len(),
            description: description.to_lowercase(),
            name,
        }
    }

    /// Returns how well a word matches; 0 means no match.
    fn rank(&self, word: &str) -> usize {
        let mut parts = self.folded.split(['_', '-']);
        if parts.any(|part| part == word) {
            10
        } else if self.folded.contains(word) {
            5
        } else if self.description.contains(word) {
            2
        } else {
            0
        }
    }
}

#[derive(Debug)]
struct ToolSearch {
    deferred: Vec<SearchEntry>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// `select:NAME,NAME` for tools by name, or keywords; a keyword prefixed with `+` is required
    query: String,
    /// The most tools to return [default: 5]
    #[schemars(range(min = 1))]
    max_results: Option<usize>,
}

#[async_trait]
impl TypedTool for ToolSearch {
    type Parameters = Parameters;
    const NAME: &'static str = "ToolSearch";
    const PROMPT: &'static str = prompt!("tools/ToolSearch");
    const KIND: ToolKind = ToolKind::Own;
    const READ_ONLY: bool = true;
    const SUBJECT: &'static str = "query";

    fn description(&self) -> String {
        let names: Vec<_> = self.deferred.iter().map(|tool| &*tool.name).collect();
        format!("{}\n{}", Self::PROMPT, names.join("\n"))
    }

    async fn call(&self, input: Parameters, _ctx: &ToolContext) -> Result<ToolOutput, String> {
        let most = input.max_results.unwrap_or(MOST_RESULTS);
        let found = self.search(input.query.trim(), most);
        if found.is_empty() {
            let text = "No deferred tool matches. Try other keywords, or select one by its name.";
            return Ok(ToolOutput::ok(text, "no match"));
        }
        let line = match &found[..] {
            [one] => one_line(&one.name),
            many => format!("{} tools", many.len()),
        };
        let references = found.iter().map(|tool| tool.name.clone());
        // The API does not accept text next to references.
        let references = references.map(Attachment::ToolReference).collect();
        Ok(ToolOutput::ok("", line).with_attachments(references))
    }
}

impl ToolSearch {
    /// Returns the tools that match a query, best first.
    fn search(&self, query: &str, most: usize) -> Vec<&SearchEntry> {
        let named = |name: &str| {
            let name = name.trim();
            let mut all = self.deferred.iter();
            all.find(|tool| tool.name.eq_ignore_ascii_case(name))
        };
        if let Some(names) = query.strip_prefix("select:") {
            return names.split(',').filter_map(named).collect();
        }
        if let Some(one) = named(query) {
            return vec![one];
        }
        let query = query.to_lowercase();
        let (mut needed, mut words) = (Vec::new(), Vec::new());
        for word in query.split_whitespace() {
            match word.strip_prefix('+') {
                Some(word) if !word.is_empty() => {
                    needed.push(word);
                    words.push(word);
                }
                _ => words.push(word),
            }
        }
        let mut ranked: Vec<(usize, &SearchEntry)> = self
            .deferred
            .iter()
            .filter(|tool| needed.iter().all(|word| tool.rank(word) > 0))
            .map(|tool| (words.iter().map(|word| tool.rank(word)).sum(), tool))
            .filter(|(rank, _)| *rank > 0)
            .collect();
        // The sort is stable, so that tools with the same rank keep their order.
        ranked.sort_by_key(|(rank, _)| std::cmp::Reverse(*rank));
        ranked
            .into_iter()
            .take(most)
            .map(|(_, tool)| tool)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(query: &str, most: usize) -> Vec<String> {
        let tool = |name: &str, description: &str| SearchEntry {
            name: name.to_owned(),
            folded: name.to_lowercase(),
            description: description.to_lowercase(),
            bytes: 0,
        };
        let all = ToolSearch {
            deferred: vec![
                tool("mcp__tickets__list", "Lists tickets."),
                tool("mcp__tickets__close", "Closes a ticket."),
                tool("mcp__mail__send", "Sends a mail about a ticket."),
                tool("mcp__mail__listAll", "All mails."),
            ],
        };
        let found = all.search(query, most);
        found.into_iter().map(|tool| tool.name.clone()).collect()
    }

    #[test]
    fn tools_are_selected_by_name_or_ranked_by_keywords() {
        for (query, most, found) in [
            (
                "select:mcp__mail__send, MCP__tickets__list,nobody",
                1,
                &["mcp__mail__send", "mcp__tickets__list"][..],
            ),
            ("mcp__mail__send", 5, &["mcp__mail__send"]),
            ("list", 5, &["mcp__tickets__list", "mcp__mail__listAll"]),
            ("list", 1, &["mcp__tickets__list"]),
            ("mail ticket", 1, &["mcp__mail__send"]),
            (
                "+mail ticket",
                5,
                &["mcp__mail__send", "mcp__mail__listAll"],
            ),
            ("weather", 5, &[]),
        ] {
            assert_eq!(search(query, most), found, "{query}");
        }
    }
}
