//! The hooks of a process, and the input fields common to all.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use serde::Serialize;
use serde_json::{Value, json};
use swarm_permissions::{HookAction, HookCommand, HookEvent, HookSettings};
use swarm_protocol::{MemberName, PermissionMode, TaskId, TeamName, partial_debug};
use swarm_tools::sandbox::{UserCommand, UserProgram};
use swarm_tools::{ProgramLaunch, ToolContext};
use tokio_util::sync::CancellationToken;

use crate::answer::{Answer, answer};
use crate::command::{CommandContext, run};
use crate::reach::{Question, ask, expand, post};
use crate::{HookOutcome, HookRequest, HookServices};

/// Default timeout of a hook in seconds, as in Claude Code.
const DEFAULT_TIMEOUT_SECS: u64 = 600;
/// Maximum bytes retained of each output stream.
const MAX_OUTPUT_BYTES: usize = 256 * 1024;

/// Receives the lines about hooks that a person should see: blocks, failures and hook messages.
pub type HookNotice = dyn Fn(String) + Send + Sync;

/// The configuration of [`Hooks`].
#[derive(Clone)]
pub struct HooksParts {
    /// The hooks of each event.
    pub settings: HookSettings,
    /// Environment variables of hooks, without provider keys. `CLAUDE_PROJECT_DIR` is added.
    pub env: BTreeMap<String, String>,
    /// The working directory: the project directory, where agents cannot write without approval.
    pub project: PathBuf,
    /// Receives messages for the person.
    pub notice: Arc<HookNotice>,
    /// The clients of `http` and `prompt` hooks; without them, those hooks fail.
    pub services: Option<Arc<dyn HookServices>>,
    /// The agent whose sandbox confines the commands of repositories, and those of the user that run
    /// what agents can write; `None` runs all without one.
    pub sandbox: Option<ToolContext>,
}

/// Runs the user's hooks.
#[derive(Debug, Clone, Default)]
pub struct Hooks(Option<Arc<HooksParts>>);

// Omits the environment variables, which may hold secrets.
partial_debug!(HooksParts: settings, project);

impl Hooks {
    /// Creates the hooks of a process.
    pub fn new(mut parts: HooksParts) -> Self {
        let project = parts.project.display().to_string();
        parts.env.insert("CLAUDE_PROJECT_DIR".to_owned(), project);
        Self(Some(Arc::new(parts)))
    }

    /// Returns these hooks extended with `further`, the hooks of a running agent's definition.
    #[must_use]
    pub fn and(&self, further: HookSettings) -> Self {
        if further.is_empty() {
            return self.clone();
        }
        self.changed(|parts| parts.settings.extend(further))
    }

    /// Returns these hooks with an additional environment variable.
    #[must_use]
    pub fn with_variable(&self, name: &str, value: String) -> Self {
        self.changed(|parts| drop(parts.env.insert(name.to_owned(), value)))
    }

    /// Returns these hooks with an agent whose sandbox confines them as [`HooksParts::sandbox`] says.
    #[must_use]
    pub fn in_sandbox_of(&self, agent: ToolContext) -> Self {
        self.changed(|parts| parts.sandbox = Some(agent))
    }

    fn changed(&self, change: impl FnOnce(&mut HooksParts)) -> Self {
        let mut hooks = self.clone();
        if let Some(parts) = &mut hooks.0 {
            change(Arc::make_mut(parts));
        }
        hooks
    }

    /// Returns whether any hook runs for an event. `subject` is the text that matchers are compared
    /// with.
    pub fn any(&self, event: HookEvent, subject: Option<&str>) -> bool {
        let commands =
            |parts: &Arc<HooksParts>| !parts.settings.commands(event, subject).is_empty();
        self.0.as_ref().is_some_and(commands)
    }

    /// Returns the matchers of an event's groups.
    pub fn matchers(&self, event: HookEvent) -> Vec<String> {
        let groups = self
            .0
            .iter()
            .filter_map(|parts| parts.settings.events.get(&event));
        let matchers = groups.flatten().filter_map(|group| group.matcher.clone());
        matchers.collect()
    }

    /// Runs the hooks of an event concurrently and merges their results in the order of the
    /// settings. `matched` is the text that matchers are compared with; `fields` are the event's
    /// fields in addition to the common ones.
    pub async fn run(
        &self,
        event: HookEvent,
        matched: Option<&str>,
        subject: &HookInput,
        fields: &Value,
        cancel: &CancellationToken,
    ) -> HookOutcome {
        let mut outcome = HookOutcome::default();
        let Some(parts) = &self.0 else { return outcome };
        let commands = parts.settings.commands(event, matched);
        if commands.is_empty() {
            return outcome;
        }
        let input = format!("{}\n", subject.input(event, fields));
        let answers = commands
            .iter()
            .map(|hook| parts.run_hook(event, hook, &input, cancel));
        for (hook, answer) in commands.iter().zip(join_all(answers).await) {
            outcome.take(hook, answer);
        }
        parts.report(event, &outcome);
        outcome
    }
}

