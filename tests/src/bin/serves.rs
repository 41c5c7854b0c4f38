//! A server that survives the process that started it: it has a separate session, listens on a
//! local port, and prints the port.

use std::net::{Ipv4Addr, TcpListener};

fn main() -> anyhow::Result<()> {
    rustix::process::setsid()?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    swarm_tests::hostile::say(&listener.local_addr()?.port().to_string());
    swarm_tests::hostile::stay();
}
