//! Assembly of a member from its setup: permissions, hooks, tools, transcript and conversation.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use swarm_agent::{
    AgentEnvironment, AgentError, AgentParts, AgentRuntime, Brief, EnvironmentFact, EventSink,
    ForkPoint, HookClients, HookModels, HostFacts, InstructionSources, Interjections,
    MANAGED_INSTRUCTIONS, ModelFactory, PromptEnvironment, Rights, Session, SessionLimits,
    SubAgentServices, SubAgents, Teammates, TranscriptAuthor, TranscriptFile, WorktreeIsolator,
    own_tools, without_unreadable,
};
use swarm_hooks::{AgentHooks, HookInput, Hooks, HooksParts};
use swarm_mcp::ProcessServers;
use swarm_model::{Model, ModelName};
use swarm_os::DirectoryWatcher;
use swarm_permissions::{AgentConfig, AgentDefinition, PoolRequest, ReadFilter, tool_pool};
use swarm_protocol::{AgentId, SessionId};
use swarm_store::BlockOn as _;
use swarm_team::{
    MemberContext, MemberDefinition, MemberWorkspace, SendMessageTool, member_hooks, task_tools,
    team_brief,
};
use swarm_tools::{
    BackgroundCommands, Caller, Checkout, Confinement, FileHistory, ProtectedPaths, Tool,
    ToolContext, prompt,
};
use swarm_ui::PaneInput;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::broker::PermissionBroker;
use crate::hook_watch::{HookWatch, Places};
use crate::mail::MailHandler;
use crate::peers::peers;
use crate::person::{Person, PersonCommands};
use crate::reporter::Reporter;
use crate::role::{InboxWatch, MemberLoop};
use crate::spending::SpendingMeter;

/// What responds in a member's turns and in those of its sub-agents.
#[derive(Debug, Clone)]
pub struct ModelServices {
    /// The turn loop, or the client of an agent program.
    pub runtime: Arc<dyn AgentRuntime>,
    /// The model.
    pub model: Arc<dyn Model>,
    /// Creates the models of sub-agents.
    pub models: Arc<dyn ModelFactory>,
    /// Accounts for the requests of `model` and `models`.
    pub spending: Arc<SpendingMeter>,
}

/// The setup of a lead or a teammate.
pub(crate) struct MemberSetup {
    pub(crate) mail: Arc<MailHandler>,
    pub(crate) reporter: Arc<Reporter>,
    pub(crate) rights: Arc<Rights>,
    pub(crate) watcher: Arc<DirectoryWatcher>,
    pub(crate) services: ModelServices,
    /// Model name as `provider/model`.
    pub(crate) model_name: String,
    pub(crate) isolator: Option<WorktreeIsolator>,
    pub(crate) definition: MemberDefinition,
    pub(crate) workspace: MemberWorkspace,
    /// The blocks of the system prompt; the environment section becomes the second.
    pub(crate) system: Vec<String>,
    pub(crate) send_message: SendMessageTool,
    pub(crate) role_tools: Vec<Arc<dyn Tool>>,
    pub(crate) limits: SessionLimits,
    /// Timeout of permission requests; `None` waits indefinitely.
    pub(crate) permission_timeout: Option<Duration>,
    /// Files that deny rules protect.
    pub(crate) unreadable: ReadFilter,
    /// The directories to which its writes are restricted.
    pub(crate) confine: Option<Confinement>,
    pub(crate) root: PathBuf,
    pub(crate) home: Option<PathBuf>,
    pub(crate) session: SessionId,
    /// The transcript file. An existing conversation continues.
    pub(crate) transcript: PathBuf,
    /// Description of the machine, for system prompts.
    pub(crate) host: HostFacts,
    pub(crate) version: String,
}

