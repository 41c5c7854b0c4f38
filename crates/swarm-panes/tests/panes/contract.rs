//! Contract tests, run on every backend.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use swarm_panes::{
    ExternalBackend, HeadlessBackend, InProcessBackend, Pane, PaneBackend, PaneCommand, PaneError,
    PanePlacement, PaneSpec, PaneStatus, PaneText,
};
use swarm_protocol::{PaneId, SpawnId, TeamName};
use swarm_testkit::RecordingBackend;

use crate::in_process::echo_host;
use crate::rig::{Directory, OwnServer, UserServer, close_all, sh, spec, team, within};
use crate::terminals;
use crate::zellij::ZellijSession;

/// A backend and a way to end a program in it.
trait Fixture {
    fn backend(&self) -> &dyn PaneBackend;
    /// Returns a program that prints `hello` and exits with `code` on the trigger.
    fn program(&self, code: i32) -> (PaneCommand, Trigger);
    /// Triggers the exit.
    async fn trigger(&self, pane: &Pane, code: i32, trigger: Trigger) {
        let _ = (pane, code);
        let path = trigger.0.expect("a real program has a pipe");
        // Opening blocks until the program reads, so it has printed its greeting by then.
        let opened = tokio::task::spawn_blocking(move || {
            std::fs::OpenOptions::new().write(true).open(path).unwrap()
        });
        drop(
            within("the program waits at its pipe", opened)
                .await
                .unwrap(),
        );
    }
}

struct Trigger(Option<PathBuf>);

fn real_program(directory: &Directory, code: i32) -> (PaneCommand, Trigger) {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    let pipe = directory.fifo(&format!("cue-{n}"));
    let path: &Path = &pipe;
    let script = "echo hello; cat \"$0\"; exit \"$1\"";
    let command = sh(script, &[path.to_str().unwrap(), &code.to_string()]);
    (command, Trigger(Some(pipe)))
}

struct OnFake(RecordingBackend);
impl Fixture for OnFake {
    fn backend(&self) -> &dyn PaneBackend {
        &self.0
    }
    fn program(&self, _code: i32) -> (PaneCommand, Trigger) {
        let content = self.0.clone();
        self.0
            .on_start(move |pane, _| content.set_content(&pane.id, "hello\n"));
        (sh("unused", &[]), Trigger(None))
    }
    async fn trigger(&self, pane: &Pane, code: i32, _cue: Trigger) {
        self.0.finish(&pane.id, code);
    }
}

struct OnHeadless(HeadlessBackend, Directory);
impl Fixture for OnHeadless {
    fn backend(&self) -> &dyn PaneBackend {
        &self.0
    }
    fn program(&self, code: i32) -> (PaneCommand, Trigger) {
        real_program(&self.1, code)
    }
}

struct InThisProcess(InProcessBackend, Directory);
impl Fixture for InThisProcess {
    fn backend(&self) -> &dyn PaneBackend {
        &self.0
    }
    fn program(&self, code: i32) -> (PaneCommand, Trigger) {
        real_program(&self.1, code)
    }
}

struct OnTerminal(ExternalBackend, Directory);
impl Fixture for OnTerminal {
    fn backend(&self) -> &dyn PaneBackend {
        &self.0
    }
    fn program(&self, code: i32) -> (PaneCommand, Trigger) {
        real_program(&self.1, code)
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        terminals::close_windows(&self.1);
    }
}

struct InZellij(ExternalBackend, ZellijSession);
impl Fixture for InZellij {
    fn backend(&self) -> &dyn PaneBackend {
        &self.0
    }
    fn program(&self, code: i32) -> (PaneCommand, Trigger) {
        real_program(self.1.directory(), code)
    }
}

struct InsideTmux(Box<dyn PaneBackend>, UserServer);
impl Fixture for InsideTmux {
    fn backend(&self) -> &dyn PaneBackend {
        &*self.0
    }
    fn program(&self, code: i32) -> (PaneCommand, Trigger) {
        real_program(&self.1.directory, code)
    }
}

struct OnOwnServer(Box<dyn PaneBackend>, OwnServer);
impl Fixture for OnOwnServer {
    fn backend(&self) -> &dyn PaneBackend {
        &*self.0
    }
    fn program(&self, code: i32) -> (PaneCommand, Trigger) {
        real_program(&self.1.directory, code)
    }
}

