//! Which hosts the commands of one agent may reach.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use parking_lot::Mutex;
use swarm_protocol::is_public_address;
use tokio::net::TcpStream;

use super::pattern::{HostPattern, host_name};
use super::questions::HostQuestions;
use super::resolver::{HostResolver, SystemResolver};
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

/// A host that was denied, or is being asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeniedHost {
    /// The host with its port.
    pub(crate) name: String,
    pub(crate) why: HostDenial,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HostDenial {
    /// It is local, and the settings do not name it.
    Local,
    /// The settings do not permit it, and nobody has answered.
    Unknown,
    /// The user denied it.
    ByUser,
}

/// Decides about hosts: from the settings, and by asking the user.
#[derive(Debug)]
pub(crate) struct NetworkAccess {
    resolver: Arc<dyn HostResolver>,
    permitted: Vec<HostPattern>,
    /// The host of the latest call, which asks the user.
    call: Mutex<Option<Arc<dyn CallHost>>>,
    questions: Arc<HostQuestions>,
    /// Hosts that were denied since the last report, or are being asked for.
    denied: Mutex<Vec<DeniedHost>>,
}

impl Default for NetworkAccess {
    fn default() -> Self {
        Self::new(&[], None)
    }
}

impl NetworkAccess {
    /// Permits these patterns. Without `resolver`, this machine resolves names.
    pub(crate) fn new(patterns: &[String], resolver: Option<Arc<dyn HostResolver>>) -> Self {
        let patterns = patterns.iter();
        Self {
            resolver: resolver.unwrap_or_else(|| Arc::new(SystemResolver)),
            permitted: patterns.map(|text| HostPattern::new(text)).collect(),
            call: Mutex::default(),
            questions: Arc::default(),
            denied: Mutex::default(),
        }
    }

    /// Sets the call for which questions are asked from now on.
    pub(crate) fn set_call(&self, host: Option<Arc<dyn CallHost>>) {
        *self.call.lock() = host;
    }

    /// Takes the hosts that were denied since the last call, or are still being asked for.
    pub(crate) fn take_denied(&self) -> Vec<DeniedHost> {
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
            return Err(self.deny(&host, port, HostDenial::Local));
        }
        if !is_known {
            // Before the answer: a command that ends while it waits is notified as well.
            let unanswered = self.deny(&host, port, HostDenial::Unknown);
            match self.answer(&host, port).await {
                Some(true) => self.forget(&format!("{host}:{port}")),
                Some(false) => return Err(self.deny(&host, port, HostDenial::ByUser)),
                None => return Err(unanswered),
            }
        }
        // Not before: a name server of others would learn the name.
        let found = self.resolver.resolve(&host, port).await;
        let failed = |what: String, error| ConnectError::Failed(format!("cannot {what}: {error}"));
        let found = found.map_err(|error| failed(format!("resolve {host}"), error))?;
        let usable = |address: &SocketAddr| local || is_public_address(address.ip());
        let addresses: Vec<SocketAddr> = found.into_iter().filter(usable).collect();
        if addresses.is_empty() {
            return Err(self.deny(&host, port, HostDenial::Local));
        }
        // Only addresses that were judged, so that a second answer of the name server has no effect.
        let connected = TcpStream::connect(addresses.as_slice()).await;
        connected.map_err(|error| failed(format!("connect to {host}:{port}"), error))
    }

    async fn answer(&self, host: &str, port: u16) -> Option<bool> {
        let call = self.call.lock().clone();
        let name = host_name(host, port);
        self.questions.answer(name, call).await
    }

    fn deny(&self, host: &str, port: u16, why: HostDenial) -> ConnectError {
        let name = format!("{host}:{port}");
        let clause = match why {
            HostDenial::Local => "it is local",
            HostDenial::Unknown => "it is not permitted",
            HostDenial::ByUser => "the user denied it",
        };
        let error = format!("the sandbox denied a connection to {name}: {clause}");
        self.forget(&name);
        self.denied.lock().push(DeniedHost { name, why });
        ConnectError::Denied(error)
    }

    /// Removes a host from the denied ones.
    fn forget(&self, name: &str) {
        self.denied.lock().retain(|denied| denied.name != name);
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
        let unknown = DeniedHost {
            name: "unknown.invalid:443".to_owned(),
            why: HostDenial::Unknown,
        };
        assert_eq!(access.take_denied(), [unknown]);
    }

    #[tokio::test]
    async fn without_a_person_an_unknown_host_is_denied_immediately() {
        let access = NetworkAccess::default();
        let waiting = access.connect("unknown.invalid", 443);
        tokio::pin!(waiting);
        let std::task::Poll::Ready(Err(why)) = futures::poll!(&mut waiting) else {
            panic!("it waits");
        };
        assert!(
            why.to_string()
                .ends_with("unknown.invalid:443: it is not permitted")
        );
    }

    #[tokio::test]
    async fn permitted_names_of_local_addresses_are_refused_after_resolution() {
        // Spellings that resolvers know without a name server, and this program does not.
        let names = ["2130706433", "0x7f.1", "0xa000001"];
        let access = NetworkAccess::new(&names.map(str::to_owned), None);
        for name in names {
            let why = access.connect(name, 443).await.unwrap_err().to_string();
            assert!(why.ends_with("it is local"), "{name}: {why}");
        }
    }

    #[tokio::test]
    async fn local_addresses_are_refused_before_anybody_is_asked() {
        let access = NetworkAccess::new(&["*.example".to_owned(), "localhost".to_owned()], None);
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
