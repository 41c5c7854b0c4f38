//! The helper that starts the shell commands of an agent.

use std::process::id;
use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process};
use swarm_os::process::{ProcessStat, command_line, pids};
use swarm_protocol::{SandboxKind, SandboxUse};
use swarm_tests::{DEADLINE, wait_until};

use super::guards::{Repository, bash, kernel_has_none};
use super::sandbox::in_main_checkout;

/// Returns the helpers that start commands for this process.
fn helpers() -> Vec<Pid> {
    let is_helper = |pid: &u32| {
        let is_child = ProcessStat::of(*pid).is_some_and(|stat| stat.parent == id().cast_signed());
        is_child && command_line(pid.cast_signed()).contains(" --serve ")
    };
    let found = pids().into_iter().filter(is_helper);
    found
        .filter_map(|pid| Pid::from_raw(pid.cast_signed()))
        .collect()
}

// Another thread ends the commands while this one waits.
#[tokio::test(flavor = "multi_thread")]
async fn commands_get_their_own_files_and_keep_their_exit_status() {
    let repository = Repository::new();
    let Some(ctx) = in_main_checkout(&repository) else {
        return;
    };
    let mut outside = ctx.clone();
    Arc::make_mut(&mut outside.guards).sandbox = SandboxUse::Off;
    let list = "echo $(ls /proc/self/fd)";
    let files = bash(list, &ctx).await.content;
    assert_eq!(files, bash(list, &outside).await.content);
    let failed = bash("exit 3", &ctx).await;
    assert_eq!(failed.content, "Exit code 3");
    let killed = bash("kill -9 $$", &ctx).await;
    assert_eq!(killed.content, "Killed by signal 9");
    let long = format!(": {}", "x".repeat(3 << 20));
    let refused = bash(&long, &ctx).await.content;
    assert!(refused.contains("Argument list too long"), "{refused}");
    let moved = bash("mkdir -p new && cd new", &ctx).await;
    assert!(!moved.is_error, "{}", moved.content);
    assert!(bash("pwd", &ctx).await.content.ends_with("/new"));
    assert_eq!(helpers().len(), 1);
    drop((ctx, outside));
    let gone = || helpers().is_empty().then_some(());
    wait_until("the helper has ended", DEADLINE, gone).unwrap();
}

#[tokio::test]
async fn with_landlock_no_helper_is_shared() {
    if kernel_has_none() {
        return;
    }
    let repository = Repository::new();
    let mut ctx = repository.context("one");
    Arc::make_mut(&mut ctx.guards).backend = Some(SandboxKind::Landlock);
    let parent = bash("echo $PPID", &ctx).await.content;
    assert_eq!(parent, id().to_string());
    assert!(helpers().is_empty());
}

#[tokio::test]
async fn a_helper_that_was_stopped_ends_with_its_agent() {
    let repository = Repository::new();
    let Some(ctx) = in_main_checkout(&repository) else {
        return;
    };
    assert_eq!(bash("echo ok", &ctx).await.content, "ok");
    let [helper] = helpers()[..] else {
        panic!("{:?}", helpers());
    };
    kill_process(helper, Signal::STOP).unwrap();
    drop(ctx);
    let gone = || helpers().is_empty().then_some(());
    wait_until("the helper has ended", DEADLINE, gone).unwrap();
}

// Another thread reaps while this one waits.
#[tokio::test(flavor = "multi_thread")]
async fn a_helper_that_was_killed_is_replaced_and_no_zombie_remains() {
    // As in a lead and a teammate: orphans become children of this process.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).unwrap();
    let repository = Repository::new();
    let Some(ctx) = in_main_checkout(&repository) else {
        return;
    };
    // A number that no other test uses.
    let sleeper = format!("sleep {}", 100_000 + id());
    let begun = ctx.cwd.join("begun");
    let kill = tokio::task::spawn_blocking(move || {
        let begun = || std::fs::remove_file(&begun).ok();
        wait_until("the command runs", DEADLINE, begun).unwrap();
        for helper in helpers() {
            kill_process(helper, Signal::KILL).unwrap();
        }
    });
    let cut = bash(&format!("touch begun; exec {sleeper}"), &ctx).await;
    kill.await.unwrap();
    assert!(cut.content.contains("Cannot wait"), "{}", cut.content);
    let gone = || {
        let mut all = pids().into_iter();
        (!all.any(|pid| command_line(pid.cast_signed()) == sleeper)).then_some(())
    };
    wait_until("the command is gone", DEADLINE, gone).unwrap();
    assert_eq!(bash("echo ok", &ctx).await.content, "ok");
    let reaped = || {
        let own = id().cast_signed();
        let is_zombie = |stat: ProcessStat| stat.parent == own && stat.has_ended();
        let mut all = pids().into_iter().filter_map(ProcessStat::of);
        (!all.any(is_zombie)).then_some(())
    };
    wait_until("the command and its helper are reaped", DEADLINE, reaped).unwrap();
}
