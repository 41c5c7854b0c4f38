//! From the name of a model to its client.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use swarm_model::{MessagesApiConfig, Model, ModelName, ModelSettings, Pace, Secret, connect};
use swarm_protocol::ErrorKind;

use crate::failure::Failure;

/// Reads a model's name; a scenario's relative path is taken from `cwd`.
pub(crate) fn resolve(
    name: &str,
    aliases: &BTreeMap<String, String>,
    cwd: &Path,
) -> Result<ModelName, String> {
    ModelName::resolve(name, aliases)
        .map(|resolved| resolved.anchored(cwd))
        .map_err(|error| error.to_string())
}

/// The client for a model, made from the provider's variables.
pub(crate) fn client(
    name: &str,
    provider: &BTreeMap<String, String>,
    pace: f64,
) -> Result<Arc<dyn Model>, Failure> {
    let name = ModelName::parse(name).map_err(|error| Failure::usage(error.to_string()))?;
    let first = |names: &[&str]| {
        names
            .iter()
            .find_map(|name| provider.get(*name))
            .filter(|value| !value.is_empty())
            .cloned()
    };
    let mut messages_api = MessagesApiConfig {
        api_key: first(&["ANTHROPIC_API_KEY"]).map(Secret::new),
        auth_token: first(&["ANTHROPIC_AUTH_TOKEN"]).map(Secret::new),
        proxy: first(&["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"]).map(Secret::new),
        no_proxy: first(&["NO_PROXY", "no_proxy"]),
        ..MessagesApiConfig::default()
    };
    if let Some(base_url) = first(&["ANTHROPIC_BASE_URL"]) {
        messages_api.base_url = base_url;
    }
    connect(
        &name,
        &ModelSettings {
            messages_api,
            pace: Pace::times(pace),
        },
    )
    .map_err(|error| Failure::new(ErrorKind::Environment, error.to_string()))
}
