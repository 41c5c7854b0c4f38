//! Model clients behind one streaming trait: the Messages API, OpenAI-compatible servers, and a
//! scripted model.
//!
//! A [`ModelRequest`] yields a stream of [`ModelEvent`]s that ends with one
//! [`ModelEvent::Completed`] or one [`ModelError`]. Clients are stateless: every request carries
//! the whole conversation.

mod chat_completions;
mod connect;
mod drive;
mod error;
mod message;
mod messages_api;
mod metered;
mod model;
mod name;
mod packing;
mod remote;
mod request;
mod scripted;
mod stored;
mod web;

pub use chat_completions::ChatCompletionsConfig;
pub use connect::{ModelSettings, connect};
pub use error::ModelError;
pub use message::{ContentBlock, Message, Role};
pub use messages_api::MessagesApiConfig;
pub use metered::{Admission, MeteredModel, RequestMeter};
pub use model::{Fallback, Model, ModelEvent, ModelEvents, ModelResponse, StopReason};
pub use name::{ModelName, ModelNameError, Provider};
pub use packing::pack;
pub use remote::{Connection, ReplayedApi, RetryPolicy, Secret, Throttle, replay_answer};
pub use request::{InputSchema, ModelRequest, SystemBlock, ToolSpec};
pub use scripted::{Pace, ScenarioError};
pub use stored::{BlockKind, StoredBlock, StoredMessage};
pub use web::WebClient;
