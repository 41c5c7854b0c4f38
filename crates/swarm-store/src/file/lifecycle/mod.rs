//! Creating, listing, adopting, deleting and cleaning up the directories of teams.

mod adopt;
mod create;
mod damage;
mod delete;
mod list;
mod sweep;
