//! The table of settings. A setting is one line here and its built-in value in `config/default.toml`.

use std::collections::BTreeMap;
use std::time::Duration;

use swarm_panes::BACKEND_WORDS;
use swarm_permissions::{AgentLimits, RequestSettings};
use swarm_protocol::{CacheLifetime, Effort, OnLost, PermissionMode, SandboxUse, Thinking};
use swarm_worktree::{Dependencies, MergeMode, Uncommitted};

use super::kind::{AnswerInPlace, EFFORTS, FromSetting, Kind, MODES};
use super::sources::Sources;
use crate::error::ConfigError;

/// Who beside the user has a say in a setting. Managed policy is a ceiling for `Less`, and the last word otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Say {
    /// A repository may not set it.
    Users,
    /// A repository may only make it less than it would be: a lower number, an earlier word.
    Less,
    /// A repository may set it: it grants nothing.
    Anyones,
}

/// A setting as the table has it.
#[derive(Debug)]
pub(super) struct Key {
    /// `table.key`.
    pub(super) name: &'static str,
    /// What its value may be.
    pub(super) kind: Kind,
    /// Who may set it.
    pub(super) say: Say,
}

macro_rules! settings {
    ($($(#[$doc:meta])* $field:ident: $type:ty = $name:literal, $kind:expr, $say:expr;)+) => {
        /// Every setting, with the value in force.
        #[derive(Debug, Clone)]
        pub struct Settings {
            $($(#[$doc])* pub $field: $type,)+
            /// Where the values come from.
            pub(super) sources: Sources,
        }

        /// Every setting there is.
        pub(super) const KEYS: &[Key] = &[
            $(Key { name: $name, kind: $kind, say: $say }),+
        ];

        impl Settings {
            /// The values in force where these were given.
            pub(super) fn of(sources: Sources) -> Result<Self, ConfigError> {
                Ok(Self {
                    $($field: read(&sources, $name)?,)+
                    sources,
                })
            }
        }
    };
}

settings! {
    /// The model where none is named.
    model: String = "model.default", Kind::Text, Say::Users;
    /// Short names of models.
    aliases: BTreeMap<String, String> = "model.aliases", Kind::Names, Say::Users;
    /// Context windows of models in tokens.
    windows: BTreeMap<String, u64> = "model.windows", Kind::Sizes, Say::Users;
    /// Output tokens of one response by models.
    outputs: BTreeMap<String, u64> = "model.outputs", Kind::Sizes, Say::Users;
    /// Whether models think before they answer.
    thinking: Thinking = "model.thinking", Kind::Thinking, Say::Anyones;
    /// How hard models think; `None` leaves it to the model.
    effort: Option<Effort> = "model.effort", Kind::Word(EFFORTS), Say::Anyones;
    /// How long the provider's prompt cache keeps requests.
    cache: CacheLifetime = "model.cache", Kind::Word(&["5m", "1h"]), Say::Users;
    /// The model that answers while the agents' own one is overloaded; empty for none.
    fallback: String = "model.fallback", Kind::OptionalText, Say::Users;
    /// Small models by provider.
    small: BTreeMap<String, String> = "model.small", Kind::Names, Say::Users;
    /// Whether models read images.
    vision: BTreeMap<String, bool> = "model.vision", Kind::Flags, Say::Users;
    /// Until when models know the world.
    knowledge: BTreeMap<String, String> = "model.knowledge", Kind::Names, Say::Users;
    /// Percent of the context window at which a conversation is compacted.
    compact_at: u32 = "compact.at", Kind::Whole(20, 95), Say::Less;
    /// Whether old tool results are cleared before a conversation is compacted.
    clear_tool_results: bool = "compact.clear_tool_results", Kind::Flag, Say::Users;
    /// The permission mode where none is named.
    mode: PermissionMode = "permissions.mode", Kind::Word(MODES), Say::Less;
    /// How long a permission request waits for a person.
    permission_timeout: Duration = "permissions.timeout_s", Kind::Limit(604_800), Say::Less;
    /// Whether requests are answered in the terminal of a lead.
    answer_in_place: AnswerInPlace = "permissions.answer_in_place", Kind::Word(&["never", "auto", "always"]), Say::Less;
    /// Model requests in one turn.
    max_requests: u32 = "turn.max_requests", Kind::Whole(1, 100_000), Say::Less;
    /// Where members run.
    backend: String = "spawn.backend", Kind::Word(BACKEND_WORDS), Say::Users;
    /// How long a child may take until its hello.
    hello_timeout: Duration = "spawn.hello_timeout_s", Kind::Whole(1, 3600), Say::Users;
    /// Teammates that a team may have at a time; 0 sets no limit.
    max_members: usize = "spawn.max_members", Kind::Limit(10_000), Say::Less;
    /// How long a member may take to finish its turn after a shutdown request.
    shutdown_grace: Duration = "stop.grace_s", Kind::Whole(0, 86_400), Say::Users;
    /// How long a process may take between SIGTERM and SIGKILL.
    kill_grace: Duration = "stop.kill_grace_s", Kind::Whole(0, 3600), Say::Users;
    /// What members do when the lead's process is gone.
    on_lost: OnLost = "lead.on_lost", Kind::Word(&["stop", "park", "continue"]), Say::Less;
    /// Unread messages beyond which a further one is refused.
    max_unread: usize = "inbox.max_unread", Kind::Whole(1, 1_000_000), Say::Less;
    /// Bytes of text that one message may have.
    max_message_bytes: usize = "inbox.max_message_bytes", Kind::Whole(1024, 67_108_864), Say::Less;
    /// Names of instruction files, best first.
    instruction_files: Vec<String> = "instructions.files", Kind::Texts, Say::Users;
    /// Instruction files that are never read.
    instruction_exclude: Vec<String> = "instructions.exclude", Kind::Texts, Say::Users;
    /// Whether a member that goes idle with an open task is reminded of it.
    remind: bool = "tasks.remind", Kind::Flag, Say::Anyones;
    /// Where worktrees lie.
    worktree_location: String = "worktree.location", Kind::Text, Say::Users;
    /// What becomes of changes that no commit holds when a worktree is made.
    worktree_uncommitted: Uncommitted = "worktree.uncommitted", Kind::Word(&["refuse", "snapshot", "leave"]), Say::Users;
    /// How dependencies come into a worktree.
    worktree_dependencies: Dependencies = "worktree.dependencies", Kind::Word(&["none", "auto", "copy", "symlink"]), Say::Users;
    /// Names of the directories that hold dependencies.
    worktree_dependency_directories: Vec<String> = "worktree.dependency_directories", Kind::Texts, Say::Users;
    /// Directories that are checked out in a worktree.
    worktree_sparse_paths: Vec<String> = "worktree.sparse_paths", Kind::Texts, Say::Anyones;
    /// When the work of a member is merged.
    worktree_merge: MergeMode = "worktree.merge", Kind::Word(&["manual", "auto"]), Say::Users;
    /// How long a hook may take that names no time.
    hook_timeout: Duration = "hooks.timeout_s", Kind::Whole(1, 86_400), Say::Users;
    /// Sub-agents that may stand above one another.
    agent_depth: u32 = "agents.max_depth", Kind::Whole(0, 20), Say::Less;
    /// Sub-agents of a process that run at once; 0 leaves it to the number of cores.
    agents_at_once: usize = "agents.max_concurrent", Kind::Limit(1000), Say::Less;
    /// Sub-agents of one agent that run at once; 0 is as many as of the process.
    agents_of_one: usize = "agents.max_per_parent", Kind::Limit(1000), Say::Less;
    /// Sub-agents in the life of a process.
    agents_in_all: usize = "agents.max_total", Kind::Whole(1, 100_000), Say::Less;
    /// Model requests in one turn of a sub-agent.
    agent_turns: u32 = "agents.max_turns", Kind::Whole(1, 100_000), Say::Less;
    /// Characters of a tool's output that a sub-agent reads.
    agent_output: usize = "agents.output_chars", Kind::Whole(1000, 10_000_000), Say::Less;
    /// When a sub-agent in the foreground goes to the background.
    agent_background: Duration = "agents.background_after_s", Kind::Whole(0, 86_400), Say::Users;
    /// When a silent sub-agent in the background has failed.
    agent_stall: Duration = "agents.stall_s", Kind::Whole(0, 86_400), Say::Users;
    /// Whether a call of the Agent tool that names no type forks.
    agent_fork: String = "agents.fork", Kind::Word(&["off", "auto", "on"]), Say::Less;
    /// Where panes go inside tmux.
    place: String = "tmux.place", Kind::Word(&["auto", "split", "window", "hidden"]), Say::Users;
    /// Whose shell commands run in the sandbox.
    sandbox: SandboxUse = "sandbox.bash", Kind::Word(&["always", "worktree", "off"]), Say::Less;
    /// Whether commands are refused that should run in it where the kernel has none.
    sandbox_required: bool = "sandbox.required", Kind::Flag, Say::Users;
    /// Further directories that commands in the sandbox may write to.
    sandbox_write: Vec<String> = "sandbox.write", Kind::Texts, Say::Users;
    /// Whether agents may fetch from this machine and from local networks.
    web_private: bool = "web.private", Kind::Flag, Say::Users;
    /// Address of a search server; empty for none.
    search_url: String = "web.search_url", Kind::Address, Say::Users;
    /// Further variables that shell commands of agents get.
    pass: Vec<String> = "env.pass", Kind::Texts, Say::Users;
    /// How long an MCP server may take until it has listed its tools.
    mcp_start: Duration = "mcp.start_timeout_s", Kind::Whole(1, 3600), Say::Users;
    /// How long one call of an MCP server's tool may take.
    mcp_call: Duration = "mcp.call_timeout_s", Kind::Whole(1, 86_400), Say::Users;
    /// Characters of one result of an MCP server's tool.
    mcp_result_chars: usize = "mcp.result_chars", Kind::Whole(1000, 1_000_000), Say::Users;
    /// Whether a lead rings the terminal's bell when it needs a person.
    notify_bell: bool = "notify.bell", Kind::Flag, Say::Users;
    /// Whether a lead has the terminal show a notification of the desktop then.
    notify_osc: bool = "notify.osc", Kind::Flag, Say::Users;
    /// A program that is run then, word by word; the reason is its last argument.
    notify_command: Vec<String> = "notify.command", Kind::Texts, Say::Users;
    /// Pace of scripted models.
    pace: f64 = "scripted.pace", Kind::Factor(100.0), Say::Users;
}

impl Settings {
    /// What the requests of agents ask for, but for the fallback model, whose name has to be resolved.
    pub fn request_settings(&self) -> RequestSettings {
        RequestSettings {
            thinking: self.thinking,
            effort: self.effort,
            cache: self.cache,
            fallback: None,
        }
    }

    /// The bounds of sub-agents on a machine of this many cores. `is_unattended` for a team that `swarm run` leads.
    pub fn agent_limits(&self, cores: usize, is_unattended: bool) -> AgentLimits {
        let or = |set: usize, otherwise| if set == 0 { otherwise } else { set };
        let at_once = or(self.agents_at_once, AgentLimits::concurrent_on(cores));
        AgentLimits {
            max_depth: self.agent_depth,
            max_concurrent: at_once,
            max_per_parent: or(self.agents_of_one, at_once),
            max_total: self.agents_in_all as u64,
            max_turns: self.agent_turns,
            output_chars: self.agent_output,
            background_after_s: self.agent_background.as_secs(),
            stall_s: self.agent_stall.as_secs(),
            fork: match self.agent_fork.as_str() {
                "on" => true,
                "off" => false,
                _ => !is_unattended,
            },
        }
    }
}

/// The setting of this name.
pub(super) fn key(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

fn read<T: FromSetting>(sources: &Sources, name: &str) -> Result<T, ConfigError> {
    let value = sources.in_force(name).map(|(value, _)| value);
    value
        .and_then(|value| T::from_setting(&value))
        .ok_or_else(|| ConfigError::Lacking(name.to_owned()))
}
