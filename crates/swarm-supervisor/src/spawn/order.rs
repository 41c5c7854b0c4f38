//! The parts of the order that a child process receives.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use swarm_permissions::{AgentConfig, Anchors};
use swarm_protocol::{AgentId, ROOT_VARIABLE, SPAWN_MARK, SpawnId, WorktreeReport};
use swarm_team::{MemberDefinition, MemberWorkspace};
use swarm_worktree::{Created, MergeMode, Resident, worktree_notice};

use super::SpawnOptions;
use crate::{LeadError, SpawnContext};

/// Working directory and worktree that the child must verify.
fn ordered(created: &Created) -> WorktreeReport {
    WorktreeReport {
        toplevel: created.record.path.clone(),
        branch: created.branch.clone(),
        head: created.head.clone(),
    }
}

impl SpawnContext {
    /// Environment variables that identify a member's processes.
    pub(super) fn marks(&self, agent: &AgentId, spawn_id: SpawnId) -> BTreeMap<String, String> {
        BTreeMap::from([
            (ROOT_VARIABLE.to_owned(), self.root.display().to_string()),
            ("SWARM_TEAM".to_owned(), agent.team.to_string()),
            ("SWARM_NAME".to_owned(), agent.name.to_string()),
            ("SWARM_AGENT_ID".to_owned(), agent.to_string()),
            (SPAWN_MARK.to_owned(), spawn_id.to_string()),
        ])
    }

    /// Returns the root of directory-based rules of the actor. They apply there also for a member in
    /// another directory, and in a worktree as in its checkout.
    pub(super) fn anchors_of(&self, cwd: &Path, created: Option<&Created>) -> Anchors {
        let actor = &self.workspace.cwd;
        let Some(created) = created else {
            return if cwd == actor {
                Anchors::default()
            } else {
                Anchors::NONE.below(actor, None)
            };
        };
        let record = &created.record;
        let original = match created.cwd.strip_prefix(&record.path) {
            Ok(rest) => record.from.components().chain(rest.components()).collect(),
            Err(_) => record.from.clone(),
        };
        let there = if original == *actor {
            Anchors::default()
        } else {
            Anchors::NONE.below(actor, None)
        };
        there.below(&original, Some(&created.cwd))
    }

    /// Returns the place of a member: what it inherits, and its own worktree and marks.
    pub(super) fn workspace_of(
        &self,
        options: &SpawnOptions,
        (agent, spawn_id): (&AgentId, SpawnId),
        worktree: Option<&Created>,
    ) -> MemberWorkspace {
        let settings = self.worktrees.settings();
        let mut env = self.workspace.env.clone();
        env.extend(options.member.env.clone());
        if let Some(created) = worktree {
            created.record.extend_env(&mut env);
        }
        env.extend(self.marks(agent, spawn_id));
        MemberWorkspace {
            cwd: options.cwd.clone(),
            env,
            worktree: worktree.map(ordered),
            merges: settings.merge == MergeMode::Auto,
            // Strings, paths and lists always serialize; for a path that is not UTF-8 the default
            // settings apply.
            worktree_settings: serde_json::to_value(settings).unwrap_or_default(),
        }
    }

    /// Returns the role of a member with this configuration.
    pub(super) fn ordered_definition(
        &self,
        options: &SpawnOptions,
        mut config: AgentConfig,
        worktree: Option<&Created>,
    ) -> Result<MemberDefinition, LeadError> {
        let mut own = self.definition_of(options)?.cloned();
        if let Some(effort) = options.member.effort {
            config.requests.effort = Some(effort);
            if let Some(own) = &mut own {
                own.effort = Some(effort.name().to_owned());
            }
        }
        let resident = Resident::Teammate(self.worktrees.settings().merge);
        let notice = worktree.map(|created| worktree_notice(created, resident));
        Ok(MemberDefinition {
            agent_type: options.member.agent_type.clone(),
            own,
            config: Arc::new(config),
            instructions: notice.into_iter().collect(),
        })
    }
}
