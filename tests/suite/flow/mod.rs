//! `swarm run` from the prompt to the summary: a lead and three teammates, every answer of their models coming over
//! the wire, every tool and file real.

mod agent_worktrees;
mod agents;
mod alerts;
mod chat;
mod checks;
mod claude_settings;
mod compaction;
mod coordinator;
mod detached;
mod dialogs;
mod follow_up;
mod hook_trees;
mod hooks;
mod in_process;
mod instructions;
mod lead;
mod merge_queue;
mod models;
mod money;
mod outcomes;
mod peer_sessions;
mod peers;
mod pictures;
mod places;
mod prompts;
mod repository_programs;
mod requests;
mod run_in_pane;
mod scratchpad;
mod screen;
mod session;
mod structured_output;
mod templates;
mod typing;
mod work;
