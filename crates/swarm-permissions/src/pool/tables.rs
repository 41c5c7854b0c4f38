//! The tables of the filter layers. They follow Claude Code 2.1.88 (its newer lists are in `docs/formats.md`), but that
//! agents may have agents of their own down to a depth.

use swarm_protocol::PermissionMode;

use super::AgentKind;

/// The tools of the program; those of MCP servers come beside them.
const TOOLS: &[&str] = &[
    "Read",
    "Write",
    "Edit",
    "NotebookEdit",
    "Glob",
    "Grep",
    "Bash",
    "Agent",
    "SendMessage",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskUpdate",
    "TaskStop",
    "TaskOutput",
    "TeamCreate",
    "TeamDelete",
    "AskUserQuestion",
    "EnterPlanMode",
    "ExitPlanMode",
    "Skill",
    "TodoWrite",
    "WebFetch",
    "WebSearch",
    "EnterWorktree",
    "ExitWorktree",
    "ListMcpResourcesTool",
    "ReadMcpResourceTool",
    "ToolSearch",
];

/// Every tool that the program may offer; a setting or the absence of a service can leave one out.
pub fn known_tools() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().copied()
}

/// A tool that a layer takes away.
#[derive(Debug, Clone, Copy)]
pub(super) struct Barred {
    pub(super) tool: &'static str,
    pub(super) unless: Unless,
    pub(super) why: &'static str,
}

/// Who keeps a barred tool all the same.
#[derive(Debug, Clone, Copy)]
pub(super) enum Unless {
    /// Nobody.
    Never,
    /// An agent that may have agents below it.
    LevelsLeft,
    /// An agent in plan mode, and a teammate, which may get into it.
    PlanMode,
    /// A teammate: it has a conversation and background work of its own, and a person answers its requests.
    Teammate,
}

impl Unless {
    pub(super) fn holds(self, kind: AgentKind, levels_left: u32, mode: PermissionMode) -> bool {
        match self {
            Self::Never => false,
            Self::LevelsLeft => levels_left > 0,
            Self::PlanMode => mode == PermissionMode::Plan || kind.is_teammate(),
            Self::Teammate => kind.is_teammate(),
        }
    }
}

const fn barred(tool: &'static str, unless: Unless, why: &'static str) -> Barred {
    Barred { tool, unless, why }
}

const NO_MEMBER: &str = "a sub-agent is not a member of the team";

/// The tools that act in the name of a member. A fork is shown those of its parent and may not call them.
pub const MEMBER_TOOLS: [&str; 5] = [
    "SendMessage",
    "TaskCreate",
    "TaskUpdate",
    "TeamCreate",
    "TeamDelete",
];

/// What no agent below a lead gets: it would steer the one who steers it, or ask a person who is not there.
pub(super) const ALL_AGENTS: &[Barred] = &[
    barred(
        "Agent",
        Unless::LevelsLeft,
        "agents are as deep as they may be here",
    ),
    barred(
        "TaskOutput",
        Unless::Teammate,
        "background work reports to the conversation that a person leads",
    ),
    barred(
        "TaskStop",
        Unless::Teammate,
        "background work is stopped by the conversation that a person leads",
    ),
    barred(
        "AskUserQuestion",
        Unless::Teammate,
        "no person sits at an agent; it asks whoever started it",
    ),
    barred(
        "EnterPlanMode",
        Unless::Teammate,
        "an agent's mode is chosen by whoever starts it",
    ),
    barred("ExitPlanMode", Unless::PlanMode, "it is not in plan mode"),
    barred(
        "Workflow",
        Unless::Never,
        "workflows are started by the lead",
    ),
    barred("SendMessage", Unless::Teammate, NO_MEMBER),
    barred("TaskCreate", Unless::Teammate, NO_MEMBER),
    barred("TaskUpdate", Unless::Teammate, NO_MEMBER),
    barred("TeamCreate", Unless::Never, "the lead makes teams"),
    barred("TeamDelete", Unless::Never, "the lead deletes teams"),
];

/// What no agent gets whose definition is not built in. The same as for all agents; a table of its own, so that what
/// somebody else wrote can be held tighter than what came with the program.
pub(super) const CUSTOM_AGENTS: &[Barred] = ALL_AGENTS;

/// What alone an agent keeps that works in the background.
pub(super) const BACKGROUND: &[&str] = &[
    "Read",
    "Grep",
    "Glob",
    "Edit",
    "Write",
    "NotebookEdit",
    "Bash",
    "PowerShell",
    "WebFetch",
    "WebSearch",
    "TodoWrite",
    "Skill",
    "ToolSearch",
    "StructuredOutput",
    "EnterWorktree",
    "ExitWorktree",
    // Claude Code means to add them.
    "ListMcpResourcesTool",
    "ReadMcpResourceTool",
    // Not in Claude Code 2.1.88, which had one level only; the depth is the first layer's business.
    "Agent",
];

/// What a teammate keeps beside it, in whatever process it lives.
pub(super) const TEAMMATES_TOO: &[&str] = &[
    "SendMessage",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskUpdate",
    "TaskStop",
    "TaskOutput",
    "AskUserQuestion",
    "EnterPlanMode",
    "ExitPlanMode",
    "CronCreate",
    "CronDelete",
    "CronList",
];

/// What a teammate keeps even where its definition's `tools` does not list it: without these it is no member.
pub(super) const TEAMMATES_ALWAYS: &[&str] = &[
    "SendMessage",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskUpdate",
    // One that may plan first has to be able to say that it has.
    "ExitPlanMode",
];

/// What an agent with a memory needs to keep it.
pub(super) const MEMORY: &[&str] = &["Read", "Write", "Edit"];

/// What alone a coordinator has.
pub(super) const COORDINATOR: &[&str] = &["Agent", "SendMessage", "TaskStop", "StructuredOutput"];
