//! The child program: inbox, turns, idle notice, shutdown.
