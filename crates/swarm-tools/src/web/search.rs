//! The `WebSearch` tool, for a configured search server with `SearXNG`'s JSON format.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use swarm_protocol::ToolKind;

use super::access::host;
use super::{WebAccess, WebRequest};
use crate::one_line::{counted, one_line};
use crate::{ToolContext, ToolOutput, TypedTool, prompt};

/// Maximum number of bytes read of a response.
const MAX_BYTES: usize = 2 << 20;
/// Maximum number of results returned to the model.
const MAX_RESULTS: usize = 10;
const TIMEOUT: Duration = Duration::from_secs(30);
/// Placeholder for the query in the server's URL.
const QUERY_PLACEHOLDER: &str = "{query}";

/// Searches the web.
#[derive(Debug)]
pub struct WebSearch {
    client: Arc<dyn WebAccess>,
    url: String,
}

impl WebSearch {
    /// Creates the tool for a server. `{query}` in the URL is replaced by the query.
    pub fn new(client: Arc<dyn WebAccess>, url: &str) -> Self {
        Self {
            client,
            url: url.to_owned(),
        }
    }

    async fn hits(&self, input: &Parameters) -> Result<String, String> {
        let query = input.query.trim();
        if query.is_empty() {
            return Err("`query` of WebSearch is empty.".into());
        }
        let (allowed, blocked) = (lower(&input.allowed_domains), lower(&input.blocked_domains));
        let request = WebRequest {
            url: self.url.replace(QUERY_PLACEHOLDER, &encoded(query)),
            // The user configured this server.
            private: true,
            max_bytes: MAX_BYTES,
            timeout: TIMEOUT,
        };
        let answer = self.client.get(request).await?;
        if !(200..=299).contains(&answer.status) {
            return Err(format!(
                "The search server returned status {}.",
                answer.status
            ));
        }
        let found: Value = serde_json::from_slice(&answer.body)
            .map_err(|error| format!("The search server's response is not valid JSON: {error}."))?;
        let hits = found["results"]
            .as_array()
            .ok_or("The search server's response has no `results`.")?;
        let mut text = String::new();
        let fits = |hit: &&Value| {
            let host = hit["url"].as_str().and_then(|url| host(url).ok());
            host.is_some_and(|host| {
                (allowed.is_empty() || within(&host, &allowed)) && !within(&host, &blocked)
            })
        };
        for hit in hits.iter().filter(fits).take(MAX_RESULTS) {
            let part = |name: &str| one_line(hit[name].as_str().unwrap_or_default());
            let url = hit["url"].as_str().unwrap_or_default();
            let hit = format!("- {}\n  {url}\n  {}\n", part("title"), part("content"));
            text.push_str(&hit);
        }
        Ok(text)
    }
}

fn lower(domains: &[String]) -> Vec<String> {
    domains
        .iter()
        .map(|domain| domain.to_ascii_lowercase())
        .collect()
}

/// Whether a host is one of these domains or a subdomain.
fn within(host: &str, domains: &[String]) -> bool {
    domains
        .iter()
        .any(|domain| host == domain || host.ends_with(&format!(".{domain}")))
}

/// Percent-encodes a text for use in a URL.
fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| {
            if plain(byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// What to search for
    query: String,
    /// Only include pages of these domains
    #[serde(default)]
    allowed_domains: Vec<String>,
    /// Exclude pages of these domains
    #[serde(default)]
    blocked_domains: Vec<String>,
}

#[async_trait]
impl TypedTool for WebSearch {
    type Parameters = Parameters;
    const NAME: &'static str = "WebSearch";
    const PROMPT: &'static str = prompt!("tools/WebSearch");
    const KIND: ToolKind = ToolKind::Web;
    const READ_ONLY: bool = true;
    const SUBJECT: &'static str = "query";

    async fn call(&self, input: Parameters, ctx: &ToolContext) -> Result<ToolOutput, String> {
        let text = tokio::select! {
            hits = self.hits(&input) => hits?,
            () = ctx.cancel.cancelled() => return Err("The call was interrupted.".to_owned()),
        };
        if text.is_empty() {
            return Ok(ToolOutput::ok("No results.", "no results"));
        }
        let pages = counted(text.lines().count() / 3, "page");
        Ok(ToolOutput::ok(text, pages))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use swarm_protocol::WebAnswer;

    use super::*;

    #[derive(Debug)]
    struct Server;

    #[async_trait]
    impl WebAccess for Server {
        async fn get(&self, request: WebRequest) -> Result<WebAnswer, String> {
            assert_eq!(
                request.url,
                "http://127.0.0.1/search?q=a%20%26b&format=json"
            );
            let hit = |url: &str| json!({"title": "T", "url": url, "content": "c\nd"});
            let body = json!({"results": [hit("https://a.example/1"), hit("https://sub.b.example/2"), hit("javascript:x")]});
            Ok(WebAnswer {
                status: 200,
                location: None,
                content_type: "application/json".to_owned(),
                body: body.to_string().into_bytes(),
                cut: false,
            })
        }
    }

    #[tokio::test]
    async fn results_are_filtered_by_domain() {
        let tool = WebSearch::new(
            Arc::new(Server),
            "http://127.0.0.1/search?q={query}&format=json",
        );
        for (further, expected) in [
            (json!({}), vec!["a.example", "b.example"]),
            (json!({"allowed_domains": ["b.example"]}), vec!["b.example"]),
            (json!({"blocked_domains": ["B.example"]}), vec!["a.example"]),
        ] {
            let mut input = json!({"query": "a &b"});
            input
                .as_object_mut()
                .unwrap()
                .extend(further.as_object().unwrap().clone());
            let input = serde_json::from_value(input).unwrap();
            let text = tool.hits(&input).await.unwrap();
            for domain in ["a.example", "b.example"] {
                assert_eq!(text.contains(domain), expected.contains(&domain), "{text}");
            }
            assert!(
                !text.contains("javascript") && text.contains("c d"),
                "{text}"
            );
        }
    }
}
