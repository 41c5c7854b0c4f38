//! A turn: from delivered input to the end of the model's response.

mod ask;
mod call;
mod call_host;
mod dispatch;
mod drive;
mod expand;
mod foreign;
mod hooks;
mod noted;
mod outcome;
mod repetition;
mod request;
mod runtime;
mod step;
mod tool_hooks;
mod types;

pub use foreign::ForeignCall;
pub(crate) use hooks::hook_context;
pub use hooks::{Submitted, Withheld};
pub use outcome::{TurnOutcome, TurnSignals};
pub(crate) use repetition::Repetition;
pub use runtime::{AgentRuntime, ModelLoop, Turn};
pub(crate) use types::Noted;
pub use types::TurnStop;
