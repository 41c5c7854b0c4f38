//! The task list in Claude Code's files.

mod board;
mod files;
mod mark;
mod outbox;
mod redo;
