//! Checks of the shell sandbox: what works on this machine, and the settings.

use swarm_config::Settings;
use swarm_protocol::{SandboxKind, SandboxNetwork, SandboxUse};
use swarm_tools::sandbox::SandboxProbe;

use super::finding::Finding;
use crate::shell_guards::{find_sandbox, missing_backends};

const NAME: &str = "sandbox";

pub(super) fn check(settings: &Settings) -> Finding {
    judge(
        &find_sandbox(),
        settings.sandbox,
        settings.sandbox_required,
        settings.sandbox_network,
    )
}

fn judge(
    probe: &SandboxProbe,
    used: SandboxUse,
    required: bool,
    network: SandboxNetwork,
) -> Finding {
    let whose = match used {
        SandboxUse::Always | SandboxUse::Auto => "it applies to the commands of every agent",
        SandboxUse::Worktree => "it applies to the commands of agents with their own worktree",
        SandboxUse::Off => {
            return Finding::ok(
                NAME,
                "disabled (`sandbox.bash`): agents' commands can do whatever you can",
            );
        }
    };
    let missing = missing_backends(probe);
    match probe.backend {
        Some(SandboxKind::Namespaces) => {
            let network = match network {
                SandboxNetwork::Open => "the network is open",
                SandboxNetwork::Proxy => "commands reach only permitted hosts",
                SandboxNetwork::None => "commands have no network",
            };
            Finding::ok(
                NAME,
                format!(
                    "namespaces; {whose}; {network}; other agent programs run in the sandbox too, with an open network"
                ),
            )
        }
        Some(SandboxKind::Landlock) => {
            let lacks = probe
                .lacks
                .as_deref()
                .unwrap_or("all of its rules are in force");
            let (network, or) = match network {
                SandboxNetwork::Open => ("the network is open", ""),
                SandboxNetwork::Proxy if probe.has_proxy => (
                    "commands reach only permitted hosts, and every host at the port of their proxy",
                    "",
                ),
                SandboxNetwork::Proxy => (
                    "commands have no network, because limiting them to a proxy requires Linux 6.7",
                    ", or set `sandbox.network` to open if commands need the network",
                ),
                SandboxNetwork::None => ("commands have no network", ""),
            };
            Finding::warning(
                NAME,
                format!(
                    "landlock, the weaker sandbox ({lacks}); {whose}; {network}; other agent programs run in the sandbox too, with an open network; not available: {missing}"
                ),
                format!(
                    "permit unprivileged user namespaces for the stronger one{or}; the guide's table says what each \
                     sandbox stops"
                ),
            )
        }
        None if required || used == SandboxUse::Always => Finding::missing(
            NAME,
            format!(
                "none works here, and the settings require one: agents cannot start; not available: {missing}"
            ),
            "use a kernel with landlock or user namespaces, or set `sandbox.bash` to auto and `sandbox.required` to false",
        ),
        None => Finding::warning(
            NAME,
            format!(
                "none works here: agents' commands can do whatever you can; not available: {missing}"
            ),
            "file tools stay in the worktree; set `sandbox.required` to refuse to run without a sandbox",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::State;
    use super::*;

    #[test]
    fn sandbox_finding_reports_the_backend_and_the_effective_setting() {
        let probe = |backend, has_proxy| SandboxProbe {
            backend,
            lacks: None,
            has_proxy,
            missing: vec![(SandboxKind::Namespaces, "not permitted".to_owned())],
        };
        let (namespaces, landlock) = (Some(SandboxKind::Namespaces), Some(SandboxKind::Landlock));
        for has_proxy in [false, true] {
            let probe = probe(landlock, has_proxy);
            let finding = judge(&probe, SandboxUse::Auto, false, SandboxNetwork::Proxy);
            let (found, hint) = (&finding.found, finding.hint.as_deref().unwrap_or_default());
            assert_eq!(found.contains("permitted hosts"), has_proxy, "{found}");
            assert_eq!(found.contains("requires Linux 6.7"), !has_proxy, "{found}");
            assert_eq!(hint.contains("`sandbox.network`"), !has_proxy, "{hint}");
        }
        for (backend, used, required, state, words) in [
            (
                namespaces,
                SandboxUse::Auto,
                false,
                State::Ok,
                "permitted hosts",
            ),
            (
                namespaces,
                SandboxUse::Worktree,
                true,
                State::Ok,
                "their own worktree",
            ),
            (
                landlock,
                SandboxUse::Auto,
                true,
                State::Warning,
                "; not available: namespaces (not permitted)",
            ),
            (
                None,
                SandboxUse::Auto,
                false,
                State::Warning,
                "none works here",
            ),
            (None, SandboxUse::Auto, true, State::Missing, "cannot start"),
            (
                None,
                SandboxUse::Always,
                false,
                State::Missing,
                "cannot start",
            ),
            (None, SandboxUse::Off, true, State::Ok, "disabled"),
        ] {
            let finding = judge(&probe(backend, true), used, required, SandboxNetwork::Proxy);
            assert_eq!(finding.state, state, "{finding:?}");
            assert!(finding.found.contains(words), "{finding:?}");
        }
    }
}
