//! The tool `Agent`, which starts teammates and sub-agents.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use async_trait::async_trait;
use serde_json::Value;
use swarm_permissions::{AgentDefinition, Isolation, RuleSet, same_agent_type};
use swarm_protocol::{MemberName, PermissionMode, ToolKind};
use swarm_tools::{Tool, ToolContext, ToolOutput, schema};

use super::describe::{describe_to_coordinator, description, refuse_denied, usable};
use super::foreground;
use super::input::{Input, reject_overrides, worker_schema};
use crate::fork::{FORK, directive, fork_definition};
use crate::subagent::{CallSettings, Parent, SubAgentRequest, SubAgents, launched};
use crate::{MemberRequest, SpawnRequest, Spawned, Teammates};

const ALIASES: &[&str] = &["Task"];

/// The tool `Agent`, with the parameters of Claude Code's. Each agent has its own instance, which
/// knows its caller.
#[derive(Debug, Clone)]
pub(crate) struct AgentTool {
    spawner: Arc<dyn Teammates>,
    agents: Weak<SubAgents>,
    parent: Arc<Parent>,
}

impl AgentTool {
    pub(crate) const NAME: &'static str = "Agent";

    /// The type of an agent if the call names none.
    pub(crate) const GENERAL: &'static str = "general-purpose";

    /// Creates the tool of `parent`, which starts teammates with `spawner` and sub-agents with
    /// `agents`.
    pub(crate) fn new(
        spawner: Arc<dyn Teammates>,
        agents: Weak<SubAgents>,
        parent: Arc<Parent>,
    ) -> Self {
        Self {
            spawner,
            agents,
            parent,
        }
    }

    fn coordinates(&self) -> bool {
        let agents = self.agents.upgrade();
        agents.is_some_and(|agents| agents.coordinates())
    }

    pub(crate) fn is_called(name: &str) -> bool {
        name == Self::NAME || ALIASES.contains(&name)
    }

    async fn teammate(
        &self,
        name: &str,
        input: Input,
        ctx: &ToolContext,
    ) -> Result<ToolOutput, String> {
        let wanted = input.subagent_type.as_deref().unwrap_or(Self::GENERAL);
        // Types are matched case-insensitively; rules use the name in the definition.
        let agents = self.agents.upgrade();
        let found = agents
            .as_ref()
            .and_then(|agents| agents.catalog().find(wanted));
        refuse_denied(
            &self.parent,
            found.map_or(wanted, |found| found.name.as_str()),
        )?;
        if let Some(agents) = &agents
            && let Some(found) = found.filter(|_| input.subagent_type.is_some())
        {
            agents
                .require_servers(&self.parent, found, &ctx.cancel)
                .await?;
        }
        let request = spawn_request(name, input, ctx)?;
        Ok(report(&self.spawner.spawn(request).await?))
    }

    async fn sub_agent(
        &self,
        input: Input,
        granted: RuleSet,
        ctx: &ToolContext,
    ) -> Result<ToolOutput, String> {
        if input.isolation == Some(Isolation::Remote) {
            return Err(
                "Agent was not called: only teammates run remotely. Give it a `name` without `run_in_background`, or leave \
                 `isolation` out"
                    .to_owned(),
            );
        }
        let agents = self.agents.upgrade();
        let agents = agents.ok_or("Agent was not called: this process is shutting down")?;
        let name = input.name.as_deref().map(MemberName::teammate).transpose();
        let name = name.map_err(|error| format!("Agent was not called: {error}"))?;
        let named = input.subagent_type.as_deref();
        let origin = if agents.forks(named) {
            refuse_denied(&self.parent, FORK)?;
            reject_overrides(&input)?;
            Some(self.parent.fork_origin()?)
        } else {
            None
        };
        let definition = match &origin {
            Some(_) => fork_definition(),
            None => self.definition(&agents, named)?,
        };
        agents
            .require_servers(&self.parent, &definition, &ctx.cancel)
            .await?;
        let background = input.run_in_background == Some(true) || definition.background;
        let request = SubAgentRequest {
            prompt: match &origin {
                Some(_) => directive(&input.prompt),
                None => input.prompt,
            },
            origin,
            name: name.map(|name| name.to_string()),
            description: input.description,
            granted,
            background,
            settings: CallSettings {
                tool_use_id: ctx.tool_use_id.clone(),
                model: input.model,
                mode: input.mode,
                effort: input.effort,
                cwd: match input.cwd {
                    Some(cwd) => Some(self.directory(&cwd, ctx)?),
                    None => None,
                },
                isolation: input.isolation.or(definition.isolation),
            },
            definition,
        };
        let record = agents.start(&self.parent, request, &ctx.cancel).await?;
        if background {
            let can_read = !agents.coordinates() && self.parent.can_read(&record.output());
            return Ok(launched(&record, can_read));
        }
        Ok(foreground::wait(&agents, &self.parent, record, &ctx.cancel).await)
    }

    /// Executes a call; a sub-agent gets the additional rules `granted`.
    pub(super) async fn start(
        &self,
        input: Value,
        granted: RuleSet,
        ctx: &ToolContext,
    ) -> Result<ToolOutput, String> {
        let mut input = Input::read(input)?;
        if self.coordinates() {
            input = input.for_worker()?;
        }
        match input.name.clone() {
            Some(name) if !input.is_named_sub_agent() => self.teammate(&name, input, ctx).await,
            _ => self.sub_agent(input, granted, ctx).await,
        }
    }

