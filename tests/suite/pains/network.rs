//! What sandboxed commands reach of the network.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use serde_json::json;
use swarm_protocol::{SandboxKind, SandboxNetwork};
use swarm_tests::escapes::working_backends;
use swarm_tests::fake_api::{Ask, Reply};
use swarm_tests::{DEADLINE, wait_until};
use swarm_tools::ToolContext;

use super::guards::{Repository, bash};
use crate::scene::{run_args, runs_once, spawn_with, team_with, wait_for_state, world};

/// A repository, or `None` where no namespaces work.
fn with_namespaces() -> Option<Repository> {
    let repository = Repository::new();
    let program = repository.world.program("swarm-teammate");
    let works = working_backends(&program).contains(&SandboxKind::Namespaces);
    works.then_some(repository)
}

/// The contexts of an agent whose commands reach a proxy: one for each backend that has one here.
#[expect(clippy::print_stderr, reason = "a test that cannot run here says so")]
async fn with_proxy(repository: &Repository, hosts: &[String]) -> Vec<ToolContext> {
    let program = repository.world.program("swarm-teammate");
    let mut contexts = Vec::new();
    for backend in working_backends(&program) {
        let mut ctx = repository.context("one");
        let guards = Arc::make_mut(&mut ctx.guards);
        guards.backend = Some(backend);
        guards.network = SandboxNetwork::Proxy;
        guards.hosts = hosts.to_vec();
        if bash("test -n \"$HTTP_PROXY\"", &ctx).await.is_error {
            let name = backend.name();
            eprintln!("NOT PROVEN HERE: {name} has no proxy on this kernel");
        } else {
            contexts.push(ctx);
        }
    }
    contexts
}

#[tokio::test]
async fn commands_of_one_agent_reach_its_servers_and_no_others() {
    let Some(repository) = with_namespaces() else {
        return;
    };
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
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\noutside";
            client.unwrap().write_all(answer.as_bytes()).unwrap();
        }
    });
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let hosts = [format!("127.0.0.1:{port}"), "*.local.example".to_owned()];
    let get = |proxy: &str, host: &str| {
        format!(
            "curl -s --max-time 20 --noproxy '' -x \"{proxy}\" http://{host}:{port} || echo failed $?"
        )
    };
    for ctx in with_proxy(&repository, &hosts).await {
        for proxy in ["$HTTP_PROXY", "socks5h://${HTTP_PROXY#http://}"] {
            let got = bash(&get(proxy, "127.0.0.1"), &ctx).await;
            assert_eq!(got.content, "outside", "{proxy}");
            // Spellings of the same address are other hosts.
            for host in ["localhost", "[::ffff:127.0.0.1]", "evil.example"] {
                let got = bash(&get(proxy, host), &ctx).await.content;
                assert!(!got.starts_with("outside"), "{proxy} {host}: {got}");
                assert!(got.contains("no connection to"), "{proxy} {host}: {got}");
            }
        }
        let direct = bash(&format!("exec 3<> /dev/tcp/127.0.0.1/{port}"), &ctx).await;
        assert!(direct.is_error, "{}", direct.content);
        // A tunnel to another port of a permitted host.
        let other = other.local_addr().unwrap();
        let tunnel = format!("curl -sp --max-time 20 --noproxy '' -x $HTTP_PROXY http://{other}");
        let tunnel = bash(&tunnel, &ctx).await.content;
        let denied = format!("no connection to {other}");
        assert!(tunnel.contains(&denied), "{tunnel}");
    }
}

#[tokio::test]
async fn with_landlock_commands_have_nothing_but_connections_to_the_proxy() {
    let repository = Repository::new();
    let mut contexts = with_proxy(&repository, &[]).await;
    contexts.retain(|ctx| ctx.guards.backend == Some(SandboxKind::Landlock));
    let Some(ctx) = contexts.pop() else {
        return;
    };
    for attempt in [
        "exec 3<> /dev/tcp/192.0.2.1/22",
        "python3 -c 'import socket; socket.create_server((\"127.0.0.1\", 0))'",
        "python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM)'",
        "python3 -c 'import socket; socket.socket().setsockopt(6, 31, b\"tls\")'",
        "python3 -c 'import socket; socket.socket().sendto(b\"x\", 0x20000000, (\"127.0.0.1\", 9))'",
    ] {
        let tried = bash(attempt, &ctx).await;
        assert!(tried.is_error, "{attempt}: {}", tried.content);
        let told = "through the proxy that HTTPS_PROXY names, and no others";
        assert!(tried.content.contains(told), "{attempt}: {}", tried.content);
    }
}

#[test]
fn a_person_answers_for_hosts_and_questions_end_with_their_command() {
    let (api, world) = team_with(|ask: &Ask| {
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
    if !working_backends(&world.program("swarm-teammate")).contains(&SandboxKind::Namespaces) {
        return;
    }
    // The network is not open by default.
    world.write("root/swarm.toml", "[sandbox]\nbash = \"always\"\n");
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
            "denied.invalid:80: the user denied it",
            "cannot resolve allowed.invalid",
        ] {
            assert!(told.contains(words), "{call}: {told}");
        }
    }
    world.swarm(&["shutdown", "bob"]).ok();
}

