//! The tool `ListAgents`: the other members of the team and the running sub-agents.

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use swarm_protocol::{PeerSession, ToolKind, UnixMs, shortened};
use swarm_tools::{ToolContext, ToolOutput, TypedTool, prompt};

use super::{Record, SubAgents};
use crate::{TeammateStatus, Teammates};

/// Lists the agents that the caller can write to.
#[derive(Debug)]
pub(super) struct ListAgents {
    pub(super) agents: Weak<SubAgents>,
    pub(super) teammates: Arc<dyn Teammates>,
}

/// The parameters. Claude Code's `channel` and `cursor` have no effect there and are not accepted.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// Only agents whose name or type contains this text
    q: Option<String>,
}

/// Maximum characters of what a sub-agent does.
const DETAIL: usize = 100;

#[async_trait]
impl TypedTool for ListAgents {
    type Parameters = Input;
    const NAME: &'static str = "ListAgents";
    const PROMPT: &'static str = prompt!("tools/ListAgents");
    const KIND: ToolKind = ToolKind::Team;
    const READ_ONLY: bool = true;

    async fn call(&self, input: Input, _ctx: &ToolContext) -> Result<ToolOutput, String> {
        let agents = self.agents.upgrade();
        let agents = agents.ok_or("There is no list: this process is shutting down")?;
        let now = agents.kit().clock.now();
        let members = self.teammates.list().await?;
        let members = members.iter().map(|member| member_line(member, now));
        let records = agents.records();
        let running = records.iter().filter(|record| record.view().is_running());
        let running = running.map(|record| sub_agent_line(record, now));
        let wanted = input.q.unwrap_or_default().to_lowercase();
        let fits = |line: &Line| line.subject.to_lowercase().contains(wanted.trim());
        let members: Vec<Line> = members.filter(fits).collect();
        let running: Vec<Line> = running.filter(fits).collect();
        let counts = format!("{} teammates, {} sub-agents", members.len(), running.len());
        let sessions = self.teammates.sessions().await;
        let sessions = sessions.iter().map(|session| session_line(session, now));
        let sessions: Vec<Line> = sessions.filter(fits).collect();
        let mut sections = vec![
            section("Teammates", &members),
            section("Sub-agents", &running),
        ];
        if !sessions.is_empty() {
            sections.push(section("Peer sessions", &sessions));
        }
        Ok(ToolOutput::ok(sections.join("\n"), counts))
    }
}

/// An agent in the list.
struct Line {
    /// Name and type, which the caller can search for.
    subject: String,
    state: String,
}

fn member_line(member: &TeammateStatus, now: UnixMs) -> Line {
    let name = &member.agent_id.name;
    let kind = member.agent_type.as_deref();
    Line {
        subject: kind.map_or_else(|| name.to_string(), |kind| format!("{name} ({kind})")),
        state: doing(
            member.state.name(),
            member.since.map(|since| now.since(since)),
            member.detail.as_deref(),
        ),
    }
}

fn sub_agent_line(record: &Record, now: UnixMs) -> Line {
    let started = record.live().started;
    let description = shortened(&record.request.description, DETAIL);
    Line {
        subject: format!("{} ({}, {})", record.name, record.id, record.agent_type()),
        state: doing(
            record.view().status.name(),
            Some(now.since(started)),
            Some(&description),
        ),
    }
}

fn session_line(session: &PeerSession, now: UnixMs) -> Line {
    let team = session.team.as_ref();
    let team = team.map_or_else(String::new, |team| format!(", team {team}"));
    let program = session.program.as_ref();
    let program = program.map_or_else(String::new, |program| format!(", {program}"));
    let host = session.host.as_ref();
    let host = host.map_or_else(String::new, |host| format!("{host}:"));
    let subject = format!(
        "{} ({host}{}{team}{program})",
        session.address,
        session.cwd.display()
    );
    Line {
        subject: without_controls(&subject).collect(),
        state: doing("running", Some(now.since(session.started_at)), None),
    }
}

fn doing(state: &str, age_ms: Option<u64>, detail: Option<&str>) -> String {
    let mut doing = state.to_owned();
    if let Some(age) = age_ms {
        doing = format!("{doing} for {} s", age / 1000);
    }
    if let Some(detail) = detail {
        let detail: String = without_controls(detail).collect();
        doing = format!("{doing}: {detail}");
    }
    doing
}

/// Text of other machines and members stays on its line.
fn without_controls(text: &str) -> impl Iterator<Item = char> {
    text.chars().map(|c| if c.is_control() { ' ' } else { c })
}

/// Formats a section with the number of its lines, as in Claude Code.
fn section(heading: &str, lines: &[Line]) -> String {
    let heading = format!("{heading} ({})", lines.len());
    let listed = lines.iter();
    let listed = listed.map(|line| format!("- {}: {}", line.subject, line.state));
    let lines: Vec<String> = std::iter::once(heading).chain(listed).collect();
    lines.join("\n")
}
