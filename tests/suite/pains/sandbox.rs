//! The sandbox of shell commands: attempts to get out of it, and what works inside.

use std::io::Write as _;
use std::net::TcpListener;
use std::sync::Arc;

use serde_json::json;
use swarm_protocol::{SandboxKind, SandboxNetwork, SandboxUse};
use swarm_tests::escapes::{disagreements, stated_rows, try_escapes, working_backends};
use swarm_tests::fake_api::{Ask, FakeApi, Reply};
use swarm_tests::{DEADLINE, wait_until};
use swarm_tools::ToolContext;

use super::guards::{Repository, bash};
use crate::scene::{spawn_with, wait_for_state, world, world_over};

const GUIDE: &str = include_str!("../../../docs/guide.md");

#[tokio::test]
async fn the_guide_says_what_each_sandbox_stops() {
    let world = world();
    let program = world.program("swarm-teammate");
    for backend in working_backends(&program) {
        // `scripts/stress escapes` makes all of them.
        let report = try_escapes(&program, backend, 2).await;
        let differing = disagreements(&stated_rows(GUIDE), backend, &report);
        assert!(differing.is_empty(), "{}: {differing:#?}", backend.name());
    }
}

/// Context of an agent in the main checkout, or `None` where no namespaces work.
fn in_main_checkout(repository: &Repository) -> Option<ToolContext> {
    let program = repository.world.program("swarm-teammate");
    if !working_backends(&program).contains(&SandboxKind::Namespaces) {
        return None;
    }
    let mut ctx = repository.context("one");
    ctx.cwd = repository.world.project().canonicalize().unwrap();
    ctx.confine = None;
    let guards = Arc::make_mut(&mut ctx.guards);
    // Without the wrapper of git, which refuses some of its commands.
    (guards.sandbox, guards.shims) = (SandboxUse::Always, None);
    Some(ctx)
}

#[tokio::test]
async fn placeholders_of_settings_are_invisible_to_git_and_removed() {
    let repository = Repository::new();
    let Some(ctx) = in_main_checkout(&repository) else {
        return;
    };
    let project = ctx.cwd.clone();
    std::fs::remove_dir_all(project.join(".claude")).unwrap();
    // Everything that walks the checkout works.
    let work = "echo x > new && git add -A && git status --porcelain && git reset -q && git stash -q -u \
        && test ! -e new && git stash pop -q > /dev/null && git clean -fdq && test ! -e new && git rebase -q HEAD && git worktree prune";
    let worked = bash(work, &ctx).await;
    assert_eq!(worked.content, "A  new", "{}", worked.content);
    let reserved = [".claude", ".mcp.json", ".git/commondir"].map(|name| project.join(name));
    assert!(reserved.iter().all(|path| path.exists()));
    let status = repository.git(&["status", "--porcelain"]);
    assert_eq!(status, "");
    let other = in_main_checkout(&repository).unwrap();
    assert!(!bash("true", &other).await.is_error);
    drop(ctx);
    let write = "echo '{}' > .mcp.json || echo '{}' > .claude/settings.json";
    assert!(bash(write, &other).await.is_error);
    drop(other);
    let left: Vec<_> = reserved.iter().filter(|path| path.exists()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn later_commands_cannot_change_a_repository_that_an_earlier_one_created() {
    let repository = Repository::new();
    let Some(mut ctx) = in_main_checkout(&repository) else {
        return;
    };
    ctx.cwd = ctx.cwd.join("inner");
    std::fs::create_dir(&ctx.cwd).unwrap();
    let created = bash("sleep 999 > /dev/null 2>&1 & git init -q .", &ctx).await;
    assert!(!created.is_error, "{}", created.content);
    for change in [
        "git config core.fsmonitor x",
        "touch .git/hooks/post-commit",
        "echo x > .git/commondir",
        "mv .git old",
        "touch .claude/x",
        "touch .mcp.json/x",
    ] {
        assert!(bash(change, &ctx).await.is_error, "{change}");
    }
    // The earlier command still runs, and the work continues.
    let continued = bash(
        "pgrep -f 'sleep 999' > /dev/null && touch a && git add a && git commit -qm a",
        &ctx,
    )
    .await;
    assert!(!continued.is_error, "{}", continued.content);
    // What was replaced from outside is protected again.
    std::fs::remove_dir(ctx.cwd.join(".claude")).unwrap();
    std::fs::create_dir(ctx.cwd.join(".claude")).unwrap();
    assert!(bash("touch .claude/settings.json", &ctx).await.is_error);
}

#[tokio::test]
async fn an_agent_that_moves_to_a_worktree_writes_only_there() {
    let repository = Repository::new();
    let Some(mut ctx) = in_main_checkout(&repository) else {
        return;
    };
    assert!(!bash("echo x > a.txt", &ctx).await.is_error);
    let main = ctx.cwd.clone();
    let moved = repository.context("two");
    (ctx.cwd, ctx.confine) = (moved.cwd, moved.confine);
    assert!(!bash("echo x > a.txt", &ctx).await.is_error);
    let outside = format!("echo y > {}/a.txt", main.display());
    assert!(bash(&outside, &ctx).await.is_error);
}

#[tokio::test]
async fn commands_of_one_agent_reach_its_servers_and_no_others() {
    let repository = Repository::new();
    let program = repository.world.program("swarm-teammate");
    if !working_backends(&program).contains(&SandboxKind::Namespaces) {
        return;
    }
    // The port is in use outside, and free inside.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut ctx = repository.context("one");
    Arc::make_mut(&mut ctx.guards).network = SandboxNetwork::None;
    let serve = format!(
        "mkfifo ready; python3 -c 'import socket; s = socket.create_server((\"127.0.0.1\", {port})); \
         open(\"ready\", \"w\").close(); s.accept()[0].send(b\"from inside\")' > /dev/null 2>&1 & cat ready"
    );
    let served = bash(&serve, &ctx).await;
    assert!(!served.is_error, "{}", served.content);
    let read = format!("exec 3<> /dev/tcp/127.0.0.1/{port} && cat <&3");
    let read = bash(&read, &ctx).await;
    assert!(read.content.starts_with("from inside"), "{}", read.content);
}

#[tokio::test]
async fn the_proxy_connects_only_to_permitted_hosts() {
    let repository = Repository::new();
    let program = repository.world.program("swarm-teammate");
    if !working_backends(&program).contains(&SandboxKind::Namespaces) {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\noutside";
            client.unwrap().write_all(answer.as_bytes()).unwrap();
        }
    });
    let mut ctx = repository.context("one");
    let guards = Arc::make_mut(&mut ctx.guards);
    guards.network = SandboxNetwork::Proxy;
    guards.hosts = vec![format!("127.0.0.1:{port}"), "*.local.example".to_owned()];
    let get = |proxy: &str, host: &str| {
        format!(
            "curl -s --max-time 20 --noproxy '' -x \"{proxy}\" http://{host}:{port} || echo failed $?"
        )
    };
    for proxy in ["$HTTP_PROXY", "$ALL_PROXY"] {
        let got = bash(&get(proxy, "127.0.0.1"), &ctx).await;
        assert_eq!(got.content, "outside", "{proxy}");
        // Spellings of the same address are other hosts.
        for host in ["localhost", "[::ffff:127.0.0.1]", "evil.example"] {
            let got = bash(&get(proxy, host), &ctx).await.content;
            assert!(!got.starts_with("outside"), "{proxy} {host}: {got}");
            assert!(got.contains("were denied"), "{proxy} {host}: {got}");
        }
    }
    let direct = bash(&format!("exec 3<> /dev/tcp/127.0.0.1/{port}"), &ctx).await;
    assert!(direct.is_error, "{}", direct.content);
}

