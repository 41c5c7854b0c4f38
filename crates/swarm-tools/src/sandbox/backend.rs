//! Ways to confine commands, and which of them work on this machine.

use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::sync::Arc;

use swarm_protocol::SandboxKind;

use super::arguments::{HelperArguments, HelperTask};
use super::host::SandboxHost;
use super::landlock::{LandlockLevel, landlock_level, limits_ports};

/// A program that shows that commands start.
const NOTHING: &str = "true";

/// Every backend, the strongest first.
const BACKENDS: [SandboxKind; 2] = [SandboxKind::Namespaces, SandboxKind::Landlock];

/// Which backend works on this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SandboxProbe {
    /// The strongest backend that works.
    pub backend: Option<SandboxKind>,
    /// What it cannot enforce on this kernel.
    pub lacks: Option<String>,
    /// Whether its commands can reach a proxy (`sandbox.network`). Otherwise they have no network.
    pub has_proxy: bool,
    /// Stronger backends, and why they do not work.
    pub missing: Vec<(SandboxKind, String)>,
}

/// Tries the backends, the strongest first, with the helper program and its first arguments. Starts
/// processes, which takes some milliseconds.
pub fn probe_sandbox(helper: &[String]) -> SandboxProbe {
    let mut found = SandboxProbe::default();
    for backend in BACKENDS {
        let tried = match backend {
            SandboxKind::Namespaces => try_namespaces(helper).map(|()| (None, true)),
            SandboxKind::Landlock => try_landlock(helper).map(|lacks| (lacks, limits_ports())),
        };
        match tried {
            Ok((lacks, has_proxy)) => {
                found.backend = Some(backend);
                found.lacks = lacks;
                found.has_proxy = has_proxy;
                break;
            }
            Err(reason) => found.missing.push((backend, reason)),
        }
    }
    found
}

/// Confines a command that does nothing, with namespaces of the agent, which its commands join.
fn try_namespaces(helper: &[String]) -> Result<(), String> {
    let arguments = HelperArguments::default();
    let host = SandboxHost::start(helper, arguments, &Arc::default())?;
    run_nothing(helper, host.join())
}

/// Confines a command that does nothing, with Landlock rules, set by each command. Returns what the
/// kernel lacks, if anything.
fn try_landlock(helper: &[String]) -> Result<Option<String>, String> {
    let lacks = match landlock_level() {
        LandlockLevel::Full => None,
        LandlockLevel::Partial => Some(
            "this kernel is too old for some rules, such as truncating files and signals to other processes"
                .to_owned(),
        ),
        LandlockLevel::Absent => return Err("this kernel has no landlock".to_owned()),
    };
    let arguments = HelperArguments {
        task: HelperTask::Landlock,
        ..HelperArguments::default()
    };
    run_nothing(helper, arguments.words())?;
    Ok(lacks)
}

fn run_nothing(helper: &[String], arguments: Vec<OsString>) -> Result<(), String> {
    let (program, words) = helper.split_first().ok_or("there is no helper program")?;
    let output = Command::new(program)
        .args(words)
        .args(arguments)
        .arg(NOTHING)
        .current_dir("/")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot start {program}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr);
    let message = message.trim();
    Err(message
        .strip_prefix("swarm: ")
        .unwrap_or(message)
        .to_owned())
}
