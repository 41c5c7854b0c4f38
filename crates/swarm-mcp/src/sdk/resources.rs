//! The resources of a server.

use std::time::Duration;

use rmcp::model::{
    ClientRequest, ReadResourceRequest, ReadResourceRequestParams, ReadResourceResult,
    ResourceContents, ServerResult,
};
use serde_json::{Value, json};

use super::calls::CallOptions;
use super::connection::{Answer, Connection, Round, all_pages, call_error};
use super::content::{picture, size};
use crate::{McpError, Result};

impl Connection {
    pub(crate) fn offers_resources(&self) -> bool {
        let info = self.peer.peer_info();
        info.is_some_and(|info| info.capabilities.resources.is_some())
    }

    /// Lists all resources and resource templates in the server's order.
    pub(crate) async fn resources(&self, within: Duration) -> Result<Vec<Value>> {
        let listed = tokio::time::timeout(within, self.list_resources());
        listed.await.unwrap_or(Err(McpError::TimedOut(within)))
    }

    async fn list_resources(&self) -> Result<Vec<Value>> {
        let listed = all_pages("resources", |page| async move {
            let listed = self.peer.list_resources(page).await.map_err(call_error)?;
            Ok((listed.resources, listed.next_cursor))
        });
        let listed = listed.await?;
        let mut all: Vec<_> = listed.iter().map(|one| json!(one)).collect();
        // Many servers have no templates and answer with an error.
        if let Ok(listed) = self.peer.list_resource_templates(None).await {
            all.extend(listed.resource_templates.iter().map(|one| json!(one)));
        }
        Ok(all)
    }

    pub(crate) async fn read_resource(&self, uri: &str, options: &CallOptions) -> Result<Answer> {
        let build_request = |round: Round| {
            let mut params = ReadResourceRequestParams::new(uri);
            params.input_responses = round.responses;
            params.request_state = round.state;
            ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params))
        };
        match self.request(build_request, options).await? {
            ServerResult::ReadResourceResult(result) => Ok(contents(&result)),
            _ => Err(McpError::Refused(
                "the response is not a resource".to_owned(),
            )),
        }
    }
}

/// Converts the contents to text and pictures.
fn contents(result: &ReadResourceResult) -> Answer {
    let mut pictures = Vec::new();
    let parts = result.contents.iter().filter_map(|one| match one {
        ResourceContents::TextResourceContents { text, .. } => Some(text.clone()),
        ResourceContents::BlobResourceContents {
            uri,
            mime_type,
            blob,
            ..
        } => {
            let mut about = size(mime_type.as_deref(), blob);
            match picture(blob, pictures.len()) {
                Ok(picture) => pictures.push(picture),
                Err(_) => about += ", not shown: it is neither text nor a picture",
            }
            Some(format!("[resource {uri}: {about}]"))
        }
        // A content type newer than this program.
        _ => None,
    });
    let parts: Vec<String> = parts.collect();
    Answer {
        text: parts.join("\n"),
        pictures,
        is_error: false,
    }
}
