//! What somebody writes into a worktree for git to read, and git run there with a person's rights.

use std::fs;
use std::path::{Path, PathBuf};

use swarm_worktree::{Created, Uncommitted, WorktreeError};

use crate::creation::executable;
use crate::scene::{NOW, Scene, leaver, request, slug};

/// A program that git would run as a filter, by settings of these lines.
fn settings(scene: &Scene) -> String {
    let program = scene.path("evil.sh");
    let canary = scene.path("canary");
    fs::write(
        &program,
        format!("#!/bin/sh\ntouch {}\nexec cat\n", canary.display()),
    )
    .unwrap();
    executable(&program);
    format!(
        "[filter \"evil\"]\n\tclean = {p}\n\tsmudge = {p}\n[core]\n\tfsmonitor = {p}\n\thooksPath = {at}\n",
        p = program.display(),
        at = scene.path("").display()
    )
}

/// A repository with such settings and the files of ours.
fn evil(scene: &Scene) -> PathBuf {
    let evil = scene.path("evil");
    if !evil.exists() {
        scene.git_in(&scene.path(""), &["clone", "-q", "repo", "evil"]);
        append(&evil.join(".git/config"), &settings(scene));
    }
    evil
}

fn append(file: &Path, text: &str) {
    let before = fs::read_to_string(file).unwrap_or_default();
    fs::write(file, before + text).unwrap();
}

fn admin(made: &Created) -> PathBuf {
    let record = &made.record;
    let name = record.git_directory.as_ref().unwrap();
    record.from.join(".git/worktrees").join(name)
}

/// Makes git read the file again, and so run its filter.
fn touch(at: &Path) {
    let file = fs::File::options()
        .write(true)
        .open(at.join("b.txt"))
        .unwrap();
    file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000))
        .unwrap();
}

type Attack = fn(&Scene, &Created);

const ATTACKS: [(&str, Attack); 6] = [
    ("settings of the worktree alone", |scene, made| {
        append(&admin(made).join("config.worktree"), &settings(scene));
    }),
    ("a `.git` file that leads elsewhere", |scene, made| {
        let to = evil(scene).join(".git");
        fs::write(
            made.record.path.join(".git"),
            format!("gitdir: {}\n", to.display()),
        )
        .unwrap();
    }),
    ("a repository in place of the `.git` file", |scene, made| {
        let at = &made.record.path;
        fs::remove_file(at.join(".git")).unwrap();
        fs::rename(evil(scene).join(".git"), at.join(".git")).unwrap();
    }),
    ("another common directory", |scene, made| {
        let to = evil(scene).join(".git");
        fs::write(admin(made).join("commondir"), format!("{}\n", to.display())).unwrap();
    }),
    ("a repository that is tracked", |scene, made| {
        let inner = made.record.path.join("inner");
        scene.git_in(
            &scene.path(""),
            &["clone", "-q", "repo", inner.to_str().unwrap()],
        );
        append(&inner.join(".git/config"), &settings(scene));
        scene.write(&inner, ".gitattributes", "b.txt filter=evil\n");
        touch(&inner);
        scene.git_in(
            &made.record.path,
            &["-c", "core.fsmonitor=false", "add", "inner"],
        );
        scene.git_in(
            &made.record.path,
            &[
                "-c",
                "diff.ignoreSubmodules=all",
                "commit",
                "-q",
                "-m",
                "inner",
            ],
        );
        fs::remove_file(scene.path("canary")).unwrap_or_default();
    }),
    (
        "a directory that is made out to be the target's checkout",
        |scene, made| {
            let fake = made.record.path.join("fake");
            scene.git_in(
                &scene.path(""),
                &["clone", "-q", "repo", fake.to_str().unwrap()],
            );
            append(&fake.join(".git/config"), &settings(scene));
            scene.write(&fake, ".gitattributes", "b.txt filter=evil\n");
            touch(&fake);
            let at = admin(made);
            fs::write(at.join("gitdir"), format!("{}/.git\n", fake.display())).unwrap();
            fs::write(at.join("HEAD"), "ref: refs/heads/main\n").unwrap();
            scene.git_in(&scene.repo(), &["switch", "-q", "-c", "elsewhere"]);
        },
    ),
];

/// Whether git, run in a directory as a person would, runs the program.
fn bites(scene: &Scene, at: &Path) -> bool {
    touch(at);
    let _status = std::process::Command::new("git")
        .args(["status"])
        .current_dir(at)
        .env_clear()
        .envs(crate::scene::environment(&scene.path("")))
        .output()
        .unwrap();
    scene.path("canary").exists()
}