    /// Returns the working directory of a sub-agent with symbolic links resolved. It must be inside
    /// one of this agent's directories, because the permission mode applies to the whole working
    /// directory.
    fn directory(&self, asked: &Path, ctx: &ToolContext) -> Result<PathBuf, String> {
        let path = ctx.cwd.join(asked);
        let found = path.canonicalize().ok().filter(|found| found.is_dir());
        let Some(found) = found else {
            let path = path.display();
            return Err(format!(
                "Agent was not called: `cwd` {path} is not a directory"
            ));
        };
        let rules = self.parent.parts.rights.rules();
        let mut own = std::iter::once(&ctx.cwd).chain(&rules.directories);
        if own.any(|directory| found.starts_with(directory)) {
            return Ok(found);
        }
        Err(format!(
            "Agent was not called: `cwd` {} is outside your working directory {}; leave it out",
            found.display(),
            ctx.cwd.display()
        ))
    }

    /// Returns the definition of a type, if this agent may use it.
    fn definition(
        &self,
        agents: &SubAgents,
        named: Option<&str>,
    ) -> Result<AgentDefinition, String> {
        let catalog = agents.catalog();
        let wanted = named.unwrap_or(Self::GENERAL);
        let found = match (catalog.find(wanted), named) {
            (Some(found), _) => found.clone(),
            (None, None) => AgentDefinition::new(Self::GENERAL, "", ""),
            (None, Some(named)) if same_agent_type(named, FORK) => {
                return Err(
                    "Agent was not called: forks are disabled (setting agents.fork). Use another type, or none for \
                     a general-purpose agent, and put everything the agent needs to know into `prompt`"
                        .to_owned(),
                );
            }
            (None, Some(_)) => {
                let usable = usable(catalog, &self.parent);
                let types: Vec<_> = usable.iter().map(|found| found.name.as_str()).collect();
                return Err(format!(
                    "Agent was not called: agent type `{}` not found. Available types: {}.",
                    wanted.escape_debug(),
                    if types.is_empty() {
                        "only the general-purpose type, without `subagent_type`".to_owned()
                    } else {
                        types.join(", ")
                    }
                ));
            }
        };
        refuse_denied(&self.parent, &found.name)?;
        Ok(found)
    }
}

#[async_trait]
impl Tool for AgentTool {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn aliases(&self) -> &'static [&'static str] {
        ALIASES
    }

    fn description(&self) -> String {
        let Some(agents) = self.agents.upgrade() else {
            return description(&[], false);
        };
        let types = usable(agents.catalog(), &self.parent);
        if agents.coordinates() {
            return describe_to_coordinator(&types);
        }
        description(&types, agents.limits().fork)
    }

    fn input_schema(&self) -> Value {
        if self.coordinates() {
            worker_schema()
        } else {
            schema::<Input>()
        }
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Team
    }

    fn runs_in_parallel(&self, _input: &Value) -> bool {
        true
    }

    fn one_line(&self, input: &Value) -> String {
        let text = |key: &str| input[key].as_str();
        let who = text("name").or(text("subagent_type")).unwrap_or_default();
        let what = text("description").unwrap_or_default();
        let line = match who {
            "" => format!("Agent {what}"),
            who => format!("Agent {who}: {what}"),
        };
        line.chars().filter(|c| !c.is_control()).take(120).collect()
    }

    async fn call(&self, input: Value, ctx: &ToolContext) -> ToolOutput {
        let started = self.start(input, RuleSet::default(), ctx).await;
        started.unwrap_or_else(ToolOutput::error)
    }
}

fn spawn_request(name: &str, input: Input, ctx: &ToolContext) -> Result<SpawnRequest, String> {
    let name =
        MemberName::teammate(name).map_err(|error| format!("Agent was not called: {error}"))?;
    Ok(SpawnRequest {
        name,
        member: MemberRequest {
            agent_type: input.subagent_type,
            model: input.model,
            effort: input.effort,
            plan: input.mode == Some(PermissionMode::Plan),
            mode: input.mode,
            ..MemberRequest::default()
        },
        prompt: input.prompt,
        description: input.description,
        cwd: input.cwd.map(|cwd| ctx.cwd.join(cwd)),
        isolation: input.isolation,
        team: input.team_name,
        cancel: ctx.cancel.clone(),
    })
}

fn report(spawned: &Spawned) -> ToolOutput {
    let Spawned {
        agent_id,
        model,
        mode,
        pane,
        note,
        ..
    } = spawned;
    let name = &agent_id.name;
    let mut content = format!(
        "Teammate added.\nagent_id: {agent_id}\nname: {name}\nteam_name: {}\nmodel: {model}\nmode: {mode}\npane: {pane}\n\
         It has received its instructions and is working. Its reports arrive as messages.",
        agent_id.team
    );
    if !note.is_empty() {
        content.push('\n');
        content.push_str(note);
    }
    ToolOutput::ok(content, format!("{name} is ready in {pane}"))
}
