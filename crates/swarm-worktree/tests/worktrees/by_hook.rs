//! Directories that somebody else makes in git's place.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use swarm_os::HandedLock;
use swarm_protocol::UnixMs;
use swarm_worktree::{
    Condition, DirectoryMaker, Git, Owner, ProcessMark, Pruned, Record, Request, Slug,
    WorktreeOutcome, Worktrees,
};
use tokio_util::sync::CancellationToken;

use crate::beside::is_waited_for;

/// Makes what it is told to print.
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
        self.calls.lock().unwrap().push(format!("make {slug}"));
        Ok(self.prints.lock().unwrap().clone())
    }

    fn take_away(&self, record: &Record) -> Result<(), String> {
        self.calls.lock().unwrap().push("take away".to_owned());
        std::fs::remove_dir_all(&record.path).map_err(|error| error.to_string())
    }
}

struct Yard {
    directory: tempfile::TempDir,
    maker: Arc<Maker>,
    worktrees: Worktrees,
}

impl Yard {
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
            // No process has this start.
            process: ProcessMark {
                pid: std::process::id(),
                start: "0".to_owned(),
            },
            uncommitted: None,
            now: UnixMs(7),
            cancel: CancellationToken::new(),
        }
    }

    fn prints(&self, path: impl Into<PathBuf>) {
        *self.maker.prints.lock().unwrap() = path.into();
    }

    fn calls(&self) -> Vec<String> {
        std::mem::take(&mut self.maker.calls.lock().unwrap())
    }
}

#[test]
fn a_directory_is_made_once_taken_up_again_and_kept_until_it_is_forced_away() {
    let yard = Yard::new();
    let made = yard.worktrees.create(&yard.request("project")).unwrap();
    assert!(made.fresh && made.record.by_hook);
    assert_eq!(
        (made.cwd.clone(), made.head.as_str()),
        (yard.path("made"), "")
    );
    assert_eq!(yard.calls(), ["make one"]);
    let found = yard.worktrees.find(&yard.path("made/inner")).unwrap();
    assert_eq!(found.as_ref(), Some(&made.record));
    assert_eq!(yard.worktrees.find(&yard.path("project")).unwrap(), None);

    let parted = yard
        .worktrees
        .part(&made.cwd, &made.record.leaver(), UnixMs(8))
        .unwrap();
    assert!(
        matches!(parted, Some(WorktreeOutcome::Kept { .. })),
        "{parted:?}"
    );
    let again = yard.worktrees.create(&yard.request("project")).unwrap();
    assert!(!again.fresh);
    assert_eq!(yard.calls(), Vec::<String>::new());
    yard.worktrees.undo(&again).unwrap();
    assert!(again.cwd.is_dir(), "it was there before");

    let (slug, project) = (Slug::parse("one").unwrap(), yard.path("project"));
    let remove = |force| yard.worktrees.remove(&project, &slug, force, UnixMs(9));
    let refused = remove(false).unwrap_err().to_string();
    assert!(refused.contains("what it holds is not known"), "{refused}");
    // Also from within.
    let inside = yard.path("made/inner");
    let listed = yard.worktrees.list(&inside).unwrap().0;
    assert_eq!(listed[0].condition, Condition::Unknown);
    remove(true).unwrap();
    assert_eq!(yard.calls(), ["take away"]);
    assert!(!yard.path("made").exists());
    assert!(remove(true).is_err(), "there is none");
}

#[test]
fn a_directory_whose_agent_never_began_is_taken_away_and_one_that_is_gone_is_forgotten() {
    let yard = Yard::new();
    let made = yard.worktrees.create(&yard.request("project")).unwrap();
    yard.worktrees.undo(&made).unwrap();
    assert_eq!(yard.calls(), ["make one", "take away"]);
    std::fs::create_dir_all(yard.path("made")).unwrap();
    let made = yard.worktrees.create(&yard.request("project")).unwrap();
    yard.worktrees.release(&made).unwrap();
    std::fs::remove_dir_all(yard.path("made")).unwrap();
    let Pruned { gone, kept, .. } = yard
        .worktrees
        .prune(&yard.path("project"), false, UnixMs(9))
        .unwrap();
    assert_eq!((gone.len(), kept.len()), (1, 0));
    assert_eq!(yard.worktrees.list(&yard.path("project")).unwrap().0, []);
}

#[test]
fn two_projects_have_directories_of_the_same_name() {
    let yard = Yard::new();
    for (project, directory) in [("project", "made"), ("project/inner", "away")] {
        yard.prints(yard.path(directory));
        let made = yard.worktrees.create(&yard.request(project)).unwrap();
        assert!(made.fresh, "{project}");
        assert_eq!(made.cwd, yard.path(directory));
        yard.worktrees.release(&made).unwrap();
    }
    let listed = yard.worktrees.list(&yard.path("project")).unwrap().0;
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].record.path, yard.path("made"));
}

#[test]
fn an_agent_goes_on_in_the_same_directory_below() {
    let yard = Yard::new();
    std::fs::create_dir_all(yard.path("project/.git")).unwrap();
    let made = yard.worktrees.create(&yard.request("project/inner"));
    assert_eq!(made.unwrap().cwd, yard.path("made/inner"));
}

