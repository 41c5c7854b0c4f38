//! Compaction: a conversation that fills the context window goes on from a summary of itself.
//!
//! A summary is asked for with one request that begins with the bytes of the last one, so that it is read from the prompt
//! cache. The conversation that follows it is built anew once: instructions, summary, to-do list, recent files, and the
//! last messages as they were said. Before that, results of old calls are cleared where that frees enough. Forks that run keep the messages with which they began.

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
