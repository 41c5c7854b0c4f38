//! The helper that starts the shell commands of an agent.

use std::process::id;
use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process};
use swarm_os::process::{ProcessStat, command_line, pids};
use swarm_protocol::SandboxKind;
use swarm_tests::{DEADLINE, wait_until};
use swarm_tools::ToolContext;

use super::guards::{Repository, bash, kernel_has_none};
use super::sandbox::in_main_checkout;

/// Returns the namespace of mounts of an agent's commands, which its helper has joined: other tests
/// of this process have helpers too.
async fn namespace(ctx: &ToolContext) -> String {
    bash("readlink /proc/self/ns/mnt", ctx).await.content
}

/// Returns the helpers that start commands for this process in a namespace.
fn helpers(namespace: &str) -> Vec<Pid> {
    let is_helper = |pid: &u32| {
        let is_child = ProcessStat::of(*pid).is_some_and(|stat| stat.parent == id().cast_signed());
        let joined = std::fs::read_link(format!("/proc/{pid}/ns/mnt"));
        is_child
            && joined.is_ok_and(|joined| joined.to_str() == Some(namespace))
            && command_line(pid.cast_signed()).contains(" --serve ")
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
    let namespace = namespace(&ctx).await;
    // Not compared with a command outside: other tests of this process open files meanwhile.
    let files = bash("ls -l /proc/self/fd", &ctx).await.content;
    let helper = helpers(&namespace)[0].as_raw_nonzero();
    let channel = std::fs::read_link(format!("/proc/{helper}/fd/0")).unwrap();
    let channel = channel.display().to_string();
    assert!(channel.starts_with("socket:"), "{channel}");
    assert!(!files.contains(&channel), "{files}");
    assert!(!files.contains("eventpoll"), "{files}");
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
    assert_eq!(helpers(&namespace).len(), 1);
    drop(ctx);
    let gone = || helpers(&namespace).is_empty().then_some(());
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
}

// As above.
#[tokio::test(flavor = "multi_thread")]
async fn a_helper_that_was_stopped_ends_with_its_agent() {
    let repository = Repository::new();
    let Some(ctx) = in_main_checkout(&repository) else {
        return;
    };
    let namespace = namespace(&ctx).await;
    let [helper] = helpers(&namespace)[..] else {
        panic!("{:?}", helpers(&namespace));
    };
    kill_process(helper, Signal::STOP).unwrap();
    drop(ctx);
    let gone = || helpers(&namespace).is_empty().then_some(());
    wait_until("the helper has ended", DEADLINE, gone).unwrap();
}

// Another thread reaps while this one waits.
#[tokio::test(flavor = "multi_thread")]
async fn a_helper_that_was_killed_is_replaced_and_no_zombie_remains() {
    // As in a lead and a teammate: orphans become children of this process. Not if they may be those
    // of other tests.
    if std::env::var_os("NEXTEST").is_some() {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid())).unwrap();
    }
    let repository = Repository::new();
    let Some(ctx) = in_main_checkout(&repository) else {
        return;
    };
    let namespace = namespace(&ctx).await;
    // A number that no other test uses.
    let sleeper = format!("sleep {}", 100_000 + id());
    let line = format!("exec {sleeper}");
    let kill = tokio::task::spawn_blocking(move || {
        let running = || {
            let mut all = pids().into_iter().map(u32::cast_signed);
            all.find(|pid| command_line(*pid) == sleeper)
        };
        let command = wait_until("the command runs", DEADLINE, running).unwrap();
        let helpers = helpers(&namespace);
        for helper in &helpers {
            kill_process(*helper, Signal::KILL).unwrap();
        }
        let helpers = helpers.into_iter().map(|pid| pid.as_raw_nonzero().get());
        helpers.chain([command]).collect::<Vec<_>>()
    });
    let cut = bash(&line, &ctx).await;
    let ended = kill.await.unwrap();
    assert_eq!(ended.len(), 2);
    assert!(cut.content.contains("Cannot wait"), "{}", cut.content);
    assert_eq!(bash("echo ok", &ctx).await.content, "ok");
    let reaped = || {
        let mut all = ended.iter();
        let exists = |pid: &i32| ProcessStat::of(pid.cast_unsigned()).is_some();
        (!all.any(exists)).then_some(())
    };
    wait_until("the command and its helper are reaped", DEADLINE, reaped).unwrap();
}
