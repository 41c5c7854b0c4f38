//! Minimal programs as a baseline: no team, no journal, no transcript.

pub(crate) mod hub;
pub(crate) mod inbox;
pub(crate) mod receiver;
pub(crate) mod sender;
