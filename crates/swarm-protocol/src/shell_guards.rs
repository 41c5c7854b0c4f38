//! Isolation of agents' shell commands, and their network access; passed from the settings to every
//! member.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::named_enum;

/// First argument that makes a program act as the sandbox helper.
pub const SANDBOX_HELPER: &str = "__sandbox";

/// Isolation of agents' shell commands. The default is no isolation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ShellGuards {
    /// Which commands run in the kernel's sandbox.
    pub sandbox: SandboxUse,
    /// How they are confined; `None` if no way works on this machine.
    pub backend: Option<SandboxKind>,
    /// Whether commands are refused if no backend works.
    pub required: bool,
    /// Program and leading arguments of the helper that drops privileges and then executes the
    /// command; empty if there is none.
    pub helper: Vec<String>,
    /// Directory that is prepended to the search path of commands.
    pub shims: Option<PathBuf>,
    /// Additional directories to which sandboxed commands may write.
    pub write: Vec<PathBuf>,
    /// Files and directories that sandboxed commands cannot read.
    pub hide: Vec<PathBuf>,
    /// Those of them with secrets, outside the config directory, which file tools cannot read either.
    pub secrets: Vec<PathBuf>,
    /// Exceptions below hidden directories.
    pub show: Vec<PathBuf>,
    /// MCP servers of the user that other agent programs get with their keys, by name.
    pub mcp_servers: Vec<String>,
    /// Whether sandboxed commands may use Unix sockets.
    pub unix_sockets: bool,
    /// What sandboxed commands reach of the network.
    pub network: SandboxNetwork,
    /// Hosts that the proxy permits: `example.com`, `*.example.com` or `example.com:22`.
    pub hosts: Vec<String>,
    /// Whether a person can permit other hosts; otherwise they are denied immediately.
    pub asks_for_hosts: bool,
}

impl ShellGuards {
    /// Returns whether every command runs in a sandbox without a terminal and without Unix sockets,
    /// so that it cannot type into a terminal or its multiplexer.
    pub fn cut_terminals(&self) -> bool {
        self.confine_all() && !self.unix_sockets
    }

    /// Returns whether every command runs in a sandbox that keeps it away from servers of this machine,
    /// so that it cannot type into a terminal that listens on TCP.
    pub fn cut_loopback(&self) -> bool {
        self.confine_all() && self.network != SandboxNetwork::Open
    }

    /// Returns whether the settings confine the commands of an agent with or without its own worktree,
    /// if a backend works.
    pub fn confines(&self, has_worktree: bool) -> bool {
        match self.sandbox {
            SandboxUse::Always | SandboxUse::Auto => true,
            SandboxUse::Worktree => has_worktree,
            SandboxUse::Off => false,
        }
    }

    /// Returns how the commands and programs of an agent with or without its own worktree are
    /// confined; `None` if they are not.
    pub fn backend_for(&self, has_worktree: bool) -> Option<SandboxKind> {
        let is_confined = self.confines(has_worktree) && !self.helper.is_empty();
        self.backend.filter(|_| is_confined)
    }

    fn confine_all(&self) -> bool {
        self.backend_for(false).is_some()
    }
}

named_enum! {
    /// What sandboxed commands reach of the network.
    #[derive(Default)]
    pub enum SandboxNetwork {
        /// Nothing outside the sandbox.
        None = "none",
        /// Permitted hosts, through a proxy of the agent.
        Proxy = "proxy",
        /// Everything.
        #[default]
        Open = "open",
    }
}

named_enum! {
    /// How the kernel confines commands.
    pub enum SandboxKind {
        /// Own namespaces for mounts, processes and IPC, and a system call filter.
        Namespaces = "namespaces",
        /// Landlock rules and a system call filter.
        Landlock = "landlock",
    }
}

named_enum! {
    /// Which commands run in the sandbox.
    #[derive(Default)]
    pub enum SandboxUse {
        /// Commands of every agent; refused if no backend works.
        Always = "always",
        /// Commands of every agent if a backend works.
        Auto = "auto",
        /// Commands of agents in an isolated worktree.
        #[default]
        Worktree = "worktree",
        /// No commands.
        Off = "off",
    }
}

/// Settings of the web tools.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WebSettings {
    /// Address of a search server, with `{query}` as the placeholder. Search is disabled without
    /// one.
    pub search_url: Option<String>,
    /// Whether addresses of this machine and of local networks may be fetched.
    pub private: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_sandbox_for_every_command_without_sockets_cuts_terminals() {
        let confined = ShellGuards {
            sandbox: SandboxUse::Auto,
            backend: Some(SandboxKind::Landlock),
            helper: vec!["swarm".to_owned()],
            ..ShellGuards::default()
        };
        assert!(confined.cut_terminals());
        let changes: [fn(&mut ShellGuards); 5] = [
            |guards| guards.sandbox = SandboxUse::Off,
            |guards| guards.sandbox = SandboxUse::Worktree,
            |guards| guards.backend = None,
            |guards| guards.helper.clear(),
            |guards| guards.unix_sockets = true,
        ];
        for change in changes {
            let mut open = confined.clone();
            change(&mut open);
            assert!(!open.cut_terminals(), "{open:?}");
        }
    }

    #[test]
    fn only_a_limited_network_of_every_command_cuts_loopback() {
        let limited = ShellGuards {
            sandbox: SandboxUse::Auto,
            backend: Some(SandboxKind::Namespaces),
            helper: vec!["swarm".to_owned()],
            network: SandboxNetwork::Proxy,
            unix_sockets: true,
            ..ShellGuards::default()
        };
        assert!(limited.cut_loopback());
        let changes: [fn(&mut ShellGuards); 3] = [
            |guards| guards.sandbox = SandboxUse::Worktree,
            |guards| guards.backend = None,
            |guards| guards.network = SandboxNetwork::Open,
        ];
        for change in changes {
            let mut open = limited.clone();
            change(&mut open);
            assert!(!open.cut_loopback(), "{open:?}");
        }
    }
}
