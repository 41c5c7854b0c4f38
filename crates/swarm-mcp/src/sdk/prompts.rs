//! The prompts of a server.

use rmcp::model::{
    ClientRequest, ContentBlock, GetPromptRequest, GetPromptRequestParams, GetPromptResult, Prompt,
    Role, ServerResult,
};
use serde_json::{Map, Value};

use super::calls::CallOptions;
use super::connection::{Connection, Round, all_pages, call_error};
use super::content::block;
use crate::{McpError, Result};

impl Connection {
    /// Returns the text of the first prompt for which `fits` is true. `words` holds its arguments
    /// in order; the last argument takes the remaining words.
    pub(crate) async fn prompt(
        &self,
        fits: impl Fn(&str) -> bool,
        words: &str,
        options: &CallOptions,
    ) -> Result<String> {
        let listed = tokio::time::timeout(options.within, self.prompts()).await;
        let prompts = listed.unwrap_or(Err(McpError::TimedOut(options.within)))?;
        let Some(prompt) = prompts.iter().find(|prompt| fits(&prompt.name)) else {
            let names: Vec<_> = prompts.iter().map(|prompt| &*prompt.name).collect();
            let names = names.join(", ");
            return Err(McpError::Refused(format!(
                "no such prompt; available prompts: {names}"
            )));
        };
        let arguments = arguments(prompt, words)?;
        let build_request = |round: Round| {
            let mut params = GetPromptRequestParams::new(prompt.name.clone());
            params.arguments = Some(arguments.clone()).filter(|all| !all.is_empty());
            params.input_responses = round.responses;
            params.request_state = round.state;
            ClientRequest::GetPromptRequest(GetPromptRequest::new(params))
        };
        match self.request(build_request, options).await? {
            ServerResult::GetPromptResult(result) => Ok(text(&result)),
            _ => Err(McpError::Refused("the response is not a prompt".to_owned())),
        }
    }

    async fn prompts(&self) -> Result<Vec<Prompt>> {
        let offers = self.peer.peer_info();
        if offers.is_some_and(|info| info.capabilities.prompts.is_none()) {
            return Err(McpError::Refused("the server offers no prompts".to_owned()));
        }
        let listed = all_pages("prompts", |page| async move {
            let listed = self.peer.list_prompts(page).await.map_err(call_error)?;
            Ok((listed.prompts, listed.next_cursor))
        });
        listed.await
    }
}

fn arguments(prompt: &Prompt, words: &str) -> Result<Map<String, Value>> {
    let wanted = prompt.arguments.as_deref().unwrap_or_default();
    let mut left = words.trim();
    let mut given = Map::new();
    for (index, argument) in wanted.iter().enumerate() {
        let is_last = index + 1 == wanted.len();
        let (word, rest) = match left.split_once(char::is_whitespace) {
            Some((word, rest)) if !is_last => (word, rest.trim_start()),
            _ => (left, ""),
        };
        left = rest;
        if !word.is_empty() {
            given.insert(argument.name.clone(), word.into());
        } else if argument.required == Some(true) {
            let names: Vec<_> = wanted.iter().map(|one| one.name.to_uppercase()).collect();
            let (name, usage) = (&argument.name, names.join(" "));
            return Err(McpError::Refused(format!(
                "missing argument `{name}`; usage: {usage}"
            )));
        }
    }
    if left.is_empty() {
        return Ok(given);
    }
    Err(McpError::Refused(format!(
        "the prompt takes no arguments, but got `{left}`"
    )))
}

/// Joins the messages; those of the assistant are labelled.
fn text(result: &GetPromptResult) -> String {
    let parts = result.messages.iter().filter_map(|message| {
        let text = match &message.content {
            ContentBlock::Image(image) => format!("[image: {}, not shown]", image.mime_type),
            content => block(content)?,
        };
        Some(match message.role {
            Role::Assistant => format!("[assistant]\n{text}"),
            Role::User => text,
        })
    });
    parts.collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_are_arguments_in_order_and_the_last_takes_the_rest() {
        let prompt: Prompt = serde_json::from_value(json!({"name": "p", "arguments": [
            {"name": "file", "required": true}, {"name": "tone"}]}))
        .unwrap();
        let of = |words| arguments(&prompt, words).map(Value::Object);
        assert_eq!(of("a.rs"), Ok(json!({"file": "a.rs"})));
        assert_eq!(
            of(" a.rs  very kind "),
            Ok(json!({"file": "a.rs", "tone": "very kind"}))
        );
        assert!(of("").unwrap_err().to_string().contains("FILE TONE"));
        let none: Prompt = serde_json::from_value(json!({"name": "p"})).unwrap();
        assert!(arguments(&none, "x").is_err());
    }
}
