//! A lead in this process: `swarm lead`, and code shared with `swarm run` and `swarm resume`.

mod completion;
mod coordinator;
mod draft;
mod execute_lead;
mod flags;
mod history;
mod interactive;
mod kept_choices;
mod overview;
mod panel_actions;
mod parts;
mod person_shell;
mod prompt_commands;
mod questions;
mod report;
mod session_picker;
mod sessions;
mod slash;
mod status_command;
mod status_line;
mod team_content;
mod terminal;
mod transcript_document;
mod typed_command;
mod view;
mod watch_requests;

pub(super) use coordinator::is_coordinator;
pub(super) use execute_lead::execute_lead;
pub(crate) use flags::LeadFlags;
pub(super) use interactive::{LeadArgs, run};
pub(super) use kept_choices::KeptChoices;
pub(super) use parts::{Ready, parts};
pub(crate) use report::OutputFormat;
pub(super) use report::{output_format, show};
pub(super) use sessions::{Earlier, open_session};
pub(super) use watch_requests::watch_requests;