#[test]
fn a_path_that_no_agent_can_be_kept_in_is_refused() {
    let yard = Yard::new();
    std::os::unix::fs::symlink(yard.path("away"), yard.path("project/link")).unwrap();
    std::fs::write(yard.path("file"), "").unwrap();
    for (prints, why) in [
        (yard.path("missing"), "cannot be used"),
        (yard.path("file"), "no directory"),
        (yard.path("project"), "the project itself"),
        (yard.path(""), "the project itself"),
        (PathBuf::from("."), "the project itself"),
        (yard.path("made/../away"), "`..`"),
        (yard.path("project/link"), "leads out"),
        (PathBuf::from("link"), "leads out"),
    ] {
        yard.prints(prints.clone());
        let refused = yard.worktrees.create(&yard.request("project")).unwrap_err();
        let refused = refused.to_string();
        assert!(refused.contains(why), "{}: {refused}", prints.display());
    }
    yard.prints("inner");
    let made = yard.worktrees.create(&yard.request("project")).unwrap();
    assert_eq!(made.cwd, yard.path("project/inner"));
}

#[test]
fn a_directory_that_is_another_ones_is_refused() {
    let yard = Yard::new();
    let first = yard.worktrees.create(&yard.request("project")).unwrap();
    let mut second = yard.request("project");
    second.slug = Slug::parse("two").unwrap();
    for prints in ["made", "made/inner"] {
        yard.prints(yard.path(prints));
        let refused = yard.worktrees.create(&second).unwrap_err().to_string();
        assert!(refused.contains("the worktree `one`"), "{refused}");
    }
    // Nor one that holds it.
    std::fs::create_dir_all(yard.path("away/deep")).unwrap();
    yard.prints(yard.path("away/deep"));
    yard.worktrees.create(&second).unwrap();
    let mut third = yard.request("project");
    third.slug = Slug::parse("three").unwrap();
    yard.prints(yard.path("away"));
    let refused = yard.worktrees.create(&third).unwrap_err().to_string();
    assert!(refused.contains("the worktree `two`"), "{refused}");
    assert!(first.cwd.is_dir());
}

#[test]
fn prune_goes_on_where_one_cannot_be_removed() {
    let yard = Yard::new();
    let git = |args: &[&str]| {
        let done = std::process::Command::new("git")
            .args(["-c", "user.name=A", "-c", "user.email=a@example.com"])
            .args(args)
            .current_dir(yard.path("project"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("HOME", yard.path(""))
            .output();
        assert!(done.unwrap().status.success(), "git {args:?}");
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    for (slug, prints) in [("one", "made"), ("two", "away")] {
        yard.prints(yard.path(prints));
        let mut request = yard.request("project");
        request.slug = Slug::parse(slug).unwrap();
        let made = yard.worktrees.create(&request).unwrap();
        yard.worktrees.release(&made).unwrap();
        std::fs::remove_dir_all(yard.path(prints)).unwrap();
    }
    // The lock of the first cannot be taken.
    let lock = std::fs::read_dir(yard.path("records")).unwrap().flatten();
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
    let pruned = yard
        .worktrees
        .prune(&yard.path("project"), false, UnixMs(9));
    let pruned = pruned.unwrap();
    assert_eq!(pruned.failed.len(), 1, "{pruned:?}");
    assert_eq!((pruned.gone.len(), pruned.kept.len()), (1, 0));
}

#[test]
fn whoever_changes_the_record_of_a_hooks_directory_waits_for_its_lock() {
    let yard = Yard::new();
    let made = yard.worktrees.create(&yard.request("project")).unwrap();
    let all = std::fs::read_dir(yard.path("records")).unwrap();
    let lock = all
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|it| it == "lock") && !path.ends_with("all.lock"))
        .unwrap();
    let record = lock.with_extension("json");
    std::thread::scope(|scope| {
        let held = HandedLock::take(&lock, std::time::Duration::from_mins(1)).unwrap();
        let releasing = scope.spawn(|| yard.worktrees.release(&made).unwrap());
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
    assert!(
        text.contains("by another") && text.contains("\"inUse\": false"),
        "{text}"
    );
}

#[test]
fn a_directory_that_somebody_else_has_taken_up_is_left_to_them() {
    let yard = Yard::new();
    let ask = |agent: &str| {
        let asked = yard.request("project");
        let owner = Owner {
            agent: Some(agent.to_owned()),
            ..Owner::default()
        };
        let created = yard.worktrees.create(&Request { owner, ..asked });
        created.unwrap()
    };
    let before = ask("first");
    let now = ask("second");
    assert!(before.fresh && !now.fresh);
    yard.worktrees.release(&before).unwrap();
    yard.worktrees.settle(&before).unwrap();
    yard.worktrees.undo(&before).unwrap();
    let parted = yard
        .worktrees
        .part(&now.cwd, &before.record.leaver(), UnixMs(8));
    assert_eq!(parted.unwrap(), None);
    let found = yard.worktrees.find(&now.cwd).unwrap();
    assert_eq!(found, Some(now.record));
    assert_eq!(yard.calls(), ["make one"]);
}
