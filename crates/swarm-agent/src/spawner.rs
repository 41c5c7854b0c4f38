//! The other members of a team, for the tools `Agent`, `ListAgents` and `TaskStop`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use async_trait::async_trait;
use swarm_permissions::Isolation;
use swarm_protocol::{
    AgentId, AgentProgram, Color, Effort, Member, MemberName, MemberState, PaneId, PeerSession,
    PermissionMode, UnixMs,
};
use tokio_util::sync::CancellationToken;

/// The properties of a member that a command or a call asks for. `None` inherits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemberRequest {
    /// Agent type; `None` uses the general-purpose type.
    pub agent_type: Option<String>,
    /// Agent program; `None` uses swarm's own turn loop.
    pub runtime: Option<AgentProgram>,
    /// Model.
    pub model: Option<String>,
    /// Effort; `None` uses the definition's, or else inherits.
    pub effort: Option<Effort>,
    /// Permission mode. `plan` is equivalent to [`Self::plan`] without a mode.
    pub mode: Option<PermissionMode>,
    /// Whether its plan must be approved before it changes anything; afterwards it works in its
    /// mode.
    pub plan: bool,
    /// Additional environment variables for its shell commands.
    pub env: BTreeMap<String, String>,
}

impl MemberRequest {
    /// Returns the properties that a former member continues with.
    pub fn former(member: &Member) -> Self {
        let (mode, runtime) = (member.known_mode(), member.known_runtime());
        let work_mode = member.swarm.as_ref().and_then(|swarm| {
            let written = swarm.work_mode.as_deref()?;
            written.parse::<PermissionMode>().ok()
        });
        // A member that still plans works in another mode once its plan is approved. Other agent
        // programs have their own plan mode.
        let plans = mode == Some(PermissionMode::Plan)
            && runtime.as_ref().is_some_and(AgentProgram::is_swarm);
        let work_mode = work_mode.filter(|_| plans);
        Self {
            agent_type: member.agent_type.clone(),
            runtime,
            model: member.requested_model().map(str::to_owned),
            mode: work_mode.or(mode),
            plan: work_mode.is_some(),
            ..Self::default()
        }
    }

    /// Returns this request with the former properties of the member where it asks for none. The
    /// model of another agent program is not one of this.
    #[must_use]
    pub fn or(self, former: Self) -> Self {
        let runtime = self.runtime.or_else(|| former.runtime.clone());
        let is_same = former.runtime.is_some() && runtime == former.runtime;
        Self {
            agent_type: self.agent_type.or(former.agent_type),
            model: self.model.or(former.model.filter(|_| is_same)),
            runtime,
            plan: self.plan || (self.mode.is_none() && former.plan),
            mode: self.mode.or(former.mode),
            ..self
        }
    }
}

/// A model's request for a teammate. The spawner checks it against the caller's permissions.
#[derive(Debug, Clone)]
pub struct SpawnRequest {
    /// Name of the new member.
    pub name: MemberName,
    /// Its properties.
    pub member: MemberRequest,
    /// First message to the teammate.
    pub prompt: String,
    /// Summary of its work in a few words.
    pub description: String,
    /// Working directory; `None` inherits the caller's.
    pub cwd: Option<PathBuf>,
    /// Isolation; `None` shares the working directory.
    pub isolation: Option<Isolation>,
    /// Team that the model named; `None` is the caller's.
    pub team: Option<String>,
    /// Cancelled when the caller's turn is interrupted; the spawn is undone then.
    pub cancel: CancellationToken,
}

/// A committed teammate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spawned {
    /// `name@team`.
    pub agent_id: AgentId,
    /// Colour in panes and lists.
    pub color: Option<Color>,
    /// Effective model.
    pub model: String,
    /// Effective permission mode.
    pub mode: PermissionMode,
    /// Pane that shows the teammate.
    pub pane: PaneId,
    /// Additional remark for the model; may be empty.
    pub note: String,
}

