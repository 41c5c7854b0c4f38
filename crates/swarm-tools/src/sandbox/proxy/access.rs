//! Which hosts the commands of one agent may reach.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use parking_lot::Mutex;
use swarm_protocol::is_public_address;
use tokio::net::TcpStream;

use super::pattern::{HostPattern, host_name};
use super::questions::HostQuestions;
use crate::CallHost;

/// Why there is no connection, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ConnectError {
    /// The host is not permitted.
    #[error("{0}")]
    Denied(String),
    /// The host is permitted, and not reachable.
    #[error("{0}")]
    Failed(String),
}

/// Decides about hosts: from the settings, and by asking the user.
#[derive(Debug, Default)]
pub(crate) struct NetworkAccess {
    permitted: Vec<HostPattern>,
    /// The host of the latest call, which asks the user.
    call: Mutex<Option<Arc<dyn CallHost>>>,
    questions: Arc<HostQuestions>,
    /// Hosts that were denied since the last report, or are being asked for.
    denied: Mutex<Vec<String>>,
}

impl NetworkAccess {
    /// Permits these patterns.
    pub(crate) fn new(patterns: &[String]) -> Self {
        let patterns = patterns.iter();
        Self {
            permitted: patterns.map(|text| HostPattern::new(text)).collect(),
            ..Self::default()
        }
    }

    /// Sets the call for which questions are asked from now on.
    pub(crate) fn set_call(&self, host: Option<Arc<dyn CallHost>>) {
        *self.call.lock() = host;
    }

    /// Takes the hosts that were denied since the last call, or are still being asked for.
    pub(crate) fn take_denied(&self) -> Vec<String> {
        std::mem::take(&mut self.denied.lock())
    }

    /// Connects to a permitted host. If this future is dropped, a question
    /// that only it waits for is withdrawn.
    pub(super) async fn connect(&self, host: &str, port: u16) -> Result<TcpStream, ConnectError> {
        let host = host.trim_matches(['[', ']']).trim_end_matches('.');
        let host = host.to_ascii_lowercase();
        let known = self.permitted.iter();
        let is_known = known.clone().any(|pattern| pattern.permits(&host, port));
        let local = known.clone().any(|pattern| pattern.names(&host, port));
        if !local && is_local_name(&host) {
            return Err(self.deny(&host, port, "it is local"));
        }
        if !is_known {
            // Before the answer: a command that ends while it waits is told as well.
            let refusal = self.deny(&host, port, "it is not permitted");
            if !self.is_granted(&host, port).await {
                return Err(refusal);
            }
            let name = format!("{host}:{port}");
            self.denied.lock().retain(|denied| *denied != name);
        }
        // Not before: a name server of others would learn the name.
        let found = tokio::net::lookup_host((host.as_str(), port)).await;
        let failed = |what: String, error| ConnectError::Failed(format!("cannot {what}: {error}"));
        let found = found.map_err(|error| failed(format!("resolve {host}"), error))?;
        let usable = |address: &SocketAddr| local || is_public_address(address.ip());
        let addresses: Vec<SocketAddr> = found.filter(usable).collect();
        if addresses.is_empty() {
            return Err(self.deny(&host, port, "its addresses are local"));
        }
        // Only addresses that were judged, so that a second answer of the name server has no effect.
        let connected = TcpStream::connect(addresses.as_slice()).await;
        connected.map_err(|error| failed(format!("connect to {host}:{port}"), error))
    }

    async fn is_granted(&self, host: &str, port: u16) -> bool {
        let call = self.call.lock().clone();
        let name = host_name(host, port);
        self.questions.is_granted(name, call).await
    }

    fn deny(&self, host: &str, port: u16, why: &str) -> ConnectError {
        let mut denied = self.denied.lock();
        let name = format!("{host}:{port}");
        if !denied.contains(&name) {
            denied.push(name);
        }
        let why = format!("the sandbox denied a connection to {host}:{port}: {why}");
        ConnectError::Denied(why)
    }
}

/// Whether a host is local whatever a name server says.
fn is_local_name(host: &str) -> bool {
    let address: Option<IpAddr> = host.parse().ok();
    let is_localhost = host == "localhost" || host.ends_with(".localhost");
    is_localhost || address.is_some_and(|address| !is_public_address(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Nobody;

    #[async_trait::async_trait]
    impl CallHost for Nobody {
        async fn ask(
            &self,
            _: serde_json::Value,
            _: String,
            _: tokio_util::sync::CancellationToken,
        ) -> crate::PersonAnswer {
            crate::PersonAnswer::Unanswered
        }

        async fn ask_network(
            &self,
            _: String,
            cancel: tokio_util::sync::CancellationToken,
        ) -> Option<bool> {
            cancel.cancelled().await;
            None
        }

        fn progress(&self, _: String) {}

        fn may_make(&self, _: &crate::MemberCall<'_>) -> Result<(), String> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_command_that_ends_while_it_waits_for_an_answer_is_told() {
        let access = NetworkAccess::default();
        access.set_call(Some(Arc::new(Nobody)));
        let waiting = access.connect("unknown.invalid", 443);
        tokio::pin!(waiting);
        assert!(futures::poll!(&mut waiting).is_pending());
        assert_eq!(access.take_denied(), ["unknown.invalid:443"]);
    }

    #[tokio::test]
    async fn local_addresses_are_refused_before_anybody_is_asked() {
        let access = NetworkAccess::new(&["*.example".to_owned(), "localhost".to_owned()]);
        for host in [
            "localhost",
            "LOCALHOST.",
            "a.localhost",
            "127.0.0.1",
            "[::1]",
            "169.254.169.254",
            "[::ffff:10.0.0.1]",
        ] {
            let why = access.connect(host, 80).await.unwrap_err().to_string();
            assert!(why.ends_with("it is local"), "{host}: {why}");
        }
        assert_eq!(access.take_denied().len(), 6);
    }
}
