//! Making a session of a request.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use swarm_mcp::AgentServers;
use swarm_policy::{ModeSource, ModelRequest, choose_mode, choose_model};
use swarm_tools::{Confinement, FileState, Tool, ToolContext, Workplace};
use tokio_util::sync::CancellationToken;

use super::gate::{Answered, ChildGate};
use super::mailbox::Mailbox;
use super::prompt::system_prompt;
use super::record::Record;
use super::servers::pool_with;
use super::sink::ChildSink;
use super::{Parent, ReadyModel, SubAgents, pool};
use crate::{
    AgentParts, AgentTool, EngineLimits, ForkPoint, NoSpawner, Rights, Session, TranscriptAuthor,
    TranscriptFile,
};

/// A sub-agent that is ready to take its turn.
pub(super) struct Child {
    pub(super) session: Session,
    pub(super) sink: Arc<ChildSink>,
}

#[derive(Debug)]
struct Bell(std::sync::Weak<SubAgents>);

impl Answered for Bell {
    fn answered(&self) {
        if let Some(agents) = self.0.upgrade() {
            agents.stir();
        }
    }
}

impl SubAgents {
    /// Opens the sub-agent's conversation. The error is for the model.
    pub(super) fn open(&self, record: &Arc<Record>) -> Result<Child, String> {
        let model = self.model_for(record)?;
        let sink = Arc::new(ChildSink::new(self.root()?.events, record.id.clone()));
        let mut parts = self.parts(record, model, &sink)?;
        let definition = Some(&record.request.definition);
        let ceiling = record.parent.tool_ceiling.below(definition);
        let parent = Parent::of(Some(record.id.clone()), record.depth(), &parts, ceiling);
        let parent = Arc::new(Parent {
            is_fork: record.is_fork(),
            ..parent
        });
        let tools: Vec<_> = parts
            .tools
            .into_iter()
            .map(|tool| self.bound(tool, &parent))
            .collect();
        parts.tools = tools;
        let author = TranscriptAuthor {
            cwd: parts.tool_context.cwd.clone(),
            sub_agent: Some(record.id.clone()),
            ..self.root()?.author
        };
        let clock = Arc::clone(&self.kit().clock);
        let transcript = TranscriptFile::open(record.transcript(), author, clock)
            .map_err(|error| error.to_string())?;
        let session = match &record.request.origin {
            Some(origin) => Session::fork(transcript, parts, origin),
            None => Session::open(transcript, parts),
        };
        let session = session.map_err(|error| error.to_string())?;
        Ok(Child { session, sink })
    }

    /// The Agent tool of the pool is its owner's: each agent has one that knows who calls.
    fn bound(&self, tool: Arc<dyn Tool>, parent: &Arc<Parent>) -> Arc<dyn Tool> {
        if tool.name() == AgentTool::NAME {
            return Arc::new(AgentTool::new(
                Arc::new(NoSpawner),
                self.weak(),
                Arc::clone(parent),
            ));
        }
        tool
    }

    /// The model that is chosen; the parent's client where that is the parent's own.
    fn model_for(&self, record: &Record) -> Result<ReadyModel, String> {
        let parent = &record.parent.parts;
        let chosen = choose_model(&ModelRequest {
            environment: self.kit().equipment.models.environment.as_deref(),
            call: record.request.model.as_deref(),
            definition: record.request.definition.model.as_deref(),
            parent: &parent.model_name,
        });
        if record.is_fork() || chosen.written == parent.model_name {
            return Ok(ReadyModel {
                client: Arc::clone(&parent.model),
                name: parent.model_name.clone(),
            });
        }
        self.kit().models.model(&chosen.written)
    }

    /// The folder to which the agent of the process has moved, for a sub-agent whose parent works where that began.
    pub(super) fn moved(&self, record: &Record) -> Result<Option<Workplace>, String> {
        let origin = &record.parent.parts.tool_context.cwd;
        let pool = self.root()?.pool;
        Ok(pool.iter().find_map(|tool| tool.workplace(origin)))
    }

