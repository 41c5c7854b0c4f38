//! Bare programs: the least with which the same can be done. They know no team, no journal and no transcript.

pub(crate) mod inbox;
pub(crate) mod receiver;
pub(crate) mod sender;
