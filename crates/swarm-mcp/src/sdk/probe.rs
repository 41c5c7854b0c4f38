//! A timeout for the probe of the stateless protocol. Some servers of the older protocol do not
//! answer an unknown method.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use tokio::time::{Instant, timeout_at};

/// Timeout of the probe. A server that supports the protocol answers immediately; a slowly starting
/// program is tried with both protocols.
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);

/// A transport that answers the probe with "method not found" if the server does not answer.
pub(super) struct ProbingTransport<T> {
    transport: T,
    probe: Probe,
    /// Whether the server answered after the timeout and therefore supports the stateless protocol.
    answered_after_timeout: Arc<AtomicBool>,
}

enum Probe {
    /// No probe is pending.
    Over,
    Sent {
        id: RequestId,
        until: Instant,
    },
    TimedOut(RequestId),
}

impl<T> ProbingTransport<T> {
    pub(super) fn new(transport: T) -> (Self, Arc<AtomicBool>) {
        let answered_after_timeout = Arc::new(AtomicBool::new(false));
        let probing = Self {
            transport,
            probe: Probe::Over,
            answered_after_timeout: Arc::clone(&answered_after_timeout),
        };
        (probing, answered_after_timeout)
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for ProbingTransport<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if let JsonRpcMessage::Request(request) = &message
            && matches!(request.request, ClientRequest::DiscoverRequest(_))
        {
            self.probe = Probe::Sent {
                id: request.id.clone(),
                until: Instant::now() + PROBE_TIMEOUT,
            };
        }
        self.transport.send(message)
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let received = match &self.probe {
                Probe::Sent { id, until } => {
                    let received = timeout_at(*until, self.transport.receive()).await;
                    let Ok(received) = received else {
                        let id = id.clone();
                        self.probe = Probe::TimedOut(id.clone());
                        return Some(unknown_method(id));
                    };
                    received
                }
                Probe::Over | Probe::TimedOut(_) => self.transport.receive().await,
            };
            let answered = received.as_ref().and_then(answered);
            match (&self.probe, answered) {
                (Probe::Sent { id, .. }, Some((to, _))) if id == to => {
                    self.probe = Probe::Over;
                }
                // Already answered on the server's behalf.
                (Probe::TimedOut(id), Some((to, has_result))) if id == to => {
                    self.answered_after_timeout
                        .store(has_result, Ordering::Release);
                    self.probe = Probe::Over;
                    continue;
                }
                _ => {}
            }
            return received;
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.transport.close()
    }
}

/// Returns the request that a message answers, and whether it succeeded.
fn answered(message: &ServerJsonRpcMessage) -> Option<(&RequestId, bool)> {
    match message {
        JsonRpcMessage::Response(response) => Some((&response.id, true)),
        JsonRpcMessage::Error(error) => Some((error.id.as_ref()?, false)),
        _ => None,
    }
}

fn unknown_method(id: RequestId) -> ServerJsonRpcMessage {
    let error = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "no answer to the probe", None);
    ServerJsonRpcMessage::error(error, Some(id))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use rmcp::model::{DiscoverRequest, DiscoverRequestParams};
    use tokio::sync::mpsc;

    use super::*;

    /// A server that sends the test's messages.
    struct Server(mpsc::UnboundedReceiver<ServerJsonRpcMessage>);

    impl Transport<RoleClient> for Server {
        type Error = Infallible;

        fn send(
            &mut self,
            _: ClientJsonRpcMessage,
        ) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
            std::future::ready(Ok(()))
        }

        async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
            self.0.recv().await
        }

        async fn close(&mut self) -> Result<(), Infallible> {
            Ok(())
        }
    }

    fn answer(id: u32, result: &str) -> ServerJsonRpcMessage {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},{result}}}"#);
        serde_json::from_str(&text).unwrap()
    }

    const EMPTY: &str = r#""result":{}"#;
    const UNKNOWN: &str = r#""error":{"code":-32601,"message":"what?"}"#;

    async fn probed() -> (
        ProbingTransport<Server>,
        Arc<AtomicBool>,
        mpsc::UnboundedSender<ServerJsonRpcMessage>,
    ) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let (mut probing, late) = ProbingTransport::new(Server(receiver));
        let request = DiscoverRequest::new(DiscoverRequestParams {});
        let request = ClientRequest::DiscoverRequest(request);
        let sent = probing.send(ClientJsonRpcMessage::request(request, RequestId::Number(7)));
        sent.await.unwrap();
        (probing, late, sender)
    }

    fn id_of(message: Option<ServerJsonRpcMessage>) -> (RequestId, bool) {
        let message = message.expect("a message");
        let (id, has_result) = answered(&message).expect("an answer");
        (id.clone(), has_result)
    }

    #[tokio::test(start_paused = true)]
    async fn an_unanswered_probe_fails_with_method_not_found_after_a_second() {
        for (late_answer, knows_it) in [(EMPTY, true), (UNKNOWN, false)] {
            let (mut probing, late, sender) = probed().await;
            let began = Instant::now();
            let given_up = id_of(probing.receive().await);
            assert_eq!(given_up, (RequestId::Number(7), false));
            assert_eq!(began.elapsed(), PROBE_TIMEOUT);
            sender.send(answer(7, late_answer)).unwrap();
            sender.send(answer(8, EMPTY)).unwrap();
            // The late answer is discarded.
            let next = id_of(probing.receive().await);
            assert_eq!(next, (RequestId::Number(8), true));
            assert_eq!(late.load(Ordering::Acquire), knows_it);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_in_time_completes_the_probe() {
        let (mut probing, late, sender) = probed().await;
        sender.send(answer(7, EMPTY)).unwrap();
        assert_eq!(id_of(probing.receive().await), (RequestId::Number(7), true));
        // No probe is pending that would be answered on the server's behalf.
        drop(sender);
        assert!(probing.receive().await.is_none());
        assert!(!late.load(Ordering::Acquire));
    }
}
