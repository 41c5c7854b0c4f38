//! Replays recorded answers.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt, stream};
use parking_lot::Mutex;
use swarm_protocol::Usage;
use tokio_util::sync::CancellationToken;

use super::dialect::Assembly;
use super::stream::{Broken, read_answer};
use crate::drive::drive;
use crate::error::ModelError;
use crate::model::{ModelEvent, ModelResponse};
use crate::{chat_completions, messages_api};

/// Idle timeout that never expires, since all pieces are available.
const NEVER: Duration = Duration::from_hours(1);

/// The API of a recorded answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplayedApi {
    /// The Messages API.
    Messages,
    /// The chat completions API.
    ChatCompletions,
}

/// Processes the body of an answer, split into pieces, as the client processes it when a server
/// sends it. Returns the emitted events and either the response or the reason for the failure. Used
/// for recorded answers and for fuzzing. Requires a Tokio runtime with time enabled.
pub async fn replay_answer(
    api: ReplayedApi,
    pieces: Vec<Bytes>,
) -> (Vec<ModelEvent>, Result<ModelResponse, String>) {
    const MODEL: &str = "replayed";
    match api {
        ReplayedApi::Messages => replay(messages_api::answer::Answer::new(MODEL), pieces).await,
        ReplayedApi::ChatCompletions => {
            replay(chat_completions::answer::Answer::new(MODEL), pieces).await
        }
    }
}

async fn replay(
    mut answer: impl Assembly + 'static,
    pieces: Vec<Bytes>,
) -> (Vec<ModelEvent>, Result<ModelResponse, String>) {
    let outcome = Arc::new(Mutex::new(Err("it was not read".to_owned())));
    let kept = Arc::clone(&outcome);
    let pieces = stream::iter(pieces.into_iter().map(Ok));
    let shown = drive(CancellationToken::new(), move |emit| async move {
        let read = read_answer(pieces, &mut answer, NEVER, Usage::default(), &emit).await;
        let read = read.map_err(|broken| match broken {
            Broken::Failed(failure) => format!("{failure:?}"),
            Broken::Refused(refusal) => format!("{refusal:?}"),
        });
        *kept.lock() = read;
        Err(ModelError::Cancelled)
    });
    let shown: Vec<ModelEvent> = shown
        .filter_map(|event| async { event.ok() })
        .collect()
        .await;
    let mut outcome = outcome.lock();
    let outcome = std::mem::replace(&mut *outcome, Err(String::new()));
    (shown, outcome)
}
