//! From the name of a model to its client.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use swarm_config::resolve_model;
use swarm_engine::{ModelFactory, ReadyModel};
use swarm_model::{
    ChatCompletionsConfig, Connection, MessagesApiConfig, Model, ModelName, ModelSettings, Pace,
    Secret, connect,
};
use swarm_policy::ModelNames;
use swarm_protocol::ErrorKind;

use crate::failure::Failure;

/// Makes the models of sub-agents, each once for a process.
#[derive(Debug)]
pub(crate) struct Factory {
    names: ModelNames,
    provider: BTreeMap<String, String>,
    pace: f64,
    cwd: PathBuf,
    made: Mutex<BTreeMap<String, Arc<dyn Model>>>,
}

impl Factory {
    pub(crate) fn new(
        names: &ModelNames,
        provider: &BTreeMap<String, String>,
        pace: f64,
        cwd: &Path,
    ) -> Self {
        Self {
            names: names.clone(),
            provider: provider.clone(),
            pace,
            cwd: cwd.to_owned(),
            made: Mutex::default(),
        }
    }
}

impl ModelFactory for Factory {
    fn model(&self, name: &str) -> Result<ReadyModel, String> {
        let full = resolve_model(name, &self.names.aliases, &self.cwd)?;
        let text = full.to_string();
        if let Some(only) = self.names.only.as_ref().filter(|only| **only != text) {
            return Err(format!(
                "model {text} is not allowed: the machine's policy allows {only} alone"
            ));
        }
        let mut made = self.made.lock();
        let known = made.get(&text).map(Arc::clone);
        let client = known.map_or_else(
            || client(&text, &self.provider, self.pace).map_err(|failure| failure.message),
            Ok,
        )?;
        made.insert(text, Arc::clone(&client));
        Ok(ReadyModel {
            client,
            window: self.names.window(&full.to_string()),
            max_output: self.names.max_output(&full.to_string()),
            name: full.model,
        })
    }
}

/// The client for a model, made from the provider's variables.
pub(crate) fn client(
    name: &str,
    provider: &BTreeMap<String, String>,
    pace: f64,
) -> Result<Arc<dyn Model>, Failure> {
    let name = ModelName::parse(name).map_err(|error| Failure::usage(error.to_string()))?;
    connect(&name, &settings(provider, pace))
        .map_err(|error| Failure::new(ErrorKind::Environment, error.to_string()))
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
        betas: anthropic.betas,
    };
    let base_url = set("OPENAI_BASE_URL");
    let chat_completions = ChatCompletionsConfig {
        api_key: secret("OPENAI_API_KEY"),
        connection: reached(
            base_url.as_deref().unwrap_or_default(),
            ChatCompletionsConfig::default().connection,
        ),
        base_url,
    };
    ModelSettings {
        messages_api,
        chat_completions,
        pace: Pace::times(pace),
    }
}

/// The variables that may hold the proxy for an address, the first one that is set counts. A server of the user's own is
/// often reached by plain HTTP, for which the proxy for HTTPS is not meant.
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
