//! Members that are tasks of this process.

use std::io::Write as _;
use std::sync::Arc;

use swarm_os::DirectoryWatcher;
use swarm_panes::{
    InProcessBackend, InProcessHost, InProcessStart, Pane, PaneBackend, PaneSpec, PaneStatus,
    PaneText,
};
use tokio::sync::Notify;

use crate::rig::{Directory, sh, spec, team, within};

fn host(run: impl Fn(InProcessStart) -> u8 + Send + Sync + 'static) -> InProcessHost {
    InProcessHost::new(Arc::new(DirectoryWatcher::new()), run)
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let done = runtime.block_on(work);
    // A thread that waits at a pipe is left.
    runtime.shutdown_background();
    done
}

/// A host that prints `hello`, waits at the pipe in the next to last argument, and ends with the
/// code in the last one.
pub(crate) fn echo_host() -> InProcessHost {
    host(|mut start| {
        let words: Vec<_> = start
            .command
            .args
            .iter()
            .map(|word| word.to_str())
            .collect();
        let [.., Some(pipe), Some(code)] = words[..] else {
            panic!("a pipe and a code: {words:?}");
        };
        writeln!(start.output, "hello").unwrap();
        let pipe = pipe.to_owned();
        block_on(async {
            tokio::select! {
                read = tokio::task::spawn_blocking(|| std::fs::read(pipe)) => drop(read),
                () = start.stop.asked() => {}
            }
        });
        code.parse().unwrap()
    })
}

async fn open(backend: &InProcessBackend) -> (PaneSpec, Pane) {
    let spec = spec("ada");
    let pane = backend.open(&spec).await.unwrap();
    backend.start(&pane, &sh("", &[])).await.unwrap();
    (spec, pane)
}

#[tokio::test]
async fn a_task_is_seen_and_stopped_by_another_process() {
    let directory = Directory::new();
    let stopped = Arc::new(Notify::new());
    let tell = Arc::clone(&stopped);
    let host = host(move |mut start| {
        writeln!(start.output, "hello").unwrap();
        block_on(start.stop.asked());
        tell.notify_one();
        0
    });
    let backend = InProcessBackend::new(&directory.path("members"), Some(host));
    let (spec, pane) = open(&backend).await;
    // Another process has no host.
    let other = InProcessBackend::new(&directory.path("members"), None);
    let running = PaneStatus::Running {
        pid: std::process::id(),
    };
    assert_eq!(other.status(&pane).await.unwrap(), running);
    let listed = other.panes(&team()).await.unwrap();
    assert_eq!(listed[0].pane.id, pane.id);
    other.close(&pane, &spec.spawn_id).await.unwrap();
    within("the task stops", stopped.notified()).await;
    assert_eq!(backend.status(&pane).await.unwrap(), PaneStatus::Gone);
}

#[tokio::test]
async fn only_a_process_with_a_host_starts_tasks() {
    let directory = Directory::new();
    let backend = InProcessBackend::new(&directory.path("members"), None);
    let refused = backend.open(&spec("ada")).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "backend `in-process` is not available here: only the lead itself (`swarm run`, \
         `swarm lead`) starts teammates in its process"
    );
    assert!(!directory.path("members").exists());
}

#[tokio::test]
async fn a_panic_ends_the_task_and_not_the_process() {
    let directory = Directory::new();
    let host = host(|_| panic!("boom"));
    let backend = InProcessBackend::new(&directory.path("members"), Some(host));
    let (spec, pane) = open(&backend).await;
    let status = within("the end is seen", backend.exited(&pane)).await;
    let panicked = PaneStatus::exited(101);
    assert_eq!(status.unwrap(), panicked);
    let text = backend.capture(&pane, PaneText::default()).await.unwrap();
    assert_eq!(text.trim(), "panicked: boom");
    backend.close(&pane, &spec.spawn_id).await.unwrap();
}

#[tokio::test]
async fn a_task_that_does_not_stop_is_abandoned() {
    let directory = Directory::new();
    let host = host(|mut start| {
        block_on(start.stop.abandoned());
        7
    });
    let backend = InProcessBackend::new(&directory.path("members"), Some(host.clone()));
    let (spec, pane) = open(&backend).await;
    let (status, closed) = tokio::join!(
        within("the end is seen", backend.exited(&pane)),
        backend.close(&pane, &spec.spawn_id)
    );
    closed.unwrap();
    let abandoned = PaneStatus::exited(7);
    assert_eq!(status.unwrap(), abandoned);
    let (_, pane) = open(&backend).await;
    within("all tasks stop", host.stop_all()).await;
    assert_eq!(backend.status(&pane).await.unwrap(), abandoned);
}
