//! Runs members' processes: in a pane of tmux, iTerm2 or a terminal that the user's program controls,
//! as a headless process, or as a task of the lead's process.
//!
//! One trait, [`PaneBackend`], with about a dozen methods. A pane is first *opened* (it exists, is
//! tagged, has its title and position, but runs nothing) and then *started* with a program and
//! separate arguments: no shell parses them and no keystrokes are sent. [`choose`] selects the
//! backend and reports the reason.

mod backend;
mod backend_list;
mod choose;
mod error;
mod external;
mod headless;
mod in_process;
mod kind;
mod layout;
mod log;
mod pane;
mod place;
mod record;
mod terminal;
mod text;
mod tmux;

pub use backend::PaneBackend;
pub use backend_list::{BACKEND_WORDS, backend_kind, backend_kinds, is_automatic, own_backend};
pub use choose::{BackendRequest, Chosen, all_backends, backend_for_pane, choose};
pub use error::PaneError;
pub use external::{ExternalBackend, It2, NewPane, PaneDriver, PaneProgram};
pub use headless::HeadlessBackend;
pub use in_process::{InProcessBackend, InProcessHost, InProcessStart, InProcessStop};
pub use kind::{BackendCheck, BackendKind, SelectedBackend, Selection};
pub use layout::Size;
pub(crate) use layout::{Arrangement, MINIMUM_PANE};
pub use pane::{
    CapturedPane, Pane, PaneCommand, PaneSpec, PaneStatus, PaneText, Started, TaggedPane,
    WindowView,
};
pub use place::PanePlacement;
pub use terminal::TerminalFacts;
pub use tmux::{
    Feature, OLDEST, OWN_SESSION, OWN_WINDOW, TmuxBackend, TmuxVersion, check_tmux, dead_sockets,
    is_own_socket, own_socket, replay_panes, server_number, take_over_log,
};
