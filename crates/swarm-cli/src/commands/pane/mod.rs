//! Members' output: `swarm attach`, `peek` and `logs`.

mod attach;
mod become_command;
mod logs;
mod output;
mod peek;
mod place;
mod seen;
mod tail;

pub(super) use attach::{AttachArgs, run as attach};
pub(super) use logs::{LogsArgs, run as logs};
pub(super) use output::{last_lines, lead_log};
pub(super) use peek::{PeekArgs, run as peek};
