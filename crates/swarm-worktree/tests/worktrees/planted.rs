//! Planted files: in a clone, next to a repository, and records that point elsewhere.

use std::fs;
use std::path::{Path, PathBuf};

use crate::creation::executable;
use crate::fixture::{NOW, RepositoryFixture, former_owner, says, slug};

/// The name of a file that earlier versions used to record the repository of worktrees.
const MARK: &str = ".swarm-repository";

/// Creates a file that must not be deleted.
fn thesis(fixture: &RepositoryFixture) -> PathBuf {
    let thesis = fixture.path("thesis");
    fixture.write(&thesis, "text", "years");
    thesis
}

/// Writes a record in swarm's format.
fn record(common: &Path, name: &str, path: &Path, from: &Path, stage: &str, head: &str) {
    let record = serde_json::json!({
        "version": 1, "slug": name, "path": path, "branch": "nothing", "base": {"sha": head, "ahead": 0, "behind": 0},
        "from": from, "target": "main", "owner": {}, "createdAt": 1, "stage": stage, "inUse": false, "gitDirectory": name,
    });
    let records = common.join("swarm/worktrees");
    fs::create_dir_all(&records).unwrap();
    fs::write(records.join(format!("{name}.json")), record.to_string()).unwrap();
}

/// Creates a clone that contains a bare repository with settings that name a program.
fn clone(fixture: &RepositoryFixture, thesis: &Path) -> PathBuf {
    let up = fixture.init("up");
    let inner = up.join("pkg/x/e");
    fs::create_dir_all(&inner).unwrap();
    fixture.git_in(&inner, &["init", "-q", "--bare", "-b", "main"]);
    let tree = fixture.git_in(&up, &["rev-parse", "HEAD^{tree}"]);
    fixture.git_in(&up, &["push", "-q", inner.to_str().unwrap(), "HEAD:main"]);
    let signed = format!(
        "tree {tree}\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ\n -----END PGP SIGNATURE-----\n\nWIP\n"
    );
    fixture.write(&up, "signed", &signed);
    let commit = fixture.git_in(
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
    fixture.git_in(&inner, &words);
    let canary = fixture.path("canary");
    fixture.write(
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
        fixture.git_in(&up, &["config", "-f", "pkg/x/e/config", key, value]);
    }
    // Git does not clone empty directories.
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
    fixture.git_in(&up, &["add", "-A", "-f"]);
    fixture.git_in(&up, &["commit", "-q", "-m", "innocent"]);
    fixture.git_in(&fixture.path(""), &["clone", "-q", "up", "clone"]);
    // Earlier versions also accepted an absolute path in this file.
    let clone = fixture.path("clone");
    let inner = clone.join("pkg/x/e");
    fs::write(clone.join("pkg").join(MARK), inner.to_str().unwrap()).unwrap();
    record(&inner, "x", &clone.join("pkg/x"), &clone, "ready", &commit);
    clone
}

#[test]
fn swarm_files_in_a_clone_are_not_trusted() {
    let fixture = RepositoryFixture::new();
    let thesis = thesis(&fixture);
    let clone = clone(&fixture, &thesis);
    for at in ["", "pkg/x", "pkg/x/e", "pkg/x/e/refs"] {
        let at = clone.join(at);
        let worktrees = fixture.worktrees();
        assert_eq!(worktrees.find(&at).unwrap(), None, "{at:?}");
        drop(worktrees.list(&at));
        drop(worktrees.prune(&at, false, NOW));
        drop(worktrees.remove(&at, &slug("a"), true, NOW));
        drop(worktrees.merge(&at, &slug("x")));
        drop(worktrees.finish(&at, &former_owner("a"), NOW));
        drop(fixture.create(&at, "a"));
        assert!(!fixture.path("canary").exists(), "{at:?}");
        assert!(thesis.join("text").exists(), "{at:?}");
    }
}

#[test]
fn a_file_next_to_a_repository_is_not_trusted() {
    let fixture = RepositoryFixture::new();
    let (repo, thesis, evil) = (fixture.repo(), thesis(&fixture), fixture.init("evil"));
    let head = fixture.git_in(&evil, &["rev-parse", "HEAD"]);
    let common = evil.join(".git");
    record(&common, "repo", &repo, &evil, "ready", &head);
    record(&common, "thesis", &thesis, &evil, "making", &head);
    fs::write(fixture.path(MARK), common.to_str().unwrap()).unwrap();
    assert_eq!(fixture.worktrees().find(&repo).unwrap(), None);
    assert!(fixture.worktrees().list(&repo).unwrap().0.is_empty());
    let made = fixture.create(&repo, "mine").unwrap();
    assert_eq!(made.record.from, repo);
    fixture.prune(false);
    assert!(thesis.join("text").exists() && repo.join("b.txt").exists());
}

#[test]
fn a_directory_is_removed_only_at_the_path_of_a_worktree_of_that_name() {
    let fixture = RepositoryFixture::new();
    let (repo, thesis) = (fixture.repo(), thesis(&fixture));
    let head = fixture.git_in(&repo, &["rev-parse", "HEAD"]);
    let common = repo.join(".git");
    let worktrees = fixture.worktrees();
    let real = fixture.left("real");
    for path in [
        thesis.clone(),
        "../thesis".into(),
        repo.join(".claude/worktrees/../../../thesis"),
        repo.clone(),
        // The worktree of another name, which only its own agent removes. Must be the last case.
        real.record.path.clone(),
    ] {
        for stage in ["making", "ready"] {
            record(&common, "a", &path, &repo, stage, &head);
            let (listed, wrong) = worktrees.list(&repo).unwrap();
            assert_eq!(wrong.len(), 1, "{path:?}");
            assert!(listed.iter().all(|one| one.record.slug != slug("a")));
            says(&wrong[0], "a.json");
            says(&wrong[0], ".claude/worktrees");
            worktrees.prune(&repo, true, NOW).unwrap();
            for force in [false, true] {
                worktrees.remove(&repo, &slug("a"), force, NOW).unwrap_err();
            }
            fixture.create(&repo, "a").unwrap_err();
            drop(worktrees.finish(&path, &former_owner("a"), NOW));
            drop(fixture.create(&repo, "b"));
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
fn removal_does_not_follow_a_link_in_the_path_of_a_worktree() {
    let fixture = RepositoryFixture::new();
    let (repo, thesis) = (fixture.repo(), thesis(&fixture));
    let head = fixture.git_in(&repo, &["rev-parse", "HEAD"]);
    fs::create_dir(repo.join(".claude")).unwrap();
    std::os::unix::fs::symlink(fixture.path(""), repo.join(".claude/worktrees")).unwrap();
    let path = repo.join(".claude/worktrees/thesis");
    record(&repo.join(".git"), "thesis", &path, &repo, "making", &head);
    fixture.prune(false);
    fixture.remove("thesis", true).unwrap_err();
    assert!(thesis.join("text").exists());
}

#[test]
fn only_the_config_directory_assigns_worktrees_outside_of_repositories() {
    let mut fixture = RepositoryFixture::new();
    let repo = fixture.repo();
    fixture.settings.location = Some("../trees".into());
    let made = fixture.create(&repo, "one").unwrap();
    let at = made.record.path.clone();
    assert!(at.starts_with(fixture.path("trees")), "{at:?}");
    assert!(!at.parent().unwrap().join(MARK).exists());
    fixture.worktrees().rely_on_life_lock(&made).unwrap();
    // An agent in the worktree cannot assign it to another repository.
    fs::write(at.join(".git"), "gitdir: /no/where\n").unwrap();
    fs::write(at.parent().unwrap().join(MARK), "/no/where").unwrap();
    // The settings may have changed in the meantime.
    fixture.settings.location = None;
    let found = fixture.worktrees().find(&at.join("src")).unwrap();
    assert_eq!(found.map(|record| record.path), Some(at));
    assert_eq!(fixture.worktrees().list(&repo).unwrap().0.len(), 1);
}
