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

/// One way to confine commands.
pub trait SandboxBackend: Sync {
    /// Which one it is.
    fn kind(&self) -> SandboxKind;

    /// Confines a command that does nothing, to find out whether this works here. `helper` is the
    /// program and its first arguments. Returns what the kernel lacks, if anything.
    ///
    /// # Errors
    /// Returns the reason why it does not work.
    fn probe(&self, helper: &[String]) -> Result<Option<String>, String>;

    /// Whether its commands can reach a proxy and nothing else.
    fn has_proxy(&self) -> bool;
}

/// Every backend, the strongest first.
const BACKENDS: [&dyn SandboxBackend; 2] = [&Namespaces, &Landlock];

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
        match backend.probe(helper) {
            Ok(lacks) => {
                found.backend = Some(backend.kind());
                found.lacks = lacks;
                found.has_proxy = backend.has_proxy();
                break;
            }
            Err(reason) => found.missing.push((backend.kind(), reason)),
        }
    }
    found
}

/// Whether this kernel has Landlock. Starts no process.
pub fn landlock_works() -> bool {
    landlock_level() != LandlockLevel::Absent
}

/// Namespaces of the agent, which its commands join.
struct Namespaces;

impl SandboxBackend for Namespaces {
    fn kind(&self) -> SandboxKind {
        SandboxKind::Namespaces
    }

    fn probe(&self, helper: &[String]) -> Result<Option<String>, String> {
        let arguments = HelperArguments::default();
        let host = SandboxHost::start(helper, arguments, &Arc::default())?;
        run_nothing(helper, host.join(false))?;
        Ok(None)
    }

    fn has_proxy(&self) -> bool {
        true
    }
}

/// Landlock rules, set by each command.
struct Landlock;

impl SandboxBackend for Landlock {
    fn kind(&self) -> SandboxKind {
        SandboxKind::Landlock
    }

    fn probe(&self, helper: &[String]) -> Result<Option<String>, String> {
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

    fn has_proxy(&self) -> bool {
        limits_ports()
    }
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
