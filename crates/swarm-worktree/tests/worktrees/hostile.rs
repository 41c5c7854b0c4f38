//! Manipulated git files in a worktree, and git that the user runs on it.

use std::fs;
use std::path::{Path, PathBuf};

use swarm_worktree::{Created, Uncommitted, WorktreeError};

use crate::creation::executable;
use crate::fixture::{NOW, RepositoryFixture, former_owner, request, slug};

/// Creates a program and returns settings that make git run it as a filter.
fn settings(fixture: &RepositoryFixture) -> String {
    let program = fixture.path("evil.sh");
    let canary = fixture.path("canary");
    fs::write(
        &program,
        format!("#!/bin/sh\ntouch {}\nexec cat\n", canary.display()),
    )
    .unwrap();
    executable(&program);
    format!(
        "[filter \"evil\"]\n\tclean = {p}\n\tsmudge = {p}\n[core]\n\tfsmonitor = {p}\n\thooksPath = {at}\n",
        p = program.display(),
        at = fixture.path("").display()
    )
}

/// Creates a clone of the repository with such settings.
fn evil(fixture: &RepositoryFixture) -> PathBuf {
    let evil = fixture.path("evil");
    if !evil.exists() {
        fixture.git_in(&fixture.path(""), &["clone", "-q", "repo", "evil"]);
        append(&evil.join(".git/config"), &settings(fixture));
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

/// Makes git read the file again, which runs its filter.
fn touch(at: &Path) {
    let file = fs::File::options()
        .write(true)
        .open(at.join("b.txt"))
        .unwrap();
    file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000))
        .unwrap();
}

type Attack = fn(&RepositoryFixture, &Created);

