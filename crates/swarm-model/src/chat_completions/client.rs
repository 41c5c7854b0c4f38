//! The chat completions API as a dialect of a remote API.

use parking_lot::Mutex;
use reqwest::Url;
use reqwest::header::AUTHORIZATION;

use crate::error::ModelError;
use crate::name::Provider;
use crate::remote::{
    Address, Body, Connection, Dialect, Failure, Refusal, Secret, base_address, classify,
};
use crate::request::ModelRequest;

use super::answer::Answer;
use super::body::request_body;
use super::capabilities::{EffortLimit, ServerCapabilities, TokenLimit, mentions_context_limit};

/// Host of OpenAI's own API.
const OPENAI_HOST: &str = "api.openai.com";

/// Ollama's default port.
const OLLAMA_PORT: u16 = 11434;

const PROVIDER: Provider = Provider::OpenAi;

/// The dialect of one server.
#[derive(Debug)]
pub(crate) struct OpenAiCompatible {
    config: ChatCompletionsConfig,
    url: Url,
    capabilities: Mutex<ServerCapabilities>,
}

impl OpenAiCompatible {
    /// Validates the settings. Fails with [`ModelError::NoKey`] if a required key is missing.
    pub(crate) fn new(config: ChatCompletionsConfig) -> Result<Self, ModelError> {
        let openai = format!("https://{OPENAI_HOST}/v1");
        let url = completions_url(config.base_url.as_deref().unwrap_or(&openai))?;
        let is_openai = url.host_str() == Some(OPENAI_HOST);
        if is_openai && config.api_key.is_none() {
            return Err(ModelError::NoKey(PROVIDER));
        }
        let capabilities = Mutex::new(ServerCapabilities {
            limit: if is_openai {
                TokenLimit::MaxCompletionTokens
            } else {
                TokenLimit::MaxTokens
            },
            counts_tokens: true,
            effort: EffortLimit::Highest,
            vision: config.vision,
        });
        Ok(Self {
            config,
            url,
            capabilities,
        })
    }

    fn unknown_model(&self, refusal: &Refusal, message: String, model: &str) -> ModelError {
        // The messages identify Ollama on any port.
        let is_ollama = self.url.port() == Some(OLLAMA_PORT)
            || refusal.says(&["try pulling it", &format!("model '{model}' not found")]);
        ModelError::UnknownModel {
            model: model.to_owned(),
            message: if is_ollama {
                format!(
                    "{message}. If it is an Ollama model, download it with: ollama pull {model}"
                )
            } else {
                message
            },
        }
    }
}

impl Dialect for OpenAiCompatible {
    type Answer = Answer;

    fn provider(&self) -> Provider {
        PROVIDER
    }

    fn address(&self) -> Result<Address, ModelError> {
        let mut address = Address::new(self.url.clone());
        if let Some(key) = &self.config.api_key {
            address.credential(PROVIDER, AUTHORIZATION, "Bearer ", key)?;
        }
        Ok(address)
    }

    fn connection(&self) -> &Connection {
        &self.config.connection
    }

    fn secrets(&self) -> Vec<&Secret> {
        self.config.api_key.iter().collect()
    }

    fn body(&self, request: &ModelRequest) -> Result<Body, ModelError> {
        let capabilities = *self.capabilities.lock();
        request_body(request, capabilities)
    }

    fn answer(&self, model: &str) -> Answer {
        Answer::new(model)
    }

    fn failure(&self, refusal: &Refusal, message: String, model: &str) -> Failure {
        match refusal.status {
            400..=599 if mentions_context_limit(refusal) => ModelError::ContextTooLong(message).into(),
            400 | 404 | 422 if names_model(refusal) => {
                self.unknown_model(refusal, message, model).into()
            }
            400..=599 if refusal.says(&["does not support tools", "tool choice requires"]) => {
                ModelError::InvalidRequest(format!(
                        "{message}. Agents need tools: use a model that supports tool calls, and start the server with tool calls enabled (vLLM: --enable-auto-tool-choice --tool-call-parser NAME; llama.cpp: --jinja)"
                    ))
                .into()
            }
            402 | 403 | 429 if is_unpaid(refusal) => ModelError::Billing(message).into(),
            _ => classify(PROVIDER, refusal, message),
        }
    }

    fn adapt(&self, refusal: &Refusal, refused: &Body) -> bool {
        self.capabilities.lock().adapt(refusal, &refused.joined())
    }
}

/// Whether the model was not found, as opposed to the path: llama.cpp answers a wrong path with the
/// same error that other servers use for a wrong model, so the message must mention the model.
fn names_model(refusal: &Refusal) -> bool {
    let is_missing = [
        "not found",
        "not exist",
        "not_found",
        "invalid model",
        "unknown model",
    ];
    refusal.code == "model_not_found" || (refusal.says(&["model"]) && refusal.says(&is_missing))
}

/// Whether the account has no credit. The server reports this as a rate limit, but waiting does not
/// help.
fn is_unpaid(refusal: &Refusal) -> bool {
    refusal.code == "insufficient_quota" || refusal.kind == "insufficient_quota"
}

/// Completes the path. Users give the server alone, the server with a version (`/v1`, or another
/// one at gateways), or the full address.
fn completions_url(base: &str) -> Result<Url, ModelError> {
    const PATH: &str = "/chat/completions";
    let mut url = base_address(PROVIDER, base)?;
    let path = url.path().trim_end_matches('/').to_owned();
    let is_version = |segment: &str| {
        let digits = segment.strip_prefix('v').unwrap_or("");
        digits.starts_with(|c: char| c.is_ascii_digit())
    };
    let path = match path {
        path if path.ends_with(PATH) => path,
        path if path.split('/').any(is_version) => format!("{path}{PATH}"),
        path => format!("{path}/v1{PATH}"),
    };
    url.set_path(&path);
    Ok(url)
}

/// Settings of a client of the chat completions API.
#[derive(Debug, Clone)]
pub struct ChatCompletionsConfig {
    /// Address of the server, with or without a trailing `/v1`. `None` means OpenAI.
    pub base_url: Option<String>,
    /// Sent as `Authorization: Bearer`. Required by OpenAI; other servers refuse the request if
    /// they require one.
    pub api_key: Option<Secret>,
    /// Whether the model accepts images. Once a server refuses an image, no more are sent.
    pub vision: bool,
    /// Proxy, timeouts and retries.
    pub connection: Connection,
}

impl Default for ChatCompletionsConfig {
    fn default() -> Self {
        Self {
            base_url: None,
            api_key: None,
            vision: false,
            connection: Connection::to_own_server(),
        }
    }
}

#[cfg(test)]
#[path = "dialect_tests.rs"]
mod tests;
