//! The table of settings. Each setting is one line here and has its built-in value in
//! `config/default.toml`.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use swarm_panes::BACKEND_WORDS;
use swarm_permissions::{AgentLimits, HandoffScan, RequestSettings, nearest};
use swarm_protocol::{
    AnswerInPlace, Budget, CacheLifetime, DefaultBudgets, Effort, OnLost, PeerInbound,
    PermissionMode, Price, SandboxNetwork, SandboxUse, Thinking,
};
use swarm_ui::EditorMode;
use swarm_worktree::{Dependencies, MergeMode, Uncommitted};

use crate::error::ConfigError;

use super::given::{Layer, SettingValue, Sources};
use super::kind::{EFFORTS, FromSetting, Kind, MODES};

/// Who may change a setting besides the user. Managed policy is an upper limit for `Restrict`,
/// otherwise it overrides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SettableBy {
    /// A repository cannot set it.
    User,
    /// A repository can only restrict it: a lower number, an earlier word.
    Restrict,
    /// A repository can set it, because it grants nothing.
    Anyone,
}

/// An entry of the settings table.
#[derive(Debug)]
pub(super) struct Key {
    /// `table.key`.
    pub(super) name: &'static str,
    /// The allowed values.
    pub(super) kind: Kind,
    pub(super) settable_by: SettableBy,
}

macro_rules! key {
    ($name:expr, $kind:expr, $settable_by:expr) => {
        Key {
            name: $name,
            kind: $kind,
            settable_by: $settable_by,
        }
    };
}

