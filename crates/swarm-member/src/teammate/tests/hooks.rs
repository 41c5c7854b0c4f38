//! The user's hooks of a member.

use serde_json::json;
use swarm_policy::HookSettings;

use super::world::World;
use swarm_testkit::FakeModel;

#[tokio::test]
async fn hooks_run_in_the_project_that_was_trusted_and_not_where_the_member_works() {
    let mut world = World::new();
    let project = world.folder.path().canonicalize().unwrap().join("main");
    std::fs::create_dir(&project).unwrap();
    let hook = json!([{"hooks": [{"type": "command", "command": "pwd -P > ran; echo $CLAUDE_PROJECT_DIR >> ran"}]}]);
    world.agent_config.hooks = HookSettings::read(&json!({"Stop": hook}), "test").0;
    world.agent_config.project = Some(project.clone());
    let model = FakeModel::saying("done");
    let running = world.run(Some("go"), &model);
    world.idle(1).await;
    let ran = std::fs::read_to_string(project.join("ran")).unwrap();
    let at = project.display();
    assert_eq!(ran, format!("{at}\n{at}\n"));
    running.crash().await;
}

#[tokio::test]
async fn without_a_project_hooks_run_where_the_member_works() {
    let mut world = World::new();
    let hook = json!([{"hooks": [{"type": "command", "command": "touch ran"}]}]);
    world.agent_config.hooks = HookSettings::read(&json!({"Stop": hook}), "test").0;
    let running = world.run(Some("go"), &FakeModel::saying("done"));
    world.idle(1).await;
    assert!(world.folder.path().join("ran").exists());
    running.crash().await;
}
