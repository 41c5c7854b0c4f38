//! Hooks of the type `http`.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::answer::{Answer, parse_output};
use crate::{HookRequest, HookServices};

/// An HTTP request and the limits of its response.
pub(crate) struct PostRequest<'a> {
    pub(crate) url: &'a str,
    pub(crate) headers: &'a BTreeMap<String, String>,
    /// The variables that headers may use.
    pub(crate) allowed: &'a [String],
    pub(crate) env: &'a BTreeMap<String, String>,
    pub(crate) input: &'a str,
    pub(crate) output_limit: usize,
    pub(crate) limit: Duration,
}

/// Posts the input. As in Claude Code, a 2xx response is interpreted like the output of a command
/// that exited with 0; any other status is a failure that does not block.
pub(crate) async fn post(
    services: &dyn HookServices,
    post: PostRequest<'_>,
    cancel: &CancellationToken,
) -> Answer {
    let headers = post.headers.iter();
    let headers = headers.map(|(name, value)| (name.clone(), expand(value, &post)));
    let request = HookRequest {
        url: post.url.to_owned(),
        headers: headers.collect(),
        body: post.input.to_owned(),
        max_bytes: post.output_limit,
        timeout: post.limit,
    };
    let reply = tokio::select! {
        reply = services.post(request) => reply,
        () = cancel.cancelled() => return Answer::Interrupted,
    };
    match reply {
        Err(why) => Answer::Failed(why),
        Ok(reply) if (200..300).contains(&reply.status) => {
            let text = String::from_utf8_lossy(&reply.body);
            parse_output(text.trim(), reply.cut)
        }
        Ok(reply) => Answer::Failed(format!("returned HTTP status {}", reply.status)),
    }
}

/// Expands `$NAME` and `${NAME}` of the allowed variables in a header value; other variables expand
/// to nothing.
fn expand(value: &str, post: &PostRequest<'_>) -> String {
    let mut filled = String::new();
    let mut rest = value;
    while let Some((before, after)) = rest.split_once('$') {
        filled.push_str(before);
        let braced = after.strip_prefix('{').and_then(|it| it.split_once('}'));
        let (name, then) = braced.unwrap_or_else(|| {
            let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let end = after.find(|c| !is_part(c)).unwrap_or(after.len());
            after.split_at(end)
        });
        if name.is_empty() {
            filled.push('$');
        } else if post.allowed.iter().any(|allowed| allowed == name) {
            filled.push_str(post.env.get(name).map_or("", String::as_str));
        }
        rest = then;
    }
    filled.push_str(rest);
    filled
}
