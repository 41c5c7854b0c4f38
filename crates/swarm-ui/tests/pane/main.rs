//! What a teammate's pane looks like.

#![expect(
    clippy::unwrap_used,
    reason = "what cannot be drawn or read is a failed test"
)]

mod any_event;
mod events;
mod kept;
mod life;
mod order;
mod shape;
mod width;
