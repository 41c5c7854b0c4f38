//! Servers that misbehave.

use std::collections::BTreeMap;
use std::time::Duration;

use swarm_permissions::McpServerConfig;
use swarm_tests::wait_for;

use super::bench::{Bench, Foreign, call, runs};

fn none_runs(pids: &[u32]) -> bool {
    !pids.is_empty() && !pids.iter().any(|pid| runs(*pid))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_never_answers_is_stopped() {
    let bench = Bench::new().with("mute", "silent").with_limits(|limits| {
        limits.start = Duration::from_millis(300);
    });
    let servers = bench.servers();
    let agent = servers.for_agent(&[], "").await;
    assert!(agent.tools.is_empty());
    let why = agent.problems[0].to_string();
    assert!(
        why.contains("no response within 0.3 s") && why.contains("mcp.start_timeout_s"),
        "{why}"
    );
    // It may have been stopped before it recorded its start.
    assert_eq!(bench.processes(), Vec::<u32>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_exits_immediately_is_reported_with_its_last_output() {
    let bench = Bench::new().with("broken", "exits").with("kit", "well");
    let (servers, agent) = bench.serve().await;
    assert_eq!(agent.tools.len(), 7, "the others are there");
    let why = agent.problems[0].to_string();
    for words in ["`broken`", "the test", "the licence has run out"] {
        assert!(why.contains(words), "{words} in {why}");
    }
    servers.for_agent(&[], "").await;
    assert_eq!(bench.starts("broken").len(), 1, "it is not tried again");
    servers.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_required_is_waited_for_no_longer_than_until_one_has_failed() {
    let bench = Bench::new()
        .with("broken", "exits")
        .with("mute", "silent")
        .with("kit", "well");
    let servers = bench.servers();
    servers.require(&["KIT".to_owned()]).await.unwrap();
    // The other one would be waited for for an hour.
    let needed = ["mut".to_owned(), "brok".to_owned()];
    let problem = servers.require(&needed).await.unwrap_err();
    assert!(problem.to_string().contains("`brok`"), "{problem}");
    let problem = servers.require(&["nobody".to_owned()]).await.unwrap_err();
    assert!(
        problem.to_string().contains("no MCP server has this name"),
        "{problem}"
    );
    servers.close().await;
    assert!(none_runs(&bench.starts("kit")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_starting_server_is_stopped_too() {
    let bench = Bench::new().with("mute", "silent");
    let servers = bench.servers();
    let (agent, ()) = tokio::join!(servers.for_agent(&[], ""), async {
        while bench.starts("mute").is_empty() {
            tokio::task::yield_now().await;
        }
        servers.close().await;
    });
    assert!(
        agent.problems[0]
            .to_string()
            .contains("stopped together with its agent")
    );
    assert!(none_runs(&bench.starts("mute")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_errors_stops_nothing_and_its_log_stays_small() {
    let bench = Bench::new().with("loud", "floods");
    let (servers, agent) = bench.serve().await;
    let log = bench.directory.path().join("mcp-loud.log");
    wait_for(
        "the log has begun anew",
        || format!("{:?}", std::fs::metadata(&log)),
        || {
            std::fs::read_to_string(&log)
                .ok()?
                .starts_with("(earlier output")
                .then_some(())
        },
    );
    assert_eq!(
        call(&agent, "mcp__loud__echo", "x").await.content,
        "echo: x"
    );
    servers.close().await;
    assert!(std::fs::metadata(&log).unwrap().len() <= 300 * 1024);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_dies_is_restarted_once_and_then_reported() {
    let bench = Bench::new().with("frail", "well");
    let (servers, agent) = bench.serve().await;
    for _ in 0..2 {
        let died = call(&agent, "mcp__frail__dies", "").await;
        assert!(
            died.is_error && died.content.contains("exited during the call"),
            "{died:?}"
        );
        if bench.starts("frail").len() == 1 {
            let again = call(&agent, "mcp__frail__echo", "back").await;
            assert_eq!(again.content, "echo: back");
        }
    }
    let over = call(&agent, "mcp__frail__echo", "").await;
    assert!(
        over.is_error && over.content.contains("exited unexpectedly 2 times"),
        "{over:?}"
    );
    assert_eq!(bench.starts("frail").len(), 2);
    servers.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_huge_result_is_cut() {
    let bench = Bench::new().with("kit", "well");
    let (servers, agent) = bench.serve().await;
    let output = call(&agent, "mcp__kit__huge", "").await;
    assert!(output.content.contains("50000 of 2000000 characters"));
    assert!(output.content.len() < 51_000);
    servers.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn o6_a_server_that_does_not_exit_is_killed_with_its_children() {
    let bench = Bench::new().with("stubborn", "stubborn");
    let servers = bench.servers();
    servers.for_agent(&[], "").await;
    let pid = bench.starts("stubborn")[0];
    let children = || {
        let all = bench.processes().into_iter();
        all.filter(|other| *other != pid).collect::<Vec<_>>()
    };
    wait_for(
        "its child",
        || "there is none".to_owned(),
        || (!children().is_empty()).then_some(()),
    );
    servers.close().await;
    assert!(!runs(pid));
    assert_eq!(children(), Vec::<u32>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_that_is_dropped_leaves_no_process() {
    let bench = Bench::new().with("stubborn", "stubborn");
    let servers = bench.servers();
    servers.for_agent(&[], "").await;
    let pid = bench.starts("stubborn")[0];
    drop(servers);
    wait_for(
        "it is gone",
        || "it runs".to_owned(),
        || (!runs(pid)).then_some(()),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_and_servers_that_would_share_a_name_are_refused_by_name() {
    let bench = Bench::new()
        .with("two.a", "well")
        .with("two/a", "well")
        .with("kit", "collides");
    let (servers, agent) = bench.serve().await;
    assert_eq!(agent.tools.len(), 14);
    let why: Vec<_> = agent.problems.iter().map(ToString::to_string).collect();
    let why = why.join("\n");
    for words in [
        "`two/a` (the test): another server's tools also use the prefix `mcp__two_a__`",
        "`a.b` and `a/b`",
    ] {
        assert!(why.contains(words), "{words} in {why}");
    }
    servers.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_connection_is_reported_with_its_cause() {
    let mut bench = Bench::new();
    bench.add(
        "far",
        McpServerConfig::Http {
            url: "http://127.0.0.1:1/mcp".to_owned(),
            headers: BTreeMap::new(),
        },
    );
    let agent = bench.servers().for_agent(&[], "").await;
    let why = agent.problems[0].to_string();
    assert!(why.contains("Connection refused"), "{why}");
}

/// An HTTP server of this mode that is started separately, and the answer to each of two calls of its `echo`.
async fn two_calls_over_http(mode: &str) -> [swarm_tools::ToolOutput; 2] {
    let mut bench = Bench::new();
    let foreign = Foreign::start_as(bench.directory.path(), mode);
    bench.add("far", foreign.config());
    let (servers, agent) = bench.serve().await;
    let first = call(&agent, "mcp__far__echo", "one").await;
    let second = call(&agent, "mcp__far__echo", "two").await;
    servers.close().await;
    [first, second]
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_of_both_eras_are_called_over_both_transports() {
    for mode in ["well", "stateless", "abrupt"] {
        let bench = Bench::new().with("near", mode);
        let (servers, agent) = bench.serve().await;
        let answer = call(&agent, "mcp__near__echo", "one").await;
        assert_eq!(answer.content, "echo: one", "{mode}");
        servers.close().await;
    }
    for mode in ["well", "stateless", "guarded"] {
        let [first, second] = two_calls_over_http(mode).await;
        assert_eq!(first.content, "echo: one", "{mode}");
        assert_eq!(second.content, "echo: two", "{mode}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_probe_without_an_answer_starts_nothing_twice_unless_the_answer_comes_late() {
    for (mode, starts) in [("unresponsive", 1), ("slow-stateless", 2)] {
        let bench = Bench::new().with("near", mode);
        let (servers, agent) = bench.serve().await;
        assert_eq!(agent.problems, [], "{mode}");
        let answer = call(&agent, "mcp__near__echo", "one").await;
        assert_eq!(answer.content, "echo: one", "{mode}");
        assert_eq!(bench.starts("near").len(), starts, "{mode}");
        servers.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_answers_400_to_an_expired_session_gets_a_new_one() {
    let [first, second] = two_calls_over_http("forgets").await;
    assert_eq!(first.content, "echo: one");
    assert_eq!(second.content, "echo: two");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_with_400_that_names_no_request_ends_the_call_with_its_text() {
    for output in two_calls_over_http("refuses").await {
        assert!(
            output.is_error && output.content.contains("the quota is used up"),
            "{output:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_breaks_before_the_answer_ends_the_call() {
    for output in two_calls_over_http("drops").await {
        assert!(
            output.is_error && output.content.contains("exited during the call"),
            "{output:?}"
        );
    }
}
