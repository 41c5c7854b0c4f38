//! Worktrees that hooks of the user's make and take away in git's place.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use serde_json::{Map, Value, json};
use swarm_hooks::{HookOutcome, Hooks, Subject};
use swarm_os::process::{self, Target};
use swarm_permissions::HookEvent;
use swarm_protocol::AgentId;
use swarm_worktree::{DirectoryMaker, Owner, Record, Slug};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// Directory of the records of such worktrees, below the config directory.
const RECORDS: [&str; 2] = ["swarm", "worktrees"];

/// The variable by which the processes of one such hook are found.
const HOOK_MARK: &str = "SWARM_HOOK_ID";

/// How long those that have left the hook's group may take to end, before they are killed.
const GRACE: Duration = Duration::from_millis(500);

/// Runs the hooks of `WorktreeCreate` and `WorktreeRemove`.
pub struct HookDirectories {
    hooks: LazyLock<Hooks, Box<dyn FnOnce() -> Hooks + Send>>,
}

impl fmt::Debug for HookDirectories {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookDirectories").finish_non_exhaustive()
    }
}

/// Where swarm keeps what is known of such worktrees.
pub fn worktree_records(root: &Path) -> PathBuf {
    root.join(RECORDS[0]).join(RECORDS[1])
}

impl HookDirectories {
    /// With these hooks, which are looked up when the first worktree is made or taken away.
    pub fn new(hooks: impl FnOnce() -> Hooks + Send + 'static) -> Self {
        Self {
            hooks: LazyLock::new(Box::new(hooks)),
        }
    }

    /// Runs the hooks of an event to their end, on a thread of its own: whoever calls may be in a runtime or not. When
    /// they are interrupted, nothing is left of them, wherever it has moved.
    fn run(
        &self,
        event: HookEvent,
        from: &Path,
        owner: &Owner,
        fields: &Map<String, Value>,
        cancel: &CancellationToken,
    ) -> Result<HookOutcome, String> {
        let mark = Uuid::new_v4().to_string();
        let hooks = self.hooks.with_variable(HOOK_MARK, mark.clone());
        let outcome = in_runtime(&hooks, event, &subject(from, owner), fields, cancel)?;
        if outcome.interrupted {
            let target = Target {
                marks: vec![(HOOK_MARK.to_owned(), mark)],
                ..Target::default()
            };
            let ended = process::end_blocking(&target, GRACE);
            if ended.left > 0 {
                tracing::error!(left = ended.left, "processes of a hook are left");
            }
            return Err("it was interrupted".to_owned());
        }
        Ok(outcome)
    }
}

fn in_runtime(
    hooks: &Hooks,
    event: HookEvent,
    subject: &Subject,
    fields: &Map<String, Value>,
    cancel: &CancellationToken,
) -> Result<HookOutcome, String> {
    std::thread::scope(|scope| {
        let running = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(|error| error.to_string())?;
            Ok(runtime.block_on(hooks.run(event, None, subject, fields, cancel)))
        });
        running
            .join()
            .unwrap_or_else(|_| Err("running it broke down".to_owned()))
    })
}

/// Whom the hook is told of: the agent that is to work there.
fn subject(from: &Path, owner: &Owner) -> Subject {
    let member = owner.member.clone().zip(owner.team.clone());
    let member_id = member.map(|(member, team)| AgentId::new(member, team).to_string());
    let (agent_id, parent) = match &owner.agent {
        Some(agent) => (Some(agent.clone()), member_id),
        None => (member_id, None),
    };
    Subject {
        cwd: from.to_owned(),
        team: owner.team.clone(),
        member: owner.member.clone(),
        agent_id,
        parent,
        ..Subject::default()
    }
}

fn object(fields: Value) -> Map<String, Value> {
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
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
        let fields = object(json!({"name": slug}));
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
            "it printed no path; the last line that it prints must be one".to_owned()
        })
    }

    fn take_away(&self, record: &Record) -> Result<(), String> {
        if !self.hooks.any(HookEvent::WorktreeRemove, None) {
            return Err(format!(
                "no WorktreeRemove hook takes it away; remove {} by hand, then run this again",
                record.path.display()
            ));
        }
        let fields = object(json!({"worktree_path": record.path}));
        let outcome = self.run(
            HookEvent::WorktreeRemove,
            &record.from,
            &record.owner,
            &fields,
            // What was asked to be gone is not left half there.
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
