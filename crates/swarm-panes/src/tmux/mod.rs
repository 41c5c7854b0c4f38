//! tmux panes: next to the lead on the user's server, or on swarm's own server.

mod arrange;
mod backend;
mod batch;
mod commands;
mod create;
mod facts;
mod features;
mod grid;
mod kind;
mod layout_lock;
mod own_server;
mod placement;
mod probe;
mod program;
mod refit;
mod replay;
mod server;
mod snapshot;
mod tidy;
mod verbs;
mod view;
mod watch;
mod window_mark;

pub use backend::TmuxBackend;
pub use features::{Feature, OLDEST, TmuxVersion};
pub(crate) use kind::Tmux;
pub(crate) use own_server::own_sockets;
pub use own_server::{
    OWN_SESSION, OWN_WINDOW, dead_sockets, is_own_socket, own_socket, server_number,
};
pub use probe::check_tmux;
pub(crate) use probe::{lead_pane_answers, tmux_version};
pub use program::take_over_log;
pub use replay::replay_panes;
pub(crate) use server::socket_of;
