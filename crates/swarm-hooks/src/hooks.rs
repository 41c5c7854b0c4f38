//! All hooks of a process.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use serde_json::{Map, Value};
use swarm_permissions::{HookAction, HookCommand, HookEvent, HookSettings};
use tokio_util::sync::CancellationToken;

use crate::answer::{Answer, answer};
use crate::command::{Place, run};
use crate::http::{Post, post};
use crate::prompt::{Question, ask};
use crate::{HookOutcome, HookReach, Subject};

/// Seconds that a hook may take where nothing says otherwise, as in Claude Code.
const LIMIT: u64 = 600;
/// Bytes of an output that are kept.
const OUTPUT: usize = 256 * 1024;

/// Takes the lines that a person is to see of hooks: what blocked, what failed, what they say.
pub type HookTrouble = dyn Fn(String) + Send + Sync;

/// What running hooks takes.
#[derive(Clone)]
pub struct HooksParts {
    /// What runs at which event.
    pub settings: HookSettings,
    /// The variables of hooks, without keys of providers. `CLAUDE_PROJECT_DIR` is added.
    pub env: BTreeMap<String, String>,
    /// Where they run: the project's directory. No agent may write there without being asked.
    pub project: PathBuf,
    /// Who is told what a person should see.
    pub notice: Arc<HookTrouble>,
    /// The clients of hooks that are no commands; those fail where there are none.
    pub reach: Option<Arc<dyn HookReach>>,
}

/// Runs the user's hooks. Without any it does nothing.
#[derive(Clone, Default)]
pub struct Hooks(Option<Arc<HooksParts>>);

impl fmt::Debug for Hooks {
    /// Without the variables, so that no log holds them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let settings = self.0.as_ref().map(|parts| &parts.settings);
        f.debug_tuple("Hooks").field(&settings).finish()
    }
}

impl fmt::Debug for HooksParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HooksParts")
            .field("settings", &self.settings)
            .field("project", &self.project)
            .finish_non_exhaustive()
    }
}

impl Hooks {
    /// Hooks that run with these parts.
    pub fn new(mut parts: HooksParts) -> Self {
        let project = parts.project.display().to_string();
        parts.env.insert("CLAUDE_PROJECT_DIR".to_owned(), project);
        Self(Some(Arc::new(parts)))
    }

    /// These hooks and further ones: those of a definition, while its agent runs.
    #[must_use]
    pub fn and(&self, further: HookSettings) -> Self {
        let Some(parts) = self.0.as_ref().filter(|_| !further.is_empty()) else {
            return self.clone();
        };
        let mut parts = HooksParts::clone(parts);
        parts.settings.extend(further);
        Self(Some(Arc::new(parts)))
    }

    /// These hooks with one more variable.
    #[must_use]
    pub fn with_variable(&self, name: &str, value: String) -> Self {
        let Some(parts) = &self.0 else {
            return self.clone();
        };
        let mut parts = HooksParts::clone(parts);
        parts.env.insert(name.to_owned(), value);
        Self(Some(Arc::new(parts)))
    }

    /// Whether anything runs at an event. `subject` is what matchers are held against.
    pub fn any(&self, event: HookEvent, subject: Option<&str>) -> bool {
        let commands =
            |parts: &Arc<HooksParts>| !parts.settings.commands(event, subject).is_empty();
        self.0.as_ref().is_some_and(commands)
    }

    /// The matchers of an event's groups, where they have any.
    pub fn matchers(&self, event: HookEvent) -> Vec<String> {
        let groups = self
            .0
            .iter()
            .filter_map(|parts| parts.settings.events.get(&event));
        let matchers = groups.flatten().filter_map(|group| group.matcher.clone());
        matchers.collect()
    }

    /// Runs the hooks of an event side by side and merges what they answer in the order of the settings. `matched` is
    /// what matchers are held against, `fields` what the event has beside what every hook is told.
    pub async fn run(
        &self,
        event: HookEvent,
        matched: Option<&str>,
        subject: &Subject,
        fields: &Map<String, Value>,
        cancel: &CancellationToken,
    ) -> HookOutcome {
        let mut outcome = HookOutcome::default();
        let Some(parts) = &self.0 else { return outcome };
        let commands = parts.settings.commands(event, matched);
        if commands.is_empty() {
            return outcome;
        }
        let input = Value::Object(subject.input(event, fields)).to_string();
        let input = format!("{input}\n");
        let answers = commands
            .iter()
            .map(|hook| parts.one(event, hook, &input, cancel));
        for (hook, answer) in commands.iter().zip(join_all(answers).await) {
            outcome.take(hook, answer);
        }
        parts.tell(event, &outcome);
        outcome
    }
}

impl HooksParts {
    async fn one(
        &self,
        event: HookEvent,
        hook: &HookCommand,
        input: &str,
        cancel: &CancellationToken,
    ) -> Answer {
        let seconds = hook.timeout.unwrap_or(LIMIT);
        let limit = Duration::from_secs(seconds);
        let nobody = || Answer::Failed("cannot run in this command".to_owned());
        match &hook.action {
            HookAction::Command { command } => {
                let place = Place {
                    env: &self.env,
                    cwd: &self.project,
                    output_limit: OUTPUT,
                };
                let ran = run(command, input.as_bytes(), limit, place, cancel).await;
                answer(&ran, seconds)
            }
            HookAction::Http {
                url,
                headers,
                allowed_env_vars,
            } => {
                let request = Post {
                    url,
                    headers,
                    allowed: allowed_env_vars,
                    env: &self.env,
                    input,
                    output_limit: OUTPUT,
                    limit,
                };
                match &self.reach {
                    Some(reach) => post(&**reach, request, cancel).await,
                    None => nobody(),
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
                match &self.reach {
                    Some(reach) => ask(&**reach, question, cancel).await,
                    None => nobody(),
                }
            }
        }
    }

    fn tell(&self, event: HookEvent, outcome: &HookOutcome) {
        let name = event.name();
        for failure in &outcome.failures {
            tracing::warn!(event = name, "a hook failed");
            let effect = if outcome.block.is_some() {
                ""
            } else {
                "; nothing was held up by it"
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
