//! Which hosts the commands of one agent may reach.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use parking_lot::Mutex;
use swarm_protocol::is_public_address;
use tokio::net::TcpStream;

use super::pattern::{HostPattern, host_name};
use super::questions::HostQuestions;
use crate::CallHost;

/// Decides about hosts: from the settings, and by asking the user.
#[derive(Debug, Default)]
pub(crate) struct NetworkAccess {
    permitted: Vec<HostPattern>,
    /// The host of the latest call, which asks the user.
    call: Mutex<Option<Arc<dyn CallHost>>>,
    questions: Arc<HostQuestions>,
    /// Hosts that were denied since the last report.
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

    /// Takes the hosts that were denied since the last call.
    pub(crate) fn take_denied(&self) -> Vec<String> {
        std::mem::take(&mut self.denied.lock())
    }

    /// Connects to a permitted host. The error is a sentence. If this future is dropped, a question
    /// that only it waits for is withdrawn.
    pub(super) async fn connect(&self, host: &str, port: u16) -> Result<TcpStream, String> {
        let host = host.trim_matches(['[', ']']).trim_end_matches('.');
        let host = host.to_ascii_lowercase();
        let known = self.permitted.iter();
        let is_known = known.clone().any(|pattern| pattern.permits(&host, port));
        let local = known.clone().any(|pattern| pattern.names(&host, port));
        if !local && is_local_name(&host) {
            return Err(self.deny(&host, port, "it is local"));
        }
        if !is_known && !self.is_granted(&host, port).await {
            return Err(self.deny(&host, port, "it is not permitted"));
        }
        // Not before: a name server of others would learn the name.
        let found = tokio::net::lookup_host((host.as_str(), port)).await;
        let found = found.map_err(|error| format!("cannot resolve {host}: {error}"))?;
        let usable = |address: &SocketAddr| local || is_public_address(address.ip());
        let addresses: Vec<SocketAddr> = found.filter(usable).collect();
        if addresses.is_empty() {
            return Err(self.deny(&host, port, "its addresses are local"));
        }
        // Only addresses that were judged, so that a second answer of the name server has no effect.
        let connected = TcpStream::connect(addresses.as_slice()).await;
        connected.map_err(|error| format!("cannot connect to {host}:{port}: {error}"))
    }

    async fn is_granted(&self, host: &str, port: u16) -> bool {
        let call = self.call.lock().clone();
        let name = host_name(host, port);
        self.questions.is_granted(name, call).await
    }

    fn deny(&self, host: &str, port: u16, why: &str) -> String {
        let mut denied = self.denied.lock();
        let name = format!("{host}:{port}");
        if !denied.contains(&name) {
            denied.push(name);
        }
        format!("the sandbox denied a connection to {host}:{port}: {why}")
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
            let why = access.connect(host, 80).await.unwrap_err();
            assert!(why.ends_with("it is local"), "{host}: {why}");
        }
        assert_eq!(access.take_denied().len(), 6);
    }
}
