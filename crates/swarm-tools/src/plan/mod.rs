//! The plan mode tools.

mod enter;
mod exit;

pub use enter::EnterPlanMode;
pub use exit::ExitPlanMode;
