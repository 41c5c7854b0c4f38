//! Texts that a shell, tmux, a terminal or a file system would interpret, in every input: each is
//! rejected with an escaped error message, or stored and displayed as text. The tmux server has a
//! terminal on which everything is drawn.

mod list;
mod mates;
mod matrix;
mod names;
mod obeyed;
mod outside;
mod said;
mod scene;
mod speech;

pub use matrix::{Effort, Slot, try_texts};
