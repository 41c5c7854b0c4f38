//! The sandbox of shell commands: attempts to get out of it, and what works inside.

use std::io::Write as _;
use std::net::TcpListener;
use std::sync::Arc;

use swarm_protocol::{SandboxKind, SandboxNetwork};
use swarm_tests::escapes::{disagreements, stated_rows, try_escapes, working_backends};

use super::guards::{Repository, bash};
use crate::scene::world;

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
