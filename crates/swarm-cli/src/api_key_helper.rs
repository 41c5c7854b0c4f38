//! Keys from `apiKeyHelper`, a command of Claude Code's settings that prints one.

use std::collections::{BTreeMap, VecDeque};
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::{StreamExt as _, stream};
use swarm_model::{
    Model, ModelError, ModelEvent, ModelEvents, ModelName, ModelRequest, ModelSettings, Secret,
    connect,
};
use tokio::process::Command;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::limited_command::output_within;

/// Name of the command among the variables of model clients.
const HELPER: &str = "SWARM_API_KEY_HELPER";

/// Claude Code's variable for the lifetime of a key in milliseconds.
const LIFETIME_VARIABLE: &str = "CLAUDE_CODE_API_KEY_HELPER_TTL_MS";

/// Lifetime of a key, as in Claude Code.
const LIFETIME: Duration = Duration::from_mins(5);

/// Timeout of the command.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Adds the command and the lifetime of its keys to the variables of model clients.
pub(crate) fn add_helper(
    provider: &mut BTreeMap<String, String>,
    command: Option<&str>,
    lifetime: Option<&str>,
) {
    for (name, value) in [(HELPER, command), (LIFETIME_VARIABLE, lifetime)] {
        provider.extend(value.map(|value| (name.to_owned(), value.to_owned())));
    }
}

/// The command and its current key, shared by the models of a process.
#[derive(Debug)]
pub(crate) struct KeyHelper {
    command: String,
    lifetime: Duration,
    current: Mutex<Option<(Secret, Instant)>>,
}

impl KeyHelper {
    /// Returns the helper in the variables of model clients. A key or token in a variable takes
    /// precedence, as in Claude Code.
    pub(crate) fn of(provider: &BTreeMap<String, String>) -> Option<Arc<Self>> {
        let set = |name: &str| provider.get(name).filter(|value| !value.trim().is_empty());
        if set("ANTHROPIC_API_KEY")
            .or(set("ANTHROPIC_AUTH_TOKEN"))
            .is_some()
        {
            return None;
        }
        let lifetime = set(LIFETIME_VARIABLE).and_then(|text| text.trim().parse().ok());
        Some(Arc::new(Self {
            command: set(HELPER)?.clone(),
            lifetime: lifetime.map_or(LIFETIME, Duration::from_millis),
            current: Mutex::default(),
        }))
    }

    /// Returns the key, from the command if it has expired or the server refused it.
    async fn key(&self, refused: Option<&Secret>) -> Result<Secret, ModelError> {
        let mut current = self.current.lock().await;
        if let Some((key, since)) = &*current
            && since.elapsed() < self.lifetime
            && Some(key) != refused
        {
            return Ok(key.clone());
        }
        let key = self
            .run()
            .await
            .map_err(|why| ModelError::Setup(format!("`apiKeyHelper` ({}) {why}", self.command)))?;
        *current = Some((key.clone(), Instant::now()));
        Ok(key)
    }

    async fn run(&self) -> Result<Secret, String> {
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", &self.command])
            .process_group(0)
            .stderr(Stdio::piped());
        let output = output_within(command, b"", TIMEOUT).await;
        let output = output
            .map_err(|error| format!("could not be run: {error}"))?
            .ok_or_else(|| format!("did not exit within {} s", TIMEOUT.as_secs()))?;
        read(&output)
    }
}

fn read(output: &Output) -> Result<Secret, String> {
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        let last = errors.trim().lines().last().unwrap_or_default();
        return Err(format!("failed ({}): {last}", output.status));
    }
    let key = String::from_utf8_lossy(&output.stdout);
    match key.trim() {
        "" => Err("printed no key".to_owned()),
        key => Ok(Secret::new(key)),
    }
}

/// A model of the Messages API with keys from the helper.
#[derive(Debug, Clone)]
pub(crate) struct HelperModel(Arc<Keyed>);

#[derive(Debug)]
struct Keyed {
    helper: Arc<KeyHelper>,
    name: ModelName,
    settings: ModelSettings,
    /// The client of the current key.
    client: Mutex<Option<(Secret, Arc<dyn Model>)>>,
}

impl HelperModel {
    pub(crate) fn new(helper: Arc<KeyHelper>, name: ModelName, settings: ModelSettings) -> Self {
        Self(Arc::new(Keyed {
            helper,
            name,
            settings,
            client: Mutex::default(),
        }))
    }
}

impl Keyed {
    async fn client(
        &self,
        refused: Option<&Secret>,
    ) -> Result<(Secret, Arc<dyn Model>), ModelError> {
        let key = self.helper.key(refused).await?;
        let mut known = self.client.lock().await;
        if let Some((of, client)) = &*known
            && *of == key
        {
            return Ok((key, Arc::clone(client)));
        }
        let mut settings = self.settings.clone();
        settings.messages_api.api_key = Some(key.clone());
        settings.messages_api.sends_key_as_token = true;
        let client = connect(&self.name, &settings)?;
        *known = Some((key.clone(), Arc::clone(&client)));
        Ok((key, client))
    }
}

