//! An agent with sub-agents, and a model that plays a script for each of them.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use futures::StreamExt;
use parking_lot::Mutex;
use serde_json::Value;
use swarm_agent::{
    AgentParts, Injected, ModelFactory, NoOtherModels, NoTeammates, ReadyModel, Session,
    SessionLimits, SubAgentServices, SubAgents, Teammates, TurnOutcome,
};
use swarm_model::{
    ContentBlock, Model, ModelError, ModelEvent, ModelEvents, ModelRequest, StopReason,
};
use swarm_permissions::{AgentCatalog, AgentConfig, AgentDefinition, AgentLimits, AgentSource};
use swarm_protocol::{AgentEvent, SystemClock};
use swarm_tools::{BackgroundAgents, Tool, builtin};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::model::{Asked, response, tool_use};
use crate::setup::Setup;

/// One response of a script.
#[derive(Debug, Clone)]
pub(crate) enum Line {
    /// A text that ends the turn.
    Say(String),
    /// Tool calls.
    Call(Vec<(String, Value)>),
    /// A text that is sent once the gate is open.
    Gated(String),
    /// A refusal of the model.
    Fail,
    /// The server rejects the conversation as too long.
    TooLong,
}

pub(crate) fn says(text: &str) -> Line {
    Line::Say(text.to_owned())
}

pub(crate) fn calls<const N: usize>(calls: [(&str, Value); N]) -> Line {
    Line::Call(calls.map(|(tool, input)| (tool.to_owned(), input)).to_vec())
}

/// A model that plays the script of the agent that sends the request; the last line of a script is
/// repeated.
#[derive(Debug)]
pub(crate) struct Cast {
    scripts: Mutex<HashMap<String, VecDeque<Line>>>,
    pub(crate) requests: Mutex<Vec<Asked>>,
    pub(crate) gate: Arc<Semaphore>,
    /// One permit per response that waits, or waited, for the gate.
    pub(crate) waiting: Arc<Semaphore>,
    calls: Mutex<u64>,
}

impl Default for Cast {
    fn default() -> Self {
        Self {
            scripts: Mutex::default(),
            requests: Mutex::default(),
            gate: Arc::new(Semaphore::new(0)),
            waiting: Arc::new(Semaphore::new(0)),
            calls: Mutex::default(),
        }
    }
}

impl Cast {
    pub(crate) fn plays(&self, agent: &str, lines: impl IntoIterator<Item = Line>) {
        let mut scripts = self.scripts.lock();
        scripts.entry(agent.to_owned()).or_default().extend(lines);
    }

    pub(crate) fn open(&self) {
        self.gate.add_permits(1);
    }

    /// Waits until `answers` responses have reached the gate.
    pub(crate) async fn at_gate(&self, answers: u32) {
        self.waiting.acquire_many(answers).await.unwrap().forget();
    }

    pub(crate) fn asked_by(&self, agent: &str) -> Vec<Asked> {
        let requests = self.requests.lock();
        let own = requests.iter().filter(|request| request.agent == agent);
        own.cloned().collect()
    }

    fn next(&self, agent: &str) -> Line {
        let mut scripts = self.scripts.lock();
        let script = scripts.get_mut(agent);
        let script = script.unwrap_or_else(|| panic!("no script for {agent}"));
        if script.len() > 1 {
            script.pop_front().unwrap()
        } else {
            script.front().cloned().unwrap()
        }
    }

    fn content(&self, line: &Line) -> (Vec<ContentBlock>, StopReason) {
        match line {
            Line::Say(text) | Line::Gated(text) => {
                (vec![ContentBlock::text(text.clone())], StopReason::EndTurn)
            }
            Line::Call(calls) => {
                let mut number = self.calls.lock();
                let blocks = calls.iter().map(|(tool, input)| {
                    *number += 1;
                    tool_use(&format!("toolu_{number}"), tool, input.clone())
                });
                (blocks.collect(), StopReason::ToolUse)
            }
            Line::Fail | Line::TooLong => (Vec::new(), StopReason::Refusal),
        }
    }
}

