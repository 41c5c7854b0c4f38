//! Where a member's process runs: a tmux pane, a headless process, or a fake that only records
//! calls.
//!
//! One trait, [`PaneBackend`], about a dozen verbs. A pane is first *opened* (it exists, is tagged, titled and in
//! its place, but runs nothing) and then *started* with a program and its arguments as separate words: no shell
//! reads them and no keystroke is sent. [`choose`] picks the backend and says why.

mod backend;
mod choose;
mod error;
mod headless;
mod kind;
mod layout;
mod log;
mod pane;
mod place;
pub mod recording;
mod text;
mod tmux;
mod view;

pub use backend::PaneBackend;
pub use choose::{BackendRequest, Chosen, TerminalFacts, all_places, backend_words, choose, reach};
pub use error::PaneError;
pub use headless::HeadlessBackend;
pub use kind::{
    BACKEND_WORDS, BackendCheck, BackendKind, backend_kind, backend_kinds, own_backend,
};
pub use layout::{Arrangement, MINIMUM_PANE, Size};
pub use pane::{Pane, PaneCommand, PaneSpec, PaneStatus, Started, TaggedPane};
pub use place::Place;
pub use recording::RecordingBackend;
pub use tmux::{
    FEATURES, Feature, NEWEST_TRIED, OLDEST, OWN_SESSION, OWN_WINDOW, TmuxBackend, TmuxVersion,
    check_tmux, dead_sockets, is_own_socket, own_socket, replay_panes, server_number,
    take_over_log, tmux_version,
};
pub use view::{CapturedPane, WindowView};
