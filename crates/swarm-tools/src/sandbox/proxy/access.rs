//! Which hosts the commands of one agent may reach.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::json;
use swarm_protocol::is_public_address;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use super::pattern::HostPattern;
use crate::{CallHost, PersonAnswer};

/// Label of the answer that permits a host.
const ALLOW: &str = "Allow";

/// Decides about hosts: from the settings, and by asking the user.
#[derive(Debug, Default)]
pub(crate) struct NetworkAccess {
    permitted: Vec<HostPattern>,
    /// The host of the latest call, which asks the user.
    call: Mutex<Option<Arc<dyn CallHost>>>,
    /// Answers of the user.
    answers: tokio::sync::Mutex<BTreeMap<(String, u16), bool>>,
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

    /// Connects to a permitted host. The error is a sentence.
    pub(super) async fn connect(&self, host: &str, port: u16) -> Result<TcpStream, String> {
        let host = host.trim_matches(['[', ']']).trim_end_matches('.');
        let host = host.to_ascii_lowercase();
        let known = self.permitted.iter();
        let is_known = known.clone().any(|pattern| pattern.permits(&host, port));
        if !is_known && !self.is_granted(&host, port).await {
            return Err(self.deny(&host, port, "it is not permitted"));
        }
        let found = tokio::net::lookup_host((host.as_str(), port)).await;
        let found = found.map_err(|error| format!("cannot resolve {host}: {error}"))?;
        let local = known.clone().any(|pattern| pattern.names(&host, port));
        let usable = |address: &SocketAddr| local || is_public_address(address.ip());
        let addresses: Vec<SocketAddr> = found.filter(usable).collect();
        if addresses.is_empty() {
            return Err(self.deny(&host, port, "its addresses are local"));
        }
        // Only addresses that were judged, so that a second answer of the name server has no effect.
        let connected = TcpStream::connect(addresses.as_slice()).await;
        connected.map_err(|error| format!("cannot connect to {host}:{port}: {error}"))
    }

    fn deny(&self, host: &str, port: u16, why: &str) -> String {
        let mut denied = self.denied.lock();
        let name = format!("{host}:{port}");
        if !denied.contains(&name) {
            denied.push(name);
        }
        format!("the sandbox denied a connection to {host}:{port}: {why}")
    }

    /// Asks the user, once for each host. Without an answer the host is denied.
    async fn is_granted(&self, host: &str, port: u16) -> bool {
        // Held while the user is asked: programs repeat and parallelize connections.
        let mut answers = self.answers.lock().await;
        let key = (host.to_owned(), port);
        if let Some(granted) = answers.get(&key) {
            return *granted;
        }
        let call = self.call.lock().clone();
        let Some(call) = call else {
            return false;
        };
        let question = format!("A sandboxed command wants to connect to {host}:{port}. Allow it?");
        let input = json!({"questions": [{
            "question": question,
            "header": "Network",
            "multiSelect": false,
            "options": [
                {"label": ALLOW, "description": "for this agent, until it ends"},
                {"label": "Deny", "description": "`sandbox.hosts` permits hosts for ever"},
            ],
        }]});
        let why = "the sandbox permits only known hosts".to_owned();
        let answer = call.ask(input, why, CancellationToken::new()).await;
        let granted = match answer {
            PersonAnswer::Answered(given) => given.get(&question).is_some_and(|word| word == ALLOW),
            PersonAnswer::Refused(_) | PersonAnswer::Skipped => false,
            // Somebody may be there the next time.
            PersonAnswer::Unanswered => return false,
        };
        answers.insert(key, granted);
        granted
    }
}
