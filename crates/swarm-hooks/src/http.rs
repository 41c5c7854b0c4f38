//! Hooks of the type `http`.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::answer::{Answer, said};
use crate::{HookReach, HookRequest};

/// What a server is sent, and how its answer is bounded.
pub(crate) struct Post<'a> {
    pub(crate) url: &'a str,
    pub(crate) headers: &'a BTreeMap<String, String>,
    /// The variables that headers may use.
    pub(crate) allowed: &'a [String],
    pub(crate) env: &'a BTreeMap<String, String>,
    pub(crate) input: &'a str,
    pub(crate) output_limit: usize,
    pub(crate) limit: Duration,
}

/// Posts the input. As in Claude Code an answer of 2xx means what a command with exit code 0 prints, and any other fails
/// without holding anything up.
pub(crate) async fn post(
    reach: &dyn HookReach,
    post: Post<'_>,
    cancel: &CancellationToken,
) -> Answer {
    let headers = post.headers.iter();
    let headers = headers.map(|(name, value)| (name.clone(), filled(value, &post)));
    let request = HookRequest {
        url: post.url.to_owned(),
        headers: headers.collect(),
        body: post.input.to_owned(),
        max_bytes: post.output_limit,
        timeout: post.limit,
    };
    let reply = tokio::select! {
        reply = reach.post(request) => reply,
        () = cancel.cancelled() => return Answer::Interrupted,
    };
    match reply {
        Err(why) => Answer::Failed(why),
        Ok(reply) if (200..300).contains(&reply.status) => {
            let text = String::from_utf8_lossy(&reply.body);
            said(text.trim(), reply.cut)
        }
        Ok(reply) => Answer::Failed(format!("was answered with HTTP status {}", reply.status)),
    }
}

/// A header's value with `$NAME` and `${NAME}` of the allowed variables put in; others become nothing.
fn filled(value: &str, post: &Post<'_>) -> String {
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
