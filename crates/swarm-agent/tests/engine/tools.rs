//! Fake tools.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};
use swarm_protocol::ToolKind;
use swarm_tools::{Picture, Tool, ToolContext, ToolOutput};
use tokio::sync::{Barrier, Notify};

type Action = dyn Fn(Value, ToolContext) -> BoxFuture<'static, ToolOutput> + Send + Sync;

/// A shared log of events in order.
pub(crate) type Log = Arc<Mutex<Vec<String>>>;

pub(crate) struct FakeTool {
    name: &'static str,
    aliases: &'static [&'static str],
    read_only: bool,
    asks_person: bool,
    action: Box<Action>,
}

impl fmt::Debug for FakeTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[async_trait]
impl Tool for FakeTool {
    fn name(&self) -> &str {
        self.name
    }

    fn aliases(&self) -> &'static [&'static str] {
        self.aliases
    }

    fn description(&self) -> String {
        format!("{} for tests", self.name)
    }

    fn input_schema(&self) -> Value {
        json!({"type": "object"})
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Other
    }

    fn asks_person(&self, _input: &Value) -> bool {
        self.asks_person
    }

    fn is_read_only(&self, _input: &Value) -> bool {
        self.read_only
    }

    fn one_line(&self, input: &Value) -> String {
        format!("{} {input}", self.name)
    }

    async fn call(&self, input: Value, ctx: &ToolContext) -> ToolOutput {
        (self.action)(input, ctx.clone()).await
    }
}

fn tool<F>(
    name: &'static str,
    read_only: bool,
    action: impl Fn(Value, ToolContext) -> F + Send + Sync + 'static,
) -> Arc<dyn Tool>
where
    F: Future<Output = ToolOutput> + Send + 'static,
{
    Arc::new(FakeTool {
        name,
        aliases: &[],
        read_only,
        asks_person: false,
        action: Box::new(move |input, ctx| Box::pin(action(input, ctx))),
    })
}

/// Read-only: returns an image of `bytes` bytes, under any name.
pub(crate) fn showing(name: &'static str, bytes: usize) -> Arc<dyn Tool> {
    tool(name, true, move |_, _| async move {
        let picture = Picture {
            media_type: "image/png".into(),
            base64: "A".repeat(bytes),
        };
        ToolOutput::ok("A picture.", "shown").with_pictures(vec![picture])
    })
}

/// Mutating: reports that it acted, under any name.
pub(crate) fn acting(name: &'static str) -> Arc<dyn Tool> {
    tool(name, false, |_, _| async {
        ToolOutput::ok("acted", "acted")
    })
}

/// Mutating: a `TaskStop` with its former name as an alias.
pub(crate) fn stopping() -> Arc<dyn Tool> {
    Arc::new(FakeTool {
        name: "TaskStop",
        aliases: &["KillShell"],
        read_only: false,
        asks_person: false,
        action: Box::new(|_, _| Box::pin(async { ToolOutput::ok("stopped", "stopped") })),
    })
}

/// A tool about each call of which a person decides.
pub(crate) fn disclosing() -> Arc<dyn Tool> {
    Arc::new(FakeTool {
        name: "Disclose",
        aliases: &[],
        read_only: true,
        asks_person: true,
        action: Box::new(|_, _| Box::pin(async { ToolOutput::ok("told", "told") })),
    })
}

/// Mutating: fails.
pub(crate) fn failing() -> Arc<dyn Tool> {
    tool("Failing", false, |_, _| async {
        ToolOutput::error("it does not work")
    })
}

/// Read-only: returns its input's `text`.
pub(crate) fn echo() -> Arc<dyn Tool> {
    tool("Echo", true, |input, _| async move {
        ToolOutput::ok(input["text"].as_str().unwrap_or_default(), "echoed")
    })
}

/// Read-only: returns only when `n` calls run in parallel.
pub(crate) fn meet(n: usize) -> Arc<dyn Tool> {
    let together = Arc::new(Barrier::new(n));
    tool("Meet", true, move |input, _| {
        let together = together.clone();
        async move {
            together.wait().await;
            ToolOutput::ok(input["text"].as_str().unwrap_or_default(), "met")
        }
    })
}

/// Read-only: logs the number of running calls at the start of each call.
pub(crate) fn crowd(log: Log) -> Arc<dyn Tool> {
    let inside = Arc::new(AtomicUsize::new(0));
    tool("Crowd", true, move |_, _| {
        let (log, inside) = (log.clone(), inside.clone());
        async move {
            let now = inside.fetch_add(1, Ordering::SeqCst) + 1;
            log.lock().push(now.to_string());
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            inside.fetch_sub(1, Ordering::SeqCst);
            ToolOutput::ok("out", "out")
        }
    })
}

/// Mutating: logs start and end of each call and yields in between.
pub(crate) fn change(log: Log) -> Arc<dyn Tool> {
    tool("Change", false, move |input, _| {
        let log = log.clone();
        async move {
            let text = input["text"].as_str().unwrap_or_default().to_owned();
            log.lock().push(format!("begin {text}"));
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            log.lock().push(format!("end {text}"));
            ToolOutput::ok(format!("changed {text}"), "changed")
        }
    })
}

/// Mutating: a shell that only logs its command.
pub(crate) fn shell(log: Log) -> Arc<dyn Tool> {
    tool("Bash", false, move |input, _| {
        let command = input["command"].as_str().unwrap_or_default().to_owned();
        log.lock().push(command);
        async { ToolOutput::ok("", "ran") }
    })
}

/// Mutating: panics.
pub(crate) fn broken() -> Arc<dyn Tool> {
    tool("Broken", false, |_, _| async {
        panic!("a wheel came off");
    })
}

/// Mutating: runs until it is interrupted, or forever if `stubborn`; notifies `started`.
pub(crate) fn long(started: Arc<Notify>, stubborn: bool) -> Arc<dyn Tool> {
    tool("Long", false, move |_, ctx| {
        let started = started.clone();
        async move {
            started.notify_one();
            if stubborn {
                return std::future::pending().await;
            }
            ctx.cancel.cancelled().await;
            ToolOutput::error("stopped half-way")
        }
    })
}

/// Mutating: runs until `release` is notified, regardless of interrupts; notifies `started`.
pub(crate) fn slow(started: Arc<Notify>, release: Arc<Notify>) -> Arc<dyn Tool> {
    tool("Slow", false, move |_, _| {
        let (started, release) = (started.clone(), release.clone());
        async move {
            started.notify_one();
            release.notified().await;
            ToolOutput::ok("finished", "done")
        }
    })
}

/// Mutating: asks a person these questions, reports progress, and returns the answer.
pub(crate) fn form(questions: Value) -> Arc<dyn Tool> {
    tool("Form", false, move |_, ctx| {
        let questions = questions.clone();
        async move {
            let host = ctx.host.unwrap();
            let why = "the form asks".to_owned();
            let answer = host.ask(questions, why, ctx.cancel).await;
            host.progress("half way".to_owned());
            ToolOutput::ok(format!("{answer:?}"), "asked")
        }
    })
}
