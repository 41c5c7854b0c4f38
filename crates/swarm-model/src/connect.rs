//! Creates the client for a model name.

use std::path::Path;
use std::sync::Arc;

use crate::chat_completions::{ChatCompletionsConfig, OpenAiCompatible};
use crate::error::ModelError;
use crate::messages_api::{MessagesApi, MessagesApiConfig};
use crate::model::Model;
use crate::name::{ModelName, Provider};
use crate::remote::Remote;
use crate::scripted::{Pace, ScriptedModel};

/// Settings of all providers' clients.
#[derive(Debug, Clone, Default)]
pub struct ModelSettings {
    /// For [`Provider::Anthropic`].
    pub messages_api: MessagesApiConfig,
    /// For [`Provider::OpenAi`].
    pub chat_completions: ChatCompletionsConfig,
    /// For [`Provider::Scripted`].
    pub pace: Pace,
}

/// Creates the client for a model. Call it once per process and model and share the result: a
/// client owns its connection pool.
pub fn connect(name: &ModelName, settings: &ModelSettings) -> Result<Arc<dyn Model>, ModelError> {
    let model: Arc<dyn Model> = match name.provider {
        Provider::Anthropic => Arc::new(Remote::<MessagesApi>::new(settings.messages_api.clone())?),
        Provider::OpenAi => {
            let dialect = OpenAiCompatible::new(settings.chat_completions.clone())?;
            Arc::new(Remote::<OpenAiCompatible>::new(dialect)?)
        }
        Provider::Scripted => {
            let path = Path::new(&name.model);
            Arc::new(ScriptedModel::from_file(path, settings.pace)?)
        }
    };
    Ok(model)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_for_a_missing_anthropic_key_names_the_variable() {
        let name = ModelName::parse("claude-x").unwrap();
        let error = connect(&name, &ModelSettings::default()).unwrap_err();
        assert!(error.to_string().contains("ANTHROPIC_API_KEY"), "{error}");
    }

    #[test]
    fn the_error_for_a_missing_scenario_names_its_path() {
        let name = ModelName::parse("scripted//nowhere/demo.toml").unwrap();
        let error = connect(&name, &ModelSettings::default()).unwrap_err();
        assert!(error.to_string().contains("/nowhere/demo.toml"), "{error}");
    }
}
