//! Runs the attempts.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;
use swarm_os::process::{command_line, pids};
use swarm_protocol::SandboxKind;
use swarm_tools::{Bash, Tool as _, ToolContext};

use super::attempts::{ATTEMPTS, Attempt, IN_WORKTREE, OUTLIVE};
use super::place::Place;
use crate::wait::wait_until;

/// Results of the attempts with one backend.
#[derive(Debug, Default)]
pub struct EscapeReport {
    /// Number of attempts.
    pub tried: usize,
    /// For each row of the table, the scripts that got through.
    pub through: BTreeMap<&'static str, Vec<&'static str>>,
}

impl EscapeReport {
    fn add(&mut self, (row, script): Attempt, through: bool) {
        self.tried += 1;
        let through = through.then_some(script);
        self.through.entry(row).or_default().extend(through);
    }
}

/// Makes every attempt with a backend. `helper` is a program with the role of the sandbox helper.
///
/// # Panics
/// If the backend does not work here.
pub async fn try_escapes(helper: &Path, backend: SandboxKind) -> EscapeReport {
    let mut report = EscapeReport::default();
    for (worktree, attempts) in [(false, ATTEMPTS), (true, IN_WORKTREE)] {
        let others = attempts.iter().filter(|attempt| attempt.0 != OUTLIVE);
        for attempt in others {
            // Each attempt may have destroyed what the next one needs.
            let place = Place::new(helper);
            let ctx = place.context(backend, worktree, "1");
            works(&ctx).await;
            let through = succeeds(attempt.1, &ctx).await;
            report.add(*attempt, through);
        }
    }
    let place = Place::new(helper);
    let staying = ATTEMPTS.iter().filter(|attempt| attempt.0 == OUTLIVE);
    for (number, attempt) in staying.enumerate() {
        let mark = format!("{}.{number}", 100_000 + std::process::id());
        let ctx = place.context(backend, false, &mark);
        assert!(succeeds(attempt.1, &ctx).await, "{}", attempt.1);
        wait_until("the process", || sleeper(&mark).is_some());
        drop(ctx);
        // What the kernel ends is gone in moments; what it does not is there for ever.
        let through = !crate::wait::comes_true(|| sleeper(&mark).is_none());
        if let Some(pid) = sleeper(&mark) {
            swarm_os::process::end_marked("MARK", &mark);
            let pid = rustix::process::Pid::from_raw(pid).expect("a pid");
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap_or_default();
        }
        report.add(*attempt, through);
    }
    report
}

/// A sandbox that stops everything would prove nothing.
async fn works(ctx: &ToolContext) {
    let work = "echo x > own && grep -q x own && test -r /etc/passwd && git status -s > /dev/null && mktemp > /dev/null; rm own";
    assert!(succeeds(work, ctx).await, "work in the sandbox");
}

async fn succeeds(script: &str, ctx: &ToolContext) -> bool {
    let output = Bash.call(json!({"command": script}), ctx).await;
    assert!(!output.content.contains("was not run"), "{}", output.content);
    !output.is_error
}

fn sleeper(mark: &str) -> Option<i32> {
    pids().find(|pid| command_line(*pid).is_some_and(|line| line.contains(&format!("sleep {mark}"))))
}