impl Model for Cast {
    fn stream(&self, request: ModelRequest, _cancel: CancellationToken) -> ModelEvents {
        let line = self.next(&request.agent);
        self.requests.lock().push(request.into());
        let (content, stop) = self.content(&line);
        let answer = match &line {
            Line::TooLong => Err(ModelError::ContextTooLong("too long".into())),
            _ => Ok(ModelEvent::Completed(response(content, stop))),
        };
        let (gate, waiting) = (self.gate.clone(), self.waiting.clone());
        futures::stream::once(async move {
            if matches!(line, Line::Gated(_)) {
                waiting.add_permits(1);
                gate.acquire().await.unwrap().forget();
            }
            answer
        })
        .boxed()
    }
}

/// Output limit of every model except the parent's, in tokens.
pub(crate) const OTHER_OUTPUT: u32 = 8_192;

/// Returns the same cast for every model name.
#[derive(Debug)]
struct Models(Arc<Cast>);

impl ModelFactory for Models {
    fn model(&self, name: &str) -> Result<ReadyModel, String> {
        if name.starts_with("unknown") {
            return NoOtherModels.model(name);
        }
        Ok(ReadyModel {
            client: self.0.clone(),
            name: name.to_owned(),
            window: None,
            max_output: Some(OTHER_OUTPUT),
        })
    }
}

/// An agent `bob` and its sub-agents.
pub(crate) struct Family {
    pub(crate) setup: Setup,
    pub(crate) cast: Arc<Cast>,
    pub(crate) agents: Arc<SubAgents>,
    pub(crate) session: Session,
}

/// A definition in the user's directory.
pub(crate) fn definition(name: &str) -> AgentDefinition {
    AgentDefinition {
        source: AgentSource::User,
        ..AgentDefinition::new(name, format!("does {name}"), format!("You are {name}."))
    }
}

impl Family {
    pub(crate) fn new(setup: Setup) -> Self {
        Self::with_spawner(setup, Arc::new(NoTeammates))
    }

    pub(crate) fn with_spawner(setup: Setup, spawner: Arc<dyn Teammates>) -> Self {
        Self::with_teammates(setup, AgentConfig::default(), spawner)
    }

    pub(crate) fn of(setup: Setup, definitions: Vec<AgentDefinition>, limits: AgentLimits) -> Self {
        let agent_config = AgentConfig {
            agents: AgentCatalog::new(definitions),
            limits,
            ..AgentConfig::default()
        };
        Self::configured(setup, agent_config)
    }

    /// Creates a `bob` with a definition.
    pub(crate) fn of_type(
        own: &AgentDefinition,
        definitions: Vec<AgentDefinition>,
        spawner: Arc<dyn Teammates>,
    ) -> Self {
        let agent_config = AgentConfig {
            agents: AgentCatalog::new(definitions),
            ..AgentConfig::default()
        };
        let setup = Setup::new(builtin());
        Self::build(setup, spawner, agent_config, Some(own), Arc::default())
    }

    pub(crate) fn configured(setup: Setup, agent_config: AgentConfig) -> Self {
        Self::with_teammates(setup, agent_config, Arc::new(NoTeammates))
    }

    pub(crate) fn with_teammates(
        setup: Setup,
        agent_config: AgentConfig,
        teammates: Arc<dyn Teammates>,
    ) -> Self {
        Self::build(setup, teammates, agent_config, None, Arc::default())
    }

    /// Opens the same agent in a new process, after this one has terminated.
    pub(crate) fn reborn(self, definitions: Vec<AgentDefinition>) -> Self {
        let agent_config = AgentConfig {
            agents: AgentCatalog::new(definitions),
            ..AgentConfig::default()
        };
        let spawner = Arc::new(NoTeammates);
        Self::build(self.setup, spawner, agent_config, None, self.cast)
    }

