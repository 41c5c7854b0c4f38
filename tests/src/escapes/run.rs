//! Runs the attempts.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use futures::{StreamExt as _, stream};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use swarm_os::process::{command_line, pids};
use swarm_protocol::{SANDBOX_HELPER, SandboxKind};
use swarm_tools::sandbox::probe_sandbox;
use swarm_tools::{Bash, Tool as _, ToolContext};

use super::attempts::{ATTEMPTS, Attempt, IN_WORKTREE, MAIN_GIT, OUTLIVE};
use super::place::Place;
use crate::wait::wait_until;

/// Time in which a process starts, and in which the kernel ends what is in namespaces.
const TO_END: Duration = Duration::from_secs(5);

/// Number of attempts that run at the same time.
const AT_ONCE: usize = 8;

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

/// Makes the first `per_row` attempts of each row with a backend. `helper` is a program with the
/// role of the sandbox helper.
///
/// # Panics
/// If the backend does not work here.
pub async fn try_escapes(helper: &Path, backend: SandboxKind, per_row: usize) -> EscapeReport {
    let mut report = EscapeReport::default();
    for (worktree, attempts) in [(false, ATTEMPTS), (true, IN_WORKTREE)] {
        works(&Place::new(helper, true).context(backend, worktree, "1")).await;
        let attempts = first_of_each(attempts, per_row);
        let others = attempts.iter().filter(|attempt| attempt.0 != OUTLIVE);
        let tried = others.map(|attempt| async move {
            // An attempt may destroy what the next one needs.
            let place = Place::new(helper, worktree || attempt.0 == MAIN_GIT);
            let ctx = place.context(backend, worktree, "1");
            (*attempt, succeeds(attempt.1, &ctx).await)
        });
        let mut tried = stream::iter(tried).buffer_unordered(AT_ONCE);
        while let Some((attempt, through)) = tried.next().await {
            report.add(attempt, through);
        }
    }
    let place = Place::new(helper, false);
    let staying = first_of_each(ATTEMPTS, per_row);
    let staying = staying.iter().filter(|attempt| attempt.0 == OUTLIVE);
    for (number, attempt) in staying.enumerate() {
        let mark = format!("{}.{number}", 100_000 + std::process::id());
        let ctx = place.context(backend, false, &mark);
        report.add(*attempt, outlives(attempt.1, ctx, &mark).await);
    }
    report
}

fn first_of_each(attempts: &[Attempt], per_row: usize) -> Vec<Attempt> {
    let is_first = |(number, attempt): &(usize, &Attempt)| {
        let before = attempts[..*number].iter();
        before.filter(|other| other.0 == attempt.0).count() < per_row
    };
    let first = attempts.iter().enumerate().filter(is_first);
    first.map(|(_, attempt)| *attempt).collect()
}

/// Whether a process that a script leaves behind outlives the agent.
async fn outlives(script: &str, ctx: ToolContext, mark: &str) -> bool {
    assert!(succeeds(script, &ctx).await, "{script}");
    let started = wait_until("the process", TO_END, || sleeper(mark));
    drop(ctx);
    let gone = wait_until("its end", TO_END, || sleeper(mark).is_none().then_some(()));
    while let Some(pid) = sleeper(mark) {
        kill_process(pid, Signal::KILL).unwrap_or_default();
    }
    started.is_ok() && gone.is_err()
}

/// A sandbox that stops everything would prove nothing.
async fn works(ctx: &ToolContext) {
    let work = "echo x > own && grep -q x own && test -r /etc/passwd && git status -s > /dev/null && mktemp > /dev/null && rm own";
    assert!(succeeds(work, ctx).await, "work in the sandbox");
}

async fn succeeds(script: &str, ctx: &ToolContext) -> bool {
    let output = Bash.call(json!({"command": script}), ctx).await;
    assert!(
        !output.content.contains("was not run"),
        "{}",
        output.content
    );
    !output.is_error
}

fn sleeper(mark: &str) -> Option<Pid> {
    let line = format!("sleep {mark}");
    let found = pids().into_iter().map(u32::cast_signed);
    let mut found = found.filter(|pid| command_line(*pid) == line);
    found.find_map(Pid::from_raw)
}

/// Returns the backends that work here and says why others do not, since silence would look like a
/// proof.
pub fn working_backends(helper: &Path) -> Vec<SandboxKind> {
    let probe = probe_sandbox(&[helper.display().to_string(), SANDBOX_HELPER.to_owned()]);
    for (kind, why) in &probe.missing {
        eprintln!("NOT PROVEN HERE: {} does not work: {why}", kind.name());
    }
    match probe.backend {
        Some(SandboxKind::Namespaces) => vec![SandboxKind::Namespaces, SandboxKind::Landlock],
        found => found.into_iter().collect(),
    }
}
