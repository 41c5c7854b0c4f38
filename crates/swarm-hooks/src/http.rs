//! Hooks of the type `http`.

use std::collections::BTreeMap;

use tokio_util::sync::CancellationToken;

use crate::answer::{Answer, parse_output};
use crate::{HookRequest, HookServices};

/// Posts a request. As in Claude Code, a 2xx response is interpreted like the output of a command
/// that exited with 0; any other status is a failure that does not block.
pub(crate) async fn post(
    services: &dyn HookServices,
    request: HookRequest,
    cancel: &CancellationToken,
) -> Answer {
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
pub(crate) fn expand(value: &str, allowed: &[String], env: &BTreeMap<String, String>) -> String {
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
        } else if allowed.iter().any(|allowed| allowed == name) {
            filled.push_str(env.get(name).map_or("", String::as_str));
        }
        rest = then;
    }
    filled.push_str(rest);
    filled
}