const ATTACKS: [(&str, Attack); 6] = [
    ("settings of a single worktree", |fixture, made| {
        append(&admin(made).join("config.worktree"), &settings(fixture));
    }),
    ("a `.git` file that points elsewhere", |fixture, made| {
        let to = evil(fixture).join(".git");
        fs::write(
            made.record.path.join(".git"),
            format!("gitdir: {}\n", to.display()),
        )
        .unwrap();
    }),
    (
        "a repository in place of the `.git` file",
        |fixture, made| {
            let at = &made.record.path;
            fs::remove_file(at.join(".git")).unwrap();
            fs::rename(evil(fixture).join(".git"), at.join(".git")).unwrap();
        },
    ),
    ("another common directory", |fixture, made| {
        let to = evil(fixture).join(".git");
        fs::write(admin(made).join("commondir"), format!("{}\n", to.display())).unwrap();
    }),
    ("a nested repository that is committed", |fixture, made| {
        let inner = made.record.path.join("inner");
        fixture.git_in(
            &fixture.path(""),
            &["clone", "-q", "repo", inner.to_str().unwrap()],
        );
        append(&inner.join(".git/config"), &settings(fixture));
        fixture.write(&inner, ".gitattributes", "b.txt filter=evil\n");
        touch(&inner);
        fixture.git_in(
            &made.record.path,
            &["-c", "core.fsmonitor=false", "add", "inner"],
        );
        fixture.git_in(
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
        fs::remove_file(fixture.path("canary")).unwrap_or_default();
    }),
    (
        "a directory registered as the checkout of the target",
        |fixture, made| {
            let fake = made.record.path.join("fake");
            fixture.git_in(
                &fixture.path(""),
                &["clone", "-q", "repo", fake.to_str().unwrap()],
            );
            append(&fake.join(".git/config"), &settings(fixture));
            fixture.write(&fake, ".gitattributes", "b.txt filter=evil\n");
            touch(&fake);
            let at = admin(made);
            fs::write(at.join("gitdir"), format!("{}/.git\n", fake.display())).unwrap();
            fs::write(at.join("HEAD"), "ref: refs/heads/main\n").unwrap();
            fixture.git_in(&fixture.repo(), &["switch", "-q", "-c", "elsewhere"]);
        },
    ),
];

/// Returns whether git, run by the user in a directory, runs the program.
fn runs_the_program(fixture: &RepositoryFixture, at: &Path) -> bool {
    touch(at);
    let _status = std::process::Command::new("git")
        .args(["status"])
        .current_dir(at)
        .env_clear()
        .envs(crate::fixture::environment(&fixture.path("")))
        .output()
        .unwrap();
    fixture.path("canary").exists()
}

/// Runs all operations on a worktree and returns their results.
fn everything(fixture: &RepositoryFixture, made: &Created) -> Vec<String> {
    let (repo, at, worktrees) = (fixture.repo(), &made.record.path, fixture.worktrees());
    let mut said = Vec::new();
    let mut note = |what: &str, done: Result<String, WorktreeError>| {
        assert!(!fixture.path("canary").exists(), "{what}: {done:?}");
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
        "finish",
        worktrees
            .finish(at, &former_owner("one"), NOW)
            .map(|outcome| format!("{outcome:?}")),
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
        "finish",
        worktrees
            .finish(at, &former_owner("one"), NOW)
            .map(|outcome| format!("{outcome:?}")),
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

fn fixture() -> (RepositoryFixture, Created) {
    let fixture = RepositoryFixture::new();
    // Without this extension, git does not read settings of a single worktree.
    fixture.git_in(
        &fixture.repo(),
        &["config", "extensions.worktreeConfig", "true"],
    );
    fixture.git_in(&fixture.repo(), &["config", "user.name", "a person"]);
    let other = fixture.left("other");
    fixture.write(&other.record.path, "other.txt", "o\n");
    fixture.commit(&other.record.path, "other");
    let made = fixture.left("one");
    fixture.write(&made.record.path, ".gitattributes", "b.txt filter=evil\n");
    fixture.commit(&made.record.path, "attributes");
    (fixture, made)
}

#[test]
fn git_runs_no_program_that_was_written_into_a_worktree() {
    for (what, attack) in ATTACKS {
        let (fixture, made) = fixture();
        attack(&fixture, &made);
        let said = everything(&fixture, &made);
        assert!(!fixture.path("canary").exists(), "{what}: {said:#?}");
    }
}

#[test]
fn the_attacks_make_plain_git_run_the_program() {
    for (what, attack) in ATTACKS {
        let (fixture, made) = fixture();
        attack(&fixture, &made);
        let fake = made.record.path.join("fake");
        let at = if fake.exists() {
            &fake
        } else {
            &made.record.path
        };
        assert!(runs_the_program(&fixture, at), "{what}");
    }
}

#[test]
fn a_manipulated_worktree_is_kept_and_reported() {
    for (what, attack) in &ATTACKS[..4] {
        let (fixture, made) = fixture();
        attack(&fixture, &made);
        let repo = fixture.repo();
        for force in [false, true] {
            let refused = fixture.remove("one", force);
            let refused = refused.unwrap_err().to_string();
            assert!(
                refused.contains("does not match its record"),
                "{what}: {refused}"
            );
        }
        let refused = fixture.merge("one").unwrap_err();
        assert!(
            matches!(refused, WorktreeError::Mismatch { .. }),
            "{what}: {refused}"
        );
        let (listed, _) = fixture.worktrees().list(&repo).unwrap();
        let found = listed.iter().find(|one| one.record.slug == slug("one"));
        assert_eq!(
            found.unwrap().condition,
            swarm_worktree::Condition::Unknown,
            "{what}"
        );
    }
}

#[test]
fn git_runs_no_program_that_was_configured_between_check_and_use() {
    let (mut fixture, made) = fixture();
    let settings = settings(&fixture);
    let evil = evil(&fixture).join(".git");
    // The attacker waits for the right moment: the files are intact until git runs.
    let (admin, at) = (admin(&made), made.record.path.clone());
    let script = format!(
        "#!/bin/sh\ncp {admin}/config.worktree {admin}/kept 2>/dev/null; cp {at}/.git {admin}/dot\n\
         printf '%s' '{settings}' > {admin}/config.worktree\necho 'gitdir: {evil}' > {at}/.git\n\
         git \"$@\"\ncode=$?\nrm -f {admin}/config.worktree; [ -d {at} ] && cp {admin}/dot {at}/.git\nexit $code\n",
        admin = admin.display(),
        at = at.display(),
        evil = evil.display(),
    );
    let git = fixture.path("git");
    fs::write(&git, script).unwrap();
    executable(&git);
    fixture.git = git;
    let said = everything(&fixture, &made);
    assert!(!fixture.path("canary").exists(), "{said:#?}");
    let merged = said.iter().find(|line| line.starts_with("merge: "));
    assert!(merged.unwrap().contains("Ok"), "{said:#?}");
}

#[test]
fn a_member_may_change_settings_that_name_no_program() {
    let (fixture, made) = fixture();
    let at = &made.record.path;
    fixture.git_in(at, &["config", "--worktree", "user.name", "one"]);
    fixture.git_in(at, &["sparse-checkout", "set", "src"]);
    assert!(!at.join("b.txt").exists() || at.join("src").exists());
    let merged = fixture.merge("one").unwrap();
    assert_eq!(merged.outcome.name(), "fast-forward");
    fixture.remove("one", false).unwrap();
    assert!(!at.exists());
}
