//! A shell command of an agent, with and without its sandbox.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::json;
use swarm_protocol::{
    MemberName, SANDBOX_HELPER, SandboxKind, SandboxNetwork, SandboxUse, ShellGuards,
};
use swarm_tools::{Bash, Caller, ProtectedPaths, Tool as _, ToolContext};
use tokio::runtime::Runtime;

use crate::bench::figure::Figure;
use crate::bench::order::Order;
use crate::bench::scratch::on_disk;
use crate::bench::table::{Aim, Line};
use crate::escapes::working_backends;

/// Maximum duration of a sandboxed command as a multiple of one that the helper starts without a
/// sandbox.
const AIM: f64 = 1.2;

/// Commands with their names: the shortest one, and one that agents often run.
const COMMANDS: [(&str, &str); 2] = [("command", "true"), ("git status", "git status --short")];

/// The Bash tool with each of the commands, in turn without a helper, without a sandbox and with each
/// backend; and the first command of an agent, which creates its namespaces.
pub(crate) fn measure(order: &Order) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for (name, command) in COMMANDS {
        lines.extend(measure_command(order, name, command)?);
    }
    Ok(lines)
}

fn measure_command(order: &Order, name: &str, command: &str) -> Result<Vec<Line>> {
    let directory = on_disk();
    let created = Command::new("git")
        .args(["init", "-q"])
        .current_dir(directory.path())
        .status()?;
    ensure!(created.success(), "git init: {created}");
    let helper = order.program("swarm");
    let runtime = Runtime::new()?;
    let backends = working_backends(&helper);
    let mut contexts = vec![
        context(directory.path(), None, None),
        context(directory.path(), Some(&helper), None),
    ];
    for backend in &backends {
        contexts.push(context(directory.path(), Some(&helper), Some(*backend)));
    }
    let mut times = vec![Vec::new(); contexts.len()];
    let mut first = Vec::new();
    // The proxies of the namespaces run on it.
    let _entered = runtime.enter();
    for run in 0..order.runs(200) {
        for (ctx, times) in contexts.iter().zip(&mut times) {
            let took = time(&runtime, ctx, command)?;
            if run > 0 {
                times.push(took);
            }
        }
        if run % 10 == 0 && backends.contains(&SandboxKind::Namespaces) {
            let namespaces = Some(SandboxKind::Namespaces);
            let ctx = context(directory.path(), Some(&helper), namespaces);
            first.push(time(&runtime, &ctx, command)?);
        }
    }
    let mut times = times.into_iter().map(Figure::times);
    let (bare, unsandboxed) = (times.next(), times.next());
    let (Some(bare), Some(unsandboxed)) = (bare, unsandboxed) else {
        return Ok(Vec::new());
    };
    let mut lines = vec![Line::against(
        format!("{name} without a sandbox, started by the helper"),
        unsandboxed.clone(),
        "without the helper",
        bare,
        Aim::None,
    )];
    for (backend, figure) in backends.iter().zip(times) {
        lines.push(Line::against(
            format!("{name} in the sandbox ({})", backend.name()),
            figure,
            "without a sandbox",
            unsandboxed.clone(),
            Aim::Ratio(AIM),
        ));
    }
    if !first.is_empty() {
        lines.push(Line::against(
            format!("first {name} of an agent, creates the namespaces"),
            Figure::times(first),
            "without a sandbox",
            unsandboxed,
            Aim::None,
        ));
    }
    Ok(lines)
}

fn time(runtime: &Runtime, ctx: &ToolContext, command: &str) -> Result<Duration> {
    let began = Instant::now();
    let output = runtime.block_on(Bash.call(json!({ "command": command }), ctx));
    let took = began.elapsed();
    ensure!(!output.is_error, "{}", output.content);
    Ok(took)
}

fn context(base: &Path, helper: Option<&Path>, backend: Option<SandboxKind>) -> ToolContext {
    let root = base.join("root");
    let program = helper.map(|helper| helper.display().to_string());
    let guards = ShellGuards {
        sandbox: backend.map_or(SandboxUse::Off, |_| SandboxUse::Always),
        backend,
        helper: program.map_or_else(Vec::new, |program| vec![program, SANDBOX_HELPER.to_owned()]),
        network: SandboxNetwork::None,
        hide: vec![root.clone()],
        ..ShellGuards::default()
    };
    let path = "/usr/local/bin:/usr/bin:/bin".to_owned();
    ToolContext {
        env: Arc::new(BTreeMap::from([("PATH".to_owned(), path)])),
        protected: Arc::new(ProtectedPaths::new(&root)),
        guards: Arc::new(guards),
        ..ToolContext::new(base.to_owned(), Caller::new(MemberName::lead()))
    }
}
