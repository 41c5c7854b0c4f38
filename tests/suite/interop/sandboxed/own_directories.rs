//! What agent programs see of their own directories in the sandbox, and of the user's.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};
use swarm_os::process::{ProcessStat, command_line, pids};
use swarm_protocol::{SANDBOX_HELPER, SandboxKind};

use super::confined_by::{spawn, spawn_under_slow_init, world_with};
use crate::interop::programs::{ACP_AGENT, CLAUDE_CODE};
use crate::scene::{kill_member, wait_for_no_process, wait_for_state};

#[test]
fn with_namespaces_claude_code_sees_the_users_settings_and_its_own_state() {
    claude_code_sees_its_own_state(SandboxKind::Namespaces);
}

#[test]
fn with_landlock_claude_code_sees_the_users_settings_and_its_own_state() {
    claude_code_sees_its_own_state(SandboxKind::Landlock);
}

fn claude_code_sees_its_own_state(backend: SandboxKind) {
    let Some(world) = world_with(backend, "claude", CLAUDE_CODE) else {
        return;
    };
    let hidden = world.root().join("hooks/private.sh").display().to_string();
    let world = world
        .with_variable("SWARM_SANDBOX_HIDE", &hidden)
        .with_variable("SWARM_SANDBOX_MCP_SERVERS", "public");
    world.write("root/hooks/private.sh", "# hidden");
    world.write("root/hooks/public.sh", "# shown");
    world.write("root/settings.json", r#"{"env": {}}"#);
    world.write("root/.credentials.json", "{}");
    world.write("root/.claude.json", r#"{"theme": "dark", "mcpServers": {"private": {"env": {"KEY": "SECRET"}}, "public": {"command": "x"}}}"#);
    let log = world.directory().join("tmp/claude.log");
    let probe = r#"cd "$CLAUDE_CONFIG_DIR"; ls -A | tr '\n' ' '; grep -q dark .claude.json && grep -q public .claude.json \
        && ! grep -q SECRET .claude.json && echo {} >.claude.new \
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
    spawn(&world, backend, "claude", &variables, "hello").ok();
    wait_for_state(&world, "bob", "idle");
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
    world.swarm(&["shutdown", "bob"]).ok();
    wait_for_no_process(&world);
}

fn names_in(directory: &Path) -> BTreeSet<OsString> {
    let entries = std::fs::read_dir(directory).expect("the checkout");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    names.collect()
}

#[test]
fn nothing_is_left_in_the_checkout_of_a_program_whose_member_has_stopped() {
    let Some(world) = world_with(SandboxKind::Namespaces, "claude", CLAUDE_CODE) else {
        return;
    };
    let names = || names_in(&world.project());
    let before = names();
    let swarm = |words: &[&str]| {
        world.swarm(words).ok();
    };
    let ends: [(&str, &dyn Fn()); 4] = [
        ("shutdown", &|| swarm(&["shutdown", "bob"])),
        ("kill", &|| swarm(&["kill", "bob"])),
        ("SIGKILL", &|| kill_member(&world, "bob")),
        ("delete", &|| swarm(&["team", "delete", "demo", "--force"])),
    ];
    for (end, stop) in ends {
        let init = spawn_under_slow_init(&world);
        wait_for_state(&world, "bob", "idle");
        assert!(names().len() > before.len(), "while it runs");
        stop();
        // After SIGKILL, nobody waits for its sandbox.
        world.wait_until(&format!("{end} leaves nothing"), || names() == before);
        drop(init);
        wait_for_no_process(&world);
    }
}

#[test]
fn gc_removes_what_a_killed_sandbox_left_in_the_checkout() {
    let Some(world) = world_with(SandboxKind::Namespaces, "claude", CLAUDE_CODE) else {
        return;
    };
    let names = || names_in(&world.project());
    let before = names();
    spawn(&world, SandboxKind::Namespaces, "claude", &[], "hello").ok();
    wait_for_state(&world, "bob", "idle");
    let member = world.team("demo").hello("bob")["pid"].as_i64();
    let is_helper = |pid: &u32| {
        let parent = ProcessStat::of(*pid).map(|stat| i64::from(stat.parent));
        parent == member && command_line(pid.cast_signed()).contains(SANDBOX_HELPER)
    };
    let helpers: Vec<u32> = pids().into_iter().filter(is_helper).collect();
    assert!(!helpers.is_empty());
    world.swarm(&["gc"]).ok();
    assert!(names().len() > before.len(), "they are in use");
    for helper in helpers {
        let helper = Pid::from_raw(helper.cast_signed()).expect("a pid");
        kill_process(helper, Signal::KILL).expect("a sandbox");
    }
    world.swarm(&["kill", "bob"]).ok();
    wait_for_no_process(&world);
    let left = names();
    assert!(left.len() > before.len(), "nobody could remove them");
    let told = world.swarm(&["gc", "--dry-run"]).ok().stdout.clone();
    assert!(told.contains("project/.gemini: a placeholder"), "{told}");
    assert_eq!(names(), left);
    world.swarm(&["gc"]).ok();
    assert_eq!(names(), before);
}

#[test]
fn an_unknown_program_writes_in_the_home_directory_only_what_the_settings_name() {
    let script = format!(
        "{{ echo x >$HOME/.profile && echo OUT; grep -q SECRET $HOME/.ssh/id && echo OUT; \
         echo x >$HOME/.agent/state && echo kept; }} >probe.log 2>&1\n{ACP_AGENT}"
    );
    for backend in [SandboxKind::Namespaces, SandboxKind::Landlock] {
        let Some(world) = world_with(backend, "agent", &script) else {
            continue;
        };
        world.write("home/.ssh/id", "SECRET");
        world.write("home/.agent/state", "");
        let world = world.with_variable("SWARM_SANDBOX_WRITE", "~/.agent");
        spawn(&world, backend, "acp:./agent", &[], "hello").ok();
        wait_for_state(&world, "bob", "idle");
        let life = world.team("demo").life("bob");
        assert!(life["confined"].as_bool().unwrap_or_default(), "{life}");
        let probe = std::fs::read_to_string(world.project().join("probe.log")).expect("a log");
        assert!(probe.contains("kept") && !probe.contains("OUT"), "{probe}");
        world.swarm(&["shutdown", "bob"]).ok();
        wait_for_no_process(&world);
    }
}

#[test]
fn the_error_of_an_unknown_program_says_how_to_name_its_directories() {
    let script = "mkdir $HOME/.agent || exit 3";
    let Some(world) = world_with(SandboxKind::Namespaces, "agent", script) else {
        return;
    };
    let failed = spawn(&world, SandboxKind::Namespaces, "acp:./agent", &[], "hello");
    assert_ne!(failed.code, Some(0), "{}", failed.story());
    assert!(
        failed.stderr.contains("`sandbox.write`"),
        "{}",
        failed.story()
    );
}