impl HooksParts {
    async fn run_hook(
        &self,
        event: HookEvent,
        hook: &HookCommand,
        input: &str,
        cancel: &CancellationToken,
    ) -> Answer {
        let seconds = hook.timeout.unwrap_or(DEFAULT_TIMEOUT_SECS);
        let limit = Duration::from_secs(seconds);
        let unavailable = || Answer::Failed("cannot run in this command".to_owned());
        match &hook.action {
            HookAction::Command { command } => {
                let env = self.environment(hook);
                let launch = match self.launch(hook, command, &env).await {
                    Ok(launch) => launch,
                    Err(why) => return Answer::Failed(why),
                };
                let context = CommandContext {
                    launch: launch.as_ref(),
                    env: &env,
                    cwd: &self.project,
                    output_limit: MAX_OUTPUT_BYTES,
                };
                let ran = run(command, input.as_bytes(), limit, context, cancel).await;
                answer(&ran, seconds)
            }
            HookAction::Http {
                url,
                headers,
                allowed_env_vars,
            } => {
                let headers = headers.iter().map(|(name, value)| {
                    (name.clone(), expand(value, allowed_env_vars, &self.env))
                });
                let request = HookRequest {
                    url: url.clone(),
                    headers: headers.collect(),
                    body: input.to_owned(),
                    max_bytes: MAX_OUTPUT_BYTES,
                    timeout: limit,
                };
                match &self.services {
                    Some(services) => post(&**services, request, cancel).await,
                    None => unavailable(),
                }
            }
            HookAction::Prompt {
                prompt,
                model,
                continue_on_block,
            } => {
                let question = Question {
                    event,
                    prompt,
                    model: model.as_deref(),
                    continue_on_block: *continue_on_block,
                    input,
                    limit: seconds,
                };
                match &self.services {
                    Some(services) => ask(&**services, question, cancel).await,
                    None => unavailable(),
                }
            }
        }
    }

    /// Plans the start of a command; `None` starts it without an agent.
    async fn launch(
        &self,
        hook: &HookCommand,
        line: &str,
        env: &BTreeMap<String, String>,
    ) -> Result<Option<ProgramLaunch>, String> {
        let Some(agent) = &self.sandbox else {
            return Ok(None);
        };
        if hook.sandboxed {
            return ProgramLaunch::prepare(agent).await.map(Some);
        }
        let program = UserProgram {
            command: UserCommand::Line(line.to_owned()),
            cwd: self.project.clone(),
            env: env.clone(),
            configured_values: Vec::new(),
        };
        let prepared = ProgramLaunch::prepare_user_program(agent, program).await;
        prepared.map(Some)
    }

    fn environment(&self, hook: &HookCommand) -> Cow<'_, BTreeMap<String, String>> {
        let Some(plugin) = &hook.plugin else {
            return Cow::Borrowed(&self.env);
        };
        let mut env = self.env.clone();
        let plugin = plugin.display().to_string();
        env.insert("CLAUDE_PLUGIN_ROOT".to_owned(), plugin);
        Cow::Owned(env)
    }

    fn report(&self, event: HookEvent, outcome: &HookOutcome) {
        let name = event.name();
        for failure in &outcome.failures {
            tracing::warn!(event = name, "a hook failed");
            let effect = if outcome.block.is_some() {
                ""
            } else {
                "; execution continues"
            };
            (self.notice)(format!("hook {name}: {failure}{effect}"));
        }
        let first_line = |text: &str| text.lines().next().unwrap_or_default().to_owned();
        if let Some(why) = outcome.refusal() {
            (self.notice)(format!("hook {name} blocks: {}", first_line(&why)));
        }
        if let Some(why) = &outcome.stop {
            (self.notice)(format!("hook {name} stops the agent: {}", first_line(why)));
        }
        for message in &outcome.messages {
            (self.notice)(format!("hook {name}: {message}"));
        }
    }
}

/// The fields of every hook's input, independent of event and agent; null if not applicable.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct HookInput {
    /// The id of the agent's session.
    pub session_id: Option<String>,
    /// The path of the session's transcript.
    pub transcript_path: Option<PathBuf>,
    /// The agent's working directory.
    pub cwd: PathBuf,
    /// The agent's permission mode.
    pub permission_mode: Option<PermissionMode>,
    /// The agent's team.
    pub team: Option<TeamName>,
    /// The member that the agent is or works for.
    pub member: Option<MemberName>,
    /// `name@team` for a member, or the id of a sub-agent.
    pub agent_id: Option<String>,
    /// The type named in the agent's definition.
    pub agent_type: Option<String>,
    /// The task that the agent works on.
    pub task: Option<TaskId>,
    /// The agent id of the parent.
    pub parent: Option<String>,
}

impl HookInput {
    /// Returns the standard input of a hook: these fields, the event's name and the event's fields.
    pub(crate) fn input(&self, event: HookEvent, fields: &Value) -> Value {
        // Serialization fails only for a path that is not valid UTF-8.
        let mut input = serde_json::to_value(self).unwrap_or_else(|_| json!({}));
        input["hook_event_name"] = event.name().into();
        if let (Some(input), Some(fields)) = (input.as_object_mut(), fields.as_object()) {
            input.extend(fields.clone());
        }
        input
    }
}