/// Another member of the caller's team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeammateStatus {
    /// `name@team`.
    pub agent_id: AgentId,
    /// Agent type; `None` for the lead.
    pub agent_type: Option<String>,
    /// Its state, as in `swarm status`.
    pub state: MemberState,
    /// Start of the state, if known.
    pub since: Option<UnixMs>,
    /// Call, request or reason of the state, short and scanned for risks (`handoff.scan`).
    pub detail: Option<String>,
}

impl TeammateStatus {
    /// Returns whether `who` is its name or its `name@team`.
    pub(crate) fn is_called(&self, who: &str) -> bool {
        who == self.agent_id.name.as_str() || who == self.agent_id.to_string()
    }
}

/// The other members of an agent's team.
#[async_trait]
pub trait Teammates: Send + Sync + fmt::Debug {
    /// Spawns a teammate and returns once it is committed. The error is for the model: what failed
    /// and what to do.
    async fn spawn(&self, request: SpawnRequest) -> Result<Spawned, String>;

    /// Returns the other members; empty without a team. The error is for the model.
    async fn list(&self) -> Result<Vec<TeammateStatus>, String>;

    /// Returns the other sessions on this machine that the agent can write to.
    async fn sessions(&self) -> Vec<PeerSession> {
        Vec::new()
    }

    /// Stops a member immediately and returns once it has stopped: one sentence for the model, as
    /// is the error.
    async fn stop(&self, name: &MemberName) -> Result<String, String>;
}

/// Returns the refusal of a spawn that the lead did not request.
pub fn only_the_lead_spawns(name: &MemberName) -> String {
    format!(
        "`{name}` was not spawned: only the team lead can add teammates. Send a request to team-lead with SendMessage"
    )
}

/// The teammates of an agent that is not a member of a team, such as a sub-agent.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTeammates;

#[async_trait]
impl Teammates for NoTeammates {
    async fn spawn(&self, request: SpawnRequest) -> Result<Spawned, String> {
        Err(only_the_lead_spawns(&request.name))
    }

    async fn list(&self) -> Result<Vec<TeammateStatus>, String> {
        Ok(Vec::new())
    }

    async fn stop(&self, name: &MemberName) -> Result<String, String> {
        Err(format!("{name} was not stopped: there is no team"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_former_member_that_still_plans_keeps_the_mode_of_its_work() {
        use PermissionMode::{AcceptEdits, DontAsk, Plan};
        for (mode, work, asked, then) in [
            ("plan", Some("acceptEdits"), None, (Some(AcceptEdits), true)),
            ("plan", None, None, (Some(Plan), false)),
            (
                "acceptEdits",
                Some("acceptEdits"),
                None,
                (Some(AcceptEdits), false),
            ),
            (
                "plan",
                Some("acceptEdits"),
                Some(DontAsk),
                (Some(DontAsk), false),
            ),
        ] {
            let member: Member = serde_json::from_value(serde_json::json!({
                "agentId": "bob@demo", "name": "bob", "mode": mode,
                "swarm": {"spawnId": swarm_protocol::SpawnId::random(), "workMode": work},
            }))
            .unwrap();
            let request = MemberRequest {
                mode: asked,
                ..MemberRequest::default()
            };
            let member = request.or(MemberRequest::former(&member));
            assert_eq!(
                (member.mode, member.plan),
                then,
                "{mode} {work:?} {asked:?}"
            );
        }
    }

    #[test]
    fn a_former_model_is_kept_only_with_its_agent_program() {
        let former = |runtime| MemberRequest {
            runtime,
            model: Some("haiku".to_owned()),
            mode: Some(PermissionMode::Plan),
            ..MemberRequest::default()
        };
        let (swarm, claude) = (Some(AgentProgram::Swarm), Some(AgentProgram::Claude));
        for (asked, had, model) in [
            (&None, &swarm, Some("haiku")),
            (&swarm, &swarm, Some("haiku")),
            (&claude, &swarm, None),
            (&None, &None, None),
        ] {
            let request = MemberRequest {
                runtime: asked.clone(),
                ..MemberRequest::default()
            };
            let member = request.or(former(had.clone()));
            assert_eq!(member.model.as_deref(), model, "{asked:?} {had:?}");
            assert_eq!(member.mode, Some(PermissionMode::Plan));
        }
    }
}
