//! Names of models, as people write them and as the machine's policy allows them.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use swarm_model::{ModelName, Provider};
use swarm_permissions::ModelNames;

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

/// The full name of the model that answers while another one is overloaded; `None` without one.
///
/// # Errors
/// As [`permitted_model`].
pub fn fallback_model(settings: &Settings, cwd: &Path) -> Result<Option<String>, ConfigError> {
    match settings.fallback.trim() {
        "" => Ok(None),
        name => permitted_model(name, settings, cwd).map(Some),
    }
}

/// What agents have to know of names of models to choose those of their sub-agents by the same rules. `environment` is
/// `CLAUDE_CODE_SUBAGENT_MODEL`, `small` is `ANTHROPIC_SMALL_FAST_MODEL`.
///
/// # Errors
/// [`ConfigError::Model`] where a small model has no name of a model.
pub fn model_names(
    settings: &Settings,
    cwd: &Path,
    environment: Option<&str>,
    small: Option<&str>,
) -> Result<ModelNames, ConfigError> {
    let full = |name: &str| {
        let resolved = resolve_model(name, &settings.aliases, cwd);
        resolved
            .map(|full| full.to_string())
            .map_err(ConfigError::Model)
    };
    let mut small_models = settings.small.clone();
    let given = small.map(|small| (Provider::Anthropic.as_str().to_owned(), small.to_owned()));
    small_models.extend(given);
    let small_models = small_models.into_iter();
    let small_models =
        small_models.map(|(provider, name)| Ok::<_, ConfigError>((provider, full(&name)?)));
    let policy = settings.policy_of("model.default");
    let written = policy.as_ref().and_then(Value::as_str);
    Ok(ModelNames {
        environment: environment.map(str::to_owned),
        small: small_models.collect::<Result<_, ConfigError>>()?,
        vision: settings.vision.clone(),
        knowledge: settings.knowledge.clone(),
        aliases: settings.aliases.clone(),
        windows: settings.windows.clone(),
        outputs: settings.outputs.clone(),
        only: written.map(|written| {
            resolve_model(written, &settings.aliases, cwd)
                .map_or_else(|_| written.to_owned(), |full| full.to_string())
        }),
    })
}
