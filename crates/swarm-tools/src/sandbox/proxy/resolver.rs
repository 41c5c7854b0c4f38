//! Resolution of host names.

use std::fmt::Debug;
use std::io;
use std::net::SocketAddr;

use async_trait::async_trait;

/// Resolves the names of hosts for the proxy of an agent's commands.
#[async_trait]
pub trait HostResolver: Debug + Send + Sync {
    /// Returns the addresses of a host, with this port.
    ///
    /// # Errors
    /// If the name is not known.
    async fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>>;
}

/// The resolver of this machine.
#[derive(Debug)]
pub(super) struct SystemResolver;

#[async_trait]
impl HostResolver for SystemResolver {
    async fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        Ok(tokio::net::lookup_host((host, port)).await?.collect())
    }
}
