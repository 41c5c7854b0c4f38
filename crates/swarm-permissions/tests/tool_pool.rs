//! Complete tables of the tools of each agent kind.

use swarm_permissions::{
    AgentDefinition, AgentKind, AgentSource, FilterLayer, MemoryScope, PoolRequest, ToolAllowance,
    ToolCeiling, ToolPool, tool_pool,
};
use swarm_protocol::PermissionMode;

/// Every built-in tool, and one of an MCP server.
const TOOLS: &str = "Read Write Edit Glob Grep Bash Agent SendMessage TaskCreate TaskGet TaskList \
                     TaskUpdate TeamCreate TeamDelete TaskStop TaskOutput ListAgents AskUserQuestion \
                     EnterPlanMode ExitPlanMode Skill TodoWrite WebFetch WebSearch EnterWorktree \
                     ExitWorktree StructuredOutput mcp__git__log";

fn custom(tools: ToolAllowance, disallowed: &[&str]) -> AgentDefinition {
    AgentDefinition {
        tools,
        disallowed_tools: disallowed.iter().map(|tool| (*tool).to_owned()).collect(),
        source: AgentSource::Project,
        ..AgentDefinition::new("reviewer", "reviews", "Review.")
    }
}

fn only(tools: &[&str]) -> ToolAllowance {
    ToolAllowance::Only(tools.iter().map(|tool| (*tool).to_owned()).collect())
}

fn pool(
    kind: AgentKind,
    levels_left: u32,
    mode: PermissionMode,
    definition: Option<&AgentDefinition>,
) -> ToolPool {
    let request = PoolRequest {
        kind,
        levels_left,
        mode,
        definition,
        above: &ToolCeiling::default(),
    };
    tool_pool(&request, TOOLS.split(' '))
}

/// Returns the tools in [`TOOLS`] that a kind does not have, as one line.
fn without(kind: AgentKind, levels_left: u32, mode: PermissionMode) -> String {
    let definition = custom(ToolAllowance::All, &[]);
    let built_in = pool(kind, levels_left, mode, None);
    let custom = pool(kind, levels_left, mode, Some(&definition));
    assert_eq!(built_in.kept, custom.kept, "{kind:?}");
    let removed = built_in.removed.iter().map(|gone| gone.tool.as_str());
    removed.collect::<Vec<_>>().join(" ")
}

#[test]
fn c4_each_kind_of_agent_has_its_tools() {
    let below_a_lead = "SendMessage TaskCreate TaskUpdate TeamCreate TeamDelete TaskStop TaskOutput ListAgents AskUserQuestion \
                        EnterPlanMode ExitPlanMode";
    let teammate = "TeamCreate TeamDelete";
    let background = below_a_lead.replace("TaskUpdate", "TaskGet TaskList TaskUpdate");
    let coordinator = "Read Write Edit Glob Grep Bash TaskCreate TaskGet TaskList TaskUpdate TeamCreate TeamDelete \
                       TaskOutput ListAgents AskUserQuestion EnterPlanMode ExitPlanMode Skill TodoWrite WebFetch WebSearch \
                       EnterWorktree ExitWorktree mcp__git__log";
    let table = [
        (AgentKind::Coordinator, coordinator),
        (AgentKind::TeammateProcess, teammate),
        (AgentKind::TeammateInProcess, teammate),
        (AgentKind::SubAgent, below_a_lead),
        (AgentKind::Background, background.as_str()),
    ];
    assert_eq!(table.len(), AgentKind::ALL.len());
    for (kind, removed) in table {
        assert_eq!(
            without(kind, 1, PermissionMode::Default),
            removed,
            "{kind:?}"
        );
        // In plan mode ExitPlanMode is kept; otherwise only kinds without filter layers differ.
        let with_plan = removed.replace(" ExitPlanMode", "");
        let expected = if kind == AgentKind::Coordinator {
            removed
        } else {
            &with_plan
        };
        assert_eq!(
            without(kind, 1, PermissionMode::Plan),
            expected,
            "{kind:?} in plan mode"
        );
    }
}

#[test]
fn o1_agents_at_the_maximum_depth_have_no_agent_tool() {
    for kind in AgentKind::ALL {
        let has = |levels| pool(kind, levels, PermissionMode::Default, None).has("Agent");
        assert!(has(1), "{kind:?}");
        assert_eq!(has(0), kind == AgentKind::Coordinator, "{kind:?}");
    }
}