impl MemberSetup {
    /// Assembles the member and opens its conversation. `teammates` are the other members of its
    /// team, and `pool` limits its tools. `stop` interrupts the member, and `inputs` is what a
    /// person types into its terminal. Also returns the names of its tools.
    pub(crate) fn open<R>(
        self,
        servers: &ProcessServers,
        teammates: Arc<dyn Teammates>,
        pool: Option<&PoolRequest<'_>>,
        role: R,
        stop: CancellationToken,
        inputs: Option<UnboundedReceiver<PaneInput>>,
    ) -> Result<(MemberLoop<R>, Vec<String>), AgentError> {
        let context = Arc::clone(&self.mail.context);
        context.scan_handoffs(self.definition.config.handoff);
        self.services
            .spending
            .attach(&context, &self.watcher, &self.reporter);
        let commands = Arc::<BackgroundCommands>::default();
        let tool_context = self.tool_context(Arc::clone(&commands));
        let hooks = self.hooks(&tool_context);
        let hook_watch = self.hook_watch(&hooks);
        let instructions = self.instructions();
        let brief = Arc::new(TeamBrief {
            context: Arc::clone(&context),
            agent_config: Arc::clone(&self.definition.config),
        });
        let transcript = self.open_transcript()?;
        let environment = self.environment(&brief.facts());
        let sub_agents = self.sub_agents(servers, commands);
        let mut system = self.system;
        system.insert(1.min(system.len()), environment.section().to_owned());
        system.extend(servers.main.prompt_block());
        let mut tools = own_tools(&self.definition.config);
        let reached = Arc::downgrade(&sub_agents);
        tools.push(Arc::new(self.send_message.reaching(reached)));
        tools.extend(task_tools(&context));
        tools.extend(self.role_tools);
        tools.extend(servers.main.tools.iter().cloned());
        let mut agent = AgentParts {
            name: context.name.to_string(),
            system,
            model: self.services.model,
            model_name: short_model_name(&self.model_name),
            tools,
            withheld: Vec::new(),
            rights: self.rights,
            gate: Arc::new(PermissionBroker {
                mail: Arc::clone(&self.mail),
                watcher: Arc::clone(&self.watcher),
                reporter: Arc::clone(&self.reporter),
                timeout: self.permission_timeout,
            }),
            events: Arc::clone(&self.reporter) as Arc<dyn EventSink>,
            interjections: Arc::clone(&self.mail) as Arc<dyn Interjections>,
            hooks,
            skills: self.definition.config.skills.as_slice().into(),
            forks: ForkPoint::default(),
            limits: self.limits,
            home: self.home,
            instructions,
            environment: Some(Arc::new(environment)),
            brief: Some(brief),
            tool_context,
        };
        sub_agents.attach(
            &mut agent,
            teammates,
            self.definition.own.as_ref(),
            &transcript,
        );
        if let Some(request) = pool {
            let pool = tool_pool(request, agent.tools.iter().map(|tool| tool.name()));
            agent.tools.retain(|tool| pool.has(tool.name()));
        }
        let tool_names = agent.tools.iter().map(|tool| tool.name().to_owned());
        let tool_names = tool_names.collect();
        let mut watches = JoinSet::new();
        if let Some(watch) = hook_watch {
            watches.spawn(watch.run());
        }
        let commands = PersonCommands {
            rights: Arc::clone(&agent.rights),
            model: agent.model_name.clone(),
            servers: Some(Arc::clone(&servers.pool)),
            skills: Arc::clone(&agent.skills),
        };
        let (mail, reporter) = (Arc::clone(&self.mail), Arc::clone(&self.reporter));
        let member = MemberLoop {
            role,
            runtime: self.services.runtime,
            _hook_watch: watches,
            session: Session::open(transcript, agent)?,
            inbox: InboxWatch::new(self.watcher, context),
            person: Person::new(inputs, mail, reporter, commands),
            models: self.services.models,
            mail: self.mail,
            reporter: self.reporter,
            sub_agents,
            model: self.model_name,
            stop,
            initial_prompt: None,
            context: Vec::new(),
            reported: None,
            trouble: None,
        };
        Ok((member, tool_names))
    }

