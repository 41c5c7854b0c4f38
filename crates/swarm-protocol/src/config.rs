//! `config.json`: the roster of a team, in Claude Code's format.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    AgentId, AgentProgram, Color, LEAD_NAME, MemberName, PaneId, PermissionMode, SessionId,
    SpawnId, TeamName, UnixMs,
};

/// The team file. Unknown fields are preserved in `rest`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TeamConfig {
    /// Team name, equal to the name of its directory.
    pub name: TeamName,
    /// Purpose of the team.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Creation time; zero if unknown, in which case it is not written.
    #[serde(default, skip_serializing_if = "UnixMs::is_zero")]
    pub created_at: UnixMs,
    /// `team-lead@<team>`; empty if absent from the file, in which case it is not written.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub lead_agent_id: String,
    /// Session of the lead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead_session_id: Option<String>,
    /// Process of the lead; absent in a team driven from the shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead_process: Option<LeadProcess>,
    /// The roster, lead first. Always written: Claude Code rejects a file without it.
    #[serde(default)]
    pub members: Vec<Member>,
    /// Unknown fields, preserved on write.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// Process that leads a team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LeadProcess {
    /// Process id.
    pub pid: u32,
    /// Host and PID namespace, `host#pid:[inode]`.
    pub pid_space: String,
    /// Time at which the process became the lead.
    pub claimed_at: UnixMs,
    /// Start time in clock ticks since boot; detects PID reuse.
    pub proc_start: String,
    /// Unknown fields, preserved on write.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// How a member runs. Unknown values are preserved.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum BackendType {
    /// In a tmux pane.
    Tmux,
    /// In a process without a terminal.
    Headless,
    /// In a pane of iTerm2.
    ITerm2,
    /// In a pane that a program of the user opens.
    Command,
    /// As a task inside the lead's process; also the value for the lead itself.
    InProcess,
    /// Unknown to this version.
    Other(String),
}

impl BackendType {
    /// Returns the name used on disk.
    pub fn name(&self) -> &str {
        match self {
            BackendType::Tmux => "tmux",
            BackendType::Headless => "headless",
            BackendType::ITerm2 => "iterm2",
            BackendType::Command => "command",
            BackendType::InProcess => "in-process",
            BackendType::Other(word) => word,
        }
    }
}

impl From<String> for BackendType {
    fn from(word: String) -> Self {
        match word.as_str() {
            "tmux" => BackendType::Tmux,
            "headless" => BackendType::Headless,
            "iterm2" => BackendType::ITerm2,
            "command" => BackendType::Command,
            "in-process" => BackendType::InProcess,
            _ => BackendType::Other(word),
        }
    }
}

impl From<BackendType> for String {
    fn from(backend: BackendType) -> String {
        backend.name().to_owned()
    }
}

/// One member of the roster. Claude Code first writes a member without a pane and fills it in
/// later, so the pane may be empty and the backend absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    /// `name@team`.
    pub agent_id: String,
    /// Member name; also the name of its inbox.
    pub name: MemberName,
    /// Type of the agent's definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    /// Model requested at spawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Initial prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Colour name; other programs may use names that [`Color`] does not have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// Whether a plan must be approved before the member changes anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_mode_required: Option<bool>,
    /// Time of joining; zero if unknown, in which case it is not written.
    #[serde(default, skip_serializing_if = "UnixMs::is_zero")]
    pub joined_at: UnixMs,
    /// Pane of the member.
    #[serde(default = "PaneId::absent", skip_serializing_if = "PaneId::is_absent")]
    pub tmux_pane_id: PaneId,
    /// Working directory; empty if absent from the file, in which case it is not written.
    #[serde(default, skip_serializing_if = "is_empty_path")]
    pub cwd: PathBuf,
    /// Isolated worktree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree_path: Option<PathBuf>,
    /// Session of the member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Written as an empty list by Claude Code; no known reader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscriptions: Option<Vec<Value>>,
    /// How the member runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend_type: Option<BackendType>,
    /// False while idle; absent means active.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_active: Option<bool>,
    /// Last reported permission mode. Unknown values are preserved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Fields specific to swarm; absent for members of other programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swarm: Option<SwarmMember>,
    /// Unknown fields, preserved on write.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// Fields of a roster entry that are specific to swarm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SwarmMember {
    /// Spawn that this entry describes.
    pub spawn_id: SpawnId,
    /// Socket of the tmux server that contains the pane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket: Option<PathBuf>,
    /// Present until the spawn is committed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation: Option<Reservation>,
    /// Agent program that responds in its turns, as in [`AgentProgram`]; absent for swarm's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    /// Permission mode in which it carries out an approved plan, as in [`PermissionMode`]; absent if
    /// it does not plan first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_mode: Option<String>,
    /// Set when the member's death was recorded in the journal and its tasks were released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub died_at: Option<UnixMs>,
    /// Unknown fields, preserved on write.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// Roster entry reserved for a spawn in progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reservation {
    /// Process id of the spawner.
    pub spawner_pid: u32,
    /// Start time of the spawner in clock ticks since boot.
    pub spawner_start: String,
    /// Host and PID namespace in which the PID is valid, as in `leadProcess`; empty in files of earlier
    /// versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub spawner_space: String,
    /// Time at which the reservation expires.
    pub deadline: UnixMs,
    /// Unknown fields, preserved on write.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

