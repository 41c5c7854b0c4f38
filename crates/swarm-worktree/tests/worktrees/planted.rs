//! What somebody plants where a person then works: files of a clone, files beside a repository, records that lead elsewhere.

use std::fs;
use std::path::{Path, PathBuf};

use crate::creation::executable;
use crate::scene::{NOW, Scene, leaver, slug};

/// The name of a file that once said, beside worktrees, whose they are.
const MARK: &str = ".swarm-repository";

/// Something that nobody wants to lose.
fn thesis(scene: &Scene) -> PathBuf {
    let thesis = scene.path("thesis");
    scene.write(&thesis, "text", "years");
    thesis
}

/// A record as swarm writes it.
fn record(common: &Path, name: &str, path: &Path, from: &Path, stage: &str, head: &str) {
    let record = serde_json::json!({
        "version": 1, "slug": name, "path": path, "branch": "nothing", "base": {"sha": head, "ahead": 0, "behind": 0},
        "from": from, "target": "main", "owner": {}, "createdAt": 1, "stage": stage, "inUse": false, "gitDirectory": name,
    });
    let records = common.join("swarm/worktrees");
    fs::create_dir_all(&records).unwrap();
    fs::write(records.join(format!("{name}.json")), record.to_string()).unwrap();
}

/// A clone that brings a repository without a checkout along, with settings that name a program.
fn clone(scene: &Scene, thesis: &Path) -> PathBuf {
    let up = scene.init("up");
    let inner = up.join("pkg/x/e");
    fs::create_dir_all(&inner).unwrap();
    scene.git_in(&inner, &["init", "-q", "--bare", "-b", "main"]);
    let tree = scene.git_in(&up, &["rev-parse", "HEAD^{tree}"]);
    scene.git_in(&up, &["push", "-q", inner.to_str().unwrap(), "HEAD:main"]);
    let signed = format!(
        "tree {tree}\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ\n -----END PGP SIGNATURE-----\n\nWIP\n"
    );
    scene.write(&up, "signed", &signed);
    let commit = scene.git_in(
        &inner,
        &["hash-object", "-w", "-t", "commit", "../../../signed"],
    );
    let words = [
        "update-ref",
        "--create-reflog",
        "-m",
        "WIP on x: 1",
        "refs/stash",
        &commit,
    ];
    scene.git_in(&inner, &words);
    let canary = scene.path("canary");
    scene.write(
        &inner,
        "run.sh",
        &format!("#!/bin/sh\ntouch {}\n", canary.display()),
    );
    executable(&inner.join("run.sh"));
    for (key, value) in [
        ("log.showSignature", "true"),
        ("gpg.program", "./run.sh"),
        ("core.bare", "false"),
        ("core.worktree", "."),
    ] {
        scene.git_in(&up, &["config", "-f", "pkg/x/e/config", key, value]);
    }
    // Git clones no empty directories.
    fs::write(inner.join("refs/keep"), "k").unwrap();
    fs::write(up.join("pkg").join(MARK), "e").unwrap();
    record(&inner, "x", ".".as_ref(), ".".as_ref(), "ready", &commit);
    record(
        &inner,
        "gone",
        "/no/where".as_ref(),
        ".".as_ref(),
        "ready",
        &commit,
    );
    record(&inner, "a", thesis, ".".as_ref(), "making", &commit);
    scene.git_in(&up, &["add", "-A", "-f"]);
    scene.git_in(&up, &["commit", "-q", "-m", "innocent"]);
    scene.git_in(&scene.path(""), &["clone", "-q", "up", "clone"]);
    // The mark once was a path that held from the directory where somebody stood.
    let clone = scene.path("clone");
    let inner = clone.join("pkg/x/e");
    fs::write(clone.join("pkg").join(MARK), inner.to_str().unwrap()).unwrap();
    record(&inner, "x", &clone.join("pkg/x"), &clone, "ready", &commit);
    clone
}

#[test]
fn nothing_that_a_clone_brings_along_is_believed() {
    let scene = Scene::new();
    let thesis = thesis(&scene);
    let clone = clone(&scene, &thesis);
    for at in ["", "pkg/x", "pkg/x/e", "pkg/x/e/refs"] {
        let at = clone.join(at);
        let worktrees = scene.worktrees();
        assert_eq!(worktrees.find(&at).unwrap(), None, "{at:?}");
        drop(worktrees.list(&at));
        drop(worktrees.prune(&at, false, NOW));
        drop(worktrees.remove(&at, &slug("a"), true, NOW));
        drop(worktrees.merge(&at, &slug("x")));
        drop(worktrees.part(&at, &leaver("a"), NOW));
        drop(scene.create(&at, "a"));
        assert!(!scene.path("canary").exists(), "{at:?}");
        assert!(thesis.join("text").exists(), "{at:?}");
    }
}

