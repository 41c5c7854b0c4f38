//! What the sandbox denied to a command, in one line for the model.

use swarm_protocol::{SandboxKind, SandboxNetwork, ShellGuards};

use crate::sandbox::{DeniedHost, HostDenial};

/// Error messages of denied actions, and the text for the model.
const FILES: (&[&str], &str) = (
    &["ermission denied", "Read-only file system"],
    "commands can write only in your worktree or working directory and in temporary directories, and \
     cannot read credentials. If the task needs more, ask the user to add the path to `sandbox.write` or \
     remove it from `sandbox.hide`.",
);

const FIXED: (&[&str], &str) = (
    &["Device or resource busy"],
    "commands cannot move or remove the project's configuration, git's, and the files that connect \
     worktrees with the repository. The worktree of a member is removed when the member ends; if the task \
     needs more, ask the user.",
);

/// Programs that do not use the proxy get these errors.
const PROXY: (&[&str], &str) = (
    &[
        "etwork is unreachable",
        "ENETUNREACH",
        "ould not resolve host",
        "name resolution",
        "Name or service not known",
        "ENOTFOUND",
        "EAI_AGAIN",
    ],
    "commands reach permitted hosts by HTTP and HTTPS, through the proxy that HTTPS_PROXY names; programs \
     that do not use it, such as ssh, have no network. Configure the program's proxy, or ask the user to set \
     `sandbox.network` to open.",
);

const OWN_LOOPBACK: (&[&str], &str) = (
    &["onnection refused", "ECONNREFUSED"],
    "127.0.0.1 is your own: your servers are there, those of the user's machine are not. If the task needs \
     one of these, ask the user to set `sandbox.network` to open.",
);

const NO_NETWORK: (&[&str], &str) = (
    PROXY.0,
    "commands have no network. If the task needs it, ask the user to change `sandbox.network`.",
);

/// Landlock permits only the proxy's port, and the system call filter only sockets of connections.
const ONLY_PROXY: (&[&str], &str) = (
    &[
        "connect: Permission denied",
        "connect: permission denied",
        "connect EACCES",
        "ailed to connect",
        "Operation not permitted",
        "EPERM",
        "etwork is unreachable",
        "ould not resolve host",
        "name resolution",
        "Name or service not known",
        "ENOTFOUND",
        "EAI_AGAIN",
    ],
    "commands reach permitted hosts by HTTP and HTTPS, through the proxy that HTTPS_PROXY names, and no others: \
     this machine has only the weaker sandbox, in which programs without the proxy, your own servers, Unix sockets \
     and other processes are out of reach. If the task needs more of the network, ask the user to set \
     `sandbox.network` to open.",
);

/// Landlock refuses the sockets themselves.
const NO_SOCKETS: (&[&str], &str) = (
    &["Operation not permitted", "ould not resolve host"],
    "commands have no network, not even for their own servers, and cannot use Unix sockets or other \
     processes: this machine has only the weaker sandbox. If the task needs the network, ask the user to set \
     `sandbox.network` to open.",
);

const SOCKETS: (&[&str], &str) = (
    &["Operation not permitted"],
    "commands cannot use Unix sockets (tmux, Docker, ssh-agent, D-Bus), the kernel's keys or other \
     processes. If the task needs such sockets, ask the user to set `sandbox.unix_sockets`.",
);

/// Returns the line for a command that reaches `network`: from the hosts that were denied, or else from
/// the output of a command that failed, if it looks like a denial.
pub(super) fn denial(
    failed: Option<&str>,
    denied: &[DeniedHost],
    network: SandboxNetwork,
    guards: &ShellGuards,
) -> Option<String> {
    if !denied.is_empty() {
        return Some(hosts_denial(denied, guards.asks_for_hosts));
    }
    let output = failed?;
    let on_landlock = guards.backend == Some(SandboxKind::Landlock);
    let all: &[(&[&str], &str)] = match (network, on_landlock) {
        (SandboxNetwork::Open, _) => &[FILES, FIXED, SOCKETS],
        // Some of its errors look like those of files.
        (SandboxNetwork::Proxy, true) => &[ONLY_PROXY, FILES],
        (SandboxNetwork::None, true) => &[FILES, NO_SOCKETS],
        (SandboxNetwork::Proxy, false) => &[FILES, FIXED, PROXY, SOCKETS, OWN_LOOPBACK],
        (SandboxNetwork::None, false) => &[FILES, FIXED, NO_NETWORK, SOCKETS, OWN_LOOPBACK],
    };
    let mut all = all.iter();
    let found = all.find(|(texts, _)| texts.iter().any(|text| output.contains(text)));
    found.map(|(_, told)| format!("[Sandbox: {told}]"))
}

