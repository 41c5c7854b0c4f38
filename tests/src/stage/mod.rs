//! Environment for tests of whole teams: a private world with its own home, config directory,
//! sockets and programs, with helpers to act in it and to inspect it.

mod arguments;
mod clock;
mod marked;
mod report;
mod run;
mod stable;
mod sweep;
mod team;
mod terminal;
mod tmux;
mod world;

pub use arguments::{MODEL, run_args, spawn_args};
pub use clock::Faketime;
pub(crate) use marked::end_all as end_marked;
pub use run::{Finished, Running};
pub use team::Team;
pub use terminal::Terminal;
pub use tmux::{InsideTmux, PaneLine, Tmux};
pub use world::World;
pub(crate) use world::sweep_worlds;
