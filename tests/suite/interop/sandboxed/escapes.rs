//! Agent programs in the sandbox: what they cannot reach, and that their work goes on.

use swarm_protocol::SandboxKind;

use super::confined_by::{spawn, world_with};
use crate::interop::programs::ACP_AGENT;
use crate::scene::{wait_for_no_process, wait_for_state};

/// What the fake agent tries while its question is open. Each line of output is `held` or `OUT`, and the
/// name of an attempt.
const ATTEMPTS: &str = r#"
until test -e go; do sleep 0.05; done
try() { if sh -c "$2" >/dev/null 2>&1; then echo "OUT $1"; else echo "held $1"; fi; }
try ssh 'grep -q SECRET $HOME/.ssh/id'
try teams 'cat $CLAUDE_CONFIG_DIR/teams/*/*.json $CLAUDE_CONFIG_DIR/teams/*/inboxes/* | grep -q .'
try key 'cat $CLAUDE_CONFIG_DIR/teams/*/swarm/keys/* | grep -q .'
try inbox 'mkdir -p $INBOXES && echo [] > $INBOXES/team-lead.json'
try settings 'echo {} > $CLAUDE_CONFIG_DIR/settings.json'
try shims 'rm $CLAUDE_CONFIG_DIR/swarm/bin/git'
try outside 'echo x > $OUTSIDE/new'
try home 'echo x > $HOME/.profile'
try own-settings 'echo {} > $HOME/.gemini/settings.json'
try own-settings-moved 'mv $HOME/.gemini/settings.json $HOME/.gemini/old'
try link 'rm -f way; ln -s $HOME/.gemini way && echo {} > way/settings.json'
try socket 'python3 -c "import socket; socket.socket(socket.AF_UNIX)"'
try tmux 'tmux -S $OUTSIDE/tmux new-session -d'
try terminal 'echo x > /dev/tty'
test $BACKEND = landlock || try processes 'test $(ls -d /proc/[0-9]* | wc -l) -gt 20'
try approve 'swarm approve bob'
try approve-as-nobody 'env -u SWARM_SPAWN_ID -u SWARM_TEAM -u SWARM_NAME swarm approve p1'
try mount 'unshare -Urm sh -c "umount -l $HOME/.ssh; grep -q SECRET $HOME/.ssh/id"'
OWN=${GEMINI_CLI_HOME:-$HOME}/.gemini
try own-settings-read "grep -q KNOWN $OWN/settings.json && exit 1"
try own-settings-again "echo {} > $OWN/settings.json"
try own-state "mkdir -p $OWN/extensions/new && echo x > $OWN/session && exit 1"
try login "echo fresh > $OWN/oauth_creds.json && exit 1"
echo END
"#;

/// A client of the MCP server in the parameters of `session/new`, which it reads from a file.
const CLIENT: &str = r#"
import json, os, subprocess
server = json.load(open("session.json"))["params"]["mcpServers"][0]
env = {**os.environ, **{one["name"]: one["value"] for one in server["env"]}}
client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "fake", "version": "1"}}
call = lambda name, arguments: ("tools/call", {"name": name, "arguments": arguments})
steps = [("initialize", client), ("notifications/initialized", None),
         call("send", {"to": "peer", "text": "hello peer"}), call("approve", {"request": "p1"}), call("requests", {})]
running = subprocess.Popen([server["command"], *server["args"]], env=env, text=True, stdin=-1, stdout=-1)
for number, (method, params) in enumerate(steps):
    request = {"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})}
    request |= {} if method.startswith("notifications") else {"id": number}
    running.stdin.write(json.dumps(request) + "\n")
    running.stdin.flush()
    if "id" in request:
        answer = json.loads(running.stdout.readline())
        failed = "error" in answer or answer["result"].get("isError")
        print("failed" if failed else "done", method, (params or {}).get("name", ""))
running.stdin.close()
running.wait(10)
"#;

#[test]
fn with_namespaces_a_program_cannot_get_out_while_it_works_asks_and_writes_to_a_peer() {
    cannot_get_out(SandboxKind::Namespaces);
}

#[test]
fn with_landlock_a_program_cannot_get_out_while_it_works_asks_and_writes_to_a_peer() {
    cannot_get_out(SandboxKind::Landlock);
}

fn cannot_get_out(backend: SandboxKind) {
    let Some(world) = world_with(backend, "gemini", ACP_AGENT) else {
        return;
    };
    world.swarm(&["team", "add", "peer", "--external"]).ok();
    world.write("home/.ssh/id", "SECRET");
    world.write("home/.gemini/settings.json", "KNOWN");
    world.write("home/.gemini/oauth_creds.json", "old");
    world.write("outside/file", "");
    world.write("project/attempts.sh", ATTEMPTS);
    world.write("project/client.py", CLIENT);
    let text = |path: &str| world.directory().join(path).display().to_string();
    let variables = [
        format!("BACKEND={}", backend.name()),
        format!("OUTSIDE={}", text("outside")),
        format!("INBOXES={}", text("root/teams/demo/inboxes")),
        format!("ACP_SESSION={}", text("project/session.json")),
    ];
    let started = spawn(&world, backend, "acp:gemini", &variables, "try everything");
    started.ok();
    let team = world.team("demo");
    wait_for_state(&world, "bob", "waiting-permission");
    assert!(team.life("bob")["confined"].as_bool().unwrap_or_default());
    world.write("project/go", "");
    let log = world.project().join("attempts.log");
    let read = || std::fs::read_to_string(&log).unwrap_or_default();
    world.wait_until("the attempts", || read().contains("END"));
    let tried = read();
    assert!(tried.lines().count() > 20, "{tried}");
    let got_out: Vec<_> = tried.lines().filter(|line| line.contains("OUT")).collect();
    assert!(got_out.is_empty(), "{got_out:?}");
    let file = |path: &str| std::fs::read_to_string(world.directory().join(path));
    assert_eq!(
        file("home/.gemini/settings.json").expect("settings"),
        "KNOWN"
    );
    assert_eq!(
        file("home/.gemini/oauth_creds.json").expect("a login"),
        "fresh\n"
    );
    assert!(!world.directory().join("home/.gemini/extensions").exists());
    assert!(!world.directory().join("home/.gemini/session").exists());

    // Its tools act for the member, and answer nothing.
    world.wait_until("its client", || {
        file("project/client.log").is_ok_and(|log| log.lines().count() == 4)
    });
    let client = file("project/client.log").expect("a log");
    let expected = "done initialize \ndone tools/call send\nfailed tools/call approve\nfailed tools/call requests\n";
    assert_eq!(client, expected);
    let mail = team.inbox("peer");
    assert_eq!(
        (mail[0]["from"].as_str(), mail[0]["text"].as_str()),
        (Some("bob"), Some("hello peer"))
    );

    assert_eq!(
        team.state("bob")["state"],
        "waiting-permission",
        "nobody answered"
    );
    world.swarm(&["approve", "bob"]).ok();
    wait_for_state(&world, "bob", "idle");
    assert_eq!(
        team.frames("team-lead", "idle_notification")[0]["result"],
        "cleaned up"
    );
    world.swarm(&["shutdown", "bob"]).ok();
    wait_for_no_process(&world);
}
