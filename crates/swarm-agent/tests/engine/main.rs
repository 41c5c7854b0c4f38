//! Tests of sessions with scripted models and tools.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod agent_tool;
mod background;
mod call_host;
mod cancel;
mod compaction;
mod compaction_limits;
mod coordinator;
mod crash;
#[path = "../../../swarm-os/tests/disk/disk_steps.rs"]
mod disk_steps;
mod dispatch;
mod environment;
mod family;
mod fork;
mod hook_decisions;
mod hooks;
mod limits;
mod list_agents;
mod loaded_definition;
mod mail;
mod model;
mod permission;
mod power_cuts;
mod prefix;
#[path = "../../../swarm-os/tests/disk/recorder.rs"]
mod recorder;
mod reopen;
mod rewind;
mod setup;
mod skills;
mod slow_disk;
mod starting;
mod streaming;
mod sub_agents;
mod suspend;
mod tools;
mod transcript;
mod valid;
mod window;
