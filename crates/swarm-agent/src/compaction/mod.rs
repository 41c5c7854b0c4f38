//! Compaction: replaces a conversation that fills the context window with a summary of itself.
//!
//! The request for a summary begins with the bytes of the last request, so that the server reads
//! them from its prompt cache. The new conversation consists of instructions, summary, to-do list,
//! recent files and the last messages unchanged. Before that, the results of old calls are cleared
//! if that frees enough. Running forks keep the messages with which they began.

mod attach;
mod clear;
mod meter;
mod pictures;
mod recent;
mod run;
mod shorten;
mod summary;
mod tail;

pub(crate) use meter::Meter;
pub(crate) use pictures::within_limits;
pub(crate) use recent::Recent;
