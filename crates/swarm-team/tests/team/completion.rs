//! Checks of tasks whose owner has a worktree: they run on the merge, which is applied only if they
//! pass.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::json;
use swarm_protocol::{NewTask, TaskStatus};
use swarm_store::{Actor, BlockOn as _};
use swarm_team::{MemberContext, MergeError, task_tools};
use swarm_tools::ToolOutput;

use crate::merger::RecordedMerger;
use crate::world::{World, call, name};

/// A member with a worktree, its task with the check `test -f merged`, and the files of its merge.
struct Scene {
    world: World,
    bob: Arc<MemberContext>,
    directory: tempfile::TempDir,
    merger: RecordedMerger,
    told: Arc<Mutex<Vec<String>>>,
}

fn scene() -> Scene {
    let world = World::on_files();
    let bob = world.seat_of_new("bob").context;
    let directory = tempfile::tempdir().unwrap();
    let files = directory.path().canonicalize().unwrap().join("merge");
    let tree = directory.path().canonicalize().unwrap().join("tree");
    for made in [&files, &tree] {
        std::fs::create_dir(made).unwrap();
    }
    world.give_worktrees(tree.to_str().unwrap());
    let told = Arc::default();
    let merger = RecordedMerger::new(Arc::clone(&told), files);
    bob.merge_with(Arc::new(merger.clone()));
    let new = NewTask {
        subject: "work".to_owned(),
        description: "all of it".to_owned(),
        owner: Some(name("bob")),
        checks: vec!["test -f merged".to_owned()],
        ..NewTask::default()
    };
    let team = world.files();
    let person = Actor::person(team.name());
    team.create_tasks(&[new], &person).block_on().unwrap();
    Scene {
        world,
        bob,
        directory,
        merger,
        told,
    }
}

impl Scene {
    async fn complete(&self) -> ToolOutput {
        let tools = task_tools(&self.bob);
        let tool = tools.iter().find(|one| one.name() == "TaskUpdate").unwrap();
        let input = json!({"taskId": "1", "status": "completed", "result": "done"});
        call(&**tool, input).await
    }

    fn pass_checks(&self) {
        std::fs::write(self.directory.path().join("merge/merged"), "").unwrap();
    }

    fn calls(&self) -> Vec<String> {
        let calls = std::mem::take(&mut *self.told.lock());
        let verbs = calls.iter().map(|call| call.split(" /").next().unwrap());
        verbs.map(str::to_owned).collect()
    }
}

#[tokio::test]
async fn checks_run_on_the_merge_and_the_target_moves_only_if_they_pass() {
    let scene = scene();
    // The file is in the worktree, but not in the merge.
    std::fs::write(scene.directory.path().join("tree/merged"), "").unwrap();
    let refused = scene.complete().await;
    let why = "`test -f merged`, set by person, failed with exit code 1 on the merge of its work into the target";
    assert!(refused.content.contains(why), "{}", refused.content);
    assert_eq!(scene.calls(), ["prepare", "check out"]);
    scene.pass_checks();
    let done = scene.complete().await;
    assert!(!done.is_error, "{}", done.content);
    assert_eq!(scene.calls(), ["prepare", "check out", "apply"]);
    assert_eq!(scene.world.task(1).status, TaskStatus::Completed);
}

#[tokio::test]
async fn a_merge_is_checked_again_if_its_target_moves_but_not_forever() {
    let scene = scene();
    scene.pass_checks();
    let moved = || MergeError::TargetMoved("main moved".to_owned());
    *scene.merger.refusals.lock() = vec![moved()];
    assert!(!scene.complete().await.is_error);
    assert_eq!(scene.calls().len(), 6);

    let scene = self::scene();
    scene.pass_checks();
    scene.merger.refusals.lock().extend((0..9).map(|_| moved()));
    let refused = scene.complete().await;
    assert!(refused.content.ends_with("not in the target: main moved"));
    assert_eq!(scene.calls().len(), 9);
    assert_eq!(scene.world.task(1).status, TaskStatus::Pending);
}

fn dirty() -> MergeError {
    MergeError::TargetChanged {
        awaited: "uncommitted changes of a.txt".to_owned(),
        why: "the target is dirty".to_owned(),
    }
}

#[tokio::test]
async fn a_completion_waits_for_a_clean_target_and_the_lead_is_told() {
    let scene = scene();
    scene.pass_checks();
    scene.merger.refusals.lock().push(dirty());
    let done = scene.complete().await;
    assert!(!done.is_error, "{}", done.content);
    let calls = scene.calls();
    assert_eq!(calls[3], "wait");
    assert_eq!(calls.len(), 7, "{calls:?}");
    let told = scene.world.read("team-lead").concat();
    let text = "The merge of bob's work for task #1 (work) waits for uncommitted changes of a.txt.";
    assert!(told.contains(text), "{told}");
    assert_eq!(scene.world.task(1).status, TaskStatus::Completed);
}

#[tokio::test]
async fn waits_for_a_clean_target_do_not_use_up_the_attempts() {
    let scene = scene();
    scene.pass_checks();
    scene.merger.refusals.lock().extend((0..5).map(|_| dirty()));
    let done = scene.complete().await;
    assert!(!done.is_error, "{}", done.content);
    let waits = scene.calls().into_iter().filter(|call| call == "wait");
    assert_eq!(waits.count(), 5);
}

#[tokio::test]
async fn a_completion_that_has_waited_in_vain_is_refused() {
    let scene = scene();
    scene.pass_checks();
    scene.merger.refusals.lock().push(dirty());
    scene.merger.waits.lock().push(Err(dirty()));
    assert!(scene.complete().await.is_error);
    let told = scene.world.read("team-lead").concat();
    let text = "not in the target: the target is dirty. bob completes it again then.";
    assert!(told.contains(text), "{told}");
    assert_eq!(scene.world.read("bob").len(), 0);
    assert_eq!(scene.world.task(1).status, TaskStatus::Pending);
}