fn fake() -> OnFake {
    OnFake(RecordingBackend::new())
}
fn without_terminal() -> OnHeadless {
    let directory = Directory::new();
    OnHeadless(HeadlessBackend::new(directory.path("members")), directory)
}
fn in_process() -> InThisProcess {
    let directory = Directory::new();
    let backend = InProcessBackend::new(&directory.path("members"), Some(echo_host()));
    InThisProcess(backend, directory)
}
fn with_a_program() -> OnTerminal {
    let directory = Directory::new();
    OnTerminal(terminals::with_program(&directory), directory)
}
fn in_iterm2() -> OnTerminal {
    let directory = Directory::new();
    OnTerminal(terminals::in_iterm2(&directory), directory)
}
async fn in_zellij() -> Option<InZellij> {
    let session = ZellijSession::start(200, 50).await?;
    Some(InZellij(session.backend(), session))
}
fn inside_tmux() -> InsideTmux {
    let server = UserServer::start(200, 50);
    InsideTmux(Box::new(server.backend(PanePlacement::Auto)), server)
}
fn on_own_server() -> OnOwnServer {
    let server = OwnServer::new();
    OnOwnServer(Box::new(server.backend()), server)
}

macro_rules! contract {
    ($($case:ident),* $(,)?) => {
        $(mod $case {
            #[tokio::test]
            async fn on_the_fake() {
                super::$case(&super::fake()).await;
            }
            #[tokio::test]
            async fn without_a_terminal() {
                super::$case(&super::without_terminal()).await;
            }
            #[tokio::test]
            async fn in_this_process() {
                super::$case(&super::in_process()).await;
            }
            #[tokio::test]
            async fn r1_with_a_program_of_the_user() {
                super::$case(&super::with_a_program()).await;
            }
            #[tokio::test]
            async fn in_iterm2() {
                super::$case(&super::in_iterm2()).await;
            }
            #[tokio::test]
            async fn r1_in_zellij() {
                if let Some(session) = super::in_zellij().await {
                    super::$case(&session).await;
                }
            }
            #[tokio::test]
            async fn inside_tmux() {
                super::$case(&super::inside_tmux()).await;
            }
            #[tokio::test]
            async fn on_our_own_tmux() {
                super::$case(&super::on_own_server()).await;
            }
        })*
    };
}

contract!(
    an_opened_pane_is_empty_tagged_and_listed,
    a_failure_stays_readable_with_its_status,
    a_successful_exit_is_not_a_failure,
    closing_terminates_the_process_and_wakes_waiters,
    a_pane_of_another_spawn_is_not_closed,
    closing_a_team_does_not_affect_other_teams,
    a_pane_that_never_existed_is_gone,
    a_failed_pane_can_be_closed,
);

async fn open_and_start(
    stage: &impl Fixture,
    member: &str,
    code: i32,
) -> (PaneSpec, Pane, Trigger) {
    let (command, trigger) = stage.program(code);
    let spec = spec(member);
    let pane = stage.backend().open(&spec).await.unwrap();
    stage.backend().start(&pane, &command).await.unwrap();
    (spec, pane, trigger)
}

async fn an_opened_pane_is_empty_tagged_and_listed(stage: &impl Fixture) {
    let backend = stage.backend();
    let spec = spec("ada");
    let pane = backend.open(&spec).await.unwrap();
    assert_eq!(backend.status(&pane).await.unwrap(), PaneStatus::Empty);
    assert_eq!(backend.exited(&pane).await.unwrap(), PaneStatus::Empty);
    let listed = backend.panes(&team()).await.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].pane.id, pane.id);
    assert_eq!(listed[0].member, spec.member);
    assert_eq!(listed[0].spawn_id, spec.spawn_id);
    assert_eq!(listed[0].title, "ada");
    backend.close(&pane, &spec.spawn_id).await.unwrap();
    assert_eq!(backend.panes(&team()).await.unwrap(), []);
}