    fn build(
        setup: Setup,
        spawner: Arc<dyn Teammates>,
        agent_config: AgentConfig,
        own: Option<&AgentDefinition>,
        cast: Arc<Cast>,
    ) -> Self {
        let agents = SubAgents::new(SubAgentServices {
            commands: Arc::default(),
            agent_config: Arc::new(agent_config),
            model: "anthropic/parent-1".to_owned(),
            models: Arc::new(Models(cast.clone())),
            isolator: None,
            servers: None,
            clock: Arc::new(SystemClock),
            root: setup.scratch.path().to_owned(),
            host: swarm_agent::HostFacts::default(),
        });
        let transcript = setup.transcript();
        let mut parts = AgentParts {
            model: cast.clone(),
            limits: SessionLimits {
                max_turns: 50,
                ..setup.limits.clone()
            },
            ..setup.parts()
        };
        agents.attach(&mut parts, spawner, own, &transcript);
        let session = Session::open(transcript, parts).unwrap();
        Self {
            setup,
            cast,
            agents,
            session,
        }
    }

    /// Adds responses to the script of an agent: `bob`, `bob/finder`.
    pub(crate) fn plays(&self, agent: &str, lines: impl IntoIterator<Item = Line>) {
        self.cast.plays(agent, lines);
    }

    pub(crate) fn tool(&self, name: &str) -> Arc<dyn Tool> {
        let tools = &self.session.parts().tools;
        let found = tools.iter().find(|tool| tool.name() == name);
        Arc::clone(found.unwrap())
    }

    /// Runs a turn of bob for `prompt`.
    pub(crate) async fn turn(&mut self, prompt: &str) -> TurnOutcome {
        self.session
            .deliver(vec![Injected::prompt(prompt)])
            .unwrap();
        self.session.run_turn(CancellationToken::new()).await
    }

    /// Returns the results of bob's calls, oldest first: the text, and whether it is an error.
    pub(crate) fn results(&self) -> Vec<(String, bool)> {
        let requests = self.cast.asked_by("bob");
        let messages = requests.last().map(|last| last.messages.clone());
        let blocks = messages.into_iter().flatten().flat_map(|one| one.content);
        let results = blocks.filter_map(|block| match block {
            ContentBlock::ToolResult {
                content, is_error, ..
            } => Some((content, is_error)),
            _ => None,
        });
        results.collect()
    }

    /// Waits until a background sub-agent has ended, and delivers the notification unless it was
    /// delivered already.
    pub(crate) async fn hear(&mut self) {
        while !self.agents.deliver_to(&mut self.session).unwrap() && self.agents.is_busy() {
            self.agents.changed().await;
        }
    }

    pub(crate) async fn send(&self, to: &str, text: &str) -> Option<Result<String, String>> {
        BackgroundAgents::send(&*self.agents, to, text).await
    }

    /// Returns the highest number of concurrent sub-agents according to the events.
    pub(crate) fn most_at_once(&self) -> usize {
        let (mut now, mut most) = (0_usize, 0);
        for event in self.setup.watcher.events() {
            match event {
                AgentEvent::SubAgentStarted { .. } => {
                    now += 1;
                    most = most.max(now);
                }
                AgentEvent::SubAgentEnded { .. } => now -= 1,
                _ => {}
            }
        }
        most
    }

    /// Returns the content of the only sub-agent's file with this ending.
    pub(crate) fn file(&self, ending: &str) -> String {
        let directory = self.setup.path().with_extension("").join("subagents");
        let mut found = std::fs::read_dir(directory).unwrap().flatten();
        let file = found.find(|file| file.file_name().to_string_lossy().ends_with(ending));
        std::fs::read_to_string(file.unwrap().path()).unwrap()
    }

    /// Returns the ids in start order.
    pub(crate) fn ids(&self) -> Vec<String> {
        let events = self.setup.watcher.events();
        let ids = events.into_iter().filter_map(|event| match event {
            AgentEvent::SubAgentStarted { id, .. } => Some(id.to_string()),
            _ => None,
        });
        ids.collect()
    }
}
