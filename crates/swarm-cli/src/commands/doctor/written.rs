//! Checks of settings files and of the API keys of the default model.

use std::collections::BTreeMap;
use std::path::Path;

use swarm_config::{
    ClaudeSettings, ConfigError, Environment, Settings, SettingsFiles, default_model,
    fallback_model, is_trusted, model_names, permitted_model, resolve_model,
};
use swarm_model::Provider;
use swarm_protocol::with_causes;

use super::finding::Finding;
use crate::failure::Result;

const NAME: &str = "settings";
const FIX: &str = "fix the file or variable";

/// Settings as far as they are valid.
pub(super) struct Written {
    /// Effective settings; the defaults if the files are invalid.
    pub(super) settings: Settings,
    /// Whether `swarm.toml` files are invalid.
    settings_refused: bool,
    /// Variables of `settings.json` files; `None` if one of them is invalid and may contain a key.
    variables: Option<BTreeMap<String, String>>,
    /// Whether a command of a settings file prints the key (`apiKeyHelper`).
    has_key_helper: bool,
}

/// Reads `swarm.toml` and `settings.json` files. Fails if the built-in settings are invalid, which
/// is a bug.
pub(super) fn check(env: &Environment) -> Result<(Vec<Finding>, Written)> {
    let mut findings = Vec::new();
    let mut refused = Vec::new();
    let mut written = Written {
        settings: Settings::built_in()?,
        settings_refused: false,
        variables: Some(BTreeMap::new()),
        has_key_helper: false,
    };
    match env.root() {
        Ok(root) => findings.extend(read(env, &root, &mut written, &mut refused)),
        Err(error) => {
            written.settings_refused = true;
            refused.push(error);
        }
    }
    if refused.is_empty() {
        let shown = "`swarm config list --origins` shows them";
        findings.insert(0, Finding::ok(NAME, shown));
    }
    let wrong = refused.into_iter().map(|error| {
        let hint = error.hint().unwrap_or_else(|| FIX.to_owned());
        Finding::missing(NAME, with_causes(&error), hint)
    });
    Ok((wrong.chain(findings).collect(), written))
}

/// Reads the files of a config directory and adds errors to `refused`.
fn read(
    env: &Environment,
    root: &Path,
    written: &mut Written,
    refused: &mut Vec<ConfigError>,
) -> Vec<Finding> {
    match Settings::load(&SettingsFiles::new(root, &env.cwd), env) {
        Ok(settings) => written.settings = settings,
        Err(error) => {
            written.settings_refused = true;
            refused.push(error);
        }
    }
    let (claude, slips) = ClaudeSettings::load_lenient(root, &env.cwd, env.home().as_deref());
    let warnings = claude.warnings(env);
    let remarks = warnings.iter().map(|remark| {
        let hint = "no action needed, unless you rely on it";
        Finding::warning(NAME, remark, hint)
    });
    if slips.is_empty() {
        match written.settings.clone().with(claude.given(env)) {
            Ok(settings) => written.settings = settings,
            Err(error) => refused.push(error),
        }
    }
    let trusted = is_trusted(root, &env.cwd).unwrap_or_default();
    written.has_key_helper = claude.api_key_helper(trusted).is_some();
    written.variables = slips.is_empty().then_some(claude.env);
    refused.extend(slips);
    let settings = &written.settings;
    refused.extend(fallback_model(settings, &env.cwd).err());
    refused.extend(model_names(settings, &env.cwd, None).err());
    remarks.collect()
}

/// Checks whether a model can be used, by default the default one.
pub(super) fn model(env: &Environment, written: &Written, chosen: Option<&str>) -> Finding {
    const NAME: &str = "model";
    const CORRECT: &str = "fix the settings, then retry";
    if written.settings_refused && chosen.is_none() {
        let found = "the default model is unknown because settings files are invalid";
        return Finding::warning(NAME, found, CORRECT);
    }
    let settings = &written.settings;
    let permitted = match chosen {
        Some(name) => permitted_model(name, settings, &env.cwd),
        None => default_model(settings, &env.cwd),
    };
    let none = BTreeMap::new();
    let resolved = permitted
        .and_then(|full| resolve_model(&full, &none, &env.cwd).map_err(ConfigError::Model));
    let resolved = match resolved {
        Ok(resolved) => resolved,
        Err(error) => {
            let hint = error.hint().unwrap_or_else(|| FIX.to_owned());
            return Finding::missing(NAME, with_causes(&error), hint);
        }
    };
    let provider = env.provider_with(written.variables.as_ref().unwrap_or(&none));
    let is_set = |name: &&str| provider.get(*name).is_some_and(|value| !value.is_empty());
    let keys: &[&str] = match resolved.provider {
        Provider::Anthropic => &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"],
        Provider::OpenAi => &["OPENAI_API_KEY", "OPENAI_BASE_URL"],
        Provider::Scripted => return Finding::ok(NAME, format!("{resolved} needs no key")),
    };
    if let Some(name) = keys.iter().find(|name| is_set(name)) {
        return Finding::ok(NAME, format!("{resolved}, {name} is set"));
    }
    if resolved.provider == Provider::Anthropic && written.has_key_helper {
        return Finding::ok(NAME, format!("{resolved}, `apiKeyHelper` prints the key"));
    }
    if written.variables.is_none() {
        let found = format!(
            "unknown whether {resolved} has a key: {} is not set here, and settings files that may set it are invalid",
            keys.join(" or ")
        );
        return Finding::warning(NAME, found, CORRECT);
    }
    let found = format!("{resolved} has no key: {} is not set", keys.join(" or "));
    let hint = format!(
        "export {}=…, or choose another model (`model.default`, `--model`)",
        keys[0]
    );
    Finding::missing(NAME, found, hint)
}
