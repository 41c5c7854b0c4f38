//! Tools that do what a test wants.

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

/// What happened, in order.
pub(crate) type Log = Arc<Mutex<Vec<String>>>;

pub(crate) struct FakeTool {
    name: &'static str,
    aliases: &'static [&'static str],
    read_only: bool,
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
        action: Box::new(move |input, ctx| Box::pin(action(input, ctx))),
    })
}

/// Shows a picture of so many bytes under any name.
pub(crate) fn showing(name: &'static str, bytes: usize) -> Arc<dyn Tool> {
    tool(name, true, move |_, _| async move {
        let picture = Picture {
            media_type: "image/png".into(),
            base64: "A".repeat(bytes),
        };
        ToolOutput::ok("A picture.", "shown").with_pictures(vec![picture])
    })
}

/// Changes something under any name, and says so.
pub(crate) fn acting(name: &'static str) -> Arc<dyn Tool> {
    tool(name, false, |_, _| async {
        ToolOutput::ok("acted", "acted")
    })
}

/// Stops something, under its present name or its former one, and says so.
pub(crate) fn stopping() -> Arc<dyn Tool> {
    Arc::new(FakeTool {
        name: "TaskStop",
        aliases: &["KillShell"],
        read_only: false,
        action: Box::new(|_, _| Box::pin(async { ToolOutput::ok("stopped", "stopped") })),
    })
}

/// Changes: fails.
pub(crate) fn failing() -> Arc<dyn Tool> {
    tool("Failing", false, |_, _| async {
        ToolOutput::error("it does not work")
    })
}

/// Reads: hands back its input's `text`.
pub(crate) fn echo() -> Arc<dyn Tool> {
    tool("Echo", true, |input, _| async move {
        ToolOutput::ok(input["text"].as_str().unwrap_or_default(), "echoed")
    })
}

/// Reads: ends only when `n` calls run at once.
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

/// Reads: counts how many of its calls run at once; the log keeps each count at the beginning of a call.
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

/// Changes: writes begin and end of each call into a log, letting others run in between.
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

/// A shell that only writes down what it was to run.
pub(crate) fn shell(log: Log) -> Arc<dyn Tool> {
    tool("Bash", false, move |input, _| {
        let command = input["command"].as_str().unwrap_or_default().to_owned();
        log.lock().push(command);
        async { ToolOutput::ok("", "ran") }
    })
}

/// Changes: panics.
pub(crate) fn broken() -> Arc<dyn Tool> {
    tool("Broken", false, |_, _| async {
        panic!("a wheel came off");
    })
}

/// Changes: runs until it is interrupted; `started` tells when it runs. With `stubborn` it runs on.
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

/// Changes: runs until it is let go, whatever else happens; `started` tells when it runs.
pub(crate) fn slow(started: Arc<Notify>, let_go: Arc<Notify>) -> Arc<dyn Tool> {
    tool("Slow", false, move |_, _| {
        let (started, let_go) = (started.clone(), let_go.clone());
        async move {
            started.notify_one();
            let_go.notified().await;
            ToolOutput::ok("came to its end", "done")
        }
    })
}

/// Changes: asks a person these questions, and then is half way. Its result is what the person said.
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
