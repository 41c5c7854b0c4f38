//! Into plan mode and out of it.

mod enter;
mod exit;

pub use enter::EnterPlanMode;
pub use exit::ExitPlanMode;