    fn parts(
        &self,
        record: &Arc<Record>,
        model: ReadyModel,
        sink: &Arc<ChildSink>,
    ) -> Result<AgentParts, String> {
        let (parent, request) = (&record.parent.parts, &record.request);
        let limits = &self.kit().equipment.limits;
        let context = tool_context(record, self.moved(record)?);
        let definition = &request.definition;
        let mode = choose_mode(
            parent.rights.mode(),
            definition.permission_mode,
            request.mode,
        );
        let (tools, system) = {
            let live = record.live();
            let own = live.servers.as_ref();
            let all = self.root()?.pool;
            match &request.origin {
                Some(origin) => (pool::Tools::exactly(&origin.tools), parent.system.clone()),
                // Of an earlier process: what its parent has now comes nearest.
                None if record.is_fork() => (pool::Tools::exactly(&all), parent.system.clone()),
                None => {
                    let all = pool_with(all, definition, own);
                    let mut system = system_prompt(definition, &context.cwd, &self.kit().platform);
                    system.extend(own.and_then(AgentServers::remark));
                    (pool::tools(&all, record, mode.mode, limits), system)
                }
            }
        };
        // Where nobody asks for a stricter mode it stays the parent's, whatever becomes of that.
        let stricter = (mode.source != ModeSource::Parent).then_some(mode.mode);
        let own_effort = definition.effort.as_deref();
        let own_effort = own_effort.and_then(|word| word.parse().ok());
        Ok(AgentParts {
            name: format!("{}/{}", parent.name, record.agent_type()),
            system,
            model: model.client,
            model_name: model.name,
            tools: tools.offered,
            withheld: tools.withheld,
            rights: Arc::new(Rights::under(Arc::clone(&parent.rights), stricter)),
            gate: Arc::new(ChildGate {
                parent: Arc::clone(&parent.gate),
                id: record.id.clone(),
                agent_type: record.agent_type().to_owned(),
                answered: Box::new(Bell(self.weak())),
            }),
            events: Arc::clone(sink) as Arc<dyn crate::EventSink>,
            hooks: parent.hooks.for_subagent(
                record.id.as_str(),
                record.agent_type(),
                &definition.hooks,
            ),
            interjections: Arc::new(Mailbox {
                record: Arc::clone(record),
                agents: self.weak(),
            }),
            forks: ForkPoint::default(),
            limits: EngineLimits {
                max_turns: request.definition.max_turns.unwrap_or(limits.max_turns),
                output_chars: if record.is_fork() {
                    parent.limits.output_chars
                } else {
                    Some(limits.output_chars)
                },
                effort: request.effort.or(own_effort).or(parent.limits.effort),
                ..parent.limits.clone()
            },
            home: parent.home.clone(),
            tool_context: context,
        })
    }
}

/// What the calls of the sub-agent get. What it knows of files is its parent's knowledge at this moment.
fn tool_context(record: &Record, moved: Option<Workplace>) -> ToolContext {
    let parent = &record.parent.parts.tool_context;
    let folder = record.live().folder.clone();
    let root = folder.as_ref().map(|own| &own.root);
    let root = root.or(moved.as_ref().map(|moved| &moved.root));
    let confine = root.map(|root| Arc::new(Confinement::new(root)));
    let cwd = folder
        .map(|own| own.path)
        .or_else(|| record.request.cwd.clone())
        .or_else(|| moved.map(|moved| moved.cwd));
    let files: FileState = parent
        .files
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    let mut env: BTreeMap<String, String> = (*parent.env).clone();
    env.insert("SWARM_SUB_AGENT_ID".to_owned(), record.id.to_string());
    ToolContext {
        cwd: cwd.unwrap_or_else(|| parent.cwd.clone()),
        files: Arc::new(Mutex::new(files)),
        env: Arc::new(env),
        confine: confine.or_else(|| parent.confine.clone()),
        cancel: CancellationToken::new(),
        ..parent.clone()
    }
}
