//! Creates the client for a model name.

use std::path::Path;
use std::sync::Arc;

use crate::chat_completions::{ChatCompletions, ChatCompletionsConfig};
use crate::error::ModelError;
use crate::messages_api::{MessagesApi, MessagesApiConfig};
use crate::model::Model;
use crate::name::{ModelName, Provider};
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
    match name.provider {
        Provider::Anthropic => {
            let client = MessagesApi::new(settings.messages_api.clone())?;
            Ok(Arc::new(client))
        }
        Provider::OpenAi => {
            let client = ChatCompletions::new(settings.chat_completions.clone())?;
            Ok(Arc::new(client))
        }
        Provider::Scripted => {
            let model = ScriptedModel::from_file(Path::new(&name.model), settings.pace)?;
            Ok(Arc::new(model))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_openai_model_requires_a_key_or_an_address() {
        let name = ModelName::parse("openai/gpt-oss:20b").unwrap();
        let mut settings = ModelSettings::default();
        let error = connect(&name, &settings).unwrap_err().to_string();
        assert!(error.contains("OPENAI_API_KEY"), "{error}");
        assert!(error.contains("OPENAI_BASE_URL"), "{error}");
        settings.chat_completions.base_url = Some("http://127.0.0.1:11434".to_owned());
        connect(&name, &settings).unwrap();
    }

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
