//! The HTTP client under the transport, which corrects nonstandard responses of servers.

use std::collections::HashMap;
use std::sync::Arc;

use reqwest::Client;
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, RequestId};
use rmcp::transport::common::client_side_sse::BoxedSseResponse;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};

pub(super) type HttpError = StreamableHttpError<reqwest::Error>;

type Headers = HashMap<HeaderName, HeaderValue>;

/// A client whose every request is answered or fails. Some servers reject a request with status 400
/// and an error with a null id, which would not be matched to the pending request; many also report
/// an unknown session in this way, where the standard requires 404.
#[derive(Debug, Clone)]
pub(super) struct HttpClient(pub(super) Client);

impl StreamableHttpClient for HttpClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let sent = Sent::of(&message, session_id.is_some());
        let client = &self.0;
        let posted = client.post_message(uri, message, session_id, auth_header, custom_headers);
        sent.correct_response(posted.await)
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: Headers,
        max_sse_event_size: usize,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let sent = Sent::of(&message, session_id.is_some());
        let posted = self.0.post_message_with_max_sse_event_size(
            uri,
            message,
            session_id,
            auth_header,
            custom_headers,
            max_sse_event_size,
        );
        sent.correct_response(posted.await)
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<(), HttpError> {
        let client = &self.0;
        let deleted = client.delete_session(uri, session_id, auth_header, custom_headers);
        deleted.await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<BoxedSseResponse, HttpError> {
        let client = &self.0;
        let opened = client.get_stream(uri, session_id, last_event_id, auth_header, custom_headers);
        opened.await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: Headers,
        max_sse_event_size: usize,
    ) -> Result<BoxedSseResponse, HttpError> {
        let opened = self.0.get_stream_with_max_sse_event_size(
            uri,
            session_id,
            last_event_id,
            auth_header,
            custom_headers,
            max_sse_event_size,
        );
        opened.await
    }
}

/// The properties of a sent message that are needed to interpret the response.
struct Sent {
    /// The id, if the message is a request.
    request: Option<RequestId>,
    in_session: bool,
}

impl Sent {
    fn of(message: &ClientJsonRpcMessage, in_session: bool) -> Self {
        let request = match message {
            JsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        Self {
            request,
            in_session,
        }
    }

    fn correct_response(
        self,
        posted: Result<StreamableHttpPostResponse, HttpError>,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let Some(request) = self.request else {
            return posted;
        };
        let names_session = |text: &str| text.to_ascii_lowercase().contains("session");
        match posted {
            // The server did not execute the request, because it could not identify it.
            Ok(StreamableHttpPostResponse::Json(JsonRpcMessage::Error(mut refusal), session))
                if refusal.id.as_ref() != Some(&request) =>
            {
                if self.in_session && names_session(&refusal.error.message) {
                    return Err(StreamableHttpError::SessionExpired);
                }
                refusal.id = Some(request);
                let refusal = JsonRpcMessage::Error(refusal);
                Ok(StreamableHttpPostResponse::Json(refusal, session))
            }
            Err(StreamableHttpError::UnexpectedServerResponse(text))
                if self.in_session && text.starts_with("HTTP 400") && names_session(&text) =>
            {
                Err(StreamableHttpError::SessionExpired)
            }
            posted => posted,
        }
    }
}
