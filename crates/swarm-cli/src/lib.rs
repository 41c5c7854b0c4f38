//! The command line: reads arguments, environment and settings, connects the other crates, and
//! prints.

mod app;
mod args;
mod claude_settings;
mod commands;
mod deployment;
mod entry;
mod environment;
mod equipment;
mod failure;
mod first_act;
mod hook_folders;
mod identity;
mod lineage;
mod logging;
mod models;
mod nearest;
mod output;
mod root_folder;
mod settings;
mod sgr;
mod shim;
mod team_hooks;
mod teammate_entry;
mod teammate_terminal;
mod trust;
mod which_team;

pub use entry::main_impl;
pub use teammate_entry::teammate_main_impl;
