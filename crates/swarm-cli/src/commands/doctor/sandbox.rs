//! Checks of the shell sandbox: kernel support and settings.

use swarm_config::Settings;
use swarm_protocol::SandboxUse;
use swarm_tools::sandbox::{SandboxLevel, sandbox_level};

use super::finding::Finding;

const NAME: &str = "sandbox";

pub(super) fn check(settings: &Settings) -> Finding {
    judge(sandbox_level(), settings.sandbox, settings.sandbox_required)
}

fn judge(level: SandboxLevel, used: SandboxUse, required: bool) -> Finding {
    let whose = match used {
        SandboxUse::Always => "it applies to the commands of every agent",
        SandboxUse::Worktree => "it applies to the commands of agents with their own worktree",
        SandboxUse::Off => "disabled (`sandbox.bash`): agents' commands can write wherever you can",
    };
    match level {
        _ if used == SandboxUse::Off => Finding::ok(NAME, whose),
        SandboxLevel::Full => Finding::ok(NAME, format!("landlock, full support; {whose}")),
        SandboxLevel::Partial => Finding::warning(
            NAME,
            format!("landlock, partial support (old kernel); {whose}"),
            "a newer kernel also restricts truncating and moving files",
        ),
        SandboxLevel::Absent if required => Finding::missing(
            NAME,
            "this kernel has no landlock, and `sandbox.required` is set: agents cannot start",
            "use a kernel with landlock, or set `sandbox.required` to false",
        ),
        SandboxLevel::Absent => Finding::warning(
            NAME,
            "this kernel has no landlock: agents' commands can write wherever you can, also outside their worktrees",
            "file tools stay in the worktree; set `sandbox.required` to refuse to run without a sandbox",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::State;
    use super::*;

    #[test]
    fn sandbox_finding_reports_the_effective_setting() {
        use SandboxLevel::{Absent, Full, Partial};
        for (level, used, required, state, words) in [
            (
                Full,
                SandboxUse::Worktree,
                false,
                State::Ok,
                "agents with their own worktree",
            ),
            (Full, SandboxUse::Always, true, State::Ok, "every agent"),
            (
                Partial,
                SandboxUse::Worktree,
                false,
                State::Warning,
                "partial support",
            ),
            (
                Absent,
                SandboxUse::Worktree,
                false,
                State::Warning,
                "no landlock",
            ),
            (
                Absent,
                SandboxUse::Worktree,
                true,
                State::Missing,
                "sandbox.required",
            ),
            (Absent, SandboxUse::Off, true, State::Ok, "disabled"),
        ] {
            let finding = judge(level, used, required);
            assert_eq!(finding.state, state, "{finding:?}");
            assert!(finding.found.contains(words), "{finding:?}");
        }
    }
}
