//! The request for a summary, and what the model reads of it afterwards.

use std::path::Path;
use std::sync::Arc;

use swarm_model::{Message, ModelResponse, StopReason, StoredMessage};
use swarm_protocol::defang;
use swarm_tools::prompt;

/// Stands in front of the summary.
const BEFORE: &str = "The conversation so far was replaced by a summary, to make room in the context window. You wrote it yourself:";

/// Stands behind it.
const BEHIND: &str = "Continue from there without comment, as if the conversation had not been interrupted. What you did before is done: do not start it again. The complete conversation is in";

/// What the model is asked. `words` is the longest that the summary may be.
pub(super) fn question(words: u64, wishes: &[String]) -> Arc<StoredMessage> {
    let mut text = format!(
        "<system-reminder>\n{}\n\nWrite at most {words} words.",
        prompt!("compact")
    );
    for wish in wishes {
        text.push_str("\n\nAlso observe this: ");
        text.push_str(&defang(wish.trim()));
    }
    text.push_str("\n</system-reminder>");
    Arc::new(StoredMessage::from(Message::user_text(text)))
}

/// The summary in an answer. The error says what is wrong with it.
pub(super) fn summary(response: &ModelResponse) -> Result<String, String> {
    let text = response.text();
    let text = text.trim();
    match &response.stop_reason {
        StopReason::MaxTokens => Err("the summary was cut off at its limit of tokens".to_owned()),
        StopReason::ModelContextWindowExceeded => {
            Err("there was no room left for the summary".to_owned())
        }
        StopReason::Refusal => Err("the model declined to write a summary".to_owned()),
        _ if text.is_empty() => Err("the model wrote no summary".to_owned()),
        _ => Ok(text.to_owned()),
    }
}

/// The summary as the model reads it from then on.
pub(super) fn framed(summary: &str, transcript: &Path) -> String {
    format!(
        "{BEFORE}\n\n{summary}\n\n{BEHIND} {}.",
        transcript.display()
    )
}
