//! The tables of the filter layers, from Claude Code 2.1.88 (`docs/formats.md` has its newer
//! lists), except that sub-agents can be nested down to a maximum depth.

use swarm_protocol::PermissionMode;

use super::AgentKind;

/// The built-in tools, without those of MCP servers.
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
    "ListAgents",
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

/// Returns all built-in tools; settings or missing services can disable some of them.
pub fn known_tools() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().copied()
}

/// A tool that a layer removes.
#[derive(Debug, Clone, Copy)]
pub(super) struct DeniedTool {
    pub(super) tool: &'static str,
    pub(super) exception: Exception,
    pub(super) why: &'static str,
}

/// The exceptions for a removed tool.
#[derive(Debug, Clone, Copy)]
pub(super) enum Exception {
    /// No exceptions.
    Never,
    /// Agents that may start agents.
    LevelsLeft,
    /// Agents in plan mode, and teammates, which can enter it.
    PlanMode,
    /// Teammates: they have their own conversation and background work, and a person answers their
    /// requests.
    Teammate,
}

impl Exception {
    pub(super) fn holds(self, kind: AgentKind, levels_left: u32, mode: PermissionMode) -> bool {
        match self {
            Self::Never => false,
            Self::LevelsLeft => levels_left > 0,
            Self::PlanMode => mode == PermissionMode::Plan || kind.is_teammate(),
            Self::Teammate => kind.is_teammate(),
        }
    }
}

const fn denied_tool(tool: &'static str, exception: Exception, why: &'static str) -> DeniedTool {
    DeniedTool {
        tool,
        exception,
        why,
    }
}

const NO_MEMBER: &str = "a sub-agent is not a member of the team";

/// The tools that act on behalf of a member. A fork is shown its parent's tools but cannot call
/// these.
pub const MEMBER_TOOLS: [&str; 5] = [
    "SendMessage",
    "TaskCreate",
    "TaskUpdate",
    "TeamCreate",
    "TeamDelete",
];

/// Tools denied to all agents below a lead: they control the lead or ask an absent person.
pub(super) const ALL_AGENTS: &[DeniedTool] = &[
    denied_tool(
        "Agent",
        Exception::LevelsLeft,
        "the maximum depth of agents is reached",
    ),
    denied_tool(
        "TaskOutput",
        Exception::Teammate,
        "only the main conversation reads background work",
    ),
    denied_tool(
        "TaskStop",
        Exception::Teammate,
        "only the main conversation stops background work",
    ),
    denied_tool("ListAgents", Exception::Teammate, NO_MEMBER),
    denied_tool(
        "AskUserQuestion",
        Exception::Teammate,
        "no person attends an agent; it asks the agent that started it",
    ),
    denied_tool(
        "EnterPlanMode",
        Exception::Teammate,
        "an agent's mode is chosen by its caller",
    ),
    denied_tool(
        "ExitPlanMode",
        Exception::PlanMode,
        "the agent is not in plan mode",
    ),
    denied_tool(
        "Workflow",
        Exception::Never,
        "only the lead starts workflows",
    ),
    denied_tool("SendMessage", Exception::Teammate, NO_MEMBER),
    denied_tool("TaskCreate", Exception::Teammate, NO_MEMBER),
    denied_tool("TaskUpdate", Exception::Teammate, NO_MEMBER),
    denied_tool(
        "TeamCreate",
        Exception::Never,
        "only the lead creates teams",
    ),
    denied_tool(
        "TeamDelete",
        Exception::Never,
        "only the lead deletes teams",
    ),
];

/// Tools denied to agents whose definition is not built in. Currently equal to [`ALL_AGENTS`]; a
/// separate table, so that custom definitions can be restricted further.
pub(super) const CUSTOM_AGENTS: &[DeniedTool] = ALL_AGENTS;

/// The only tools of a background agent.
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
    // Planned in Claude Code.
    "ListMcpResourcesTool",
    "ReadMcpResourceTool",
    // Not in Claude Code 2.1.88, which had one level only; the first layer checks the depth.
    "Agent",
];

/// Additional tools of a teammate, in any process.
pub(super) const TEAMMATE_EXTRA: &[&str] = &[
    "SendMessage",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskUpdate",
    "TaskStop",
    "TaskOutput",
    "ListAgents",
    "AskUserQuestion",
    "EnterPlanMode",
    "ExitPlanMode",
    "CronCreate",
    "CronDelete",
    "CronList",
];

/// Tools that a teammate keeps even if its definition's `tools` does not list them, because
/// membership requires them.
pub(super) const TEAMMATE_REQUIRED: &[&str] = &[
    "SendMessage",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskUpdate",
    // A teammate in plan mode must be able to submit its plan.
    "ExitPlanMode",
];

/// Tools that an agent with a memory needs to maintain it.
pub(super) const MEMORY: &[&str] = &["Read", "Write", "Edit"];

/// The only tools of a coordinator.
pub(super) const COORDINATOR: &[&str] = &["Agent", "SendMessage", "TaskStop", "StructuredOutput"];
