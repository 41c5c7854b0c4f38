//! Creates the session of a sub-agent.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use swarm_mcp::AgentServers;
use swarm_permissions::{Anchors, ModeSource, ModelCandidates, choose_mode, choose_model};
use swarm_tools::{
    Confinement, FileState, SkillTool, Tool, ToolContext, TypedTool as _, Workplace,
};
use tokio_util::sync::CancellationToken;

use super::gate::{ChildGate, system_prompt};
use super::hold::PausableModel;
use super::interject::Mailbox;
use super::pool::{self, ToolSelection};
use super::record::Record;
use super::servers::pool_with;
use super::sink::ChildSink;
use super::{Parent, ReadyModel, SubAgents, TaskStop};
use crate::agent_tool::{SkillCall, has_forks};
use crate::scratchpad::{scratchpad_rules, scratchpad_section};
use crate::{
    AgentEnvironment, AgentParts, AgentTool, ForkPoint, LoadedDefinition, NoTeammates,
    PromptEnvironment, Rights, Session, SessionLimits, TranscriptAuthor, TranscriptFile,
};

/// A sub-agent with an open session.
pub(super) struct Child {
    pub(super) session: Session,
    pub(super) sink: Arc<ChildSink>,
}

impl SubAgents {
    /// Opens the sub-agent's conversation. The error is for the model.
    pub(super) fn open(&self, record: &Arc<Record>) -> Result<Child, String> {
        let model = self.model_for(record)?;
        let sink = Arc::new(ChildSink::new(self.root()?.events, record.id.clone()));
        record.begin_commands(self.limits().output_chars);
        let mut parts = self.parts(record, model, &sink)?;
        record.live().initial_tools.get_or_insert_with(|| {
            let tools = parts.tools.iter();
            tools.map(|tool| tool.name().to_owned()).collect()
        });
        let parent = Arc::new(as_parent(record, &parts));
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

    /// Returns a sub-agent of an earlier process as a parent. The error is a clause that says what
    /// is missing.
    pub(super) fn as_recalled_parent(&self, record: &Arc<Record>) -> Result<Parent, String> {
        let name = &record.name;
        if let Some(why) = &record.blocked {
            return Err(format!("its parent {name} cannot be resumed either: {why}"));
        }
        if record.request.settings.isolation.is_some() && record.live().directory.is_none() {
            return Err(format!(
                "the directory of its parent {name} no longer exists"
            ));
        }
        let model = self.model_for(record)?;
        let sink = Arc::new(ChildSink::new(self.root()?.events, record.id.clone()));
        let parts = self.parts(record, model, &sink)?;
        Ok(as_parent(record, &parts))
    }

    /// Replaces the Agent tool of the pool with one that knows its caller, `TaskStop` with one that
    /// cannot stop teammates, and the Skill tool if skills need separate agents.
    fn bound(&self, tool: Arc<dyn Tool>, parent: &Arc<Parent>) -> Arc<dyn Tool> {
        let agents = || AgentTool::new(Arc::new(NoTeammates), self.weak(), Arc::clone(parent));
        let skills = &self.kit().agent_config.skills;
        match tool.name() {
            AgentTool::NAME => Arc::new(agents()),
            // A fork has its parent's tools, but only a member can stop members.
            TaskStop::NAME => Arc::new(TaskStop {
                agents: self.weak(),
                teammates: Arc::new(NoTeammates),
            }),
            SkillCall::NAME if has_forks(skills) => {
                let mut names = parent.tool_names.iter();
                if names.any(|name| name == AgentTool::NAME) {
                    Arc::new(SkillCall::new(skills, agents()))
                } else {
                    Arc::new(SkillTool::new(skills))
                }
            }
            _ => tool,
        }
    }

    /// Returns the chosen model, with the parent's client if it is the parent's model.
    fn model_for(&self, record: &Record) -> Result<ReadyModel, String> {
        let parent = self.parent_model(record);
        let kit = self.kit();
        let chosen = choose_model(&ModelCandidates {
            environment: kit.agent_config.models.environment.as_deref(),
            call: record.request.settings.model.as_deref(),
            definition: record.request.definition.model.as_deref(),
            parent: &parent.name,
            small: kit.agent_config.models.small(&kit.model),
        });
        if record.is_fork() || chosen.written == parent.name {
            return Ok(parent);
        }
        let model = self.kit().models.model(&chosen.written);
        model.map_err(|error| chosen.explain(Some(&record.request.definition), &error))
    }

    /// Returns the current model of a sub-agent's parent.
    fn parent_model(&self, record: &Record) -> ReadyModel {
        let changed = self.lock().model.clone();
        if let Some(model) = changed.filter(|_| record.parent.id.is_none()) {
            return model;
        }
        let parent = &record.parent.parts;
        ReadyModel {
            client: Arc::clone(&parent.model),
            name: parent.model_name.clone(),
            window: parent.limits.window,
            max_output: Some(parent.limits.max_output_tokens),
        }
    }

    /// Returns the directory to which the process's agent had moved when this sub-agent began, if
    /// its parent works where that agent began. It does not follow later moves.
    pub(super) fn moved(&self, record: &Record) -> Result<Option<Workplace>, String> {
        let mut live = record.live();
        if live.runs > 0 || live.moved_to.is_some() {
            return Ok(live.moved_to.clone());
        }
        let origin = &record.parent.parts.tool_context.cwd;
        let pool = self.root()?.pool;
        live.moved_to = pool.iter().find_map(|tool| tool.workplace(origin));
        Ok(live.moved_to.clone())
    }

    /// Loads its definition. A sub-agent in a worktree may also write to its memory, which belongs
    /// to its parent's repository, because the worktree is removed.
    fn load_definition(
        &self,
        record: &Record,
        context: &mut ToolContext,
    ) -> Result<LoadedDefinition, String> {
        let kit = self.kit();
        let definition = &record.request.definition;
        let memory_base = match record.request.settings.isolation {
            Some(_) => &record.parent.parts.tool_context.cwd,
            None => &context.cwd,
        };
        let mut loaded = LoadedDefinition::of(
            definition,
            &kit.agent_config.skills,
            memory_base,
            &kit.root,
            kit.host.docs,
        )
        .map_err(|error| format!("The sub-agent was not started: {error}"))?;
        loaded.rules.extend(record.request.granted.clone());
        let scratchpad = kit.agent_config.scratchpad.as_ref();
        loaded.rules.extend(scratchpad_rules(scratchpad));
        for directory in loaded.memory.iter().chain(scratchpad) {
            if let Some(confine) = &context.confine {
                context.confine = Some(Arc::new(Confinement::clone(confine).also(directory)));
            }
        }
        Ok(loaded)
    }

    fn parts(
        &self,
        record: &Arc<Record>,
        model: ReadyModel,
        sink: &Arc<ChildSink>,
    ) -> Result<AgentParts, String> {
        let (parent, request) = (&record.parent.parts, &record.request);
        let agent_config = &self.kit().agent_config;
        let session_limits = self.session_limits(record, &model);
        let moved = self.moved(record)?;
        let anchors = anchors(record, moved.as_ref());
        let mut context = tool_context(record, moved, &anchors);
        let definition = &request.definition;
        let loaded = self.load_definition(record, &mut context)?;
        let mode = choose_mode(
            parent.rights.mode(),
            definition.permission_mode,
            request.settings.mode,
        );
        let mut environment = None;
        let (mut tools, system) = {
            let live = record.live();
            let own = live.servers.as_ref();
            let all = self.root()?.pool;
            match &request.origin {
                Some(origin) => (
                    ToolSelection::for_fork(&origin.tools),
                    parent.system.clone(),
                ),
                // A fork of an earlier process gets the closest match, the parent's current tools.
                None if record.is_fork() => (ToolSelection::for_fork(&all), parent.system.clone()),
                None => {
                    let all = pool_with(all, definition, own);
                    let own_environment = self.environment(record, &context.cwd, &model.name);
                    let mut system = system_prompt(definition, own_environment.section());
                    environment = Some(Arc::new(own_environment));
                    system.extend(loaded.instructions.iter().cloned());
                    system.extend(own.and_then(AgentServers::prompt_block));
                    let scratchpad = agent_config.scratchpad.iter();
                    let scratchpad = scratchpad.filter(|_| agent_config.coordinator);
                    system.extend(scratchpad.map(|scratchpad| scratchpad_section(scratchpad)));
                    (pool::tools(&all, record, mode.mode, agent_config), system)
                }
            }
        };
        if let Some(initial) = &record.live().initial_tools {
            tools = tools.restricted_to(initial);
        }
        // Unless a stricter mode is requested, the mode follows the parent's.
        let stricter = (mode.source != ModeSource::Parent).then_some(mode.mode);
        Ok(AgentParts {
            name: format!("{}/{}", parent.name, record.agent_type()),
            system,
            model: Arc::new(PausableModel {
                inner: model.client,
                agents: self.weak(),
                record: Arc::clone(record),
                sink: Arc::clone(sink),
            }),
            model_name: model.name,
            tools: tools.offered,
            withheld: tools.withheld,
            rights: Arc::new(Rights::under(
                Arc::clone(&parent.rights),
                stricter,
                anchors,
                loaded.rules,
            )),
            gate: Arc::new(ChildGate {
                parent: Arc::clone(&parent.gate),
                id: record.id.clone(),
                agent_type: record.agent_type().to_owned(),
                agents: self.weak(),
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
            skills: Arc::new([]),
            forks: ForkPoint::default(),
            limits: session_limits,
            home: parent.home.clone(),
            instructions: (self.root()?.parent.parts.instructions.clone())
                .filter(|_| !definition.omit_claude_md),
            environment,
            brief: None,
            tool_context: context,
        })
    }
}

impl SubAgents {
    fn session_limits(&self, record: &Record, model: &ReadyModel) -> SessionLimits {
        let (parent, request) = (&record.parent.parts.limits, &record.request);
        let limits = &self.kit().agent_config.limits;
        let own_effort = request.definition.effort.as_deref();
        let own_effort = own_effort.and_then(|word| word.parse().ok());
        let output_chars = if record.is_fork() {
            parent.output_chars
        } else {
            Some(limits.output_chars)
        };
        SessionLimits {
            window: model.window,
            max_output_tokens: model.max_output.unwrap_or(SessionLimits::USUAL_OUTPUT),
            max_turns: request.definition.max_turns.unwrap_or(limits.max_turns),
            output_chars,
            effort: (request.settings.effort).or(own_effort).or(parent.effort),
            ..parent.clone()
        }
    }

    fn environment(&self, record: &Record, cwd: &Path, model: &str) -> AgentEnvironment {
        let kit = self.kit();
        let rules = record.parent.parts.rights.rules();
        let environment = PromptEnvironment {
            cwd,
            host: &kit.host,
            directories: &rules.directories,
            model,
            knowledge: kit.agent_config.models.knowledge_of(model, &kit.model),
            now: kit.clock.now(),
            team: &[],
        };
        AgentEnvironment::of(&record.transcript(), &environment, Arc::clone(&kit.clock))
    }
}

fn as_parent(record: &Record, parts: &AgentParts) -> Parent {
    let definition = Some(&record.request.definition);
    let ceiling = record.parent.tool_ceiling.below(definition);
    Parent {
        is_fork: record.is_fork(),
        ..Parent::of(Some(record.id.clone()), record.depth(), parts, ceiling)
    }
}

/// Returns the directories to which the parent's relative rules refer for the sub-agent.
fn anchors(record: &Record, moved: Option<&Workplace>) -> Anchors {
    let parent = &record.parent.parts;
    let origin = &parent.tool_context.cwd;
    let moved = moved.map(|moved| moved.cwd.as_path());
    let live = record.live();
    let copy = live.directory.as_ref().map(|own| own.path.as_path());
    let anchors = parent.rights.anchors(origin, moved);
    anchors.below(moved.unwrap_or(origin), copy)
}

/// Returns the context of the sub-agent's tool calls. It starts with its parent's current knowledge
/// of files.
fn tool_context(record: &Record, moved: Option<Workplace>, anchors: &Anchors) -> ToolContext {
    let parts = &record.parent.parts;
    let parent = &parts.tool_context;
    let directory = record.live().directory.clone();
    let confine = match &directory {
        Some(own) => Some(Arc::new(Confinement::new(&own.root))),
        None => moved.as_ref().map(|moved| Arc::clone(&moved.confine)),
    };
    let cwd = directory
        .map(|own| own.path)
        .or_else(|| record.request.settings.cwd.clone())
        .or_else(|| moved.map(|moved| moved.cwd));
    let files: FileState = parent.files.lock().clone();
    let mut env: BTreeMap<String, String> = (*parent.env).clone();
    env.insert("SWARM_SUB_AGENT_ID".to_owned(), record.id.to_string());
    let cwd = cwd.unwrap_or_else(|| parent.cwd.clone());
    let protected = if cwd == parent.cwd {
        Arc::clone(&parent.protected)
    } else {
        let (home, anchors) = (parts.home.as_deref(), anchors.clone());
        parts
            .rights
            .with_hidden(&parent.protected, &cwd, anchors, home)
    };
    ToolContext {
        cwd,
        protected,
        shell: Arc::new(parent.shell.for_other_agent(record.is_fork())),
        files: Arc::new(Mutex::new(files)),
        env: Arc::new(env),
        confine: confine.or_else(|| parent.confine.clone()),
        cancel: CancellationToken::new(),
        commands: Some(Arc::clone(&record.live().commands)),
        ..parent.clone()
    }
}
