//! A name server that changes its answer once a name was judged.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use swarm_tools::sandbox::HostResolver;

/// An address that is public and never routed (RFC 5180).
const UNREACHABLE: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1));

/// Answers in turn with a public address and with that of this machine.
#[derive(Debug, Default)]
pub(super) struct RebindingResolver {
    asked: AtomicUsize,
}

#[async_trait]
impl HostResolver for RebindingResolver {
    async fn resolve(&self, _host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let number = self.asked.fetch_add(1, Ordering::Relaxed);
        let address = if number.is_multiple_of(2) {
            UNREACHABLE
        } else {
            Ipv4Addr::LOCALHOST.into()
        };
        Ok(vec![SocketAddr::new(address, port)])
    }
}