#[test]
fn a_person_answers_for_hosts_and_questions_end_with_their_command() {
    let api = FakeApi::start(|ask: &Ask| {
        let get = |host: &str| format!("curl -s --max-time 60 http://{host}/");
        let bash =
            |id: &str, command: String| Reply::tool(id, "Bash", json!({ "command": command }));
        let both = format!(
            "{} > a & {} > b & wait; cat a b",
            get("allowed.invalid"),
            get("denied.invalid")
        );
        if ask.result_of("ask").is_none() {
            bash("ask", both)
        } else if ask.result_of("again").is_none() {
            bash(
                "again",
                format!("{}; {}", get("allowed.invalid"), get("denied.invalid")),
            )
        } else if ask.result_of("short").is_none() {
            bash(
                "short",
                "timeout 1 curl -s http://late.invalid/; true".to_owned(),
            )
        } else {
            Reply::text("done")
        }
    });
    let world = world_over(&api);
    if !working_backends(&world.program("swarm-teammate")).contains(&SandboxKind::Namespaces) {
        return;
    }
    world.write(
        "root/swarm.toml",
        "[sandbox]\nbash = \"always\"\nnetwork = \"proxy\"\n",
    );
    spawn_with(
        &world,
        "bob",
        &["--mode", "bypassPermissions", "--prompt", "go"],
    );
    // Both questions wait at the same time.
    let asked = |count: usize| {
        let requests = world.team("demo").requests();
        (requests.len() == count).then_some(requests)
    };
    let requests = wait_until("two questions", DEADLINE, || asked(2)).unwrap();
    let id_of = |host: &str| {
        let mut found = requests.iter().filter(|request| request["host"] == host);
        let request = found.next().expect("a request");
        assert_eq!(request["kind"], "sandbox");
        request["id"].as_str().unwrap().to_owned()
    };
    let listed = world.swarm(&["requests"]).ok().stdout.clone();
    assert!(listed.contains("network allowed.invalid"), "{listed}");
    world.swarm(&["deny", &id_of("denied.invalid")]).ok();
    world.swarm(&["approve", &id_of("allowed.invalid")]).ok();
    wait_for_state(&world, "bob", "idle");
    assert!(world.team("demo").requests().is_empty());
    let last = api.requests().pop().expect("a request").ask;
    for call in ["ask", "again"] {
        let (told, _) = last.result_of(call).expect("a result");
        for words in [
            "denied.invalid:80: it is not permitted",
            "cannot resolve allowed.invalid",
        ] {
            assert!(told.contains(words), "{call}: {told}");
        }
    }
    world.swarm(&["shutdown", "bob"]).ok();
}