#[test]
fn each_removed_tool_has_a_layer_and_a_reason() {
    let definition = custom(only(&["Read", "Bash", "mcp__git", "LS"]), &["Bash"]);
    let pool = pool(
        AgentKind::Background,
        0,
        PermissionMode::Default,
        Some(&definition),
    );
    assert_eq!(pool.kept, ["Read", "mcp__git__log"]);
    assert_eq!(pool.missing, ["LS"]);
    let gone = |tool: &str| {
        let gone = pool.removed.iter().find(|gone| gone.tool == tool).unwrap();
        (gone.layer, gone.why.clone())
    };
    assert_eq!(gone("Agent").0, FilterLayer::AllAgents);
    assert_eq!(gone("Agent").1, "the maximum depth of agents is reached");
    assert_eq!(gone("TaskList").1, "not available to a background agent");
    assert_eq!(gone("TaskList").0, FilterLayer::Background);
    assert_eq!(
        gone("Bash"),
        (FilterLayer::DefinitionDeny, "`Bash` is disallowed".into())
    );
    assert_eq!(
        gone("Write"),
        (
            FilterLayer::DefinitionAllow,
            "`tools` does not list it".into()
        )
    );
}

#[test]
fn a_definition_with_an_empty_list_allows_no_tools() {
    let definition = custom(only(&[]), &[]);
    let pool = pool(
        AgentKind::SubAgent,
        1,
        PermissionMode::Default,
        Some(&definition),
    );
    assert_eq!(pool.kept, [""; 0]);
}

#[test]
fn a_teammate_always_keeps_its_team_tools() {
    let definition = custom(only(&["Read"]), &["TaskCreate"]);
    for kind in [AgentKind::TeammateProcess, AgentKind::TeammateInProcess] {
        let pool = pool(kind, 1, PermissionMode::Plan, Some(&definition));
        let expected = [
            "Read",
            "SendMessage",
            "TaskGet",
            "TaskList",
            "TaskUpdate",
            "ExitPlanMode",
        ];
        assert_eq!(pool.kept, expected, "{kind:?}");
    }
}

#[test]
fn a_sub_agent_has_no_member_tools() {
    let definition = custom(
        only(&["Read", "SendMessage", "TaskUpdate", "TaskList"]),
        &[],
    );
    let mode = PermissionMode::BypassPermissions;
    let pool = pool(AgentKind::SubAgent, 1, mode, Some(&definition));
    assert_eq!(pool.kept, ["Read", "TaskList"]);
    assert_eq!(pool.removed[6].tool, "SendMessage");
    assert_eq!(
        pool.removed[6].why,
        "a sub-agent is not a member of the team"
    );
}

#[test]
fn a_memory_adds_the_tools_to_maintain_it() {
    let definition = AgentDefinition {
        memory: Some(MemoryScope::Project),
        ..custom(only(&["Grep"]), &["Edit"])
    };
    let pool = pool(
        AgentKind::SubAgent,
        1,
        PermissionMode::Default,
        Some(&definition),
    );
    assert_eq!(pool.kept, ["Read", "Write", "Grep"]);
}

#[test]
fn p5_tools_denied_to_a_parent_are_denied_to_its_sub_agents() {
    let planner = custom(only(&["Read", "Agent(writer)"]), &["WebFetch"]);
    let above = ToolCeiling::default().below(Some(&planner));
    let writer = custom(ToolAllowance::All, &[]);
    let request = PoolRequest {
        kind: AgentKind::SubAgent,
        levels_left: 1,
        mode: PermissionMode::BypassPermissions,
        definition: Some(&writer),
        above: &above,
    };
    let pool = tool_pool(&request, TOOLS.split(' '));
    assert_eq!(pool.kept, ["Read", "Agent"]);
    let write = pool
        .removed
        .iter()
        .find(|gone| gone.tool == "Write")
        .unwrap();
    assert_eq!(write.layer, FilterLayer::ParentCeiling);
    assert_eq!(
        write.why,
        "the parent agent `reviewer` does not have the tool"
    );
    assert_eq!(above.type_denial("Writer"), None);
    assert!(above.type_denial("general-purpose").is_some());
}
