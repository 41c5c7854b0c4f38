//! Servers that behave: shared, owned, listed, over both transports.

use futures::future::join_all;
use swarm_permissions::McpUse;
use swarm_tests::wait_for;
use tokio_util::sync::CancellationToken;

use super::bench::{Bench, Foreign, call, call_until, runs};

#[tokio::test(flavor = "multi_thread")]
async fn o6_eight_users_of_a_shared_server_are_one_process_that_ends_with_them() {
    let mut bench = Bench::new().with("kit", "well");
    let foreign = Foreign::start(bench.directory.path());
    bench.add("far", foreign.config());
    let servers = bench.servers();
    assert!(
        bench.starts("kit").is_empty(),
        "nothing starts before it is needed"
    );
    let agents = join_all((0..8).map(|_| servers.for_agent(&[], ""))).await;
    let pids = join_all(agents.iter().map(|agent| call(agent, "mcp__kit__pid", ""))).await;
    let started = bench.starts("kit");
    assert_eq!(started.len(), 1);
    for pid in pids {
        assert_eq!(pid.content, started[0].to_string());
    }
    for agent in agents {
        agent.close().await;
    }
    assert!(
        runs(started[0]),
        "an agent that ends does not take what is shared"
    );
    servers.close().await;
    assert!(!runs(started[0]));
    assert!(runs(foreign.pid()), "a server of others goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_are_called_over_both_transports() {
    let mut bench = Bench::new().with("near", "well");
    let foreign = Foreign::start(bench.directory.path());
    bench.add("far", foreign.config());
    let (servers, agent) = bench.serve().await;
    assert_eq!(agent.problems, []);
    let names: Vec<_> = agent.tools.iter().map(|tool| tool.name()).collect();
    assert_eq!(names.len(), 14);
    assert_eq!((names[0], names[7]), ("mcp__far__echo", "mcp__near__echo"));
    for server in ["near", "far"] {
        let said = call(&agent, &format!("mcp__{server}__echo"), "grüße").await;
        assert_eq!(
            (said.content.as_str(), said.is_error),
            ("echo: grüße", false)
        );
        let failed = call(&agent, &format!("mcp__{server}__fails"), "").await;
        assert_eq!(
            (failed.content.as_str(), failed.is_error),
            ("it did not work", true)
        );
    }
    servers.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agents_own_server_ends_with_it_and_what_it_refers_to_goes_on() {
    let bench = Bench::new().with("kit", "well");
    let servers = bench.servers();
    let uses = [
        McpUse::Shared("kit".into()),
        McpUse::Own("mine".into(), bench.stdio("mine", "well")),
        McpUse::Shared("nobody".into()),
    ];
    let agent = servers.for_agent(&uses, "agent x").await;
    let why: Vec<_> = agent.problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        why,
        ["MCP server `nobody` (agent x): no MCP server has this name; configured servers: kit"]
    );
    let others = servers.for_agent(&[], "").await;
    assert!(
        others
            .tools
            .iter()
            .all(|tool| !tool.name().contains("mine"))
    );
    call(&agent, "mcp__mine__pid", "").await;
    let (mine, kit) = (bench.starts("mine")[0], bench.starts("kit")[0]);
    agent.close().await;
    assert!(!runs(mine) && runs(kit));
    servers.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn o6_tools_that_another_process_has_listed_start_nothing_until_the_first_call() {
    let bench = Bench::new().with("kit", "well").with("gone", "exits");
    let lead = bench.servers();
    lead.for_agent(&[], "").await;
    let listed = lead.listed().await;
    assert!(!listed.requires_wait(&[]));
    let member = bench.servers_of(listed);
    let agent = member.for_agent(&[], "").await;
    assert_eq!(agent.tools.len(), 7);
    assert_eq!(
        agent.problems,
        [],
        "who failed at the lead's is not tried by everybody again"
    );
    assert_eq!(bench.starts("kit").len(), 1);
    let pid = call(&agent, "mcp__kit__pid", "").await.content;
    assert_eq!(bench.starts("kit").len(), 2);
    assert_eq!(bench.starts("kit")[1].to_string(), pid);
    assert_eq!(bench.starts("gone").len(), 1, "by the lead alone");
    member.close().await;
    lead.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_call_is_cancelled_at_the_server_too() {
    let bench = Bench::new().with("kit", "well");
    let (servers, agent) = bench.serve().await;
    let told = bench.directory.path().join("told");
    let cancel = CancellationToken::new();
    let path = told.display().to_string();
    let slow = call_until(&agent, "mcp__kit__slow", &path, &cancel);
    let (output, ()) = tokio::join!(slow, async {
        // Once this one is answered, the one before it was sent.
        call(&agent, "mcp__kit__echo", "").await;
        cancel.cancel();
    });
    assert!(
        output.is_error && output.content.contains("interrupted"),
        "{output:?}"
    );
    while !told.exists() {
        tokio::task::yield_now().await;
    }
    let after = call(&agent, "mcp__kit__echo", "still there").await;
    assert_eq!(after.content, "echo: still there");
    servers.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_without_an_answer_ends_at_its_limit() {
    let bench = Bench::new().with("kit", "well").with_limits(|limits| {
        limits.call = std::time::Duration::from_millis(50);
    });
    let (servers, agent) = bench.serve().await;
    let told = bench.directory.path().join("told");
    // It answers never, so the limit comes first however slow the machine is.
    let output = call(&agent, "mcp__kit__slow", &told.display().to_string()).await;
    assert!(
        output.is_error && output.content.contains("timed out after 0.05 s"),
        "{output:?}"
    );
    wait_for(
        "the server hears that nobody waits",
        || format!("{output:?}"),
        || told.exists().then_some(()),
    );
    servers.close().await;
}
