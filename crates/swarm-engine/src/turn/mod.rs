//! One turn: from delivered input to the model's last word.

mod ask;
mod call;
mod call_host;
mod dispatch;
mod drive;
mod hooks;
mod interject;
mod outcome;
mod request;
mod runtime;
mod signals;
mod step;

pub use hooks::{Submitted, Withheld, told_by_hooks};
pub use outcome::TurnOutcome;
pub use runtime::{AgentRuntime, ModelLoop, Turn, TurnStop};
pub use signals::TurnSignals;
