//! Rendering of a teammate's pane.

#![expect(
    clippy::unwrap_used,
    reason = "what cannot be drawn or read is a failed test"
)]

mod any_event;
mod events;
mod golden;
mod order;
mod session;
mod shape;
mod width;