/// Returns the line about denied hosts: which, and what can be done.
fn hosts_denial(denied: &[DeniedHost], asks_for_hosts: bool) -> String {
    let unknown = if asks_for_hosts {
        "If the task needs that, ask the user to approve it in `swarm requests` or to add the host to \
         `sandbox.hosts`."
    } else {
        "Nobody is present to approve it. If the task needs it, report that the user has to add the host to \
         `sandbox.hosts`."
    };
    let told = [
        (HostDenial::Unknown, unknown),
        (HostDenial::ByUser, "The user denied it."),
        (
            HostDenial::Local,
            "Local addresses are permitted only if the user adds them, with the port, to `sandbox.hosts`.",
        ),
    ];
    let sentences = told.into_iter().filter_map(|(why, told)| {
        let hosts = denied.iter().filter(|host| host.why == why);
        let names: Vec<&str> = hosts.map(|host| host.name.as_str()).collect();
        let names = names.join(", ");
        (!names.is_empty()).then(|| format!("no connection to {names}. {told}"))
    });
    let sentences: Vec<String> = sentences.collect();
    format!("[Sandbox: {}]", sentences.join(" Also "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denial_is_one_line_that_fits_the_sandbox() {
        use SandboxKind::{Landlock, Namespaces};
        use SandboxNetwork::{None as Nothing, Open, Proxy};
        for (network, backend, output, expected) in [
            (
                Proxy,
                Namespaces,
                "touch: Read-only file system",
                "`sandbox.write`",
            ),
            (
                Proxy,
                Namespaces,
                "ssh: Could not resolve hostname x",
                "HTTPS_PROXY",
            ),
            (
                Proxy,
                Namespaces,
                "connect: Network is unreachable",
                "HTTPS_PROXY",
            ),
            (
                Proxy,
                Namespaces,
                "connect ECONNREFUSED 127.0.0.1:5432",
                "127.0.0.1 is your own",
            ),
            (
                Nothing,
                Namespaces,
                "Network is unreachable",
                "have no network.",
            ),
            (
                Proxy,
                Landlock,
                "bash: connect: Permission denied",
                "HTTPS_PROXY",
            ),
            (
                Proxy,
                Landlock,
                "touch: x: Permission denied",
                "`sandbox.write`",
            ),
            (
                Nothing,
                Landlock,
                "socket: Operation not permitted",
                "have no network, not even",
            ),
            (
                Open,
                Landlock,
                "socket: Operation not permitted",
                "`sandbox.unix_sockets`",
            ),
            (
                Open,
                Namespaces,
                "rm: Device or resource busy",
                "cannot move or remove",
            ),
            (Open, Namespaces, "Connection refused", ""),
        ] {
            let guards = ShellGuards {
                network,
                backend: Some(backend),
                ..ShellGuards::default()
            };
            let told = denial(Some(output), &[], network, &guards).unwrap_or_default();
            assert!(
                told.contains(expected) && !told.contains('\n'),
                "{output}: {told}"
            );
            assert_eq!(told.is_empty(), expected.is_empty(), "{output}: {told}");
            assert_eq!(denial(None, &[], network, &guards), None);
        }
    }

    #[test]
    fn denied_hosts_are_named_with_what_can_be_done() {
        let host = |name: &str, why| DeniedHost {
            name: name.to_owned(),
            why,
        };
        let denied = [
            host("a.example:443", HostDenial::Unknown),
            host("localhost:5432", HostDenial::Local),
            host("b.example:22", HostDenial::Unknown),
            host("c.example:443", HostDenial::ByUser),
        ];
        let told = |asks_for_hosts, denied: &[DeniedHost]| {
            let guards = ShellGuards {
                asks_for_hosts,
                ..ShellGuards::default()
            };
            denial(None, denied, SandboxNetwork::Proxy, &guards).unwrap()
        };
        assert_eq!(
            told(true, &denied),
            "[Sandbox: no connection to a.example:443, b.example:22. If the task needs that, ask the user to approve it \
             in `swarm requests` or to add the host to `sandbox.hosts`. Also no connection to c.example:443. The user \
             denied it. Also no connection to localhost:5432. Local addresses are permitted only if the user adds them, \
             with the port, to `sandbox.hosts`.]"
        );
        assert_eq!(
            told(false, &denied[..1]),
            "[Sandbox: no connection to a.example:443. Nobody is present to approve it. If the task needs it, report \
             that the user has to add the host to `sandbox.hosts`.]"
        );
    }
}