#[test]
fn a_file_beside_a_repository_does_not_say_whose_it_is() {
    let scene = Scene::new();
    let (repo, thesis, evil) = (scene.repo(), thesis(&scene), scene.init("evil"));
    let head = scene.git_in(&evil, &["rev-parse", "HEAD"]);
    let common = evil.join(".git");
    record(&common, "repo", &repo, &evil, "ready", &head);
    record(&common, "thesis", &thesis, &evil, "making", &head);
    fs::write(scene.path(MARK), common.to_str().unwrap()).unwrap();
    assert_eq!(scene.worktrees().find(&repo).unwrap(), None);
    assert!(scene.worktrees().list(&repo).unwrap().0.is_empty());
    let made = scene.create(&repo, "mine").unwrap();
    assert_eq!(made.record.from, repo);
    scene.worktrees().prune(&repo, false, NOW).unwrap();
    assert!(thesis.join("text").exists() && repo.join("b.txt").exists());
}

#[test]
fn a_directory_is_removed_only_where_swarm_makes_one_of_that_name() {
    let scene = Scene::new();
    let (repo, thesis) = (scene.repo(), thesis(&scene));
    let head = scene.git_in(&repo, &["rev-parse", "HEAD"]);
    let common = repo.join(".git");
    let worktrees = scene.worktrees();
    let real = scene.left("real");
    for path in [
        thesis.clone(),
        "../thesis".into(),
        repo.join(".claude/worktrees/../../../thesis"),
        repo.clone(),
        // The place of another name, which goes at the end of its own agent, and by that alone: the last one.
        real.record.path.clone(),
    ] {
        for stage in ["making", "ready"] {
            record(&common, "a", &path, &repo, stage, &head);
            let (listed, wrong) = worktrees.list(&repo).unwrap();
            assert_eq!(wrong.len(), 1, "{path:?}");
            assert!(listed.iter().all(|one| one.record.slug != slug("a")));
            let said = wrong[0].to_string();
            assert!(
                said.contains("a.json") && said.contains(".claude/worktrees"),
                "{said}"
            );
            worktrees.prune(&repo, true, NOW).unwrap();
            for force in [false, true] {
                worktrees.remove(&repo, &slug("a"), force, NOW).unwrap_err();
            }
            scene.create(&repo, "a").unwrap_err();
            drop(worktrees.part(&path, &leaver("a"), NOW));
            drop(scene.create(&repo, "b"));
            assert!(thesis.join("text").exists(), "{path:?} {stage}");
            assert!(repo.join("b.txt").exists(), "{path:?} {stage}");
            assert!(
                real.record.path.is_dir() || path == real.record.path,
                "{path:?} {stage}"
            );
        }
    }
}

#[test]
fn a_link_in_the_way_to_a_worktree_leads_no_removal_elsewhere() {
    let scene = Scene::new();
    let (repo, thesis) = (scene.repo(), thesis(&scene));
    let head = scene.git_in(&repo, &["rev-parse", "HEAD"]);
    fs::create_dir(repo.join(".claude")).unwrap();
    std::os::unix::fs::symlink(scene.path(""), repo.join(".claude/worktrees")).unwrap();
    let path = repo.join(".claude/worktrees/thesis");
    record(&repo.join(".git"), "thesis", &path, &repo, "making", &head);
    scene.worktrees().prune(&repo, false, NOW).unwrap();
    scene
        .worktrees()
        .remove(&repo, &slug("thesis"), true, NOW)
        .unwrap_err();
    assert!(thesis.join("text").exists());
}

#[test]
fn where_worktrees_lie_elsewhere_only_the_config_directory_says_whose_they_are() {
    let mut scene = Scene::new();
    let repo = scene.repo();
    scene.settings.location = Some("../trees".into());
    let made = scene.create(&repo, "one").unwrap();
    let at = made.record.path.clone();
    assert!(at.starts_with(scene.path("trees")), "{at:?}");
    assert!(!at.parent().unwrap().join(MARK).exists());
    scene.worktrees().settle(&made).unwrap();
    // Whoever works there cannot make it another one's, nor nobody's.
    fs::write(at.join(".git"), "gitdir: /no/where\n").unwrap();
    fs::write(at.parent().unwrap().join(MARK), "/no/where").unwrap();
    // The settings may be others by now.
    scene.settings.location = None;
    let found = scene.worktrees().find(&at.join("src")).unwrap();
    assert_eq!(found.map(|record| record.path), Some(at));
    assert_eq!(scene.worktrees().list(&repo).unwrap().0.len(), 1);
}
