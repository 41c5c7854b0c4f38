//! The sandbox of an agent program.

use std::path::PathBuf;
use std::sync::Arc;

use swarm_agent::AgentError;
use swarm_protocol::{SandboxNetwork, SandboxUse, with_causes};
use swarm_tools::{AgentShell, ProgramLaunch, ToolContext};

use crate::ProgramSpec;

/// How a program is started.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(crate) restrictions: ProgramLaunch,
    /// Its own namespaces, which exist as long as this value: each start shows the settings of the
    /// user as they are then.
    pub(crate) shell: Arc<AgentShell>,
    /// Why it runs outside of the sandbox of the agent's commands, if it does.
    pub(crate) outside: Option<&'static str>,
}

impl Launch {
    /// Prepares a start with the agent's restrictions, but with the network, because a program asks
    /// its model itself, often through a server of this machine. In the sandbox it can also read `shown`.
    ///
    /// # Errors
    /// [`AgentError::Runtime`] if the program cannot run in the sandbox and the settings require it.
    pub(crate) async fn prepare(
        spec: &ProgramSpec,
        context: &ToolContext,
        shown: Option<PathBuf>,
    ) -> Result<Self, AgentError> {
        let shell = Arc::<AgentShell>::default();
        let mut context = context.clone();
        context.shell = Arc::clone(&shell);
        let outside = reason_outside(spec, &context);
        let guards = Arc::make_mut(&mut context.guards);
        guards.network = SandboxNetwork::Open;
        guards.show.extend(shown);
        if let Some(why) = outside {
            if guards.required || guards.sandbox == SandboxUse::Always {
                return Err(spec.failed(&format!(
                    "it cannot run in the sandbox, which `sandbox.required` or `sandbox.bash` requires: {why}"
                )));
            }
            guards.sandbox = SandboxUse::Off;
        }
        let replaced = if guards.confines_programs(context.confine.is_some()) {
            let directories = || spec.state.iter().flatten();
            let is_needed = |path: &PathBuf| directories().any(|state| state.needs(path));
            guards.hide.retain(|path| !is_needed(path));
            let prepared = directories().map(crate::StateDirectory::prepare);
            let prepared = prepared.collect::<Result<Vec<_>, _>>();
            let prepared = prepared.map_err(|error| {
                let why = with_causes(&error);
                spec.failed(&format!("its state directory cannot be prepared: {why}"))
            })?;
            prepared.into_iter().flatten().collect()
        } else {
            Vec::new()
        };
        let restrictions = ProgramLaunch::prepare_replacing(&context, replaced).await;
        Ok(Self {
            restrictions: restrictions.map_err(|why| spec.failed(&why))?,
            shell,
            outside,
        })
    }

    /// Returns a line for a person about a program that runs outside of the sandbox.
    pub(crate) fn notice(&self, spec: &ProgramSpec) -> Option<String> {
        let why = self.outside?;
        Some(format!("{} runs outside of the sandbox: {why}", spec.name))
    }
}

/// Returns why the program cannot run in the sandbox although the agent's commands do.
fn reason_outside(spec: &ProgramSpec, context: &ToolContext) -> Option<&'static str> {
    let guards = &context.guards;
    let has_worktree = context.confine.is_some();
    if !guards.confines(has_worktree) {
        None
    } else if !guards.confines_programs(has_worktree) {
        Some("that requires namespaces, which do not work here")
    } else if spec.state.is_none() {
        Some("swarm does not know the directories that it writes")
    } else {
        None
    }
}
