//! The tables of the filter layers, from Claude Code 2.1.88 (`docs/formats.md` has its newer
//! lists), except that sub-agents can be nested down to a maximum depth.

use swarm_protocol::{PermissionMode, word_list};

use super::AgentKind;
use Exception::{LevelsLeft, Never, PlanMode, Teammate};

/// The built-in tools, without those of MCP servers.
const TOOLS: &[&str] = &word_list::<30>(
    "Read Write Edit NotebookEdit Glob Grep Bash Agent SendMessage TaskCreate TaskGet TaskList
    TaskUpdate TaskStop TaskOutput ListAgents TeamCreate TeamDelete AskUserQuestion EnterPlanMode
    ExitPlanMode Skill TodoWrite WebFetch WebSearch EnterWorktree ExitWorktree
    ListMcpResourcesTool ReadMcpResourceTool ToolSearch",
);

/// Returns all built-in tools; settings or missing services can disable some of them.
pub fn known_tools() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().copied()
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

const NO_MEMBER: &str = "a sub-agent is not a member of the team";

/// The tools that act on behalf of a member. A fork is shown its parent's tools but cannot call
/// these.
pub const MEMBER_TOOLS: [&str; 5] =
    word_list("SendMessage TaskCreate TaskUpdate TeamCreate TeamDelete");

/// Tools denied to all agents below a lead, with exceptions and the reason: they control the lead
/// or ask an absent person.
pub(super) const ALL_AGENTS: &[(&str, Exception, &str)] = &[
    (
        "Agent",
        LevelsLeft,
        "the maximum depth of agents is reached",
    ),
    (
        "TaskOutput",
        Teammate,
        "only the main conversation reads background work",
    ),
    (
        "TaskStop",
        Teammate,
        "only the main conversation stops background work",
    ),
    ("ListAgents", Teammate, NO_MEMBER),
    (
        "AskUserQuestion",
        Teammate,
        "no person attends an agent; it asks the agent that started it",
    ),
    (
        "EnterPlanMode",
        Teammate,
        "an agent's mode is chosen by its caller",
    ),
    ("ExitPlanMode", PlanMode, "the agent is not in plan mode"),
    ("Workflow", Never, "only the lead starts workflows"),
    ("SendMessage", Teammate, NO_MEMBER),
    ("TaskCreate", Teammate, NO_MEMBER),
    ("TaskUpdate", Teammate, NO_MEMBER),
    ("TeamCreate", Never, "only the lead creates teams"),
    ("TeamDelete", Never, "only the lead deletes teams"),
];

/// The only tools of a background agent. Claude Code 2.1.88 has one level of agents, so its list
/// does not contain Agent; here the first layer checks the depth. Its list does not contain the
/// tools of MCP resources either, but it plans to add them.
pub(super) const BACKGROUND: &[&str] = &word_list::<19>(
    "Read Grep Glob Edit Write NotebookEdit Bash PowerShell WebFetch WebSearch TodoWrite Skill
    ToolSearch StructuredOutput EnterWorktree ExitWorktree ListMcpResourcesTool ReadMcpResourceTool
    Agent",
);

/// Additional tools of a teammate, in any process, besides [`TEAMMATE_REQUIRED`].
pub(super) const TEAMMATE_EXTRA: &[&str] = &word_list::<8>(
    "TaskStop TaskOutput ListAgents AskUserQuestion EnterPlanMode CronCreate CronDelete CronList",
);

/// Tools that a teammate keeps even if its definition's `tools` does not list them, because
/// membership requires them. In plan mode it must be able to submit its plan.
pub(super) const TEAMMATE_REQUIRED: &[&str] =
    &word_list::<6>("SendMessage TaskCreate TaskGet TaskList TaskUpdate ExitPlanMode");

/// Tools that an agent with a memory needs to maintain it.
pub(super) const MEMORY: &[&str] = &["Read", "Write", "Edit"];

/// The only tools of a coordinator.
pub(super) const COORDINATOR: &[&str] = &["Agent", "SendMessage", "TaskStop", "StructuredOutput"];
