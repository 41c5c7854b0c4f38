//! Sub-agents of an earlier process that worked for the same conversation.

use std::path::Path;
use std::sync::Arc;

use swarm_model::ContentBlock;
use swarm_policy::AgentDefinition;
use swarm_protocol::{AgentEvent, SubAgentId};

use super::meta::{Mark, Meta};
use super::record::{Finding, Live, Record, StoppedBy, View};
use super::registry::Root;
use super::{IsolatedFolder, Parent, SubAgentRequest, SubAgentStatus, SubAgents};
use crate::fork::{FORK, fork_definition};
use crate::transcript::Entry;
use crate::{Totals, TranscriptAuthor, TranscriptFile};

/// What a file's name ends in that describes a sub-agent.
const ENDING: &str = ".meta.json";

impl SubAgents {
    /// Takes in what an earlier process left: those that it did not tell of are told of now, and all can go on by a
    /// message.
    pub(super) fn reopen(&self, root: &Root) {
        let mut found: Vec<_> = std::fs::read_dir(&root.folder)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|file| read(&file.path()))
            .collect();
        found.sort_by(|(one, _, a), (two, _, b)| (a.started_at, one).cmp(&(b.started_at, two)));
        for (id, meta, mark) in found {
            let record = Arc::new(self.recall(root, id, meta, mark));
            let was_cut = record.view().is_running();
            if was_cut {
                self.take_stock(root, &record);
            }
            self.lock().records.push(Arc::clone(&record));
            if !record.live().told {
                self.notify(&record);
            }
        }
    }

    fn recall(&self, root: &Root, id: SubAgentId, meta: Meta, mark: Mark) -> Record {
        let definition = match meta.agent_type.as_str() {
            FORK => Some(fork_definition()),
            named => self.catalog().find(named).cloned(),
        };
        let definition =
            definition.unwrap_or_else(|| AgentDefinition::new(&*meta.agent_type, "", ""));
        let request = SubAgentRequest {
            definition,
            origin: None,
            prompt: String::new(),
            description: meta.description.unwrap_or_default(),
            model: mark.model,
            mode: mark.mode,
            effort: mark.effort,
            background: mark.background,
            cwd: mark.cwd,
            isolation: meta
                .worktree_path
                .as_ref()
                .map(|_| swarm_policy::Isolation::Worktree),
            tool_use_id: mark.tool_use_id,
        };
        let parent = Parent {
            id: mark.parent,
            depth: mark.depth.saturating_sub(1),
            ..Parent::clone(&root.parent)
        };
        let record = Record::new(id, mark.name, Arc::new(parent), request, &root.folder);
        let folder = meta.worktree_path.map(|path| IsolatedFolder {
            root: path.clone(),
            path,
            branch: meta.worktree_branch,
            notice: String::new(),
        });
        *record.live() = Live {
            open: false,
            stopped_by: mark.by_person.then_some(StoppedBy::Person),
            started: mark.started_at,
            runs: mark.runs,
            told: mark.told,
            before: Totals {
                usage: mark.usage_before,
                ..Totals::default()
            },
            finding: Finding {
                text: std::fs::read_to_string(record.output()).unwrap_or_default(),
                error: mark.error,
                totals: Totals {
                    usage: mark.usage,
                    requests: mark.requests,
                    tool_calls: mark.tool_calls,
                },
                duration_ms: mark.duration_ms,
                kept: folder.clone(),
            },
            folder,
            ..Live::default()
        };
        record.view.send_replace(View {
            status: mark.status,
            settled: true,
            background: mark.background,
        });
        record
    }

    /// What a sub-agent had come to when its process died under it. A call that waited for it has an error for a result.
    fn take_stock(&self, root: &Root, record: &Record) {
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
        live.told = !background;
        drop(live);
        record
            .view
            .send_modify(|view| view.status = SubAgentStatus::Interrupted);
        record.note();
        self.lock().past.push(AgentEvent::SubAgentEnded {
            id: record.id.clone(),
            agent_type: record.agent_type().to_owned(),
            outcome: SubAgentStatus::Interrupted.name().to_owned(),
            error: Some("its process ended before it".to_owned()),
            model,
            usage: spent.usage,
            tool_calls: spent.tool_calls,
            duration_ms: 0,
        });
    }
}

/// The sub-agent that a file describes. What Claude Code left is not ours to go on with.
fn read(path: &Path) -> Option<(SubAgentId, Meta, Mark)> {
    let name = path.file_name()?.to_str()?;
    let id = name.strip_prefix("agent-")?.strip_suffix(ENDING)?;
    let mut meta = Meta::read(path)?;
    let mark = meta.swarm.take()?;
    Some((id.parse().ok()?, meta, mark))
}
