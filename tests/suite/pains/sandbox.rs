//! The sandbox of shell commands: attempts to get out of it, and what works inside.

use std::io::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
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
    let reserved = reserved_in(&project);
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

/// Paths of placeholders in a checkout without these files.
fn reserved_in(project: &Path) -> [PathBuf; 3] {
    [".claude", ".mcp.json", ".git/commondir"].map(|name| project.join(name))
}

#[test]
fn no_placeholder_remains_after_a_shutdown() {
    let api = FakeApi::start(|ask: &Ask| {
        if ask.result_of("a").is_none() {
            let command = "sleep 999 > /dev/null 2>&1 & true";
            Reply::tool("a", "Bash", json!({ "command": command }))
        } else {
            Reply::text("done")
        }
    });
    let world = world_over(&api);
    if !working_backends(&world.program("swarm-teammate")).contains(&SandboxKind::Namespaces) {
        return;
    }
    world.write("project/a.txt", "main\n");
    world.commit_project();
    world.write("root/swarm.toml", "[sandbox]\nbash = \"always\"\n");
    let reserved = reserved_in(&world.project());
    let more = ["--mode", "bypassPermissions", "--prompt", "go"];
    spawn_with(&world, "bob", &more);
    wait_for_state(&world, "bob", "idle");
    assert!(reserved.iter().all(|path| path.exists()));
    world.swarm(&["shutdown", "bob"]).ok();
    world.wait_until("the checkout is clean", || {
        !reserved.iter().any(|path| path.exists())
    });
}

#[tokio::test]
async fn placeholders_that_another_agent_left_are_removed() {
    let repository = Repository::new();
    let Some(ctx) = in_main_checkout(&repository) else {
        return;
    };
    let reserved = reserved_in(&ctx.cwd);
    std::fs::remove_dir_all(&reserved[0]).unwrap();
    std::fs::create_dir(&reserved[0]).unwrap();
    std::fs::create_dir(&reserved[1]).unwrap();
    std::fs::write(&reserved[2], ".\n").unwrap();
    assert!(bash("touch .claude/x", &ctx).await.is_error);
    drop(ctx);
    let left: Vec<_> = reserved.iter().filter(|path| path.exists()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn placeholders_remain_while_a_command_of_another_agent_runs() {
    let repository = Repository::new();
    let Some(one) = in_main_checkout(&repository) else {
        return;
    };
    let project = one.cwd.clone();
    let reserved = reserved_in(&project);
    std::fs::remove_dir_all(&reserved[0]).unwrap();
    assert!(!bash("true", &one).await.is_error);
    let other = in_main_checkout(&repository).unwrap();
    let end_one = tokio::task::spawn_blocking(move || {
        let started = || project.join("started").exists().then_some(());
        wait_until("the command runs", DEADLINE, started).unwrap();
        drop(one);
        std::fs::write(project.join("go"), "").unwrap();
    });
    let write = "touch started; until test -e go; do sleep 0.05; done; \
        ! { mkdir -p .claude && echo '{}' > .claude/settings.json; }";
    let written = bash(write, &other).await;
    end_one.await.unwrap();
    assert!(!written.is_error, "{}", written.content);
    drop(other);
    let left: Vec<_> = reserved.iter().filter(|path| path.exists()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn commands_see_worktrees_that_appear_later() {
    let repository = Repository::new();
    let Some(ctx) = in_main_checkout(&repository) else {
        return;
    };
    std::fs::remove_dir_all(ctx.cwd.join(".claude")).unwrap();
    assert!(!bash("true", &ctx).await.is_error);
    let path = ".claude/worktrees/three";
    repository.git(&["worktree", "add", "-q", "-b", "three", path]);
    let work = format!("git -C {path} diff && ls .claude/worktrees && touch {path}/new");
    let seen = bash(&work, &ctx).await;
    assert_eq!(seen.content, "three");
    assert!(bash("touch .claude/settings.json", &ctx).await.is_error);
}

#[tokio::test]
async fn a_configuration_that_git_replaces_outside_stays_read_only() {
    let repository = Repository::new();
    let Some(ctx) = in_main_checkout(&repository) else {
        return;
    };
    assert!(!bash("true", &ctx).await.is_error);
    for value in ["1", "2", "3"] {
        // The second write may give the file the number that it had first.
        repository.git(&["config", "swarm.test", value]);
        repository.git(&["config", "swarm.other", value]);
        let changed = bash("echo >> .git/config", &ctx).await;
        assert!(changed.is_error, "{value}");
    }
}

#[tokio::test]
async fn an_entry_that_cannot_be_mounted_is_named_and_tried_again() {
    let repository = Repository::new();
    let Some(ctx) = in_main_checkout(&repository) else {
        return;
    };
    assert!(!bash("true", &ctx).await.is_error);
    let common = ctx.cwd.join(".git/commondir");
    std::fs::remove_file(&common).unwrap();
    std::fs::write(&common, ".\n").unwrap();
    let file = std::fs::File::open(&common).unwrap();
    file.lock().unwrap();
    let refused = bash("true", &ctx).await;
    assert!(refused.is_error);
    let words = [common.to_str().unwrap(), "fuser"];
    assert!(
        words.iter().all(|word| refused.content.contains(word)),
        "{}",
        refused.content
    );
    drop(file);
    assert!(!bash("true", &ctx).await.is_error);
    assert!(bash("echo x > .git/commondir", &ctx).await.is_error);
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
