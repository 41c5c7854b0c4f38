//! Worktree directories that a hook creates instead of git.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use swarm_os::InheritableLock;
use swarm_protocol::UnixMs;
use swarm_worktree::{
    Condition, Created, DirectoryMaker, Git, Owner, ProcessMark, Pruned, Record, Request, Slug,
    WorktreeError, WorktreeOutcome, Worktrees,
};
use tokio_util::sync::CancellationToken;

use crate::concurrent::is_waited_for;
use crate::fixture::says;

/// Returns a given path as the created directory, and records the calls.
#[derive(Debug)]
struct Maker {
    prints: Mutex<PathBuf>,
    calls: Mutex<Vec<String>>,
}

impl DirectoryMaker for Maker {
    fn makes(&self) -> bool {
        true
    }

    fn make(
        &self,
        slug: &Slug,
        _from: &Path,
        _owner: &Owner,
        _cancel: &CancellationToken,
    ) -> Result<PathBuf, String> {
        self.calls.lock().unwrap().push(format!("create {slug}"));
        Ok(self.prints.lock().unwrap().clone())
    }

    fn remove(&self, record: &Record) -> Result<(), String> {
        self.calls.lock().unwrap().push("remove".to_owned());
        std::fs::remove_dir_all(&record.path).map_err(|error| error.to_string())
    }
}

struct HookFixture {
    directory: tempfile::TempDir,
    maker: Arc<Maker>,
    worktrees: Worktrees,
}

impl HookFixture {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in ["project/inner", "made/inner", "away"] {
            std::fs::create_dir_all(directory.path().join(name)).unwrap();
        }
        let maker = Arc::new(Maker {
            prints: Mutex::new(directory.path().join("made")),
            calls: Mutex::default(),
        });
        let git = Git::new("git", std::collections::BTreeMap::new());
        let records = directory.path().join("records");
        let worktrees = Worktrees::new(git, <_>::default(), records).with_maker(maker.clone());
        Self {
            directory,
            maker,
            worktrees,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    fn request(&self, from: &str) -> Request {
        Request {
            from: self.path(from),
            slug: Slug::parse("one").unwrap(),
            owner: Owner::default(),
            // No process has this start time.
            process: ProcessMark {
                pid: std::process::id(),
                start: "0".to_owned(),
            },
            uncommitted: None,
            now: UnixMs(7),
            cancel: CancellationToken::new(),
        }
    }

    fn create(&self, from: &str) -> Result<Created, WorktreeError> {
        self.worktrees.create(&self.request(from))
    }

    fn prune(&self) -> Pruned {
        let project = self.path("project");
        self.worktrees.prune(&project, false, UnixMs(9)).unwrap()
    }

    fn prints(&self, path: impl Into<PathBuf>) {
        *self.maker.prints.lock().unwrap() = path.into();
    }

    fn calls(&self) -> Vec<String> {
        std::mem::take(&mut self.maker.calls.lock().unwrap())
    }
}

#[test]
fn a_directory_is_created_once_reused_and_kept_until_a_forced_removal() {
    let fixture = HookFixture::new();
    let made = fixture.create("project").unwrap();
    assert!(made.fresh && made.record.by_hook);
    assert_eq!(
        (made.cwd.clone(), made.head.as_str()),
        (fixture.path("made"), "")
    );
    assert_eq!(fixture.calls(), ["create one"]);
    let found = fixture.worktrees.find(&fixture.path("made/inner")).unwrap();
    assert_eq!(found.as_ref(), Some(&made.record));
    assert_eq!(
        fixture.worktrees.find(&fixture.path("project")).unwrap(),
        None
    );

    let outcome = fixture
        .worktrees
        .finish(&made.cwd, &made.record.former_owner(), UnixMs(8))
        .unwrap();
    assert!(
        matches!(outcome, Some(WorktreeOutcome::Kept { .. })),
        "{outcome:?}"
    );
    let again = fixture.create("project").unwrap();
    assert!(!again.fresh);
    assert_eq!(fixture.calls(), Vec::<String>::new());
    fixture.worktrees.undo(&again).unwrap();
    assert!(again.cwd.is_dir(), "it existed before");

    let (slug, project) = (Slug::parse("one").unwrap(), fixture.path("project"));
    let remove = |force| fixture.worktrees.remove(&project, &slug, force, UnixMs(9));
    says(&remove(false).unwrap_err(), "its contents are unknown");
    // Also from inside the directory.
    let inside = fixture.path("made/inner");
    let listed = fixture.worktrees.list(&inside).unwrap().0;
    assert_eq!(listed[0].condition, Condition::Unknown);
    remove(true).unwrap();
    assert_eq!(fixture.calls(), ["remove"]);
    assert!(!fixture.path("made").exists());
    assert!(remove(true).is_err(), "it no longer exists");
}

#[test]
fn an_unused_directory_is_removed_and_the_record_of_a_missing_one_too() {
    let fixture = HookFixture::new();
    let made = fixture.create("project").unwrap();
    fixture.worktrees.undo(&made).unwrap();
    assert_eq!(fixture.calls(), ["create one", "remove"]);
    std::fs::create_dir_all(fixture.path("made")).unwrap();
    let made = fixture.create("project").unwrap();
    fixture.worktrees.release(&made).unwrap();
    std::fs::remove_dir_all(fixture.path("made")).unwrap();
    let Pruned { gone, kept, .. } = fixture.prune();
    assert_eq!((gone.len(), kept.len()), (1, 0));
    assert_eq!(
        fixture.worktrees.list(&fixture.path("project")).unwrap().0,
        []
    );
}

#[test]
fn two_projects_can_use_the_same_slug() {
    let fixture = HookFixture::new();
    for (project, directory) in [("project", "made"), ("project/inner", "away")] {
        fixture.prints(fixture.path(directory));
        let made = fixture.create(project).unwrap();
        assert!(made.fresh, "{project}");
        assert_eq!(made.cwd, fixture.path(directory));
        fixture.worktrees.release(&made).unwrap();
    }
    let listed = fixture.worktrees.list(&fixture.path("project")).unwrap().0;
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].record.path, fixture.path("made"));
}

