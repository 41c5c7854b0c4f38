//! What comes along into a worktree.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use swarm_worktree::{Dependencies, Uncommitted};

use crate::scene::{NOW, Scene, environment, request, slug};

#[test]
fn i7_only_what_is_listed_and_ignored_comes_along_and_no_link_is_followed() {
    let scene = Scene::new();
    let repo = scene.repo();
    scene.write(
        &repo,
        ".gitignore",
        ".env*\n*.key\n/config/local/\n/.claude/settings.local.json\n",
    );
    scene.write(&repo, ".worktreeinclude", "# what agents need\n.env\n.env.*\n!.env.production\n/config/local/\nuntracked.txt\nlink.key\n");
    scene.commit(&repo, "ignore");
    for (name, text) in [
        (".env", "A=1\n"),
        (".env.test", "B=1\n"),
        (".env.production", "SECRET=1\n"),
        ("id.key", "secret\n"),
        ("config/local/deep/x.toml", "x\n"),
        (".claude/settings.local.json", "{}\n"),
    ] {
        scene.write(&repo, name, text);
    }
    symlink(repo.join("id.key"), repo.join("link.key")).unwrap();
    // ListedWorktree, but not ignored: nobody has said that it is not for everybody.
    scene.write(&repo, "untracked.txt", "u\n");
    let asked = request(&repo, "one", Some(Uncommitted::Leave));
    let made = scene.worktrees().create(&asked).unwrap();
    let came: Vec<_> = made
        .record
        .carried
        .iter()
        .map(|carried| carried.path.display().to_string())
        .collect();
    assert_eq!(
        came,
        [
            ".claude/settings.local.json",
            ".env",
            ".env.test",
            "config/local/deep/x.toml"
        ]
    );
    for name in &came {
        assert_eq!(
            fs::read(made.record.path.join(name)).unwrap(),
            fs::read(repo.join(name)).unwrap()
        );
    }
    for name in [".env.production", "id.key", "link.key", "untracked.txt"] {
        assert!(
            made.record.path.join(name).symlink_metadata().is_err(),
            "{name}"
        );
    }
    assert!(
        made.notices
            .iter()
            .any(|told| told.contains("link.key stayed behind")),
        "{:?}",
        made.notices
    );
    // What came is written down, for whoever asks later.
    let (listed, _) = scene.worktrees().list(&repo).unwrap();
    assert_eq!(listed[0].record.carried.len(), 4);
    // As they came they are no reason to keep the worktree.
    scene.worktrees().settle(&made).unwrap();
    scene
        .worktrees()
        .remove(&repo, &slug("one"), false, NOW)
        .unwrap();
}

#[test]
fn without_a_list_nothing_comes_along() {
    let scene = Scene::new();
    let repo = scene.repo();
    scene.write(&repo, ".gitignore", ".env\n");
    scene.commit(&repo, "ignore");
    scene.write(&repo, ".env", "A=1\n");
    let made = scene.create(&repo, "one").unwrap();
    assert!(made.record.carried.is_empty());
    assert!(!made.record.path.join(".env").exists());
    // A list that is a link could name anybody's patterns.
    scene.write(&repo, ".gitignore", ".env\n.worktreeinclude\n");
    scene.commit(&repo, "ignore more");
    symlink("/etc/passwd", repo.join(".worktreeinclude")).unwrap();
    let refused = scene.create(&repo, "two").unwrap_err().to_string();
    assert!(refused.contains("symbolic link"), "{refused}");
    assert!(!scene.branches(&repo).contains(&"worktree-two".to_owned()));
}

/// Runs npm without a network and with a home of its own.
fn npm(scene: &Scene, at: &Path, args: &[&str]) {
    let output = Command::new("npm")
        .args(args)
        .args(["--offline", "--no-audit", "--no-fund", "--no-update-notifier"])
        .current_dir(at)
        .env_clear()
        .envs(environment(&scene.path("")))
        .env("npm_config_cache", scene.path("npm-cache"))
        .output()
        .expect("npm is missing on this machine: this test proves what an installation does, so install npm");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "npm {args:?}: {said}");
}

/// A project with one package that stands in the repository as an archive.
fn project(scene: &Scene) -> PathBuf {
    let repo = scene.repo();
    scene.write(
        &repo,
        "left/package.json",
        "{\"name\":\"left\",\"version\":\"1.0.0\",\"bin\":{\"left\":\"cli.js\"}}",
    );
    scene.write(&repo, "left/index.js", "module.exports = 'left'\n");
    scene.write(&repo, "left/cli.js", "#!/usr/bin/env node\n");
    npm(scene, &repo, &["pack", "./left", "--silent"]);
    fs::remove_dir_all(repo.join("left")).unwrap();
    scene.write(&repo, "package.json", "{\"name\":\"app\",\"version\":\"1.0.0\",\"dependencies\":{\"left\":\"file:left-1.0.0.tgz\"}}");
    scene.write(&repo, ".gitignore", "node_modules/\n");
    npm(scene, &repo, &["install"]);
    scene.commit(&repo, "project");
    repo
}

/// Every file below a directory with its content, and every link with what it says.
fn contents(at: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut directories = vec![at.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let found = path.symlink_metadata().unwrap();
            if found.is_dir() {
                directories.push(path);
            } else if found.is_symlink() {
                let text = fs::read_link(&path).unwrap();
                all.insert(path, text.into_os_string().into_encoded_bytes());
            } else {
                all.insert(path.clone(), fs::read(&path).unwrap());
            }
        }
    }
    all
}

#[test]
fn i8_an_installation_in_a_worktree_leaves_the_main_checkout_as_it_is() {
    let mut scene = Scene::new();
    let repo = project(&scene);
    let before = contents(&repo.join("node_modules"));
    assert!(before.len() >= 4, "{before:?}");
    for dependencies in Dependencies::ALL {
        scene.settings.dependencies = dependencies;
        let name = dependencies.name();
        let made = scene.create(&repo, name).unwrap();
        let there = made.record.path.join("node_modules");
        if dependencies == Dependencies::None {
            assert!(!there.exists());
        } else {
            let index = fs::read_to_string(there.join("left/index.js")).unwrap();
            assert_eq!(index, "module.exports = 'left'\n", "{name}");
            let how = made.record.carried[0].how.as_str();
            let mut notices = made.notices.iter();
            let told = notices.any(|told| told.contains("are links to"));
            assert_eq!(told, how == "symlink", "{:?}", made.notices);
            if dependencies == Dependencies::Auto {
                assert!(["reflink", "symlink"].contains(&how), "{how}");
            } else {
                assert_eq!(how, name);
            }
            assert!(there.join(".bin/left").exists(), "{name}");
        }
        assert!(
            !there
                .symlink_metadata()
                .is_ok_and(|found| found.is_symlink()),
            "{name}"
        );
        npm(&scene, &made.record.path, &["ci"]);
        assert!(there.join("left/index.js").is_file(), "{name}");
        assert_eq!(contents(&repo.join("node_modules")), before, "{name}");
        scene.worktrees().settle(&made).unwrap();
        scene
            .worktrees()
            .remove(&repo, &slug(name), false, NOW)
            .unwrap();
        assert_eq!(contents(&repo.join("node_modules")), before, "{name}");
    }
}
