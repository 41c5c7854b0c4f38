//! What people wrote: settings, and the keys of the model that they name.

use swarm_model::Provider;

use super::finding::Finding;
use crate::claude_settings::ClaudeSettings;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::models::resolve;
use crate::settings::{Places, Settings};

const NAME: &str = "settings";

/// The settings, and those in force; built-in ones where the files are wrong.
///
/// # Errors
/// When the program's own settings are wrong, which is a defect.
pub(super) fn look(env: &Environment) -> Result<(Vec<Finding>, Settings), Failure> {
    let mut findings = Vec::new();
    let loaded = env.root().and_then(|root| {
        let settings = Settings::load(&Places::new(&root, &env.cwd), env)?;
        let claude = ClaudeSettings::load(&root, &env.cwd, env.home().as_deref())?;
        for remark in &claude.remarks {
            let hint = "nothing needs to be done, unless you rely on it";
            findings.push(Finding::warning(NAME, remark, hint));
        }
        settings.with(claude.modes)
    });
    match loaded {
        Ok(settings) => {
            findings.insert(
                0,
                Finding::ok(NAME, "`swarm config list --origins` shows them"),
            );
            Ok((findings, settings))
        }
        Err(failure) => {
            let hint = failure
                .hint
                .unwrap_or_else(|| "correct the file".to_owned());
            findings.push(Finding::missing(NAME, failure.message, hint));
            Ok((findings, Settings::built_in()?))
        }
    }
}

/// Whether the default model can be asked.
pub(super) fn model(env: &Environment, settings: &Settings) -> Finding {
    const NAME: &str = "model";
    let named = &settings.model;
    let resolved = match resolve(named, &settings.aliases, &env.cwd) {
        Ok(resolved) => resolved,
        Err(error) => {
            return Finding::missing(NAME, error, "correct `model.default` in the settings");
        }
    };
    let given = env
        .root()
        .ok()
        .and_then(|root| ClaudeSettings::load(&root, &env.cwd, env.home().as_deref()).ok());
    let provider = env.provider_with(&given.unwrap_or_default().env);
    let is_set = |name: &&str| provider.get(*name).is_some_and(|value| !value.is_empty());
    let keys: &[&str] = match resolved.provider {
        Provider::Anthropic => &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"],
        Provider::OpenAi => &["OPENAI_API_KEY", "OPENAI_BASE_URL"],
        Provider::Scripted => return Finding::ok(NAME, format!("{resolved} needs no key")),
    };
    if let Some(name) = keys.iter().find(|name| is_set(name)) {
        return Finding::ok(NAME, format!("{resolved}, {name} is set"));
    }
    let found = format!("{resolved} has no key: {} is not set", keys.join(" or "));
    let hint = format!(
        "export {}=…, or name another model (`model.default`, `--model`)",
        keys[0]
    );
    Finding::missing(NAME, found, hint)
}