#[test]
fn an_agent_continues_in_the_same_subdirectory() {
    let fixture = HookFixture::new();
    std::fs::create_dir_all(fixture.path("project/.git")).unwrap();
    let made = fixture.create("project/inner");
    assert_eq!(made.unwrap().cwd, fixture.path("made/inner"));
}

#[test]
fn paths_that_do_not_isolate_an_agent_are_refused() {
    let fixture = HookFixture::new();
    std::os::unix::fs::symlink(fixture.path("away"), fixture.path("project/link")).unwrap();
    std::fs::write(fixture.path("file"), "").unwrap();
    for (prints, why) in [
        (fixture.path("missing"), "cannot be used"),
        (fixture.path("file"), "not a directory"),
        (fixture.path("project"), "the project itself"),
        (fixture.path(""), "the project itself"),
        (PathBuf::from("."), "the project itself"),
        (fixture.path("made/../away"), "`..`"),
        (fixture.path("project/link"), "out of the project"),
        (PathBuf::from("link"), "out of the project"),
    ] {
        fixture.prints(prints.clone());
        let refused = fixture.create("project").unwrap_err().to_string();
        assert!(refused.contains(why), "{}: {refused}", prints.display());
    }
    fixture.prints("inner");
    let made = fixture.create("project").unwrap();
    assert_eq!(made.cwd, fixture.path("project/inner"));
}

#[test]
fn a_directory_that_overlaps_another_worktree_is_refused() {
    let fixture = HookFixture::new();
    let first = fixture.create("project").unwrap();
    let mut second = fixture.request("project");
    second.slug = Slug::parse("two").unwrap();
    for prints in ["made", "made/inner"] {
        fixture.prints(fixture.path(prints));
        says(
            &fixture.worktrees.create(&second).unwrap_err(),
            "the worktree `one`",
        );
    }
    // Including a directory that contains another worktree.
    std::fs::create_dir_all(fixture.path("away/deep")).unwrap();
    fixture.prints(fixture.path("away/deep"));
    fixture.worktrees.create(&second).unwrap();
    let mut third = fixture.request("project");
    third.slug = Slug::parse("three").unwrap();
    fixture.prints(fixture.path("away"));
    says(
        &fixture.worktrees.create(&third).unwrap_err(),
        "the worktree `two`",
    );
    assert!(first.cwd.is_dir());
}

