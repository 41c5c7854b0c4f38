//! Signs at the start of lines and between their parts.

pub(crate) const CALL: &str = "●";
pub(crate) const OUTCOME: &str = "└";
pub(crate) const MAIL_IN: &str = "◀";
pub(crate) const MAIL_OUT: &str = "▶";
pub(crate) const NOTICE: &str = "·";
pub(crate) const RETRY: &str = "↻";
pub(crate) const WAITING: &str = "▲";
pub(crate) const FAILED: &str = "✗";
pub(crate) const DONE: &str = "✓";
pub(crate) const THINKING: &str = "∴";
pub(crate) const IDLE: &str = "○";
pub(crate) const STATE: &str = "■";

/// Between the parts of a line.
pub(crate) const DOT: &str = " · ";