impl SwarmMember {
    /// Creates an entry for a spawn with all other fields unset.
    pub fn new(spawn_id: SpawnId) -> Self {
        Self {
            spawn_id,
            socket: None,
            reservation: None,
            runtime: None,
            work_mode: None,
            died_at: None,
            rest: Map::new(),
        }
    }
}

impl Reservation {
    /// Creates a reservation held by the process with this id and start time.
    pub fn new(spawner_pid: u32, spawner_start: impl Into<String>, deadline: UnixMs) -> Self {
        Self {
            spawner_pid,
            spawner_start: spawner_start.into(),
            spawner_space: String::new(),
            deadline,
            rest: Map::new(),
        }
    }

    /// Sets the host and PID namespace of the spawner.
    #[must_use]
    pub fn in_space(mut self, space: impl Into<String>) -> Self {
        self.spawner_space = space.into();
        self
    }
}

fn is_empty_path(path: &Path) -> bool {
    path.as_os_str().is_empty()
}

impl TeamConfig {
    /// Returns a member by name.
    pub fn member(&self, name: &MemberName) -> Option<&Member> {
        self.members.iter().find(|member| &member.name == name)
    }

    /// Returns a mutable reference to a member by name.
    pub fn member_mut(&mut self, name: &MemberName) -> Option<&mut Member> {
        self.members.iter_mut().find(|member| &member.name == name)
    }

    /// Returns all members except the lead.
    pub fn teammates(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| !member.name.is_lead())
    }

    /// Returns the names of all members.
    pub fn names(&self) -> Vec<MemberName> {
        let names = self.members.iter().map(|member| &member.name);
        names.cloned().collect()
    }
}

impl Member {
    /// Creates the lead's entry.
    pub fn lead(team: &TeamName, cwd: PathBuf, joined_at: UnixMs) -> Self {
        Self {
            agent_id: format!("{LEAD_NAME}@{team}"),
            name: MemberName::lead(),
            agent_type: Some(LEAD_NAME.to_owned()),
            model: None,
            prompt: None,
            color: None,
            plan_mode_required: None,
            joined_at,
            tmux_pane_id: PaneId::leader(),
            cwd,
            worktree_path: None,
            session_id: None,
            subscriptions: Some(Vec::new()),
            backend_type: Some(BackendType::InProcess),
            is_active: None,
            mode: None,
            swarm: None,
            rest: Map::new(),
        }
    }

    /// Returns the agent id of this entry in `team`.
    pub fn id_in(&self, team: &TeamName) -> AgentId {
        AgentId::new(self.name.clone(), team.clone())
    }

    /// Returns the spawn id if swarm started the member.
    pub fn spawn_id(&self) -> Option<SpawnId> {
        self.swarm.as_ref().map(|swarm| swarm.spawn_id)
    }

    /// Returns the agent program of a member that swarm started, if this version knows it.
    pub fn known_runtime(&self) -> Option<AgentProgram> {
        let runtime = self.swarm.as_ref()?.runtime.as_deref();
        runtime.map_or(Some(AgentProgram::Swarm), |runtime| runtime.parse().ok())
    }

    /// Returns the model to request when this member is restarted with its agent program.
    pub fn requested_model(&self) -> Option<&str> {
        let model = self.model.as_deref();
        match self.known_runtime() {
            Some(AgentProgram::Acp(_)) => None,
            Some(AgentProgram::Claude) => {
                let model = model?.strip_prefix("claude/")?;
                (model != "default").then_some(model)
            }
            _ => model,
        }
    }

    /// Returns the colour if it is a known one.
    pub fn known_color(&self) -> Option<Color> {
        self.color.as_deref()?.parse().ok()
    }

    /// Returns the permission mode if this version knows it.
    pub fn known_mode(&self) -> Option<PermissionMode> {
        self.mode.as_deref()?.parse().ok()
    }

    /// Returns the session id if it is a UUID.
    pub fn session(&self) -> Option<SessionId> {
        self.session_id.as_deref()?.parse().ok()
    }
}
