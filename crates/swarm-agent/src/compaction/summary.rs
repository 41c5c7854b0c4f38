//! The request for a summary, and the text that frames the summary in the new conversation.

use std::path::Path;
use std::sync::Arc;

use swarm_model::{Message, ModelResponse, StopReason, StoredMessage};
use swarm_protocol::defang;
use swarm_tools::prompt;

const BEFORE: &str = "The conversation so far was replaced with a summary, to make room in the context window. You wrote it yourself:";

const AFTER: &str = "Continue from there without comment, as if the conversation had not been interrupted. What you did before is done: do not start it again. The complete conversation is in";

/// Returns the request for a summary of at most `words` words.
pub(super) fn question(words: u64, wishes: &[String]) -> Arc<StoredMessage> {
    let mut text = format!(
        "<system-reminder>\n{}\n\nWrite at most {words} words.",
        prompt!("compact")
    );
    for wish in wishes {
        text.push_str("\n\nAdditional instructions: ");
        text.push_str(&defang(wish.trim()));
    }
    text.push_str("\n</system-reminder>");
    Arc::new(StoredMessage::from(Message::user_text(text)))
}

/// Returns the summary in a response. The error says why there is none.
pub(super) fn summary(response: &ModelResponse) -> Result<String, String> {
    let text = response.text();
    let text = text.trim();
    match &response.stop_reason {
        StopReason::MaxTokens => Err("the summary reached its token limit".to_owned()),
        StopReason::ModelContextWindowExceeded => {
            Err("the context window had no room for the summary".to_owned())
        }
        StopReason::Refusal => Err("the model declined to write a summary".to_owned()),
        _ if text.is_empty() => Err("the response contains no summary".to_owned()),
        _ => Ok(text.to_owned()),
    }
}

/// Returns the summary with the text around it.
pub(super) fn framed(summary: &str, transcript: &Path) -> String {
    format!("{BEFORE}\n\n{summary}\n\n{AFTER} {}.", transcript.display())
}
