//! The way of sandboxed commands to the network: a proxy of the agent, which speaks HTTP and SOCKS5
//! and connects only to permitted hosts. It resolves names itself, and refuses local addresses.

mod access;
mod pattern;
mod questions;
mod request;
mod resolver;
mod server;

pub(crate) use access::{DeniedHost, HostDenial, NetworkAccess};
pub use resolver::HostResolver;
pub(super) use server::serve;
