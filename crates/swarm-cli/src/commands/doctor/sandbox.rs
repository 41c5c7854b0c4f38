//! The sandbox of shell commands: what the kernel has, and what the settings make of it.

use swarm_config::Settings;
use swarm_protocol::SandboxUse;
use swarm_tools::sandbox::{SandboxLevel, sandbox_level};

use super::finding::Finding;

const NAME: &str = "sandbox";

pub(super) fn look(settings: &Settings) -> Finding {
    judge(sandbox_level(), settings.sandbox, settings.sandbox_required)
}

fn judge(level: SandboxLevel, used: SandboxUse, required: bool) -> Finding {
    let whose = match used {
        SandboxUse::Always => "the commands of every agent run in it",
        SandboxUse::Worktree => "the commands of agents with a worktree of their own run in it",
        SandboxUse::Off => "off by `sandbox.bash`: commands of agents write wherever you may",
    };
    match level {
        _ if used == SandboxUse::Off => Finding::ok(NAME, whose),
        SandboxLevel::Full => Finding::ok(NAME, format!("landlock, in full; {whose}")),
        SandboxLevel::Partial => Finding::warning(
            NAME,
            format!("landlock of an old kernel, in part; {whose}"),
            "a newer kernel also stops commands from cutting files short and moving them",
        ),
        SandboxLevel::Absent if required => Finding::missing(
            NAME,
            "this kernel has no landlock, and `sandbox.required` is set: no agent is started",
            "use a kernel with landlock, or set `sandbox.required` to false",
        ),
        SandboxLevel::Absent => Finding::warning(
            NAME,
            "this kernel has no landlock: commands of agents write wherever you may, also out of their worktrees",
            "file tools hold to the worktree all the same; `sandbox.required` refuses to go without",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::State;
    use super::*;

    #[test]
    fn what_is_in_force_is_said_whatever_the_kernel_has() {
        use SandboxLevel::{Absent, Full, Partial};
        for (level, used, required, state, words) in [
            (
                Full,
                SandboxUse::Worktree,
                false,
                State::Ok,
                "worktree of their own run in it",
            ),
            (Full, SandboxUse::Always, true, State::Ok, "every agent"),
            (
                Partial,
                SandboxUse::Worktree,
                false,
                State::Warning,
                "in part",
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
            (Absent, SandboxUse::Off, true, State::Ok, "off by"),
        ] {
            let finding = judge(level, used, required);
            assert_eq!(finding.state, state, "{finding:?}");
            assert!(finding.found.contains(words), "{finding:?}");
        }
    }
}