    fn sub_agents(
        &self,
        servers: &ProcessServers,
        commands: Arc<BackgroundCommands>,
    ) -> Arc<SubAgents> {
        SubAgents::new(SubAgentServices {
            agent_config: Arc::clone(&self.definition.config),
            model: self.model_name.clone(),
            models: Arc::clone(&self.services.models),
            isolator: self.isolator.clone(),
            servers: Some(Arc::clone(&servers.pool)),
            commands,
            clock: Arc::clone(&self.mail.context.clock),
            root: self.root.clone(),
            host: self.host.clone(),
        })
    }

    fn open_transcript(&self) -> Result<TranscriptFile, AgentError> {
        let context = &self.mail.context;
        let author = TranscriptAuthor {
            session: self.session,
            cwd: self.workspace.cwd.clone(),
            version: self.version.clone(),
            agent: Some(context.name.clone()),
            team: context.team().map(|team| team.name().clone()),
            spawn: Some(context.spawn_id),
            sub_agent: None,
        };
        let path = self.transcript.clone();
        let mut transcript = TranscriptFile::open(path, author, Arc::clone(&context.clock))?;
        if self.definition.config.coordinator {
            transcript.mark_coordinator()?;
        }
        Ok(transcript)
    }

    fn environment(&self, team: &[EnvironmentFact]) -> AgentEnvironment {
        let clock = &self.mail.context.clock;
        // The scratchpad is a fact about the team.
        let is_named = |path: &&PathBuf| Some(*path) != self.definition.config.scratchpad.as_ref();
        let rules = self.rights.rules();
        let directories = rules.directories.iter().filter(is_named).cloned();
        let environment = PromptEnvironment {
            cwd: &self.workspace.cwd,
            host: &self.host,
            directories: &directories.collect::<Vec<_>>(),
            model: &short_model_name(&self.model_name),
            knowledge: self.definition.config.models.knowledge(&self.model_name),
            now: clock.now(),
            team,
        };
        AgentEnvironment::of(&self.transcript, &environment, Arc::clone(clock))
    }

    /// The hooks of the settings and of the member's own definition. It is not a sub-agent, so the
    /// end of its turn is `Stop`.
    fn hooks(&self, sandbox: &ToolContext) -> AgentHooks {
        let (reporter, rights) = (Arc::clone(&self.reporter), Arc::clone(&self.rights));
        let project = self
            .definition
            .config
            .project
            .as_ref()
            .unwrap_or(&self.workspace.cwd);
        let hooks = Hooks::new(HooksParts {
            settings: self.definition.config.hooks.clone(),
            env: self.workspace.env.clone(),
            project: project.clone(),
            notice: Arc::new(move |line| reporter.notice(line)),
            services: Some(Arc::new(HookClients {
                models: Some(self.hook_models()),
            })),
            sandbox: Some(sandbox.clone()),
        });
        let definition = self.definition.own.as_ref();
        let own = definition.map(|definition| definition.hooks.clone());
        let base = HookInput {
            session_id: Some(self.session.to_string()),
            transcript_path: Some(self.transcript.clone()),
            cwd: self.workspace.cwd.clone(),
            agent_type: self.definition.agent_type.clone(),
            ..HookInput::default()
        };
        let hooks = hooks.and(own.unwrap_or_default());
        member_hooks(&self.mail.context, hooks, base, move || rights.mode())
    }

    fn hook_watch(&self, hooks: &AgentHooks) -> Option<HookWatch> {
        let places = Places {
            cwd: &self.workspace.cwd,
            root: &self.root,
            project: self
                .definition
                .config
                .project
                .as_ref()
                .unwrap_or(&self.workspace.cwd),
            skills: &self.definition.config.skills,
        };
        HookWatch::new(hooks, &self.watcher, &places)
    }

    /// The model of prompt hooks: the provider's small one, else the member's own.
    fn hook_models(&self) -> HookModels {
        let small = self.definition.config.models.small(&self.model_name);
        HookModels {
            factory: Arc::clone(&self.services.models),
            own: (
                Arc::clone(&self.services.model),
                short_model_name(&self.model_name),
            ),
            small: small.map(str::to_owned),
        }
    }

