//! The resources of a server.

use std::time::Duration;

use rmcp::model::{
    ClientRequest, PaginatedRequestParams, ReadResourceRequest, ReadResourceRequestParams,
    ReadResourceResult, ResourceContents, ServerResult,
};
use serde_json::{Value, json};

use super::calls::CallOptions;
use super::connection::{Answer, Connection, Round, call_error};
use super::content::{picture, size};
use crate::McpError;

/// Maximum number of listed resources of one server.
const MAX_RESOURCES: usize = 2000;

impl Connection {
    /// Returns whether the server offers resources.
    pub(crate) fn offers_resources(&self) -> bool {
        let info = self.peer.peer_info();
        info.is_some_and(|info| info.capabilities.resources.is_some())
    }

    /// Lists all resources and resource templates in the server's order.
    pub(crate) async fn resources(&self, within: Duration) -> Result<Vec<Value>, McpError> {
        let listed = tokio::time::timeout(within, self.list_resources());
        listed.await.unwrap_or(Err(McpError::TimedOut(within)))
    }

    async fn list_resources(&self) -> Result<Vec<Value>, McpError> {
        let mut all = Vec::new();
        let mut page = PaginatedRequestParams::default();
        loop {
            let listed = self
                .peer
                .list_resources(Some(page))
                .await
                .map_err(call_error)?;
            all.extend(listed.resources.iter().map(|one| json!(one)));
            if all.len() > MAX_RESOURCES {
                return Err(McpError::Refused(format!(
                    "the server lists more than {MAX_RESOURCES} resources"
                )));
            }
            let Some(cursor) = listed.next_cursor else {
                break;
            };
            page = PaginatedRequestParams::default();
            page.cursor = Some(cursor);
        }
        // Many servers have no templates and answer with an error.
        if let Ok(listed) = self.peer.list_resource_templates(None).await {
            all.extend(listed.resource_templates.iter().map(|one| json!(one)));
        }
        Ok(all)
    }

    /// Reads a resource.
    pub(crate) async fn read_resource(
        &self,
        uri: &str,
        options: &CallOptions,
    ) -> Result<Answer, McpError> {
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
            let kind = mime_type.as_deref().unwrap_or("unknown type");
            let about = size(kind, blob);
            Some(match picture(blob, pictures.len()) {
                Ok(picture) => {
                    pictures.push(picture);
                    format!("[resource {uri}: {about}]")
                }
                Err(_) => format!(
                    "[resource {uri}: {about}, not shown: it is neither text nor a picture]"
                ),
            })
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
