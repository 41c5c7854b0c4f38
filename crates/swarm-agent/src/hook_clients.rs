//! HTTP and model access for hooks of the types `http` and `prompt`.

use std::sync::Arc;

use async_trait::async_trait;
use futures::StreamExt as _;
use swarm_hooks::{HookRequest, HookServices};
use swarm_model::{
    Message, Model, ModelEvent, ModelEvents, ModelRequest, StoredMessage, SystemBlock, WebClient,
};
use swarm_protocol::{Thinking, WebAnswer};
use tokio_util::sync::CancellationToken;

use crate::ModelFactory;

/// Output limit of a hook's model request, in tokens.
const DECISION: u32 = 1024;

/// The models available to hooks.
#[derive(Debug, Clone)]
pub struct HookModels {
    /// Creates clients for the models that hooks name.
    pub factory: Arc<dyn ModelFactory>,
    /// The client of the agent's model, and the model's name at its provider.
    pub own: (Arc<dyn Model>, String),
    /// The small model of the same provider, if known.
    pub small: Option<String>,
}

/// Sends HTTP requests through the models' client, which shares their TLS settings, and asks
/// models.
#[derive(Debug, Clone, Default)]
pub struct HookClients {
    /// The models. Without them prompt hooks fail.
    pub models: Option<HookModels>,
}

#[async_trait]
impl HookServices for HookClients {
    async fn post(&self, request: HookRequest) -> Result<WebAnswer, String> {
        let (url, limit) = (&request.url, request.timeout);
        let answered = WebClient
            .post(
                url,
                &request.headers,
                request.body,
                request.max_bytes,
                limit,
            )
            .await;
        answered.map_err(|why| format!("failed: {}", why.trim_end_matches('.')))
    }

    async fn ask(
        &self,
        model: Option<&str>,
        system: &str,
        question: &str,
        cancel: &CancellationToken,
    ) -> Result<String, String> {
        let models = self.models.as_ref();
        let models = models.ok_or("asks a model, but no model is available in this command")?;
        let named = match (model, &models.small) {
            (Some(name), _) => Some(models.factory.model(name)?),
            (None, Some(small)) => models.factory.model(small).ok(),
            (None, None) => None,
        };
        let (client, name) = match named {
            Some(ready) => (ready.client, ready.name),
            None => models.own.clone(),
        };
        let message = Message::user_text(question);
        let request = ModelRequest {
            model: name,
            system: Arc::new([SystemBlock {
                text: system.to_owned(),
                cache: false,
            }]),
            tools: Arc::new([]),
            messages: Arc::new([Arc::new(StoredMessage::from(message))]),
            max_tokens: DECISION,
            thinking: Thinking::Off,
            effort: None,
            agent: "hook".to_owned(),
        };
        text_of(client.stream(request, cancel.clone())).await
    }
}

async fn text_of(mut events: ModelEvents) -> Result<String, String> {
    while let Some(event) = events.next().await {
        match event {
            Ok(ModelEvent::Completed(response)) => return Ok(response.text()),
            Ok(_) => {}
            Err(error) => return Err(format!("failed: {error}")),
        }
    }
    Err("was not answered".to_owned())
}
