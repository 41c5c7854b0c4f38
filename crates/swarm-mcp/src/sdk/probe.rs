//! A limit on the probe for the stateless protocol. Some servers of the older one do not answer a method that they do not know.

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

/// How long a server may take to answer the probe. Whoever knows the protocol answers at once; a program that starts
/// slowly is asked for both protocols.
const PATIENCE: Duration = Duration::from_secs(1);

/// A transport that answers the probe in the server's place, as unknown, when the server does not.
pub(super) struct Probing<T> {
    transport: T,
    probe: Probe,
    /// Whether the server has answered later after all, so that it knows the stateless protocol.
    answered_late: Arc<AtomicBool>,
}

enum Probe {
    /// No probe is under way.
    Over,
    Sent {
        id: RequestId,
        until: Instant,
    },
    GivenUp(RequestId),
}

impl<T> Probing<T> {
    pub(super) fn new(transport: T) -> (Self, Arc<AtomicBool>) {
        let answered_late = Arc::new(AtomicBool::new(false));
        let probing = Self {
            transport,
            probe: Probe::Over,
            answered_late: Arc::clone(&answered_late),
        };
        (probing, answered_late)
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Probing<T> {
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
                until: Instant::now() + PATIENCE,
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
                        self.probe = Probe::GivenUp(id.clone());
                        return Some(unknown_method(id));
                    };
                    received
                }
                Probe::Over | Probe::GivenUp(_) => self.transport.receive().await,
            };
            let answered = received.as_ref().and_then(answered);
            match (&self.probe, answered) {
                (Probe::Sent { id, .. }, Some((to, _))) if id == to => {
                    self.probe = Probe::Over;
                }
                // Answered already, in its place.
                (Probe::GivenUp(id), Some((to, has_result))) if id == to => {
                    self.answered_late.store(has_result, Ordering::Release);
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

/// The request that a message answers, and whether with a result.
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

    /// A server that says what the test sends.
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
        Probing<Server>,
        Arc<AtomicBool>,
        mpsc::UnboundedSender<ServerJsonRpcMessage>,
    ) {
        let (says, hears) = mpsc::unbounded_channel();
        let (mut probing, late) = Probing::new(Server(hears));
        let request = DiscoverRequest::new(DiscoverRequestParams {});
        let request = ClientRequest::DiscoverRequest(request);
        let sent = probing.send(ClientJsonRpcMessage::request(request, RequestId::Number(7)));
        sent.await.unwrap();
        (probing, late, says)
    }

    fn id_of(message: Option<ServerJsonRpcMessage>) -> (RequestId, bool) {
        let message = message.expect("a message");
        let (id, has_result) = answered(&message).expect("an answer");
        (id.clone(), has_result)
    }

    #[tokio::test(start_paused = true)]
    async fn a_probe_without_an_answer_is_answered_as_unknown_after_a_second() {
        for (late_answer, knows_it) in [(EMPTY, true), (UNKNOWN, false)] {
            let (mut probing, late, says) = probed().await;
            let began = Instant::now();
            let given_up = id_of(probing.receive().await);
            assert_eq!(given_up, (RequestId::Number(7), false));
            assert_eq!(began.elapsed(), PATIENCE);
            says.send(answer(7, late_answer)).unwrap();
            says.send(answer(8, EMPTY)).unwrap();
            // The late answer goes to nobody.
            let next = id_of(probing.receive().await);
            assert_eq!(next, (RequestId::Number(8), true));
            assert_eq!(late.load(Ordering::Acquire), knows_it);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_in_time_ends_the_probe() {
        let (mut probing, late, says) = probed().await;
        says.send(answer(7, EMPTY)).unwrap();
        assert_eq!(id_of(probing.receive().await), (RequestId::Number(7), true));
        // Nothing is waited for that would be answered in the server's place.
        drop(says);
        assert!(probing.receive().await.is_none());
        assert!(!late.load(Ordering::Acquire));
    }
}