async fn a_failure_stays_readable_with_its_status(stage: &impl Fixture) {
    let backend = stage.backend();
    let (_, pane, trigger) = open_and_start(stage, "ada", 7).await;
    assert!(matches!(
        backend.status(&pane).await.unwrap(),
        PaneStatus::Running { .. }
    ));
    let (status, ()) = tokio::join!(
        within("the end is seen", backend.exited(&pane)),
        stage.trigger(&pane, 7, trigger)
    );
    let failed = PaneStatus::exited(7);
    assert_eq!(status.unwrap(), failed);
    assert_eq!(backend.status(&pane).await.unwrap(), failed);
    // A busy terminal shows it later.
    within("its output is shown", async {
        loop {
            let text = backend.capture(&pane, PaneText::last(50)).await.unwrap();
            if text.lines().any(|line| line == "hello") {
                break;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
}

async fn a_successful_exit_is_not_a_failure(stage: &impl Fixture) {
    let backend = stage.backend();
    let (_, pane, trigger) = open_and_start(stage, "ada", 0).await;
    let (status, ()) = tokio::join!(
        within("the end is seen", backend.exited(&pane)),
        stage.trigger(&pane, 0, trigger)
    );
    let kept = PaneStatus::exited(0);
    let status = status.unwrap();
    assert!(status == PaneStatus::Gone || status == kept, "{status:?}");
}

async fn closing_terminates_the_process_and_wakes_waiters(stage: &impl Fixture) {
    let backend = stage.backend();
    let (spec, pane, _cue) = open_and_start(stage, "ada", 0).await;
    let (status, closed) = tokio::join!(
        within("the end is seen", backend.exited(&pane)),
        backend.close(&pane, &spec.spawn_id)
    );
    closed.unwrap();
    assert!(!matches!(status.unwrap(), PaneStatus::Running { .. }));
    assert_eq!(backend.status(&pane).await.unwrap(), PaneStatus::Gone);
    // Closing a closed pane succeeds.
    backend.close(&pane, &spec.spawn_id).await.unwrap();
    let missing = backend
        .capture(&pane, PaneText::default())
        .await
        .unwrap_err();
    assert!(matches!(missing, PaneError::Gone(_)), "{missing}");
}

async fn a_pane_of_another_spawn_is_not_closed(stage: &impl Fixture) {
    let backend = stage.backend();
    let (spec, pane, _cue) = open_and_start(stage, "ada", 0).await;
    let before = backend.status(&pane).await.unwrap();
    let refused = backend.close(&pane, &SpawnId::random()).await.unwrap_err();
    assert!(matches!(refused, PaneError::Foreign { .. }), "{refused}");
    assert_eq!(backend.status(&pane).await.unwrap(), before);
    backend.close(&pane, &spec.spawn_id).await.unwrap();
}

async fn closing_a_team_does_not_affect_other_teams(stage: &impl Fixture) {
    let backend = stage.backend();
    let beta = TeamName::parse("beta").unwrap();
    open_and_start(stage, "ada", 0).await;
    open_and_start(stage, "bob", 0).await;
    let other = PaneSpec {
        team: beta.clone(),
        ..spec("ada")
    };
    backend.open(&other).await.unwrap();
    close_all(backend, &team()).await;
    assert_eq!(backend.panes(&team()).await.unwrap(), []);
    let left = backend.panes(&beta).await.unwrap();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].spawn_id, other.spawn_id);
    close_all(backend, &beta).await;
}

async fn a_pane_that_never_existed_is_gone(stage: &impl Fixture) {
    let backend = stage.backend();
    let id = match backend.kind().name() {
        "tmux" => "%4711".to_owned(),
        backend => format!("{backend}:{}", SpawnId::random()),
    };
    let pane = Pane::new(PaneId::new(id), None);
    assert_eq!(backend.status(&pane).await.unwrap(), PaneStatus::Gone);
    assert_eq!(backend.exited(&pane).await.unwrap(), PaneStatus::Gone);
    backend.close(&pane, &SpawnId::random()).await.unwrap();
    let missing = backend.start(&pane, &sh("true", &[])).await.unwrap_err();
    assert!(matches!(missing, PaneError::Gone(_)), "{missing}");
}

async fn a_failed_pane_can_be_closed(stage: &impl Fixture) {
    let backend = stage.backend();
    let (spec, pane, trigger) = open_and_start(stage, "ada", 3).await;
    let (status, ()) = tokio::join!(
        within("the end is seen", backend.exited(&pane)),
        stage.trigger(&pane, 3, trigger)
    );
    assert!(matches!(status.unwrap(), PaneStatus::Dead { .. }));
    backend.close(&pane, &spec.spawn_id).await.unwrap();
    assert_eq!(backend.status(&pane).await.unwrap(), PaneStatus::Gone);
}
