//! Resolution of model names and their validation against managed policy.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use swarm_model::ModelName;
use swarm_permissions::ModelNames;

use crate::error::ConfigError;
use crate::settings::Settings;

/// Resolves a model name; the relative path of a scenario is resolved against `cwd`.
pub fn resolve_model(
    name: &str,
    aliases: &BTreeMap<String, String>,
    cwd: &Path,
) -> Result<ModelName, String> {
    ModelName::resolve(name, aliases)
        .map(|resolved| resolved.anchored(cwd))
        .map_err(|error| error.to_string())
}

/// Returns the full name of a model chosen for an agent.
///
/// # Errors
/// [`ConfigError::Model`] if the name is invalid, and another error if managed policy requires
/// another model. Full names are compared, so that aliases cannot bypass the policy.
pub fn permitted_model(name: &str, settings: &Settings, cwd: &Path) -> Result<String, ConfigError> {
    let resolved = full_name(name, settings, cwd)?;
    settings.permit_as("model.default", resolved.as_str(), |policy| {
        let written = policy.as_str().unwrap_or_default();
        full_name(written, settings, cwd).map_or_else(|_| policy.clone(), Value::from)
    })?;
    Ok(resolved)
}

/// Resolves a model name. An error about the target of an alias names the alias and its place.
fn full_name(name: &str, settings: &Settings, cwd: &Path) -> Result<String, ConfigError> {
    let error = match resolve_model(name, &settings.aliases, cwd) {
        Ok(full) => return Ok(full.to_string()),
        Err(why) => ConfigError::Model(why),
    };
    if !settings.aliases.contains_key(name) {
        return Err(error);
    }
    let error = with_place(settings, &format!("model.aliases.{name}"), error);
    Err(ConfigError::Model(format!("alias {name}: {error}")))
}

/// Returns the full name of the default model.
///
/// # Errors
/// As [`permitted_model`]. An invalid name is reported with its file or variable.
pub fn default_model(settings: &Settings, cwd: &Path) -> Result<String, ConfigError> {
    let permitted = permitted_model(&settings.model, settings, cwd);
    permitted.map_err(|error| with_place(settings, "model.default", error))
}

/// Adds the place of a setting to an error about the model that it names.
fn with_place(settings: &Settings, key: &str, error: ConfigError) -> ConfigError {
    let listed = settings.list(Some(key)).into_iter().next();
    match (error, listed) {
        (ConfigError::Model(why), Some(listed)) => {
            ConfigError::Model(format!("{}: {why}", listed.place))
        }
        (error, _) => error,
    }
}

/// Returns the full name of the model used while another one is overloaded, if configured.
///
/// # Errors
/// As [`permitted_model`].
pub fn fallback_model(settings: &Settings, cwd: &Path) -> Result<Option<String>, ConfigError> {
    match settings.fallback.trim() {
        "" => Ok(None),
        name => permitted_model(name, settings, cwd)
            .map(Some)
            .map_err(|error| with_place(settings, "model.fallback", error)),
    }
}

/// Returns the model names from which agents choose the models of their sub-agents. `environment`
/// is `CLAUDE_CODE_SUBAGENT_MODEL`.
///
/// # Errors
/// [`ConfigError::Model`], with its file or variable, if the name of a small model is invalid.
pub fn model_names(
    settings: &Settings,
    cwd: &Path,
    environment: Option<&str>,
) -> Result<ModelNames, ConfigError> {
    let small_models = settings.small.iter().map(|(provider, name)| {
        let full = full_name(name, settings, cwd).map_err(|error| {
            let key = format!("model.small.{provider}");
            with_place(settings, &key, error)
        });
        Ok::<_, ConfigError>((provider.clone(), full?))
    });
    let policy = settings.policy_of("model.default");
    let written = policy.as_ref().and_then(Value::as_str);
    Ok(ModelNames {
        environment: environment.map(str::to_owned),
        small: small_models.collect::<Result<_, ConfigError>>()?,
        vision: settings.vision.clone(),
        knowledge: settings.knowledge.clone(),
        rates: settings.rates.clone(),
        aliases: settings.aliases.clone(),
        prices: settings.prices.clone(),
        windows: settings.windows.clone(),
        outputs: settings.outputs.clone(),
        only: written.map(|written| {
            resolve_model(written, &settings.aliases, cwd)
                .map_or_else(|_| written.to_owned(), |full| full.to_string())
        }),
    })
}
