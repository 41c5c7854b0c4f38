//! The sandbox of an agent program.

use std::path::PathBuf;
use std::sync::Arc;

use swarm_agent::AgentError;
use swarm_os::OsError;
use swarm_os::namespaces::Replacement;
use swarm_protocol::{SandboxKind, SandboxNetwork, ShellGuards, with_causes};
use swarm_tools::{AgentShell, ProgramLaunch, ToolContext};

use crate::ProgramSpec;

/// Follows the error of a program in the sandbox whose directories are not known.
const WRITES_ELSEWHERE: &str = ". In the sandbox it writes only the directories of the agent's commands: name its own directories in `sandbox.write`";

/// How a program is started.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(crate) restrictions: ProgramLaunch,
    /// Its own namespaces, which exist as long as this value: each start shows the settings of the
    /// user as they are then.
    pub(crate) shell: Arc<AgentShell>,
    /// Variables that move its directories.
    pub(crate) env: Vec<(String, PathBuf)>,
    /// What may be the reason if it fails.
    pub(crate) advice: &'static str,
}

impl Launch {
    /// Prepares a start with the agent's restrictions, but with the network, because a program asks
    /// its model itself, often through a server of this machine. In the sandbox it can also read
    /// `shown`. Fails if the settings require a sandbox and none works.
    pub(crate) async fn prepare(
        spec: &ProgramSpec,
        context: &ToolContext,
        shown: Option<PathBuf>,
    ) -> Result<Self, AgentError> {
        let shell = Arc::<AgentShell>::default();
        let mut context = context.clone();
        context.shell = Arc::clone(&shell);
        let guards = Arc::make_mut(&mut context.guards);
        guards.network = SandboxNetwork::Open;
        guards.show.extend(shown);
        let backend = guards.backend_for(context.confine.is_some());
        let shown = backend.map(|backend| redirect(spec, guards, backend));
        let shown = shown.transpose().map_err(|error| {
            let why = with_causes(&error);
            spec.failed(&format!("its state directory cannot be prepared: {why}"))
        })?;
        let Redirection { mounts, env } = shown.unwrap_or_default();
        let restrictions = ProgramLaunch::prepare_program(&context, mounts).await;
        let is_unknown = backend.is_some() && spec.state.is_empty();
        Ok(Self {
            restrictions: restrictions.map_err(|why| spec.failed(&why))?,
            shell,
            env,
            advice: if is_unknown { WRITES_ELSEWHERE } else { "" },
        })
    }
}

/// How a program finds directories of its member instead of its own.
#[derive(Debug, Default)]
struct Redirection {
    mounts: Vec<Replacement>,
    /// Where nothing can be mounted.
    env: Vec<(String, PathBuf)>,
}

/// Shows the program directories of the member in place of its own.
fn redirect(
    spec: &ProgramSpec,
    guards: &mut ShellGuards,
    backend: SandboxKind,
) -> Result<Redirection, OsError> {
    let mut shown = Redirection::default();
    let is_needed = |path: &PathBuf| spec.state.iter().any(|state| state.needs(path));
    guards.hide.retain(|path| !is_needed(path));
    for state in &spec.state {
        match backend {
            SandboxKind::Namespaces => shown.mounts.extend(state.mounts()?),
            SandboxKind::Landlock => {
                let links = state.links()?;
                guards.write.extend(links.writable);
                guards.show.extend(links.readable);
                let variable = (state.variable.clone(), state.private.clone());
                shown.env.push(variable);
            }
        }
    }
    Ok(shown)
}
