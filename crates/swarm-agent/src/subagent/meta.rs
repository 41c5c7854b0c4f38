//! `agent-<id>.meta.json`: the description of a sub-agent, stored next to its transcript.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use swarm_os::{OsError, read_optional, replace_alone};
use swarm_protocol::{SubAgentId, UnixMs, Usage};

use super::record::{Finding, Record};
use super::{CallSettings, SubAgentStatus};

/// The description of a sub-agent. The first four fields are Claude Code's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Meta {
    pub(super) agent_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) worktree_path: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) worktree_branch: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) description: Option<String>,
    /// swarm's fields; absent if Claude Code wrote the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) swarm: Option<SwarmMeta>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SwarmMeta {
    pub(super) name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) parent: Option<SubAgentId>,
    pub(super) depth: u32,
    #[serde(flatten)]
    pub(super) settings: CallSettings,
    /// The directory to which the process's agent had moved when this sub-agent began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) place: Option<MovedDirectory>,
    /// Names of the tools that it began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tools: Option<Vec<String>>,
    pub(super) background: bool,
    pub(super) status: SubAgentStatus,
    /// Whether its parent has received the notification of its last end.
    pub(super) told: bool,
    pub(super) runs: u32,
    pub(super) started_at: UnixMs,
    /// Result of the last run.
    #[serde(flatten)]
    pub(super) finding: Finding,
    /// Usage of all runs before the last one.
    #[serde(default)]
    pub(super) usage_before: Usage,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct MovedDirectory {
    pub(super) cwd: PathBuf,
    pub(super) root: PathBuf,
}

impl Meta {
    pub(super) fn of(record: &Record) -> Self {
        let view = record.view();
        let live = record.live();
        let directory = live.directory.as_ref();
        Self {
            agent_type: record.agent_type().to_owned(),
            worktree_path: directory.map(|directory| directory.path.clone()),
            worktree_branch: directory.and_then(|directory| directory.branch.clone()),
            description: Some(record.request.description.clone()),
            swarm: Some(SwarmMeta {
                name: record.name.clone(),
                parent: record.parent.id.clone(),
                depth: record.depth(),
                settings: record.request.settings.clone(),
                place: live.moved_to.as_ref().map(|place| MovedDirectory {
                    cwd: place.cwd.clone(),
                    root: place.confine.root().to_owned(),
                }),
                tools: live.initial_tools.clone(),
                background: view.background,
                status: view.status,
                told: live.notified,
                runs: live.runs,
                started_at: live.started,
                finding: live.finding.clone(),
                usage_before: live.before.usage,
            }),
        }
    }

    pub(super) fn write(&self, path: &Path) -> Result<(), OsError> {
        let bytes =
            serde_json::to_vec(self).map_err(|error| OsError::io(path, "write as JSON", error))?;
        replace_alone(path, &bytes)
    }

    /// Reads the description in a file; `None` if there is no valid one.
    pub(super) fn read(path: &Path) -> Option<Self> {
        let bytes = read_optional(path).ok()??;
        serde_json::from_slice(&bytes).ok()
    }
}

impl Record {
    /// Writes the description. A failure is only logged, because the transcript contains the
    /// conversation.
    pub(super) fn note(&self) {
        let path = self.stem.with_extension("meta.json");
        if let Err(error) = Meta::of(self).write(&path) {
            tracing::warn!(agent = %self.id, %error, "cannot write the description of a sub-agent");
        }
    }
}
