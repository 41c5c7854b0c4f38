//! Creates model clients from model names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use swarm_agent::{ModelFactory, ReadyModel};
use swarm_config::resolve_model;
use swarm_member::SpendingMeter;
use swarm_model::{
    ChatCompletionsConfig, Connection, MessagesApiConfig, MeteredModel, Model, ModelName,
    ModelSettings, Pace, Provider, RequestMeter, Secret, Throttle, connect,
};
use swarm_permissions::{AgentConfig, ModelNames, RequestSettings};
use swarm_protocol::Budget;
use swarm_team::MemberRuntime;

use crate::api_key_helper::{HelperModel, KeyHelper};
use crate::backoff::FileThrottle;
use crate::failure::{Failure, Result};
use crate::fallback::{Choice, FallbackModel};

/// Configuration of model clients.
#[derive(Debug, Clone)]
pub(crate) struct ClientSource {
    names: ModelNames,
    requests: RequestSettings,
    provider: BTreeMap<String, String>,
    pace: f64,
    root: PathBuf,
    meter: Arc<SpendingMeter>,
    helper: Option<Arc<KeyHelper>>,
}

impl ClientSource {
    /// Creates the configuration of a lead or a member.
    pub(crate) fn new(
        agent_config: &AgentConfig,
        runtime: &MemberRuntime,
        root: &Path,
        meter: &Arc<SpendingMeter>,
    ) -> Self {
        Self {
            names: agent_config.models.clone(),
            requests: agent_config.requests.clone(),
            provider: runtime.provider.clone(),
            pace: runtime.pace,
            root: root.to_owned(),
            meter: Arc::clone(meter),
            helper: KeyHelper::of(&runtime.provider),
        }
    }

    /// Creates the client for a model by its full name, from the provider's variables and with the
    /// fallback model if one is set.
    pub(crate) fn client(&self, name: &str) -> Result<Arc<dyn Model>> {
        let first = self.choice(name)?;
        let fallback = self.requests.fallback.as_deref();
        match fallback.filter(|fallback| *fallback != name) {
            Some(fallback) => {
                let second = self.choice(fallback)?;
                Ok(Arc::new(FallbackModel::new(first, second)))
            }
            None => Ok(first.client),
        }
    }

    fn choice(&self, full: &str) -> Result<Choice> {
        let name = ModelName::parse(full).map_err(|error| Failure::usage(error.to_string()))?;
        let settings = self.settings(full);
        let client: Arc<dyn Model> = match &self.helper {
            Some(helper) if name.provider == Provider::Anthropic => {
                Arc::new(HelperModel::new(Arc::clone(helper), name.clone(), settings))
            }
            _ => connect(&name, &settings)
                .map_err(|error| Failure::environment(error.to_string()))?,
        };
        let meter = Arc::clone(&self.meter) as Arc<dyn RequestMeter>;
        Ok(Choice {
            client: Arc::new(MeteredModel::new(client, full, meter)),
            full: full.to_owned(),
            id: name.model,
            window: self.names.window(full),
            max_output: self.names.max_output(full),
        })
    }

    fn settings(&self, full: &str) -> ModelSettings {
        let mut settings = settings(&self.provider, self.pace);
        let throttle = |provider: Provider, address: &str| -> Option<Arc<dyn Throttle>> {
            let provider = provider.name();
            let rate = self.names.requests_per_minute(provider);
            let throttle = FileThrottle::new(&self.root, provider, address);
            Some(Arc::new(throttle.limited_to(rate)))
        };
        let messages_api = &mut settings.messages_api;
        messages_api.cache = self.requests.cache;
        messages_api.connection.throttle = throttle(Provider::Anthropic, &messages_api.base_url);
        let chat = &mut settings.chat_completions;
        chat.vision = self.names.has_vision(full);
        let address = chat.base_url.as_deref().unwrap_or("https://api.openai.com");
        chat.connection.throttle = throttle(Provider::OpenAi, address);
        settings
    }
}

/// Refuses a budget in money for a model without a price: nothing would be counted.
pub(crate) fn require_price(names: &ModelNames, model: &str, budget: Budget) -> Result<()> {
    match budget {
        Budget::Money(_) if names.price(model).is_none() => {
            let message =
                format!("model {model} has no price, so a budget of {budget} cannot be applied");
            Err(Failure::usage(message).with_hint(
                "add its price under [model.prices] in swarm.toml, or set a budget in tokens such as 500k-tokens",
            ))
        }
        _ => Ok(()),
    }
}

