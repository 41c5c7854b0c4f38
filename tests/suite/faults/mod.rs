//! What goes wrong on purpose, for a few seconds each. The long runs are `scripts/stress`.

mod files;
mod locks;
mod mail;
mod processes;
mod setting;
mod steps;
mod tasks;
