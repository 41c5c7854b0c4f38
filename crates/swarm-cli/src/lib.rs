//! The command line: reads arguments, environment and settings, connects the other crates, and
//! prints.

mod agent_config;
mod alternative_role;
mod api_key_helper;
mod app;
mod backoff;
mod command_line;
mod commands;
mod config_directory;
mod entry;
mod environment;
mod escape_time;
mod event_tap;
mod failure;
mod fallback;
mod host_facts;
mod hub_credentials;
mod identity;
mod in_process_teammate;
mod limited_command;
mod lineage;
mod links;
mod logging;
mod models;
mod nearest;
mod occupants;
mod ordered;
mod output;
mod output_style;
mod own_process;
mod pane_status;
mod request_flags;
mod runtimes;
mod sgr;
mod shell_guards;
mod shim;
mod short_forms;
mod spawn_context;
mod team_hooks;
mod teammate;
mod teammate_entry;
mod teammate_terminal;
mod which_team;
mod window_fit;

pub use entry::main_impl;
pub use teammate_entry::teammate_main_impl;
