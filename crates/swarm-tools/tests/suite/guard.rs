//! Protection against overwriting unseen changes and against writes outside the worktree.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::json;
use swarm_tools::Confinement;

use crate::scene::Scene;

/// Extracts the hashes from a refusal.
fn hashes(text: &str) -> Vec<&str> {
    text.split(|c: char| !c.is_ascii_hexdigit())
        .filter(|word| word.len() == 16)
        .collect()
}

#[tokio::test]
async fn i11_an_edit_on_an_outdated_file_is_refused_and_names_both_hashes() {
    let scene = Scene::new();
    let path = scene.put("a.txt", "one\n");
    let file = scene.text_path("a.txt");
    scene.ok("Read", json!({"file_path": file})).await;
    crate::scene::put_at(&path, "two\n");
    let edit = json!({"file_path": file, "old_string": "two", "new_string": "three"});
    for refused in [
        scene.refused("Edit", edit.clone()).await,
        scene
            .refused("Write", json!({"file_path": file, "content": "all mine"}))
            .await,
    ] {
        let hashes = hashes(&refused);
        assert_eq!(hashes.len(), 2, "{refused}");
        assert_ne!(hashes[0], hashes[1], "{refused}");
    }
    assert_eq!(scene.get("a.txt"), b"two\n");
    scene.ok("Read", json!({"file_path": file})).await;
    scene.ok("Edit", edit).await;
    assert_eq!(scene.get("a.txt"), b"three\n");
}

#[tokio::test]
async fn i11_of_two_agents_with_clones_of_one_state_the_later_is_refused() {
    let one = Scene::new();
    one.put("a.txt", "start\n");
    let file = one.text_path("a.txt");
    one.ok("Read", json!({"file_path": file})).await;
    let mut other = one.ctx.clone();
    let clone = one.ctx.files.lock().clone();
    other.files = Arc::new(Mutex::new(clone));
    let edit = |to: &str| json!({"file_path": file, "old_string": "start", "new_string": format!("start {to}")});
    one.ok("Edit", edit("one")).await;
    let refused = crate::scene::tool_named("Edit")
        .call(edit("two"), &other)
        .await;
    assert!(refused.is_error, "{}", refused.content);
    assert_eq!(hashes(&refused.content).len(), 2, "{}", refused.content);
    assert_eq!(one.get("a.txt"), b"start one\n");
}

#[tokio::test]
async fn i11_agents_that_write_at_once_lose_no_edit() {
    const EACH: usize = 40;
    let scene = Scene::new();
    scene.put("count.txt", "");
    let file = scene.text_path("count.txt");
    let mut agents = Vec::new();
    for agent in ["a", "b", "c", "d"] {
        let mut ctx = scene.ctx.clone();
        ctx.files = Arc::default();
        let file = file.clone();
        agents.push(tokio::spawn(async move {
            let mut done = 0;
            while done < EACH {
                let read = crate::scene::tool_named("Read");
                let whole = std::fs::read_to_string(&file).unwrap();
                read.call(json!({"file_path": file}), &ctx).await;
                let now = std::fs::read_to_string(&file).unwrap();
                if whole != now {
                    continue;
                }
                let write = crate::scene::tool_named("Write");
                let content = format!("{whole}{agent}{done}\n");
                let input = json!({"file_path": file, "content": content});
                done += usize::from(!write.call(input, &ctx).await.is_error);
            }
        }));
    }
    for agent in agents {
        agent.await.unwrap();
    }
    let whole = String::from_utf8(scene.get("count.txt")).unwrap();
    assert_eq!(whole.lines().count(), 4 * EACH);
}

#[tokio::test]
async fn a_confined_agent_writes_only_in_its_own_directory() {
    let mut scene = Scene::new();
    let outside = scene.base().join("elsewhere");
    std::fs::create_dir_all(&outside).unwrap();
    crate::scene::put_at(&outside.join("theirs.txt"), "theirs");
    std::os::unix::fs::symlink(&outside, scene.path("link")).unwrap();
    let notes = scene.base().join("notes");
    std::fs::create_dir_all(&notes).unwrap();
    scene.ctx.confine = Some(Arc::new(Confinement::new(&scene.ctx.cwd).also(&notes)));
    let theirs = outside.join("theirs.txt").display().to_string();
    // Reading is not confined.
    scene.ok("Read", json!({"file_path": theirs})).await;
    for path in [
        theirs.clone(),
        outside.join("new/deep.txt").display().to_string(),
        scene.text_path("../elsewhere/x"),
        scene.text_path("link/x"),
    ] {
        let input = json!({"file_path": path, "content": "x"});
        let refused = scene.refused("Write", input).await;
        assert!(refused.contains("outside"), "{refused}");
    }
    let edit = json!({"file_path": theirs, "old_string": "theirs", "new_string": "mine"});
    let refused = scene.refused("Edit", edit).await;
    assert!(refused.contains("outside your worktree"), "{refused}");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
    for path in [
        scene.text_path("own.txt"),
        notes.join("n.md").display().to_string(),
    ] {
        let input = json!({"file_path": path, "content": "x"});
        scene.ok("Write", input).await;
    }
}

#[test]
fn every_tool_has_a_description() {
    for tool in swarm_tools::builtin() {
        let description = tool.description();
        assert!(description.len() > 40, "{}: {description:?}", tool.name());
    }
}
