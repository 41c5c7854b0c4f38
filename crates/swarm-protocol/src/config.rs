//! `config.json`: the roster of a team, in Claude Code's format.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    AgentId, Color, LEAD_NAME, MemberName, PaneId, PermissionMode, SessionId, SpawnId, TeamName,
    UnixMs,
};

/// The team file. Unknown fields are kept in `rest`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TeamConfig {
    /// The team's name, equal to its directory's.
    pub name: TeamName,
    /// What the team is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// When it was made; zero where that is not known, and then not written.
    #[serde(default, skip_serializing_if = "UnixMs::is_zero")]
    pub created_at: UnixMs,
    /// `team-lead@<team>`; empty where the file does not say, and then not written.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub lead_agent_id: String,
    /// The lead's conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead_session_id: Option<String>,
    /// The process that leads; absent in a team driven from the shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead_process: Option<LeadProcess>,
    /// The roster, lead first. Always written, since Claude Code reads no file without it.
    #[serde(default)]
    pub members: Vec<Member>,
    /// Fields of others.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// The process that leads a team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LeadProcess {
    /// Its pid.
    pub pid: u32,
    /// Host and pid namespace, `host#pid:[inode]`.
    pub pid_space: String,
    /// When it took the lead.
    pub claimed_at: UnixMs,
    /// Its start time in clock ticks since boot, so that a reused pid is told apart.
    pub proc_start: String,
    /// Fields of others.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// How a member runs. Unknown words of others are kept.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum BackendType {
    /// A pane of tmux.
    Tmux,
    /// A process without a terminal.
    Headless,
    /// A task inside the lead's process; the lead itself is entered so.
    InProcess,
    /// Something this version does not know.
    Other(String),
}

impl BackendType {
    /// The word on disk.
    pub fn name(&self) -> &str {
        match self {
            BackendType::Tmux => "tmux",
            BackendType::Headless => "headless",
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

/// One member of the roster. Claude Code writes a member first without a pane and fills that in later, so the pane
/// may be empty and the backend absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    /// `name@team`.
    pub agent_id: String,
    /// The name; also that of the inbox.
    pub name: MemberName,
    /// Type of the agent's definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    /// Model at spawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What it was first asked to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Its colour's name; others may use words that are not one of the eight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// Whether it must have a plan approved before it changes anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_mode_required: Option<bool>,
    /// When it was entered; zero where that is not known, and then not written.
    #[serde(default, skip_serializing_if = "UnixMs::is_zero")]
    pub joined_at: UnixMs,
    /// Its pane.
    #[serde(default = "PaneId::absent", skip_serializing_if = "PaneId::is_absent")]
    pub tmux_pane_id: PaneId,
    /// Its working directory; empty where the file does not say, and then not written.
    #[serde(default, skip_serializing_if = "is_empty_path")]
    pub cwd: PathBuf,
    /// Its isolated worktree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree_path: Option<PathBuf>,
    /// Its conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Written as an empty list by Claude Code; without a known reader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscriptions: Option<Vec<Value>>,
    /// How it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend_type: Option<BackendType>,
    /// False while idle; missing means active.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_active: Option<bool>,
    /// Permission mode last reported. Words of other versions are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// What only swarm knows of it; absent for members of other programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swarm: Option<SwarmMember>,
    /// Fields of others.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// swarm's own part of a roster entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SwarmMember {
    /// Which spawn this is.
    pub spawn_id: SpawnId,
    /// Socket of the tmux server that holds the pane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket: Option<PathBuf>,
    /// Present until the spawn is committed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation: Option<Reservation>,
    /// Set when the member's death has been entered in the journal and its tasks were released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub died_at: Option<UnixMs>,
    /// Fields of later versions.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// A place in the roster that is held for a spawn under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reservation {
    /// Who spawns.
    pub spawner_pid: u32,
    /// Start time of the spawner in clock ticks since boot.
    pub spawner_start: String,
    /// When the reservation lapses.
    pub deadline: UnixMs,
    /// Fields of later versions.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

impl SwarmMember {
    /// Of this spawn, of which nothing else is known.
    pub fn new(spawn_id: SpawnId) -> Self {
        Self {
            spawn_id,
            socket: None,
            reservation: None,
            died_at: None,
            rest: Map::new(),
        }
    }
}

impl Reservation {
    /// By the process of this number and start time.
    pub fn new(spawner_pid: u32, spawner_start: impl Into<String>, deadline: UnixMs) -> Self {
        Self {
            spawner_pid,
            spawner_start: spawner_start.into(),
            deadline,
            rest: Map::new(),
        }
    }
}

fn is_empty_path(path: &Path) -> bool {
    path.as_os_str().is_empty()
}

impl TeamConfig {
    /// A member by name.
    pub fn member(&self, name: &MemberName) -> Option<&Member> {
        self.members.iter().find(|member| &member.name == name)
    }

    /// A member by name, to change it.
    pub fn member_mut(&mut self, name: &MemberName) -> Option<&mut Member> {
        self.members.iter_mut().find(|member| &member.name == name)
    }

    /// All but the lead.
    pub fn teammates(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| !member.name.is_lead())
    }

    /// The names of everybody, for an error that lists them.
    pub fn names(&self) -> Vec<MemberName> {
        self.members
            .iter()
            .map(|member| member.name.clone())
            .collect()
    }
}

impl Member {
    /// The lead's entry.
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

    /// The agent id that this entry stands for in `team`.
    pub fn id_in(&self, team: &TeamName) -> AgentId {
        AgentId::new(self.name.clone(), team.clone())
    }

    /// Its spawn, when swarm started it.
    pub fn spawn_id(&self) -> Option<SpawnId> {
        self.swarm.as_ref().map(|swarm| swarm.spawn_id)
    }

    /// Its colour, when it is one of the eight.
    pub fn known_color(&self) -> Option<Color> {
        self.color.as_deref()?.parse().ok()
    }

    /// Its mode, when this version knows it.
    pub fn known_mode(&self) -> Option<PermissionMode> {
        self.mode.as_deref()?.parse().ok()
    }

    /// The session id, when it is a uuid.
    pub fn session(&self) -> Option<SessionId> {
        self.session_id.as_deref()?.parse().ok()
    }
}