/// Creates the models of sub-agents, once per process.
#[derive(Debug)]
pub(crate) struct Factory {
    source: ClientSource,
    cwd: PathBuf,
    made: Mutex<BTreeMap<String, Arc<dyn Model>>>,
}

impl Factory {
    pub(crate) fn new(source: ClientSource, cwd: &Path) -> Self {
        Self {
            source,
            cwd: cwd.to_owned(),
            made: Mutex::default(),
        }
    }
}

impl ModelFactory for Factory {
    fn model(&self, name: &str) -> Result<ReadyModel, String> {
        let names = &self.source.names;
        let full = resolve_model(name, &names.aliases, &self.cwd)?;
        let text = full.to_string();
        if let Some(only) = names.only.as_ref().filter(|only| **only != text) {
            return Err(format!(
                "model {text} is not allowed: the machine's policy only allows {only}"
            ));
        }
        let mut made = self.made.lock();
        let known = made.get(&text).map(Arc::clone);
        let client = known.map_or_else(
            || self.source.client(&text).map_err(|failure| failure.message),
            Ok,
        )?;
        let ready = ReadyModel {
            client: Arc::clone(&client),
            window: names.window(&text),
            max_output: names.max_output(&text),
            name: full.model,
        };
        made.insert(text, client);
        Ok(ready)
    }
}

fn settings(provider: &BTreeMap<String, String>, pace: f64) -> ModelSettings {
    let set = |name: &str| {
        let value = provider.get(name).filter(|value| !value.trim().is_empty());
        value.cloned()
    };
    let secret = |name: &str| set(name).map(Secret::new);
    let reached = |base_url: &str, connection: Connection| Connection {
        proxy: proxy_names(base_url).iter().find_map(|name| secret(name)),
        no_proxy: set("NO_PROXY").or(set("no_proxy")),
        ..connection
    };
    let anthropic = MessagesApiConfig::default();
    let base_url = set("ANTHROPIC_BASE_URL").unwrap_or(anthropic.base_url);
    let messages_api = MessagesApiConfig {
        api_key: secret("ANTHROPIC_API_KEY"),
        auth_token: secret("ANTHROPIC_AUTH_TOKEN"),
        connection: reached(&base_url, anthropic.connection),
        base_url,
        ..anthropic
    };
    let base_url = set("OPENAI_BASE_URL");
    let chat_completions = ChatCompletionsConfig {
        api_key: secret("OPENAI_API_KEY"),
        connection: reached(
            base_url.as_deref().unwrap_or_default(),
            ChatCompletionsConfig::default().connection,
        ),
        base_url,
        ..ChatCompletionsConfig::default()
    };
    ModelSettings {
        messages_api,
        chat_completions,
        pace: Pace::times(pace),
    }
}

/// Returns the proxy variables for an address by precedence. Local servers often use plain HTTP,
/// which the HTTPS proxy does not apply to.
fn proxy_names(base_url: &str) -> &'static [&'static str] {
    if base_url.trim_start().starts_with("http:") {
        &["HTTP_PROXY", "http_proxy"]
    } else {
        &["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings_of(pairs: &[(&str, &str)]) -> ModelSettings {
        let pairs = pairs.iter();
        let provider = pairs.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        settings(&provider.collect(), 1.0)
    }

    #[test]
    fn each_provider_gets_its_own_variables() {
        let set = settings_of(&[
            ("ANTHROPIC_API_KEY", "a"),
            ("OPENAI_API_KEY", " o\n"),
            ("OPENAI_BASE_URL", "http://127.0.0.1:8000"),
            ("ANTHROPIC_AUTH_TOKEN", ""),
        ]);
        assert_eq!(set.messages_api.api_key, Some(Secret::new("a")));
        assert_eq!(set.messages_api.auth_token, None);
        assert_eq!(set.chat_completions.api_key, Some(Secret::new("o")));
        let base_url = set.chat_completions.base_url.as_deref();
        assert_eq!(base_url, Some("http://127.0.0.1:8000"));
    }

    #[test]
    fn a_proxy_for_https_is_not_used_for_a_plain_address() {
        let set = settings_of(&[
            ("HTTPS_PROXY", "http://proxy:1"),
            ("no_proxy", "here"),
            ("OPENAI_BASE_URL", "http://gpu.local:8000"),
        ]);
        assert_eq!(set.chat_completions.connection.proxy, None);
        let proxied = &set.messages_api.connection;
        assert_eq!(proxied.proxy, Some(Secret::new("http://proxy:1")));
        assert_eq!(proxied.no_proxy.as_deref(), Some("here"));
    }
}
