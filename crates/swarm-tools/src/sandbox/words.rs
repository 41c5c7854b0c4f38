//! The command line of the helper.

/// Creates the namespaces of an agent.
pub(super) const HOST: &str = "--host";

/// Becomes the first process inside them.
pub(super) const INIT: &str = "--init";

/// Joins the namespaces of a process: its pid and its mount namespace.
pub(super) const JOIN: &str = "--join";

/// Starts the commands that are requested on standard input.
pub(super) const SERVE: &str = "--serve";

pub(super) const LANDLOCK: &str = "--landlock";

pub(super) const WRITE: &str = "--write";

pub(super) const HIDE: &str = "--hide";

pub(super) const SHOW: &str = "--show";

/// A path, and what appears there.
pub(super) const REPLACE: &str = "--replace";

/// The same, writable.
pub(super) const REPLACE_WRITABLE: &str = "--replace-writable";

pub(super) const READ_ONLY: &str = "--read-only";

pub(super) const PIN: &str = "--pin";

/// Nothing can be created there.
pub(super) const RESERVE: &str = "--reserve";

/// The same for git's `commondir`.
pub(super) const RESERVE_COMMON: &str = "--reserve-commondir";

pub(super) const UNIX_SOCKETS: &str = "--unix-sockets";

pub(super) const NO_NETWORK: &str = "--no-network";

/// No network except a listener for the agent's proxy.
pub(super) const PROXY: &str = "--proxy";

/// The only port to which commands under Landlock can connect: that of the agent's proxy.
pub(super) const PROXY_PORT: &str = "--proxy-port";

pub(super) const COMMAND: &str = "--";
