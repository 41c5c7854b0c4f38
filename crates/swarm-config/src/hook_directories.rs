//! Worktrees created and removed by user hooks instead of git.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use serde_json::{Value, json};
use swarm_hooks::{HookInput, HookOutcome, Hooks};
use swarm_os::process::{self, Target};
use swarm_permissions::HookEvent;
use swarm_protocol::AgentId;
use swarm_worktree::{DirectoryMaker, Owner, Record, Slug};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// Directory of the worktree records, below the config directory.
const RECORDS: [&str; 2] = ["swarm", "worktrees"];

/// The environment variable that identifies the processes of one hook run.
const HOOK_ID_VARIABLE: &str = "SWARM_HOOK_ID";

/// Grace period for processes that left the hook's group, before SIGKILL.
const GRACE: Duration = Duration::from_millis(500);

/// Runs the `WorktreeCreate` and `WorktreeRemove` hooks.
#[derive(Debug)]
pub struct HookDirectories {
    hooks: LazyLock<Hooks, Box<dyn FnOnce() -> Hooks + Send>>,
}

/// Returns the directory of the worktree records.
pub fn worktree_records(root: &Path) -> PathBuf {
    root.join(RECORDS[0]).join(RECORDS[1])
}

impl HookDirectories {
    /// Creates a value whose hooks are loaded when the first worktree is created or removed.
    pub fn new(hooks: impl FnOnce() -> Hooks + Send + 'static) -> Self {
        Self {
            hooks: LazyLock::new(Box::new(hooks)),
        }
    }

    /// Runs the hooks of an event on a separate thread, so that callers need no runtime. On
    /// cancellation all their processes are terminated, even those that left the process group.
    fn run(
        &self,
        event: HookEvent,
        from: &Path,
        owner: &Owner,
        fields: &Value,
        cancel: &CancellationToken,
    ) -> Result<HookOutcome, String> {
        let id = Uuid::new_v4().to_string();
        let hooks = self.hooks.with_variable(HOOK_ID_VARIABLE, id.clone());
        let outcome = run_in_runtime(&hooks, event, &hook_input(from, owner), fields, cancel)?;
        if outcome.interrupted {
            let target = Target {
                marks: vec![(HOOK_ID_VARIABLE.to_owned(), id)],
                ..Target::default()
            };
            let ended = process::end_blocking(&target, GRACE);
            if ended.left > 0 {
                tracing::error!(
                    left = ended.left,
                    "processes of a hook could not be terminated"
                );
            }
            return Err("the hook was interrupted".to_owned());
        }
        Ok(outcome)
    }
}

fn run_in_runtime(
    hooks: &Hooks,
    event: HookEvent,
    hook_input: &HookInput,
    fields: &Value,
    cancel: &CancellationToken,
) -> Result<HookOutcome, String> {
    std::thread::scope(|scope| {
        let running = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(|error| error.to_string())?;
            Ok(runtime.block_on(hooks.run(event, None, hook_input, fields, cancel)))
        });
        running
            .join()
            .unwrap_or_else(|_| Err("the hook thread panicked".to_owned()))
    })
}

/// Returns the hook input fields of the agent that will use the worktree.
fn hook_input(from: &Path, owner: &Owner) -> HookInput {
    let member = owner.member.clone().zip(owner.team.clone());
    let member_id = member.map(|(member, team)| AgentId::new(member, team).to_string());
    let (agent_id, parent) = match &owner.agent {
        Some(agent) => (Some(agent.clone()), member_id),
        None => (member_id, None),
    };
    HookInput {
        cwd: from.to_owned(),
        team: owner.team.clone(),
        member: owner.member.clone(),
        agent_id,
        parent,
        ..HookInput::default()
    }
}

impl DirectoryMaker for HookDirectories {
    fn makes(&self) -> bool {
        self.hooks.any(HookEvent::WorktreeCreate, None)
    }

    fn make(
        &self,
        slug: &Slug,
        from: &Path,
        owner: &Owner,
        cancel: &CancellationToken,
    ) -> Result<PathBuf, String> {
        let fields = json!({"name": slug});
        let outcome = self.run(HookEvent::WorktreeCreate, from, owner, &fields, cancel)?;
        if let Some(why) = outcome.refusal().or(outcome.stop) {
            return Err(why);
        }
        if !outcome.failures.is_empty() {
            return Err(outcome.failures.join("; "));
        }
        let lines = outcome.printed.iter().flat_map(|text| text.lines());
        if let Some(path) = outcome.worktree_path {
            return Ok(PathBuf::from(path));
        }
        let last = lines.map(str::trim).rfind(|line| !line.is_empty());
        last.map(PathBuf::from).ok_or_else(|| {
            "the hook printed no path; its last line must be the worktree's path".to_owned()
        })
    }

    fn remove(&self, record: &Record) -> Result<(), String> {
        if !self.hooks.any(HookEvent::WorktreeRemove, None) {
            return Err(format!(
                "no WorktreeRemove hook is configured; remove {} manually, then retry",
                record.path.display()
            ));
        }
        let fields = json!({"worktree_path": record.path});
        let outcome = self.run(
            HookEvent::WorktreeRemove,
            &record.from,
            &record.owner,
            &fields,
            // A removal that has started is not cancelled.
            &CancellationToken::new(),
        )?;
        let said = outcome.block.iter().chain(&outcome.failures);
        let said: Vec<_> = said.map(String::as_str).collect();
        if said.is_empty() {
            Ok(())
        } else {
            Err(said.join("; "))
        }
    }
}