#[test]
fn without_a_person_unknown_hosts_are_denied_immediately() {
    let api = runs_once("curl -s --max-time 60 http://unknown.invalid/; false");
    let world = world().with_api(&api);
    if working_backends(&world.program("swarm-teammate")).is_empty() {
        return;
    }
    world.write("root/swarm.toml", "[sandbox]\nbash = \"always\"\n");
    let unasked = ["--mode", "bypassPermissions"];
    world.swarm(&run_args("go", &unasked)).ok();
    let last = api.requests().pop().expect("a request").ask;
    let (told, _) = last.result_of("t1").expect("a result");
    for words in [
        "no connection to unknown.invalid:80. Nobody is present",
        "`sandbox.hosts`",
    ] {
        assert!(told.contains(words), "{told}");
    }
}

/// A server at an address that programs do not reach directly (`NO_PROXY`). Sends the first bytes of
/// each connection.
fn server_behind_the_proxy() -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.2:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (sender, received) = channel();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (mut client, mut first) = (client.unwrap(), [0; 512]);
            let read = client.read(&mut first).unwrap_or_default();
            let text = String::from_utf8_lossy(&first[..read]).into_owned();
            if sender.send(text).is_err() {
                return;
            }
            let answer = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            client.write_all(answer.as_bytes()).unwrap_or_default();
        }
    });
    (address, received)
}

#[tokio::test]
async fn usual_programs_use_the_proxy() {
    let repository = Repository::new();
    let (address, received) = server_behind_the_proxy();
    for mut ctx in with_proxy(&repository, std::slice::from_ref(&address)).await {
        if let Some(home) = std::env::var_os("HOME") {
            // `cargo` may be a link to rustup.
            let rustup = std::path::Path::new(&home).join(".rustup");
            let env = Arc::make_mut(&mut ctx.env);
            env.insert("RUSTUP_HOME".to_owned(), rustup.display().to_string());
        }
        each_program_asks(&ctx, &address, &received).await;
    }
}

/// Checks that each program that is installed here sends its request to a server.
async fn each_program_asks(ctx: &ToolContext, address: &str, received: &Receiver<String>) {
    let cargo = "rm -rf c && mkdir -p c/src && cd c && : > src/lib.rs && printf '[package]\nname = \"c\"\nversion = \"1.0.0\"\n\
                 [dependencies]\nx = { version = \"1\", registry = \"own\" }\n' > Cargo.toml && CARGO_HOME=$PWD/home \
                 CARGO_REGISTRIES_OWN_INDEX=sparse+http://ADDRESS/cargo/ CARGO_NET_RETRY=0 cargo fetch";
    let python = "import urllib.request; urllib.request.urlopen('http://ADDRESS/python')";
    for (name, command, expected) in [
        (
            "git",
            "git ls-remote http://ADDRESS/git",
            "GET /git/info/refs",
        ),
        // The first bytes of TLS.
        ("git", "git ls-remote https://ADDRESS/git", "\u{16}\u{3}"),
        ("curl", "curl http://ADDRESS/curl", "GET /curl"),
        ("curl", "curl -m 9 https://ADDRESS/curl", "\u{16}\u{3}"),
        ("wget", "wget --tries 1 http://ADDRESS/wget", "GET /wget"),
        (
            "python3",
            &format!("python3 -c \"{python}\""),
            "GET /python",
        ),
        (
            "pip",
            "pip download --retries 0 --no-cache-dir --index-url http://ADDRESS/pip x",
            "GET /pip/x/",
        ),
        (
            "npm",
            "npm view x --fetch-retries 0 --cache $PWD/npm --registry http://ADDRESS/npm",
            "GET /npm/x",
        ),
        ("cargo", cargo, "GET /cargo/config.json"),
    ] {
        if bash(&format!("{name} --version"), ctx).await.is_error {
            continue;
        }
        let tried = bash(&command.replace("ADDRESS", address), ctx).await;
        let reached = received.try_iter().collect::<Vec<_>>();
        assert!(
            reached.iter().any(|text| text.starts_with(expected)),
            "{command}: {reached:?} {}",
            tried.content
        );
    }
}

#[tokio::test]
async fn a_program_without_proxy_support_is_told_what_to_do() {
    let Some(repository) = with_namespaces() else {
        return;
    };
    let mut ctx = repository.context("one");
    Arc::make_mut(&mut ctx.guards).network = SandboxNetwork::Proxy;
    for (command, told) in [
        ("exec 3<> /dev/tcp/192.0.2.1/22", "HTTPS_PROXY"),
        ("exec 3<> /dev/tcp/127.0.0.1/9", "127.0.0.1 is your own"),
    ] {
        let failed = bash(command, &ctx).await;
        assert!(failed.content.contains(told), "{}", failed.content);
    }
}
