//! What users of agent teams have suffered from, each as something that does not happen here. Names begin with the row
//! of the list that the project keeps of such pains.

mod closed;
mod definitions;
mod ending;
mod environment;
mod escapes;
mod frozen;
pub(crate) mod guards;
mod holds;
mod lead_worktrees;
mod life;
mod mail;
mod network;
mod no_room;
mod own_server;
mod pane_program;
mod panes;
mod recovery;
mod replies;
mod sandbox;
mod sandbox_helper;
mod self_approval;
mod spawning;
mod starting;
mod states;
mod tasks;
mod unasked;
mod unprivileged;
mod waiting;
pub(crate) mod worktrees;
