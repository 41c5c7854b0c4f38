//! Panes of tmux: beside the lead in the user's server, or on a server of our own.

mod arrange;
mod backend;
mod batch;
mod commands;
mod create;
mod own_server;
mod placement;
mod probe;
mod server;
mod snapshot;
mod verbs;
mod view;
mod watch;

pub use backend::TmuxBackend;
pub use own_server::{OWN_SESSION, OWN_WINDOW, is_own_socket, own_socket};
pub(crate) use probe::{check_version, lead_pane_answers};
pub(crate) use server::socket_of;