    /// Source of its instruction files, unless its definition omits them.
    fn instructions(&self) -> Option<Arc<InstructionSources>> {
        let definition = self.definition.own.as_ref();
        definition
            .is_none_or(|definition| !definition.omit_claude_md)
            .then(|| {
                Arc::new(InstructionSources {
                    managed: MANAGED_INSTRUCTIONS.into(),
                    settings: self.definition.config.instructions.clone(),
                    root: self.root.clone(),
                    home: self.home.clone(),
                    unreadable: self.unreadable.clone(),
                })
            })
    }

    fn tool_context(&self, commands: Arc<BackgroundCommands>) -> ToolContext {
        let context = &self.mail.context;
        let team = context.team().map(|team| team.name().clone());
        let secrets = self.definition.config.shell.secrets.iter();
        let protected = secrets.fold(ProtectedPaths::new(&self.root), |protected, secret| {
            protected.hide(secret)
        });
        let protected = without_unreadable(protected, self.unreadable.clone());
        let caller = Caller {
            name: context.name.clone(),
            agent_id: team
                .clone()
                .map(|team| AgentId::new(context.name.clone(), team)),
            team,
        };
        ToolContext {
            env: Arc::new(self.workspace.env.clone()),
            checkout: Arc::new(Checkout::of(&self.workspace.cwd, self.home.as_deref())),
            protected: Arc::new(protected),
            confine: self.confine.clone().map(Arc::new),
            guards: Arc::new(self.definition.config.shell.clone()),
            scratch: Some(self.transcript.with_extension("").join("output").into()),
            history: (context.name.is_lead())
                .then(|| FileHistory::of_transcript(&self.transcript).into()),
            commands: Some(commands),
            ..ToolContext::new(self.workspace.cwd.clone(), caller)
        }
    }
}

/// The current team of a member.
#[derive(Debug)]
struct TeamBrief {
    context: Arc<MemberContext>,
    /// Source of the descriptions of agent types.
    agent_config: Arc<AgentConfig>,
}

impl Brief for TeamBrief {
    fn brief(&self) -> Option<String> {
        let context = &self.context;
        let team = context.team()?;
        match team_brief(&*team, &context.name, context.handoff_scan()) {
            Ok(text) => Some(text),
            Err(error) => {
                // The summary contains what the member knew about its team.
                tracing::warn!(team = %team.name(), member = %context.name, %error, "cannot summarize the team");
                None
            }
        }
    }

    fn facts(&self) -> Vec<EnvironmentFact> {
        let Some(team) = self.context.team() else {
            return Vec::new();
        };
        // Without a readable roster, it learns about other members by mail.
        let Ok(config) = team.known_config().block_on() else {
            return Vec::new();
        };
        let agents = &self.agent_config.agents;
        let mut facts = vec![
            EnvironmentFact::new("Team", team.name().as_str()),
            EnvironmentFact::new(
                "Team members",
                &peers(&config.members, &self.context.name, agents),
            ),
        ];
        if let Some(scratchpad) = &self.agent_config.scratchpad {
            let directory = scratchpad.display().to_string();
            let text = prompt!("team-scratchpad").replace("{directory}", &directory);
            facts.push(EnvironmentFact::new("Team scratchpad", &text));
        }
        facts
    }
}

/// Returns the name of a model at its provider.
pub(crate) fn short_model_name(name: &str) -> String {
    ModelName::parse(name).map_or_else(|_| name.to_owned(), |name| name.model)
}

/// Returns the limits of a member; `max_turns` unless its definition has another number.
pub(crate) fn session_limits(
    config: &AgentConfig,
    model: &str,
    definition: Option<&AgentDefinition>,
    max_turns: u32,
) -> SessionLimits {
    let max_output = config.models.max_output(model);
    SessionLimits {
        max_turns: (definition.and_then(|definition| definition.max_turns)).unwrap_or(max_turns),
        thinking: config.requests.thinking,
        effort: config.requests.effort_of(definition),
        window: config.models.window(model),
        max_output_tokens: max_output.unwrap_or(SessionLimits::USUAL_OUTPUT),
        compact_at: config.compaction.at,
        clear_tool_results: config.compaction.clear_tool_results,
        ..SessionLimits::default()
    }
}
