//! The command line: reads arguments, environment and settings, wires the house together, and prints.

mod app;
mod args;
mod commands;
mod deployment;
mod entry;
mod environment;
mod failure;
mod identity;
mod logging;
mod models;
mod output;
mod rules;
mod settings;
mod teammate_entry;

pub use entry::main_impl;
pub use teammate_entry::teammate_main_impl;