#[test]
fn prune_continues_after_a_failed_removal() {
    let fixture = HookFixture::new();
    let git = |args: &[&str]| {
        let done = std::process::Command::new("git")
            .args(["-c", "user.name=A", "-c", "user.email=a@example.com"])
            .args(args)
            .current_dir(fixture.path("project"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("HOME", fixture.path(""))
            .output();
        assert!(done.unwrap().status.success(), "git {args:?}");
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    for (slug, prints) in [("one", "made"), ("two", "away")] {
        fixture.prints(fixture.path(prints));
        let mut request = fixture.request("project");
        request.slug = Slug::parse(slug).unwrap();
        let made = fixture.worktrees.create(&request).unwrap();
        fixture.worktrees.release(&made).unwrap();
        std::fs::remove_dir_all(fixture.path(prints)).unwrap();
    }
    // Makes it impossible to take the lock of the first worktree.
    let lock = std::fs::read_dir(fixture.path("records"))
        .unwrap()
        .flatten();
    let lock = lock.map(|entry| entry.path()).find(|path| {
        path.extension()
            .is_some_and(|extension| extension == "lock")
            && path
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("one@"))
    });
    let lock = lock.unwrap();
    std::fs::remove_file(&lock).unwrap();
    std::fs::create_dir(&lock).unwrap();
    let pruned = fixture.prune();
    assert_eq!(pruned.failed.len(), 1, "{pruned:?}");
    assert_eq!((pruned.gone.len(), pruned.kept.len()), (1, 0));
}

#[test]
fn changes_of_a_record_wait_for_its_lock() {
    let fixture = HookFixture::new();
    let made = fixture.create("project").unwrap();
    let all = std::fs::read_dir(fixture.path("records")).unwrap();
    let lock = all
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|it| it == "lock") && !path.ends_with("all.lock"))
        .unwrap();
    let record = lock.with_extension("json");
    std::thread::scope(|scope| {
        let held = InheritableLock::take(&lock, std::time::Duration::from_mins(1)).unwrap();
        let releasing = scope.spawn(|| fixture.worktrees.release(&made).unwrap());
        while !is_waited_for(&lock) {
            assert!(!releasing.is_finished(), "it did not wait for the lock");
            std::thread::yield_now();
        }
        let text = std::fs::read_to_string(&record).unwrap();
        let changed = text.replace("\"notices\": []", "\"notices\": [\"by another\"]");
        assert_ne!(text, changed);
        std::fs::write(&record, changed).unwrap();
        drop(held);
    });
    let text = std::fs::read_to_string(&record).unwrap();
    says(&text, "by another");
    says(&text, "\"inUse\": false");
}

#[test]
fn a_former_owner_does_not_change_a_reused_directory() {
    let fixture = HookFixture::new();
    let ask = |agent: &str| {
        let asked = fixture.request("project");
        let owner = Owner {
            agent: Some(agent.to_owned()),
            ..Owner::default()
        };
        let created = fixture.worktrees.create(&Request { owner, ..asked });
        created.unwrap()
    };
    let before = ask("first");
    let now = ask("second");
    assert!(before.fresh && !now.fresh);
    fixture.worktrees.release(&before).unwrap();
    fixture.worktrees.rely_on_life_lock(&before).unwrap();
    fixture.worktrees.undo(&before).unwrap();
    let outcome = fixture
        .worktrees
        .finish(&now.cwd, &before.record.former_owner(), UnixMs(8));
    assert_eq!(outcome.unwrap(), None);
    let found = fixture.worktrees.find(&now.cwd).unwrap();
    assert_eq!(found, Some(now.record));
    assert_eq!(fixture.calls(), ["create one"]);
}