macro_rules! settings {
    ($($(#[$doc:meta])* $field:ident: $type:ty = $name:literal, $kind:expr, $settable_by:expr;)+) => {
        /// All settings with their effective values.
        #[derive(Debug, Clone)]
        pub struct Settings {
            $($(#[$doc])* pub $field: $type,)+
            /// The sources of the values.
            pub(super) sources: Sources,
        }

        /// All settings.
        pub(super) const KEYS: &[Key] = &[
            $(key!($name, $kind, $settable_by)),+
        ];

        impl Settings {
            /// Computes the effective values from all sources.
            pub(super) fn of(sources: Sources) -> Result<Self, ConfigError> {
                Ok(Self {
                    $($field: read(&sources, &key!($name, $kind, $settable_by))?,)+
                    sources,
                })
            }
        }
    };
}

settings! {
    /// The default model.
    model: String = "model.default", Kind::Text, SettableBy::User;
    /// Model aliases.
    aliases: BTreeMap<String, String> = "model.aliases", Kind::Names, SettableBy::User;
    /// Context windows of models in tokens.
    windows: BTreeMap<String, u64> = "model.windows", Kind::Sizes, SettableBy::User;
    /// Maximum output tokens of one response, by model.
    outputs: BTreeMap<String, u64> = "model.outputs", Kind::Sizes, SettableBy::User;
    /// Requests of all agents per minute, by provider.
    rates: BTreeMap<String, u64> = "model.requests_per_minute", Kind::Rates, SettableBy::User;
    /// Prices of models in dollars per million tokens.
    prices: BTreeMap<String, Price> = "model.prices", Kind::Prices, SettableBy::User;
    /// Whether models think before they answer.
    thinking: Thinking = "model.thinking", Kind::Thinking, SettableBy::Anyone;
    /// Reasoning effort; `None` uses the model's default.
    effort: Option<Effort> = "model.effort", Kind::Word(EFFORTS), SettableBy::Anyone;
    /// Lifetime of the provider's prompt cache.
    cache: CacheLifetime = "model.cache", Kind::Word(&["5m", "1h"]), SettableBy::User;
    /// The model used while an agent's own model is overloaded; empty for none.
    fallback: String = "model.fallback", Kind::OptionalText, SettableBy::User;
    /// Small models by provider.
    small: BTreeMap<String, String> = "model.small", Kind::Models, SettableBy::User;
    /// Whether models accept images.
    vision: BTreeMap<String, bool> = "model.vision", Kind::Flags, SettableBy::User;
    /// Knowledge cutoff dates of models.
    knowledge: BTreeMap<String, String> = "model.knowledge", Kind::Names, SettableBy::User;
    /// Percentage of the context window at which a conversation is compacted.
    compact_at: u32 = "compact.at", Kind::Whole(20, 95), SettableBy::Restrict;
    /// Whether old tool results are cleared before a conversation is compacted.
    clear_tool_results: bool = "compact.clear_tool_results", Kind::Flag, SettableBy::User;
    /// The default permission mode.
    mode: PermissionMode = "permissions.mode", Kind::Word(MODES), SettableBy::Restrict;
    /// Timeout of a permission request.
    permission_timeout: Duration = "permissions.timeout_s", Kind::Limit(604_800), SettableBy::Restrict;
    /// Whether requests are answered in the terminal of a lead.
    answer_in_place: AnswerInPlace = "permissions.answer_in_place", Kind::Word(&["never", "auto", "always"]), SettableBy::Restrict;
    /// What happens to texts of other agents in which the scan finds a risk.
    handoff: HandoffScan = "handoff.scan", Kind::Word(&["withhold", "on", "off"]), SettableBy::Restrict;
    /// What happens to messages of other sessions.
    peers_inbound: PeerInbound = "peers.inbound", Kind::Word(&["refuse", "hold", "auto", "accept"]), SettableBy::Restrict;
    /// Maximum model requests per turn.
    max_requests: u32 = "turn.max_requests", Kind::Whole(1, 100_000), SettableBy::Restrict;
    /// Budget of each run; `None` for none.
    budget_run: Option<Budget> = "budget.run", Kind::Budget, SettableBy::User;
    /// Budget of each team.
    budget_team: Option<Budget> = "budget.team", Kind::Budget, SettableBy::User;
    /// Budget of each member, with its sub-agents.
    budget_member: Option<Budget> = "budget.member", Kind::Budget, SettableBy::User;
    /// Budget of each task.
    budget_task: Option<Budget> = "budget.task", Kind::Budget, SettableBy::User;
    /// Whether budgets set aside the most that a request can use.
    budget_strict: bool = "budget.strict", Kind::Flag, SettableBy::User;
    /// Where members run.
    backend: String = "spawn.backend", Kind::Word(BACKEND_WORDS), SettableBy::User;
    /// Absolute path of the program that opens panes for the backend `command`; empty for none.
    pane_program: String = "spawn.pane_program", Kind::OptionalText, SettableBy::User;
    /// Timeout for the hello of a started process.
    hello_timeout: Duration = "spawn.hello_timeout_s", Kind::Whole(1, 3600), SettableBy::User;
    /// Maximum number of concurrent teammates of a team; 0 sets no limit.
    max_members: usize = "spawn.max_members", Kind::Limit(10_000), SettableBy::Restrict;
    /// Time for a member to finish its turn after a shutdown request.
    shutdown_grace: Duration = "stop.grace_s", Kind::Whole(0, 86_400), SettableBy::User;
    /// Time between SIGTERM and SIGKILL.
    kill_grace: Duration = "stop.kill_grace_s", Kind::Whole(0, 3600), SettableBy::User;
    /// What members do when the lead's process exits.
    on_lost: OnLost = "lead.on_lost", Kind::Word(&["stop", "park", "continue"]), SettableBy::Restrict;
    /// Maximum number of unread messages, above which further ones are rejected.
    max_unread: usize = "inbox.max_unread", Kind::Whole(1, 1_000_000), SettableBy::Restrict;
    /// Maximum bytes of text per message.
    max_message_bytes: usize = "inbox.max_message_bytes", Kind::Whole(1024, 67_108_864), SettableBy::Restrict;
    /// URL of the hub of new teams that are created with `--hub`; empty for none.
    hub_url: String = "hub.url", Kind::OptionalText, SettableBy::User;
    /// File with its credentials; empty for none.
    hub_credentials: String = "hub.credentials", Kind::OptionalText, SettableBy::User;
    /// PEM file of the authority that signed its certificate; empty for the system's.
    hub_ca: String = "hub.ca", Kind::OptionalText, SettableBy::User;
    /// Time after which the lead learns that a member has not answered another one.
    answer_timeout: Duration = "inbox.answer_timeout_s", Kind::Limit(604_800), SettableBy::User;
    /// Names of instruction files in order of preference.
    instruction_files: Vec<String> = "instructions.files", Kind::Texts, SettableBy::User;
    /// Instruction files that are never read.
    instruction_exclude: Vec<String> = "instructions.exclude", Kind::Texts, SettableBy::User;
    /// Whether a member that goes idle with an open task is reminded of it.
    remind: bool = "tasks.remind", Kind::Flag, SettableBy::Anyone;
    /// The directory of worktrees.
    worktree_location: String = "worktree.location", Kind::Text, SettableBy::User;
    /// Treatment of uncommitted changes when a worktree is created.
    worktree_uncommitted: Uncommitted = "worktree.uncommitted", Kind::Word(&["refuse", "snapshot", "leave"]), SettableBy::User;
    /// How a worktree gets its dependencies.
    worktree_dependencies: Dependencies = "worktree.dependencies", Kind::Word(&["none", "auto", "copy", "symlink"]), SettableBy::User;
    /// Names of dependency directories.
    worktree_dependency_directories: Vec<String> = "worktree.dependency_directories", Kind::Texts, SettableBy::User;
    /// Directories checked out in a worktree.
    worktree_sparse_paths: Vec<String> = "worktree.sparse_paths", Kind::Texts, SettableBy::Anyone;
    /// When a member's work is merged.
    worktree_merge: MergeMode = "worktree.merge", Kind::Word(&["manual", "auto"]), SettableBy::User;
    /// How long a merge waits for uncommitted changes in the checkout of its target.
    worktree_merge_wait: Duration = "worktree.merge_wait_s", Kind::Whole(0, 86_400), SettableBy::User;
    /// Default timeout of a hook.
    hook_timeout: Duration = "hooks.timeout_s", Kind::Whole(1, 86_400), SettableBy::User;
    /// Maximum nesting depth of sub-agents.
    agent_depth: u32 = "agents.max_depth", Kind::Whole(0, 20), SettableBy::Restrict;
    /// Maximum concurrent sub-agents per process; 0 derives it from the number of cores.
    agents_at_once: usize = "agents.max_concurrent", Kind::Limit(1000), SettableBy::Restrict;
    /// Maximum concurrent sub-agents per agent; 0 uses the process limit.
    agents_of_one: usize = "agents.max_per_parent", Kind::Limit(1000), SettableBy::Restrict;
    /// Maximum sub-agents in the lifetime of a process.
    agents_in_all: usize = "agents.max_total", Kind::Whole(1, 100_000), SettableBy::Restrict;
    /// Maximum model requests per turn of a sub-agent.
    agent_turns: u32 = "agents.max_turns", Kind::Whole(1, 100_000), SettableBy::Restrict;
    /// Maximum characters of a tool's output for a sub-agent.
    agent_output: usize = "agents.output_chars", Kind::Whole(1000, 10_000_000), SettableBy::Restrict;
    /// Time after which a foreground sub-agent moves to the background.
    agent_background: Duration = "agents.background_after_s", Kind::Whole(0, 86_400), SettableBy::User;
    /// Time without progress after which a background sub-agent counts as failed.
    agent_stall: Duration = "agents.stall_s", Kind::Whole(0, 86_400), SettableBy::User;
    /// Whether an Agent call without a type forks.
    agent_fork: String = "agents.fork", Kind::Word(&["off", "auto", "on"]), SettableBy::Restrict;
    /// Where panes are placed inside tmux.
    place: String = "tmux.place", Kind::Word(&["auto", "split", "window", "hidden"]), SettableBy::User;
    /// Which shell commands run in the sandbox.
    sandbox: SandboxUse = "sandbox.bash", Kind::Word(&["always", "auto", "worktree", "off"]), SettableBy::Restrict;
    /// Whether agents are refused if no sandbox works.
    sandbox_required: bool = "sandbox.required", Kind::Flag, SettableBy::User;
    /// Additional directories writable in the sandbox.
    sandbox_write: Vec<String> = "sandbox.write", Kind::Texts, SettableBy::User;
    /// Files and directories that cannot be read in the sandbox.
    sandbox_hide: Vec<String> = "sandbox.hide", Kind::Texts, SettableBy::User;
    /// Whether Unix sockets are permitted in the sandbox.
    sandbox_unix_sockets: bool = "sandbox.unix_sockets", Kind::Flag, SettableBy::User;
    /// What the sandbox reaches of the network.
    sandbox_network: SandboxNetwork = "sandbox.network", Kind::Word(&["none", "proxy", "open"]), SettableBy::Restrict;
    /// MCP servers of the user that Claude Code as a member gets.
    sandbox_mcp_servers: Vec<String> = "sandbox.mcp_servers", Kind::Texts, SettableBy::User;
    /// Hosts that the sandbox's proxy permits.
    sandbox_hosts: Vec<String> = "sandbox.hosts", Kind::Texts, SettableBy::User;
    /// Whether it also permits package registries.
    sandbox_registries: bool = "sandbox.registries", Kind::Flag, SettableBy::User;
    /// Whether agents may fetch from this machine and local networks.
    web_private: bool = "web.private", Kind::Flag, SettableBy::User;
    /// URL of a search server; empty for none.
    search_url: String = "web.search_url", Kind::Address, SettableBy::User;
    /// Additional variables passed to agents' shell commands.
    pass: Vec<String> = "env.pass", Kind::Texts, SettableBy::User;
    /// Timeout for an MCP server to start and list its tools.
    mcp_start: Duration = "mcp.start_timeout_s", Kind::Whole(1, 3600), SettableBy::User;
    /// Timeout of an MCP tool call.
    mcp_call: Duration = "mcp.call_timeout_s", Kind::Whole(1, 86_400), SettableBy::User;
    /// Maximum characters of an MCP tool result.
    mcp_result_chars: usize = "mcp.result_chars", Kind::Whole(1000, 1_000_000), SettableBy::User;
    /// Keys of a lead's input line.
    editor_mode: EditorMode = "lead.editor_mode", Kind::Word(&["normal", "vim"]), SettableBy::User;
    /// Whether a lead works without a screen, for screen readers.
    plain: bool = "lead.plain", Kind::Flag, SettableBy::User;
    /// Whether a lead rings the terminal bell when it needs a person.
    notify_bell: bool = "notify.bell", Kind::Flag, SettableBy::User;
    /// Whether a lead also sends a desktop notification through the terminal.
    notify_osc: bool = "notify.osc", Kind::Flag, SettableBy::User;
    /// A program to run for notifications, as words; the reason is appended as the last argument.
    notify_command: Vec<String> = "notify.command", Kind::Texts, SettableBy::User;
    /// Speed of scripted models.
    pace: f64 = "scripted.pace", Kind::Factor(100.0), SettableBy::User;
}

impl Settings {
    /// Returns the settings of model requests, except for the fallback model, whose name must be
    /// resolved first.
    pub fn request_settings(&self) -> RequestSettings {
        RequestSettings {
            thinking: self.thinking,
            effort: self.effort,
            cache: self.cache,
            fallback: None,
        }
    }

    /// Returns the budgets of runs, teams, members and tasks without their own.
    pub fn default_budgets(&self) -> DefaultBudgets {
        DefaultBudgets {
            run: self.budget_run,
            team: self.budget_team,
            member: self.budget_member,
            task: self.budget_task,
            strict: self.budget_strict,
        }
    }

    /// Returns the limits of sub-agents on a machine with this many cores. `is_unattended`: the
    /// team is led by `swarm run`.
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

pub(super) fn key(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

fn read<T: FromSetting>(sources: &Sources, key: &Key) -> Result<T, ConfigError> {
    let value = sources.effective(key).map(|(value, _)| value);
    value
        .and_then(|value| T::from_setting(&value))
        .ok_or_else(|| ConfigError::lacking(key.name))
}

impl Sources {
    /// Returns the effective value and its source.
    pub(super) fn effective(&self, key: &Key) -> Option<(Cow<'_, Value>, &SettingValue)> {
        let mut given = self.of(key.name);
        let weakest = given.next()?;
        let mut effective = (Cow::Borrowed(&weakest.value), weakest);
        for given in given {
            if overrides(key, &effective.0, given) {
                effective = (key.kind.merge_over(&effective.0, &given.value), given);
            }
        }
        Some(effective)
    }
}

/// Returns whether a value replaces the result of the weaker layers.
fn overrides(key: &Key, weaker: &Value, given: &SettingValue) -> bool {
    let limits = matches!(given.layer, Layer::Project | Layer::Managed);
    if limits && key.settable_by == SettableBy::Restrict {
        return key.kind.compare(&given.value, weaker) == Some(Ordering::Less);
    }
    true
}

pub(super) fn nearest_key(name: &str) -> Option<&'static str> {
    let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let wrong = last(name);
    // The correct key in a wrong or missing table is preferred over similar names.
    let same_key = KEYS.iter().find(|key| last(key.name) == wrong);
    same_key
        .map(|key| key.name)
        .or_else(|| nearest(name, KEYS.iter().map(|key| key.name)))
}

pub(super) fn nearest_table(name: &str) -> Option<&'static str> {
    let tables = KEYS.iter().filter_map(|key| key.name.split('.').next());
    nearest(name, tables)
}
