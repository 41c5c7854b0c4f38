//! Model clients behind one streaming trait: the Messages API and a scripted model.
//!
//! A [`ModelRequest`] goes in, a stream of [`ModelEvent`]s comes out and ends with one
//! [`ModelEvent::Completed`] or one [`ModelError`]. Clients keep no conversation: every request carries
//! all of its messages.

mod connect;
mod drive;
mod error;
mod message;
mod messages_api;
mod model;
mod name;
mod request;
mod scripted;
mod stop;

pub use connect::{ModelSettings, connect};
pub use error::ModelError;
pub use message::{ContentBlock, Message, Role};
pub use messages_api::{MessagesApi, MessagesApiConfig, RetryPolicy, Secret};
pub use model::{Model, ModelEvent, ModelEvents, ModelResponse, collect_response};
pub use name::{ModelName, ModelNameError, Provider};
pub use request::{ModelRequest, SystemBlock, ToolSpec};
pub use scripted::{Pace, ScenarioError, ScriptedModel};
pub use stop::StopReason;