/// Everything that is done in a worktree on behalf of a person. What each says is its own affair.
fn everything(scene: &Scene, made: &Created) -> Vec<String> {
    let (repo, at, worktrees) = (scene.repo(), &made.record.path, scene.worktrees());
    let mut said = Vec::new();
    let mut note = |what: &str, done: Result<String, WorktreeError>| {
        assert!(!scene.path("canary").exists(), "{what}: {done:?}");
        said.push(format!("{what}: {done:?}"));
    };
    let shown =
        |listed: (Vec<swarm_worktree::ListedWorktree>, Vec<WorktreeError>)| format!("{listed:?}");
    touch(at);
    note("list", worktrees.list(&repo).map(shown));
    note("list from inside", worktrees.list(at).map(shown));
    note(
        "find",
        worktrees
            .find(&at.join("fake"))
            .map(|found| format!("{found:?}")),
    );
    for directory in [&repo, at] {
        let merged = worktrees.merge(directory, &slug("other"));
        note(
            "merge of another",
            merged.map(|merged| format!("{merged:?}")),
        );
        let merged = worktrees.merge(directory, &slug("one"));
        note("merge", merged.map(|merged| format!("{merged:?}")));
    }
    append(&at.join("src/a.txt"), "more\n");
    for (name, uncommitted) in [
        ("two", Uncommitted::Snapshot),
        ("three", Uncommitted::Leave),
    ] {
        let made = worktrees.create(&request(at, name, Some(uncommitted)));
        note(
            "create from inside",
            made.map(|made| made.record.path.display().to_string()),
        );
    }
    note(
        "part",
        worktrees
            .part(at, &leaver("one"), NOW)
            .map(|parted| format!("{parted:?}")),
    );
    note(
        "prune",
        worktrees
            .prune(&repo, false, NOW)
            .map(|done| format!("{done:?}")),
    );
    let again = worktrees.create(&request(&repo, "one", None));
    note("take up", again.map(|made| format!("{:?}", made.fresh)));
    note(
        "part",
        worktrees
            .part(at, &leaver("one"), NOW)
            .map(|parted| format!("{parted:?}")),
    );
    for force in [false, true] {
        let removed = worktrees.remove(&repo, &slug("one"), force, NOW);
        note(
            "remove",
            removed.map(|removed| format!("{:?}", removed.rescue)),
        );
    }
    said
}

fn scene() -> (Scene, Created) {
    let scene = Scene::new();
    // Where it is not on, git reads no settings of a worktree alone.
    scene.git_in(
        &scene.repo(),
        &["config", "extensions.worktreeConfig", "true"],
    );
    scene.git_in(&scene.repo(), &["config", "user.name", "a person"]);
    let other = scene.left("other");
    scene.write(&other.record.path, "other.txt", "o\n");
    scene.commit(&other.record.path, "other");
    let made = scene.left("one");
    scene.write(&made.record.path, ".gitattributes", "b.txt filter=evil\n");
    scene.commit(&made.record.path, "attributes");
    (scene, made)
}

#[test]
fn git_runs_no_program_that_was_written_into_a_worktree() {
    for (what, attack) in ATTACKS {
        let (scene, made) = scene();
        attack(&scene, &made);
        let said = everything(&scene, &made);
        assert!(!scene.path("canary").exists(), "{what}: {said:#?}");
    }
}

#[test]
fn the_attacks_are_ones() {
    for (what, attack) in ATTACKS {
        let (scene, made) = scene();
        attack(&scene, &made);
        let fake = made.record.path.join("fake");
        let at = if fake.exists() {
            &fake
        } else {
            &made.record.path
        };
        assert!(bites(&scene, at), "{what}");
    }
}

#[test]
fn a_worktree_that_was_tampered_with_is_kept_and_said_to_be() {
    for (what, attack) in &ATTACKS[..4] {
        let (scene, made) = scene();
        attack(&scene, &made);
        let repo = scene.repo();
        for force in [false, true] {
            let refused = scene.worktrees().remove(&repo, &slug("one"), force, NOW);
            let refused = refused.unwrap_err().to_string();
            assert!(
                refused.contains("is not as it was made"),
                "{what}: {refused}"
            );
        }
        let refused = scene.worktrees().merge(&repo, &slug("one")).unwrap_err();
        assert!(
            matches!(refused, WorktreeError::Mismatch { .. }),
            "{what}: {refused}"
        );
        let (listed, _) = scene.worktrees().list(&repo).unwrap();
        let told = listed.iter().find(|one| one.record.slug == slug("one"));
        assert_eq!(
            told.unwrap().condition,
            swarm_worktree::Condition::Unknown,
            "{what}"
        );
    }
}

#[test]
fn nor_one_that_is_written_between_two_looks() {
    let (mut scene, made) = scene();
    let settings = settings(&scene);
    let evil = evil(&scene).join(".git");
    // Whoever works there waits for the moment: the files are as they should be until git runs.
    let (admin, at) = (admin(&made), made.record.path.clone());
    let script = format!(
        "#!/bin/sh\ncp {admin}/config.worktree {admin}/kept 2>/dev/null; cp {at}/.git {admin}/dot\n\
         printf '%s' '{settings}' > {admin}/config.worktree\necho 'gitdir: {evil}' > {at}/.git\n\
         git \"$@\"\ncode=$?\nrm -f {admin}/config.worktree; [ -d {at} ] && cp {admin}/dot {at}/.git\nexit $code\n",
        admin = admin.display(),
        at = at.display(),
        evil = evil.display(),
    );
    let git = scene.path("git");
    fs::write(&git, script).unwrap();
    executable(&git);
    scene.git = git;
    let said = everything(&scene, &made);
    assert!(!scene.path("canary").exists(), "{said:#?}");
    let merged = said.iter().find(|line| line.starts_with("merge: "));
    assert!(merged.unwrap().contains("Ok"), "{said:#?}");
}

#[test]
fn settings_that_name_no_program_are_a_members_own_affair() {
    let (scene, made) = scene();
    let at = &made.record.path;
    scene.git_in(at, &["config", "--worktree", "user.name", "one"]);
    scene.git_in(at, &["sparse-checkout", "set", "src"]);
    assert!(!at.join("b.txt").exists() || at.join("src").exists());
    let merged = scene
        .worktrees()
        .merge(&scene.repo(), &slug("one"))
        .unwrap();
    assert_eq!(merged.outcome.name(), "fast-forward");
    scene
        .worktrees()
        .remove(&scene.repo(), &slug("one"), false, NOW)
        .unwrap();
    assert!(!at.exists());
}
