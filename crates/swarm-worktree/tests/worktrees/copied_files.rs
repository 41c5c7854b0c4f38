//! Files that are copied into a worktree.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use swarm_worktree::{Dependencies, Uncommitted};

use crate::fixture::{RepositoryFixture, environment, request, says};

#[test]
fn i7_only_listed_and_ignored_files_are_copied_and_no_link_is_followed() {
    let (fixture, repo) = RepositoryFixture::with_repo();
    fixture.write(
        &repo,
        ".gitignore",
        ".env*\n*.key\n/config/local/\n/.claude/settings.local.json\n",
    );
    fixture.commit_file(&repo, ".worktreeinclude", "# what agents need\n.env\n.env.*\n!.env.production\n/config/local/\nuntracked.txt\nlink.key\n", "ignore");
    for (name, text) in [
        (".env", "A=1\n"),
        (".env.test", "B=1\n"),
        (".env.production", "SECRET=1\n"),
        ("id.key", "secret\n"),
        ("config/local/deep/x.toml", "x\n"),
        (".claude/settings.local.json", "{}\n"),
    ] {
        fixture.write(&repo, name, text);
    }
    symlink(repo.join("id.key"), repo.join("link.key")).unwrap();
    // Listed, but not ignored: it may be committed later.
    fixture.write(&repo, "untracked.txt", "u\n");
    let asked = request(&repo, "one", Some(Uncommitted::Leave));
    let made = fixture.worktrees().create(&asked).unwrap();
    let copied: Vec<_> = made
        .record
        .carried
        .iter()
        .map(|carried| carried.path.display().to_string())
        .collect();
    assert_eq!(
        copied,
        [
            ".claude/settings.local.json",
            ".env",
            ".env.test",
            "config/local/deep/x.toml"
        ]
    );
    for name in &copied {
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
            .any(|notice| notice.contains("link.key was not copied")),
        "{:?}",
        made.notices
    );
    // The copied files are recorded.
    let (listed, _) = fixture.worktrees().list(&repo).unwrap();
    assert_eq!(listed[0].record.carried.len(), 4);
    // Unchanged copies do not keep the worktree from being removed.
    fixture.worktrees().rely_on_life_lock(&made).unwrap();
    fixture.remove("one", false).unwrap();
}

#[test]
fn nothing_is_copied_without_a_list() {
    let (fixture, repo) = RepositoryFixture::with_repo();
    fixture.commit_file(&repo, ".gitignore", ".env\n", "ignore");
    fixture.write(&repo, ".env", "A=1\n");
    let made = fixture.create(&repo, "one").unwrap();
    assert!(made.record.carried.is_empty());
    assert!(!made.record.path.join(".env").exists());
    // A list that is a symbolic link could point to any file.
    fixture.commit_file(
        &repo,
        ".gitignore",
        ".env\n.worktreeinclude\n",
        "ignore more",
    );
    symlink("/etc/passwd", repo.join(".worktreeinclude")).unwrap();
    says(&fixture.create(&repo, "two").unwrap_err(), "symbolic link");
    assert!(!fixture.branches(&repo).contains(&"worktree-two".to_owned()));
}

/// Runs npm offline with a separate home directory.
fn npm(fixture: &RepositoryFixture, at: &Path, args: &[&str]) {
    let output = Command::new("npm")
        .args(args)
        .args(["--offline", "--no-audit", "--no-fund", "--no-update-notifier"])
        .current_dir(at)
        .env_clear()
        .envs(environment(&fixture.path("")))
        .env("npm_config_cache", fixture.path("npm-cache"))
        .output()
        .expect("npm is missing on this machine: this test proves what an installation does, so install npm");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "npm {args:?}: {said}");
}

/// Creates a project with one package, which is in the repository as an archive.
fn project(fixture: &RepositoryFixture) -> PathBuf {
    let repo = fixture.repo();
    fixture.write(
        &repo,
        "left/package.json",
        "{\"name\":\"left\",\"version\":\"1.0.0\",\"bin\":{\"left\":\"cli.js\"}}",
    );
    fixture.write(&repo, "left/index.js", "module.exports = 'left'\n");
    fixture.write(&repo, "left/cli.js", "#!/usr/bin/env node\n");
    npm(fixture, &repo, &["pack", "./left", "--silent"]);
    fs::remove_dir_all(repo.join("left")).unwrap();
    fixture.write(&repo, "package.json", "{\"name\":\"app\",\"version\":\"1.0.0\",\"dependencies\":{\"left\":\"file:left-1.0.0.tgz\"}}");
    fixture.write(&repo, ".gitignore", "node_modules/\n");
    npm(fixture, &repo, &["install"]);
    fixture.commit(&repo, "project");
    repo
}

/// Returns every file below a directory with its content, and every link with its target.
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
fn i8_an_installation_in_a_worktree_does_not_change_the_main_checkout() {
    let mut fixture = RepositoryFixture::new();
    let repo = project(&fixture);
    let before = contents(&repo.join("node_modules"));
    assert!(before.len() >= 4, "{before:?}");
    for dependencies in Dependencies::ALL {
        fixture.settings.dependencies = dependencies;
        let name = dependencies.name();
        let made = fixture.create(&repo, name).unwrap();
        let there = made.record.path.join("node_modules");
        if dependencies == Dependencies::None {
            assert!(!there.exists());
        } else {
            let index = fs::read_to_string(there.join("left/index.js")).unwrap();
            assert_eq!(index, "module.exports = 'left'\n", "{name}");
            let how = made.record.carried[0].how.as_str();
            let mut notices = made.notices.iter();
            let mentions_links = notices.any(|notice| notice.contains("are links to"));
            assert_eq!(mentions_links, how == "symlink", "{:?}", made.notices);
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
        npm(&fixture, &made.record.path, &["ci"]);
        assert!(there.join("left/index.js").is_file(), "{name}");
        assert_eq!(contents(&repo.join("node_modules")), before, "{name}");
        fixture.worktrees().rely_on_life_lock(&made).unwrap();
        fixture.remove(name, false).unwrap();
        assert_eq!(contents(&repo.join("node_modules")), before, "{name}");
    }
}
