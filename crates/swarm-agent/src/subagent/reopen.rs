//! Restores the sub-agents of an earlier process for the same conversation.

use std::path::Path;
use std::sync::Arc;

use swarm_model::ContentBlock;
use swarm_permissions::{AgentDefinition, RuleSet};
use swarm_protocol::{AgentEvent, SubAgentId};
use swarm_tools::{Confinement, Workplace};

use super::meta::{Meta, SwarmMeta};
use super::record::{Finding, Live, Record, View};
use super::registry::Root;
use super::{Parent, SubAgentRequest, SubAgentStatus, SubAgents};
use crate::fork::{FORK, fork_definition};
use crate::transcript::Entry;
use crate::worktree::IsolatedDirectory;
use crate::{AgentTool, Totals, TranscriptAuthor, TranscriptFile};

/// File name suffix of a description.
const ENDING: &str = ".meta.json";

impl SubAgents {
    /// Restores the sub-agents of an earlier process: missing notifications are delivered, and all
    /// can be resumed by a message.
    pub(super) fn reopen(&self, root: &Root) {
        let mut found: Vec<(SubAgentId, Meta, SwarmMeta)> = std::fs::read_dir(&root.directory)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|file| read(&file.path()))
            .collect();
        // Parents first, because permissions are derived from them.
        found.sort_by_key(|(_, _, mark)| mark.depth);
        let mut records: Vec<Arc<Record>> = Vec::with_capacity(found.len());
        for (id, meta, mark) in found {
            let parent = self.parent_of(root, &mark, &records);
            let record = self.restore(root, parent, id, meta, mark);
            records.push(Arc::new(record));
        }
        records.sort_by_key(|record| (record.live().started, record.id.clone()));
        for record in records {
            let was_cut = record.view().is_running();
            if was_cut {
                self.recover_interrupted(root, &record);
            }
            self.lock().records.push(Arc::clone(&record));
            if !record.live().notified {
                self.notify(&record);
            }
        }
    }

    /// Returns the parent of a sub-agent. If it is unknown, returns the agent of the process, and a
    /// clause that says what is missing: the sub-agent is reported then but cannot be resumed.
    fn parent_of(
        &self,
        root: &Root,
        mark: &SwarmMeta,
        above: &[Arc<Record>],
    ) -> (Arc<Parent>, Option<String>) {
        let Some(id) = &mark.parent else {
            return (Arc::clone(&root.parent), None);
        };
        let parent = above.iter().find(|record| record.id == *id);
        let parent = parent.map_or_else(
            || Err(format!("the agent {id} that started it no longer exists")),
            |record| self.as_recalled_parent(record),
        );
        match parent {
            Ok(parent) => (Arc::new(parent), None),
            Err(why) => {
                let placeholder = Parent {
                    id: mark.parent.clone(),
                    depth: mark.depth.saturating_sub(1),
                    ..Parent::clone(&root.parent)
                };
                (Arc::new(placeholder), Some(why))
            }
        }
    }

    fn restore(
        &self,
        root: &Root,
        (parent, mut blocked): (Arc<Parent>, Option<String>),
        id: SubAgentId,
        meta: Meta,
        mark: SwarmMeta,
    ) -> Record {
        let definition = match meta.agent_type.as_str() {
            FORK => Some(fork_definition()),
            named => self.catalog().find(named).cloned(),
        };
        if definition.is_none() && meta.agent_type != AgentTool::GENERAL {
            blocked = Some(format!(
                "its definition `{}` no longer exists",
                meta.agent_type
            ));
        }
        if meta.agent_type == FORK && mark.tools.is_none() {
            blocked = Some("its initial tools are unknown".to_owned());
        }
        let definition =
            definition.unwrap_or_else(|| AgentDefinition::new(&*meta.agent_type, "", ""));
        let request = SubAgentRequest {
            definition,
            name: None,
            origin: None,
            prompt: String::new(),
            description: meta.description.unwrap_or_default(),
            // Rules granted by a skill end with the process.
            granted: RuleSet::default(),
            background: mark.background,
            settings: mark.settings,
        };
        let scan = self.kit().agent_config.handoff;
        let record = Record::new(id, mark.name, parent, request, &root.directory, scan);
        let directory = meta.worktree_path.map(|path| IsolatedDirectory {
            root: path.clone(),
            path,
            branch: meta.worktree_branch,
            notice: String::new(),
            holds: Vec::new(),
        });
        *record.live() = Live {
            open: false,
            started: mark.started_at,
            runs: mark.runs,
            notified: mark.told,
            before: Totals {
                usage: mark.usage_before,
                ..Totals::default()
            },
            finding: Finding {
                text: std::fs::read_to_string(record.output()).unwrap_or_default(),
                kept: directory.clone(),
                ..mark.finding
            },
            directory,
            initial_tools: mark.tools,
            moved_to: mark.place.map(|place| Workplace {
                cwd: place.cwd,
                confine: Arc::new(Confinement::new(&place.root)),
            }),
            ..Live::default()
        };
        record.view.send_replace(View {
            status: mark.status,
            settled: true,
            background: mark.background,
        });
        Record { blocked, ..record }
    }

    /// Determines the state of a sub-agent that was interrupted by the end of its process. A call
    /// that waited for it has an error result.
    fn recover_interrupted(&self, root: &Root, record: &Record) {
        let author = TranscriptAuthor {
            sub_agent: Some(record.id.clone()),
            ..root.author.clone()
        };
        let clock = Arc::clone(&self.kit().clock);
        let entries = TranscriptFile::open(record.transcript(), author, clock)
            .map(|mut transcript| transcript.take_entries())
            .unwrap_or_default();
        let (mut used, mut last, mut model) = (Totals::default(), String::new(), String::new());
        for entry in entries {
            if let Entry::Assistant {
                content,
                usage,
                model: by,
                ..
            } = entry
            {
                used.usage += usage;
                used.requests += 1;
                model = by;
                for block in content {
                    match block {
                        ContentBlock::Text { text } if !text.trim().is_empty() => last = text,
                        ContentBlock::ToolUse { .. } => used.tool_calls += 1,
                        _ => {}
                    }
                }
            }
        }
        let background = record.view().background;
        let mut live = record.live();
        let spent = Totals {
            usage: used.since(live.before).usage,
            ..used
        };
        live.finding.totals = spent;
        live.finding.text = last;
        live.notified = !background;
        drop(live);
        record
            .view
            .send_modify(|view| view.status = SubAgentStatus::Interrupted);
        record.note();
        self.lock().past.push(AgentEvent::SubAgentEnded {
            id: record.id.clone(),
            agent_type: record.agent_type().to_owned(),
            outcome: SubAgentStatus::Interrupted.name().to_owned(),
            error: Some("its process terminated".to_owned()),
            model,
            usage: spent.usage,
            tool_calls: spent.tool_calls,
            duration_ms: 0,
        });
    }
}

/// Returns the sub-agent that a file describes. Those of Claude Code are ignored.
fn read(path: &Path) -> Option<(SubAgentId, Meta, SwarmMeta)> {
    let name = path.file_name()?.to_str()?;
    let id = name.strip_prefix("agent-")?.strip_suffix(ENDING)?;
    let mut meta = Meta::read(path)?;
    let mark = meta.swarm.take()?;
    Some((id.parse().ok()?, meta, mark))
}
