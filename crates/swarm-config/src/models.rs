//! Names of models, as people write them and as the machine's policy allows them.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use swarm_model::ModelName;
use swarm_policy::ModelNames;

use crate::error::ConfigError;
use crate::settings::Settings;

/// Reads a model's name; a scenario's relative path is taken from `cwd`.
pub fn resolve_model(
    name: &str,
    aliases: &BTreeMap<String, String>,
    cwd: &Path,
) -> Result<ModelName, String> {
    ModelName::resolve(name, aliases)
        .map(|resolved| resolved.anchored(cwd))
        .map_err(|error| error.to_string())
}

/// The full name of a model that somebody names for an agent.
///
/// # Errors
/// [`ConfigError::Model`] where it is no name of a model, [`ConfigError::Policy`] where the machine's policy says another one.
/// Names are compared in full, so that no alias leads around the policy.
pub fn permitted_model(name: &str, settings: &Settings, cwd: &Path) -> Result<String, ConfigError> {
    let full =
        |name: &str| resolve_model(name, &settings.aliases, cwd).map(|full| full.to_string());
    let resolved = full(name).map_err(ConfigError::Model)?;
    settings.permit_as("model.default", resolved.as_str(), |policy| {
        let written = policy.as_str().unwrap_or_default();
        full(written).map_or_else(|_| policy.clone(), Value::from)
    })?;
    Ok(resolved)
}

/// What agents have to know of names of models to choose those of their sub-agents by the same rules.
pub fn model_names(settings: &Settings, cwd: &Path, environment: Option<&str>) -> ModelNames {
    let policy = settings.policy_of("model.default");
    let written = policy.as_ref().and_then(Value::as_str);
    ModelNames {
        environment: environment.map(str::to_owned),
        aliases: settings.aliases.clone(),
        windows: settings.windows.clone(),
        outputs: settings.outputs.clone(),
        only: written.map(|written| {
            resolve_model(written, &settings.aliases, cwd)
                .map_or_else(|_| written.to_owned(), |full| full.to_string())
        }),
    }
}
