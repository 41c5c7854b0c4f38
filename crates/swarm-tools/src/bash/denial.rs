//! What the sandbox denied to a command, in one line for the model.

use swarm_protocol::{SandboxKind, SandboxNetwork, ShellGuards};

/// Error messages of denied actions, and what the model is told.
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

/// Returns the line for a command: from the hosts that were denied, or else from the output of a command
/// that failed, if it looks like a denial.
pub(super) fn denial(
    failed: Option<&str>,
    denied: &[String],
    guards: &ShellGuards,
) -> Option<String> {
    if !denied.is_empty() {
        return Some(format!(
            "[Sandbox: connections to {} were not permitted. If the task needs them, ask the user to approve \
             them in `swarm requests` or to add the hosts to `sandbox.hosts`.]",
            denied.join(", ")
        ));
    }
    let output = failed?;
    let network: &[(&[&str], &str)] = match (guards.network, guards.backend) {
        (SandboxNetwork::Open, _) => &[SOCKETS],
        (_, Some(SandboxKind::Landlock)) => &[NO_SOCKETS],
        (SandboxNetwork::Proxy, _) => &[PROXY, SOCKETS, OWN_LOOPBACK],
        (SandboxNetwork::None, _) => &[NO_NETWORK, SOCKETS, OWN_LOOPBACK],
    };
    let all = [FILES, FIXED].into_iter().chain(network.iter().copied());
    let mut found = all.filter(|(texts, _)| texts.iter().any(|text| output.contains(text)));
    found.next().map(|(_, told)| format!("[Sandbox: {told}]"))
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
                "socket: Operation not permitted",
                "weaker sandbox",
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
            let told = denial(Some(output), &[], &guards).unwrap_or_default();
            assert!(
                told.contains(expected) && !told.contains('\n'),
                "{output}: {told}"
            );
            assert_eq!(told.is_empty(), expected.is_empty(), "{output}: {told}");
            assert_eq!(denial(None, &[], &guards), None);
        }
        let hosts = ["a.example:443".to_owned(), "b.example:22".to_owned()];
        let told = denial(None, &hosts, &ShellGuards::default()).unwrap();
        assert!(told.contains("a.example:443, b.example:22"), "{told}");
    }
}
