//! The parameters of the Agent tool.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use swarm_permissions::{Isolation, same_agent_type};
use swarm_protocol::{Effort, PermissionMode};
use swarm_tools::{parse, schema};

use crate::coordinator::{WORKER, refuse_delegated_understanding};
use crate::fork::FORK;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// The work in three to five words
    pub(super) description: String,
    /// The agent's first message: its complete task
    pub(super) prompt: String,
    /// The type of agent [default: general-purpose]
    pub(super) subagent_type: Option<String>,
    /// Another model than your own
    pub(super) model: Option<String>,
    /// How much the model thinks
    #[schemars(with = "Option<String>", extend("enum" = ["low", "medium", "high", "xhigh", "max"]))]
    pub(super) effort: Option<Effort>,
    /// Return immediately; you are notified when the agent ends
    pub(super) run_in_background: Option<bool>,
    /// Name of the teammate, or with `run_in_background` of the sub-agent: letters, digits, `_` and `-`, beginning with a letter or digit
    pub(super) name: Option<String>,
    /// Your own team, which is also the default
    pub(super) team_name: Option<String>,
    /// Permission mode, at most your own
    #[schemars(with = "Option<String>", extend("enum" = PermissionMode::ALL.map(PermissionMode::name)))]
    pub(super) mode: Option<PermissionMode>,
    /// Run it in a separate git worktree, or a teammate on another machine of the team (remote)
    #[schemars(with = "Option<String>", extend("enum" = ["worktree", "remote"]))]
    pub(super) isolation: Option<Isolation>,
    /// Another working directory than your own
    #[schemars(with = "Option<String>")]
    pub(super) cwd: Option<PathBuf>,
}

impl Input {
    /// Returns whether `name` denotes a background sub-agent and not a teammate.
    pub(super) fn is_named_sub_agent(&self) -> bool {
        self.run_in_background == Some(true) && self.team_name.is_none()
    }

    /// Converts the call of a coordinator to one for a worker: a background sub-agent with the
    /// model of its definition or parent. The error is for the model.
    pub(super) fn for_worker(mut self) -> Result<Self, String> {
        let refused = |why: String| format!("Agent was not called: {why}.");
        if self.team_name.is_some() {
            return Err(refused(
                "a coordinator has workers and no team; leave `team_name` out".into(),
            ));
        }
        let named = self.subagent_type.get_or_insert_with(|| WORKER.to_owned());
        if same_agent_type(named, FORK) {
            return Err(refused(format!(
                "a coordinator has no forks; use `{WORKER}`, and say in `prompt` all that it has to know"
            )));
        }
        refuse_delegated_understanding(&self.prompt).map_err(refused)?;
        self.run_in_background = Some(true);
        self.model = None;
        Ok(self)
    }

    /// Parses the parameters. The error is for the model.
    pub(super) fn read(input: Value) -> Result<Self, String> {
        let input: Self = parse("Agent", input)?;
        if input.prompt.trim().is_empty() {
            return Err(
                "Agent was not called: `prompt` is empty. It must contain everything the agent needs to know"
                    .to_owned(),
            );
        }
        Ok(input)
    }
}

/// Returns the schema for a coordinator, without the parameters that it cannot choose.
pub(super) fn worker_schema() -> Value {
    let mut schema = schema::<Input>();
    if let Some(fields) = schema["properties"].as_object_mut() {
        for chosen in ["model", "run_in_background", "team_name"] {
            fields.shift_remove(chosen);
        }
    }
    let described = [
        ("subagent_type", "The type of worker [default: worker]"),
        (
            "name",
            "A name for the worker: letters, digits, `_` and `-`",
        ),
    ];
    for (field, text) in described {
        schema["properties"][field]["description"] = text.into();
    }
    schema
}

/// Rejects parameters that a fork takes from its parent, because its requests must begin with the
/// same bytes as its parent's.
pub(super) fn reject_overrides(input: &Input) -> Result<(), String> {
    let overrides = [
        ("model", input.model.is_some()),
        ("effort", input.effort.is_some()),
        ("cwd", input.cwd.is_some()),
    ];
    match overrides.into_iter().find(|(_, chosen)| *chosen) {
        Some((name, _)) => Err(format!(
            "Agent was not called: a fork uses its parent's `{name}`. Leave it out, or set `subagent_type` \
             to start an agent with a new conversation"
        )),
        None => Ok(()),
    }
}