impl Model for HelperModel {
    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> ModelEvents {
        let asking = Asking {
            model: Arc::clone(&self.0),
            request,
            cancel,
            key: None,
            events: None,
            is_retry: false,
            before: VecDeque::new(),
            is_over: false,
        };
        stream::unfold(asking, Asking::next).fuse().boxed()
    }

    // As the client of the Messages API.
    fn defers_tools(&self) -> bool {
        true
    }

    fn takes_documents(&self) -> bool {
        true
    }
}

/// A request in progress.
struct Asking {
    model: Arc<Keyed>,
    request: ModelRequest,
    cancel: CancellationToken,
    key: Option<Secret>,
    events: Option<ModelEvents>,
    /// The server has refused the first key.
    is_retry: bool,
    /// Events that are not emitted yet.
    before: VecDeque<Item>,
    is_over: bool,
}

type Item = Result<ModelEvent, ModelError>;

impl Asking {
    async fn next(mut self) -> Option<(Item, Self)> {
        loop {
            if let Some(item) = self.before.pop_front() {
                self.is_over = matches!(item, Err(_) | Ok(ModelEvent::Completed(_)));
                return Some((item, self));
            }
            if self.is_over {
                return None;
            }
            let Some(events) = &mut self.events else {
                self.begin().await;
                continue;
            };
            let item = events.next().await?;
            match item {
                // The error that follows decides.
                Ok(ModelEvent::Unanswered { .. }) => {
                    let error = events.next().await;
                    if !self.is_refused(error.as_ref()) {
                        self.before.push_back(item);
                        self.before.extend(error);
                    }
                }
                item => {
                    if !self.is_refused(Some(&item)) {
                        self.before.push_back(item);
                    }
                }
            }
        }
    }

    /// Sends the request with the current key.
    async fn begin(&mut self) {
        let refused = self.key.take();
        let client = tokio::select! {
            client = self.model.client(refused.as_ref()) => client,
            () = self.cancel.cancelled() => Err(ModelError::Cancelled),
        };
        match client {
            Ok((key, client)) => {
                self.key = Some(key);
                self.events = Some(client.stream(self.request.clone(), self.cancel.clone()));
            }
            Err(error) => self.before.push_back(Err(error)),
        }
    }

    /// Returns whether the request is repeated, once, because the server refused the key.
    fn is_refused(&mut self, item: Option<&Item>) -> bool {
        let is_refused = matches!(item, Some(Err(ModelError::Auth { .. })));
        let again = is_refused && !self.is_retry;
        if again {
            self.is_retry = true;
            self.events = None;
        }
        again
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn helper(command: &str, more: &[(&str, &str)]) -> Option<Arc<KeyHelper>> {
        let mut provider: BTreeMap<String, String> = more
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        add_helper(&mut provider, Some(command), None);
        KeyHelper::of(&provider)
    }

    #[tokio::test]
    async fn a_key_is_kept_for_its_lifetime_and_renewed_when_it_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let count = directory.path().join("count");
        let command = format!("echo x >> {0}; wc -l < {0}", count.display());
        let kept = helper(&command, &[]).unwrap();
        let first = kept.key(None).await.unwrap();
        assert_eq!(first, Secret::new("1"));
        assert_eq!(kept.key(None).await.unwrap(), first);
        assert_eq!(kept.key(Some(&first)).await.unwrap(), Secret::new("2"));
        assert_eq!(kept.key(Some(&first)).await.unwrap(), Secret::new("2"));
        let short = helper(&command, &[(LIFETIME_VARIABLE, "0")]).unwrap();
        assert_eq!(short.key(None).await.unwrap(), Secret::new("3"));
        assert_eq!(short.key(None).await.unwrap(), Secret::new("4"));
    }

    #[tokio::test]
    async fn a_failing_command_is_named_with_its_reason() {
        for (command, why) in [
            ("echo no vault >&2; exit 3", "exit status: 3): no vault"),
            ("true", "printed no key"),
        ] {
            let error = helper(command, &[]).unwrap().key(None).await.unwrap_err();
            let error = error.to_string();
            assert!(error.contains(command) && error.contains(why), "{error}");
        }
    }

    #[test]
    fn a_key_in_a_variable_takes_precedence() {
        for name in ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"] {
            assert!(helper("echo k", &[(name, "k")]).is_none(), "{name}");
        }
        assert!(KeyHelper::of(&BTreeMap::new()).is_none());
    }
}
