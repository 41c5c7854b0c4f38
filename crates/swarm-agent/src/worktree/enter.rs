//! The tool `EnterWorktree`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use swarm_protocol::ToolKind;
use swarm_tools::{ToolContext, ToolOutput, TypedTool, Workplace, prompt};
use swarm_worktree::{Created, Slug};
use uuid::Uuid;

use super::isolator::blocking;
use super::stay::{Entered, SessionWorktree};

#[derive(Debug)]
pub(super) struct EnterWorktree(pub(super) Arc<SessionWorktree>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// Name of the worktree [default: generated]
    name: Option<String>,
    /// An existing worktree of swarm, instead of a name
    #[schemars(with = "Option<String>")]
    path: Option<PathBuf>,
}

#[async_trait]
impl TypedTool for EnterWorktree {
    type Parameters = Input;
    const NAME: &'static str = "EnterWorktree";
    const PROMPT: &'static str = prompt!("tools/EnterWorktree");
    // It creates and removes files of the repository.
    const KIND: ToolKind = ToolKind::Other;

    fn one_line(&self, input: &Value) -> String {
        let word = input["name"].as_str().or(input["path"].as_str());
        let line = format!("EnterWorktree {}", word.unwrap_or_default());
        line.chars().filter(|c| !c.is_control()).take(120).collect()
    }

    fn workplace(&self, origin: &Path) -> Option<Workplace> {
        self.0.moved_from(origin)
    }

    async fn call(&self, input: Input, ctx: &ToolContext) -> Result<ToolOutput, String> {
        let entered = self.enter(input, ctx).await;
        let created = entered.map_err(|why| format!("{}: {why}", Self::NAME))?;
        Ok(report(&created))
    }
}

impl EnterWorktree {
    async fn enter(&self, input: Input, ctx: &ToolContext) -> Result<Created, String> {
        if let Some(entered) = &*self.0.entered() {
            let path = entered.created.record.path.display();
            return Err(format!(
                "you are already in the worktree {path}; leave it with ExitWorktree first"
            ));
        }
        if ctx.cwd != self.0.origin {
            return Err("you already work in a separate directory".to_owned());
        }
        let (session, cancel) = (Arc::clone(&self.0), ctx.cancel.clone());
        let created = match (input.name, input.path) {
            (Some(_), Some(_)) => {
                return Err("`name` and `path` cannot be used together".to_owned());
            }
            (None, Some(path)) => {
                let path = ctx.cwd.join(path);
                blocking(move || {
                    let found = session
                        .source
                        .worktrees
                        .find_in_repository(&session.origin, &path)?;
                    let found = found.ok_or(swarm_worktree::WorktreeError::NotFound {
                        slug: path.display().to_string(),
                        repository: session.origin.clone(),
                    })?;
                    session.create(&found.from, found.slug, &cancel)
                })
                .await?
            }
            (name, None) => {
                let id = Uuid::new_v4().simple().to_string();
                let name = name.unwrap_or_else(|| format!("session-{}", &id[..8]));
                let slug = Slug::parse(&name).map_err(|error| error.to_string())?;
                blocking(move || session.create(&session.origin, slug, &cancel)).await?
            }
        };
        *self.0.entered() = Some(Entered::new(created.clone()));
        Ok(created)
    }
}

fn report(created: &Created) -> ToolOutput {
    let record = &created.record;
    let (slug, branch) = (&record.slug, &record.branch);
    let mut lines = vec![
        format!("You are now in the worktree {slug}."),
        format!("worktreePath: {}", record.path.display()),
        if record.by_hook {
            "It was created by a user's hook.".to_owned()
        } else {
            format!("worktreeBranch: {branch}\nbase: {}", record.base.describe())
        },
    ];
    lines.extend(created.notices.iter().cloned());
    ToolOutput::ok(lines.join("\n"), format!("in {slug}"))
}
