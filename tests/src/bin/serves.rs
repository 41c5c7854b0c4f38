//! A server that outlives whoever started it: in a session of its own it listens on a port of this machine, and says
//! which.

use std::net::{Ipv4Addr, TcpListener};

fn main() -> anyhow::Result<()> {
    rustix::process::setsid()?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    swarm_tests::hostile::say(&listener.local_addr()?.port().to_string());
    swarm_tests::hostile::stay();
}
