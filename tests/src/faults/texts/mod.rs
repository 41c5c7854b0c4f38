//! Texts that a shell, tmux, a terminal or a file system would act on, in every place where somebody writes one: each is refused
//! with a word that is only a word, or is kept and shown as text. The tmux has a terminal at which everything is really drawn.

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
