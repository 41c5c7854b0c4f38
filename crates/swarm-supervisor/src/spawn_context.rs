//! What is needed to start members, and what they inherit.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use swarm_os::DirectoryWatcher;
use swarm_panes::{BackendRequest, TerminalFacts};
use swarm_permissions::{
    AgentConfig, AgentDefinition, ChosenModel, ModelCandidates, RuleSet, SourcedRule, choose_model,
};
use swarm_protocol::RuleText;
use swarm_protocol::{Clock, LeadProcess, PermissionMode, SpawnId};
use swarm_store::blocking::TeamStore;
use swarm_team::MemberLimits;
use swarm_worktree::Worktrees;

/// The process that acts, told apart from a later one of the same pid by its start.
#[derive(Debug, Clone)]
pub struct ProcessIdentity {
    /// Its pid.
    pub pid: u32,
    /// Its start time in clock ticks since boot.
    pub start: String,
    /// Name of the machine.
    pub host: String,
    /// Host and pid namespace, `host#pid:[inode]`.
    pub pid_space: String,
}

impl ProcessIdentity {
    /// The form in which rosters name it.
    pub fn lead_process(&self, clock: &dyn Clock) -> LeadProcess {
        LeadProcess {
            pid: self.pid,
            pid_space: self.pid_space.clone(),
            claimed_at: clock.now(),
            proc_start: self.start.clone(),
            rest: serde_json::Map::new(),
        }
    }
}

/// Permission rules as text, with their origins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleTexts {
    /// Calls that run.
    pub allow: Vec<RuleText>,
    /// Calls that are refused.
    pub deny: Vec<RuleText>,
    /// Calls that are asked about.
    pub ask: Vec<RuleText>,
}

impl From<&RuleSet> for RuleTexts {
    fn from(rules: &RuleSet) -> Self {
        let texts = |rules: &[SourcedRule]| {
            let text = |sourced: &SourcedRule| RuleText {
                rule: sourced.rule.to_string(),
                origin: sourced.origin.clone(),
            };
            rules.iter().map(text).collect()
        };
        Self {
            allow: texts(&rules.allow),
            deny: texts(&rules.deny),
            ask: texts(&rules.ask),
        }
    }
}

/// Turns the name of a model, as people and models write it, into `provider/model`, or says what is wrong with it or who does not allow it.
/// A name that is complete stays as it is.
pub type ResolveModel = dyn Fn(&str) -> Result<String, String> + Send + Sync;

/// Everything that starting and ending members takes.
#[derive(Clone)]
pub struct SpawnContext {
    /// The root of all state.
    pub root: PathBuf,
    /// The working directory of the actor.
    pub cwd: PathBuf,
    /// The one owner of the files.
    pub store: Arc<dyn TeamStore>,
    /// Time for frames.
    pub clock: Arc<dyn Clock>,
    /// The one watcher of this process.
    pub watcher: Arc<DirectoryWatcher>,
    /// The program of teammates.
    pub program: PathBuf,
    /// The terminal we are in.
    pub terminal: TerminalFacts,
    /// Where members shall run.
    pub backend: BackendRequest,
    /// What shell commands of members get.
    pub shell_env: BTreeMap<String, String>,
    /// Provider keys and addresses.
    pub provider: BTreeMap<String, String>,
    /// Model of members that name none, as `provider/model`.
    pub model: String,
    /// Reads the name of a model.
    pub resolve_model: Arc<ResolveModel>,
    /// `CLAUDE_CODE_SUBAGENT_MODEL`, which stands above what calls and definitions say.
    pub subagent_model: Option<String>,
    /// Mode of members that name none.
    pub mode: PermissionMode,
    /// No member has more than this.
    pub ceiling: PermissionMode,
    /// Rules that every member inherits.
    pub rules: RuleTexts,
    /// Definitions, hooks and MCP servers of the actor and its members.
    pub agent_config: Arc<AgentConfig>,
    /// Who makes worktrees.
    pub worktrees: Worktrees,
    /// Bounds of members.
    pub limits: MemberLimits,
    /// How long a child may take to say hello.
    pub hello_deadline: Duration,
    /// How long a process may take to end after SIGTERM.
    pub kill_grace: Duration,
    /// Whether panes are drawn in colour.
    pub color_output: bool,
    /// Pace of scripted models.
    pub pace: f64,
    /// Version of the program.
    pub version: String,
    /// The process that acts.
    pub process: ProcessIdentity,
    /// The spawn id that marks the actor's own processes.
    pub spawn_id: SpawnId,
}

/// How much longer than its own program a member's end is waited for: its turn is cut at the deadline, and what runs
/// in it needs a moment to end.
const SHUTDOWN_MARGIN: Duration = Duration::from_secs(3);

impl SpawnContext {
    /// The model of a member or sub-agent, as it was written, and who chose it.
    pub fn choose_model(
        &self,
        call: Option<&str>,
        definition: Option<&AgentDefinition>,
    ) -> ChosenModel {
        choose_model(&ModelCandidates {
            environment: self.subagent_model.as_deref(),
            call,
            definition: definition.and_then(|definition| definition.model.as_deref()),
            parent: &self.model,
            small: self.agent_config.models.small(&self.model),
        })
    }

    /// The full name of that model.
    ///
    /// # Errors
    /// What is wrong with it, or who does not allow it.
    pub fn member_model(
        &self,
        call: Option<&str>,
        definition: Option<&AgentDefinition>,
    ) -> Result<ChosenModel, String> {
        let chosen = self.choose_model(call, definition);
        let written = if chosen.written == self.model {
            chosen.written.clone()
        } else {
            (self.resolve_model)(&chosen.written)
                .map_err(|error| chosen.explain(definition, &error))?
        };
        Ok(ChosenModel {
            written,
            source: chosen.source,
        })
    }

    /// How long an asker waits for a member to end by itself. Longer than the member's own deadline, at which its
    /// program approves: only silence escalates.
    pub fn shutdown_patience(&self) -> Duration {
        self.limits.shutdown_grace().saturating_add(SHUTDOWN_MARGIN)
    }
}

impl fmt::Debug for SpawnContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpawnContext")
            .field("root", &self.root)
            .field("program", &self.program)
            .field("backend", &self.backend)
            .finish_non_exhaustive()
    }
}
