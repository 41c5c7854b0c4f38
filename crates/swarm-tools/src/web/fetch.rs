//! The `WebFetch` tool.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use swarm_protocol::ToolKind;

use super::access::{host, same_site};
use super::readable::readable;
use super::{WebAccess, WebRequest};
use crate::one_line::counted;
use crate::parameters::parse;
use crate::{ToolContext, ToolOutput, TypedTool, prompt};

/// Maximum number of bytes read of a response, and of characters returned to the model.
const MAX_BYTES: usize = 4 << 20;
const MAX_CHARS: usize = 50_000;
const TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum number of redirects within a site.
const MAX_REDIRECTS: usize = 5;
/// Lifetime and maximum number of cached pages.
const CACHE_LIFETIME: Duration = Duration::from_mins(15);
const MAX_CACHED: usize = 32;

/// Fetches a page.
#[derive(Debug)]
pub struct WebFetch {
    client: Arc<dyn WebAccess>,
    private: bool,
    cached: Mutex<HashMap<String, (Instant, String)>>,
}

impl WebFetch {
    /// Creates the tool. With `private`, addresses on this machine and in local networks are
    /// allowed.
    pub fn new(client: Arc<dyn WebAccess>, private: bool) -> Self {
        Self {
            client,
            private,
            cached: Mutex::default(),
        }
    }

    /// Returns the text of a page, from the cache if possible. The error is a message for the
    /// model.
    async fn page(&self, url: &str) -> Result<String, String> {
        if let Some(text) = self.cached(url) {
            return Ok(text);
        }
        let text = self.fetched(url).await?;
        let mut cached = self.cached.lock();
        cached.retain(|_, (at, _)| at.elapsed() < CACHE_LIFETIME);
        if cached.len() < MAX_CACHED {
            cached.insert(url.to_owned(), (Instant::now(), text.clone()));
        }
        Ok(text)
    }

    fn cached(&self, url: &str) -> Option<String> {
        let cached = self.cached.lock();
        let (at, text) = cached.get(url)?;
        (at.elapsed() < CACHE_LIFETIME).then(|| text.clone())
    }

    async fn fetched(&self, url: &str) -> Result<String, String> {
        let site = host(url)?;
        let mut url = url.to_owned();
        for _ in 0..=MAX_REDIRECTS {
            let request = WebRequest {
                url: url.clone(),
                private: self.private,
                max_bytes: MAX_BYTES,
                timeout: TIMEOUT,
            };
            let answer = self.client.get(request).await?;
            match (answer.status, &answer.location) {
                (300..=399, Some(to)) => {
                    if !same_site(&site, &host(to)?) {
                        return Err(format!(
                            "{url} redirects to another host: {to}. Call WebFetch with that URL if you want it."
                        ));
                    }
                    url.clone_from(to);
                }
                (200..=299, _) => {
                    let text = readable(&answer).map_err(|why| format!("{url}: {why}."))?;
                    return Ok(shortened(&text, answer.cut));
                }
                (status, _) => return Err(format!("{url} returned status {status}.")),
            }
        }
        Err(format!("{url} redirects too many times."))
    }
}

fn shortened(text: &str, cut: bool) -> String {
    match text.char_indices().nth(MAX_CHARS) {
        Some((at, _)) => format!("{}\n[… truncated]", &text[..at]),
        None if cut => format!("{text}\n[… truncated]"),
        None => text.to_owned(),
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// The URL to fetch
    url: String,
    /// What you want to know from the page; shown to the user
    #[expect(
        dead_code,
        reason = "models pass it; the page is returned without further processing"
    )]
    prompt: Option<String>,
}

#[async_trait]
impl TypedTool for WebFetch {
    type Parameters = Parameters;
    const NAME: &'static str = "WebFetch";
    const PROMPT: &'static str = prompt!("tools/WebFetch");
    const KIND: ToolKind = ToolKind::Web;
    const READ_ONLY: bool = true;
    const SUBJECT: &'static str = "url";

    fn check(&self, input: &Value, _ctx: &ToolContext) -> Result<(), String> {
        let input: Parameters = parse(Self::NAME, input.clone())?;
        host(&input.url).map(drop)
    }

    async fn call(&self, input: Parameters, ctx: &ToolContext) -> Result<ToolOutput, String> {
        let text = tokio::select! {
            page = self.page(&input.url) => page?,
            () = ctx.cancel.cancelled() => return Err("The call was interrupted.".to_owned()),
        };
        let lines = counted(text.lines().count(), "line");
        Ok(ToolOutput::ok(text, lines))
    }
}

#[cfg(test)]
mod tests {
    use swarm_protocol::WebAnswer;

    use super::*;

    /// A fake web that records requests.
    #[derive(Debug, Default)]
    struct Web(Mutex<Vec<String>>);

    #[async_trait]
    impl WebAccess for Web {
        async fn get(&self, request: WebRequest) -> Result<WebAnswer, String> {
            self.0.lock().push(request.url.clone());
            let (status, location, body) = match request.url.as_str() {
                "https://a.example/" => (200, None, "<h1>Here</h1>".to_owned()),
                "https://a.example/moved" => {
                    (301, Some("https://www.a.example/there"), String::new())
                }
                "https://www.a.example/there" => (200, None, "<p>there</p>".to_owned()),
                "https://a.example/away" => (302, Some("https://b.example/x"), String::new()),
                "https://a.example/round" => (302, Some("https://a.example/round"), String::new()),
                "https://a.example/long" => (200, None, "x".repeat(MAX_CHARS + 1)),
                _ => (404, None, String::new()),
            };
            Ok(WebAnswer {
                status,
                location: location.map(str::to_owned),
                content_type: "text/html".to_owned(),
                body: body.into_bytes(),
                cut: false,
            })
        }
    }

    #[tokio::test]
    async fn redirects_are_followed_within_a_site_and_pages_are_cached() {
        let web = Arc::new(Web::default());
        let tool = WebFetch::new(Arc::clone(&web) as Arc<dyn WebAccess>, false);
        for (path, expected) in [
            ("", Ok("# Here")),
            ("", Ok("# Here")),
            ("moved", Ok("there")),
            (
                "away",
                Err("redirects to another host: https://b.example/x"),
            ),
            ("round", Err("too many times")),
            ("none", Err("status 404")),
            ("long", Ok("truncated]")),
        ] {
            let page = tool.page(&format!("https://a.example/{path}")).await;
            match (page, expected) {
                (Ok(text), Ok(part)) | (Err(text), Err(part)) => {
                    assert!(text.contains(part), "{text}");
                }
                other => panic!("{other:?}"),
            }
        }
        let asked = web.0.lock();
        assert_eq!(
            asked
                .iter()
                .filter(|url| *url == "https://a.example/")
                .count(),
            1
        );
        assert!(
            !asked.iter().any(|url| url.contains("b.example")),
            "{asked:?}"
        );
    }
}
