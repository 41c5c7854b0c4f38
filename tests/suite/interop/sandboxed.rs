//! Agent programs in the sandbox: what they cannot reach, and that their work goes on.

use swarm_protocol::SandboxKind;
use swarm_tests::escapes::working_backends;
use swarm_tests::stage::World;

use super::programs::{ACP_AGENT, CLAUDE_CODE, install};
use crate::scene::{wait_for_no_process, wait_for_state, world};

/// What the fake agent tries while its question is open. Each line of output is `held` or `OUT`, and the
/// name of an attempt.
const ATTEMPTS: &str = r#"
until test -e go; do sleep 0.05; done
try() { if sh -c "$2" >/dev/null 2>&1; then echo "OUT $1"; else echo "held $1"; fi; }
try ssh 'grep -q SECRET $HOME/.ssh/id'
try teams 'find $CLAUDE_CONFIG_DIR/teams -type f | grep -q .'
try key 'find $CLAUDE_CONFIG_DIR -name "*key*" -type f | grep -q .'
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
try processes 'test $(ls -d /proc/[0-9]* | wc -l) -gt 20'
try approve 'swarm approve bob'
try approve-as-nobody 'env -u SWARM_SPAWN_ID -u SWARM_TEAM -u SWARM_NAME swarm approve p1'
try mount 'unshare -Urm sh -c "umount -l $HOME/.ssh; grep -q SECRET $HOME/.ssh/id"'
try own-settings-read 'grep -q KNOWN $HOME/.gemini/settings.json && exit 1'
try own-state 'mkdir -p $HOME/.gemini/extensions/new && echo x > $HOME/.gemini/session && exit 1'
try login 'echo fresh > $HOME/.gemini/oauth_creds.json && exit 1'
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

/// A world with the team `demo`, an agent program on its path and namespaces; `None` where there are
/// none.
#[expect(clippy::print_stderr, reason = "a test that cannot run here says so")]
fn world_with(program: &str, script: &str) -> Option<World> {
    let world = world();
    if !working_backends(&world.program("swarm-teammate")).contains(&SandboxKind::Namespaces) {
        eprintln!("NOT PROVEN HERE: no namespaces, so agent programs run outside of the sandbox");
        return None;
    }
    install(&world, program, script);
    let path = std::env::var("PATH").expect("a path");
    let path = format!("{}:{path}", world.project().display());
    let world = world.with_variable("PATH", &path);
    world.swarm(&["team", "create", "demo"]).ok();
    Some(world)
}

fn spawn(world: &World, name: &str, runtime: &str, env: &[String], prompt: &str) {
    let spawn = ["spawn", name, "--runtime", runtime, "--backend", "headless"];
    let env = env.iter().flat_map(|variable| ["--env", variable]);
    let prompt = ["--prompt", prompt];
    let arguments: Vec<&str> = spawn.into_iter().chain(env).chain(prompt).collect();
    world.swarm(&arguments).ok();
}

#[test]
fn an_agent_program_cannot_get_out_of_the_sandbox_while_it_works_asks_and_writes_to_a_peer() {
    let Some(world) = world_with("gemini", ACP_AGENT) else {
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
        format!("OUTSIDE={}", text("outside")),
        format!("INBOXES={}", text("root/teams/demo/inboxes")),
        format!("ACP_SESSION={}", text("project/session.json")),
    ];
    spawn(&world, "bob", "acp:gemini", &variables, "try everything");
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
    let status = world.swarm(&["status"]);
    assert!(
        !status.stderr.contains("outside of the sandbox"),
        "{}",
        status.story()
    );
    world.swarm(&["shutdown", "bob"]).ok();
    wait_for_no_process(&world);
}

#[test]
fn claude_code_sees_the_users_settings_and_its_own_state_in_place_of_the_teams() {
    let Some(world) = world_with("claude", CLAUDE_CODE) else {
        return;
    };
    let hidden = world.root().join("hooks/private.sh").display().to_string();
    let world = world.with_variable("SWARM_SANDBOX_HIDE", &hidden);
    world.write("root/hooks/private.sh", "# hidden");
    world.write("root/hooks/public.sh", "# shown");
    world.write("root/settings.json", r#"{"env": {}}"#);
    world.write("root/.credentials.json", "{}");
    world.write("root/.claude.json", r#"{"theme": "dark"}"#);
    let log = world.directory().join("tmp/claude.log");
    let probe = r#"cd "$CLAUDE_CONFIG_DIR"; ls -A | tr '\n' ' '; grep -q dark .claude.json && echo {} >.claude.new \
        && mv .claude.new .claude.json && mkdir -p projects/mine && echo fresh >.credentials.json && echo works; \
        for name in settings.json agents/new.md teams/demo/config.json; do \
        (echo x >"$name") 2>/dev/null && echo "wrote $name"; done; ls teams; cat hooks/*.sh"#;
    let variables = [
        format!("CLAUDE_LOG={}", log.display()),
        format!("CLAUDE_PROBE={probe}"),
    ];
    world.write(
        "root/agents/one.md",
        "---\nname: one\ndescription: one\n---\nx",
    );
    spawn(&world, "carl", "claude", &variables, "hello");
    wait_for_state(&world, "carl", "idle");
    let log = std::fs::read_to_string(&log).expect("the log");
    let found = log
        .lines()
        .find(|line| line.starts_with("probe: "))
        .expect("a probe");
    assert!(
        found.contains(".claude.json") && found.contains("settings.json"),
        "{found}"
    );
    assert!(
        !found.contains("teams") && !found.contains("tasks"),
        "{found}"
    );
    assert!(found.contains("works"), "{found}");
    assert!(!log.contains("wrote"), "{log}");
    assert!(
        log.contains("# shown") && !log.contains("# hidden"),
        "{log}"
    );
    let file = |path: &str| std::fs::read_to_string(world.root().join(path)).expect("a file");
    assert!(
        file(".claude.json").contains("dark"),
        "the user's is unchanged"
    );
    assert_eq!(file(".credentials.json"), "fresh\n");
    assert!(!world.root().join("projects/mine").exists());
    world.swarm(&["shutdown", "carl"]).ok();
    wait_for_no_process(&world);
}

#[test]
fn a_program_that_cannot_run_in_the_sandbox_is_shown_or_refused() {
    let Some(world) = world_with("agent", ACP_AGENT) else {
        return;
    };
    spawn(&world, "bob", "acp:./agent", &[], "hello");
    wait_for_state(&world, "bob", "idle");
    assert!(
        !world.team("demo").life("bob")["confined"]
            .as_bool()
            .unwrap_or_default()
    );
    let status = world.swarm(&["status"]);
    let words = "bob (acp:./agent) runs outside of the sandbox";
    assert!(status.stderr.contains(words), "{}", status.story());
    let logs = world.swarm(&["logs", "bob"]);
    let words = "swarm does not know the directories that it writes";
    assert!(logs.stdout.contains(words), "{}", logs.story());
    world.swarm(&["kill", "bob"]).ok();
    let world = world.with_variable("SWARM_SANDBOX_REQUIRED", "true");
    let spawn = [
        "spawn",
        "bob",
        "--runtime",
        "acp:./agent",
        "--backend",
        "headless",
    ];
    let refused = world.swarm(&spawn);
    refused.assert_code(9);
    let words = "acp:./agent: it cannot run in the sandbox, which `sandbox.required`";
    assert!(refused.stderr.contains(words), "{}", refused.story());
}
