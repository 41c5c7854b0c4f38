//! A repository in a temporary directory.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use swarm_protocol::{MemberName, TeamName, UnixMs};
use swarm_worktree::{
    Created, FormerOwner, Git, Merged, Owner, ProcessMark, Pruned, RemovedWorktree, Request, Slug,
    Uncommitted, WorktreeError, WorktreeOutcome, WorktreeSettings, Worktrees,
};

pub(crate) const NOW: UnixMs = UnixMs(1_700_000_000_000);

pub(crate) struct RepositoryFixture {
    directory: tempfile::TempDir,
    pub(crate) settings: WorktreeSettings,
    /// The git program that swarm uses.
    pub(crate) git: PathBuf,
}

/// The environment of every git process: only `PATH` is taken from the environment of the tests.
pub(crate) fn environment(home: &Path) -> BTreeMap<String, String> {
    let path = std::env::var("PATH").unwrap();
    let home = home.display().to_string();
    let pairs = [
        ("PATH", path.as_str()),
        ("HOME", &home),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_AUTHOR_NAME", "A"),
        ("GIT_AUTHOR_EMAIL", "a@example.com"),
        ("GIT_COMMITTER_NAME", "A"),
        ("GIT_COMMITTER_EMAIL", "a@example.com"),
    ];
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
}

impl RepositoryFixture {
    /// Creates a repository with two files on `main`.
    pub(crate) fn new() -> Self {
        let fixture = Self {
            directory: tempfile::tempdir().unwrap(),
            settings: WorktreeSettings::default(),
            git: "git".into(),
        };
        fixture.init("repo");
        fixture
    }

    /// Also returns the path of the repository.
    pub(crate) fn with_repo() -> (Self, PathBuf) {
        let fixture = Self::new();
        let repo = fixture.repo();
        (fixture, repo)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn repo(&self) -> PathBuf {
        self.path("repo")
    }

    /// Directory of the index of worktrees outside of repositories.
    pub(crate) fn own(&self) -> PathBuf {
        self.path("root/swarm/worktrees")
    }

    pub(crate) fn init(&self, name: &str) -> PathBuf {
        let repo = self.path(name);
        fs::create_dir_all(&repo).unwrap();
        self.git_in(&repo, &["init", "-q", "-b", "main"]);
        self.write(&repo, "src/a.txt", "one\ntwo\nthree\n");
        self.write(&repo, "b.txt", "b\n");
        self.commit(&repo, "first");
        repo
    }

    pub(crate) fn write(&self, at: &Path, name: &str, text: &str) {
        let path = at.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn commit(&self, at: &Path, message: &str) -> String {
        self.git_in(at, &["add", "-A"]);
        self.git_in(at, &["commit", "-q", "-m", message]);
        self.git_in(at, &["rev-parse", "HEAD"])
    }

    /// Writes a file and commits it.
    pub(crate) fn commit_file(&self, at: &Path, name: &str, text: &str, message: &str) {
        self.write(at, name, text);
        self.commit(at, message);
    }

    /// Runs git as a user would and returns its output.
    pub(crate) fn git_in(&self, at: &Path, args: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "protocol.file.allow=always"])
            // Git must not leave background processes in a worktree.
            .args(["-c", "gc.auto=0", "-c", "maintenance.auto=false"])
            .args(args)
            .current_dir(at)
            .env_clear()
            .envs(environment(self.directory.path()))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {args:?} in {at:?}: {said}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    pub(crate) fn worktrees(&self) -> Worktrees {
        let git = Git::new(&self.git, environment(self.directory.path()));
        Worktrees::new(git, self.settings.clone(), self.own())
    }

    pub(crate) fn create(&self, from: &Path, slug: &str) -> Result<Created, WorktreeError> {
        self.worktrees().create(&request(from, slug, None))
    }

    /// Creates a worktree and releases it, as if its member had stopped.
    pub(crate) fn left(&self, slug: &str) -> Created {
        let created = self.create(&self.repo(), slug).unwrap();
        self.worktrees().rely_on_life_lock(&created).unwrap();
        created
    }

    pub(crate) fn merge(&self, name: &str) -> Result<Merged, WorktreeError> {
        self.worktrees().merge(&self.repo(), &slug(name))
    }

    pub(crate) fn remove(&self, name: &str, force: bool) -> Result<RemovedWorktree, WorktreeError> {
        self.worktrees()
            .remove(&self.repo(), &slug(name), force, NOW)
    }

    pub(crate) fn prune(&self, dry: bool) -> Pruned {
        self.worktrees().prune(&self.repo(), dry, NOW).unwrap()
    }

    /// Handles the stop of the agent for which a worktree was created.
    pub(crate) fn finish(&self, made: &Created) -> Option<WorktreeOutcome> {
        let (path, former_owner) = (&made.record.path, made.record.former_owner());
        self.worktrees().finish(path, &former_owner, NOW).unwrap()
    }

    pub(crate) fn branches(&self, at: &Path) -> Vec<String> {
        let all = self.git_in(
            at,
            &["for-each-ref", "--format=%(refname:short)", "refs/heads"],
        );
        all.lines().map(str::to_owned).collect()
    }

    /// Returns the number of linked worktrees that git lists.
    pub(crate) fn linked(&self, at: &Path) -> usize {
        let all = self.git_in(at, &["worktree", "list", "--porcelain"]);
        all.lines()
            .filter(|line| line.starts_with("worktree "))
            .count()
            - 1
    }

    pub(crate) fn status(&self, at: &Path) -> String {
        self.git_in(at, &["status", "--porcelain", "--untracked-files=all"])
    }
}

pub(crate) fn slug(text: &str) -> Slug {
    Slug::parse(text).unwrap()
}

/// Returns the owner that [`request`] names.
pub(crate) fn former_owner(name: &str) -> FormerOwner {
    let asked = request(Path::new(""), name, None);
    FormerOwner {
        owner: asked.owner,
        process: Some(asked.process),
    }
}

pub(crate) fn request(from: &Path, name: &str, uncommitted: Option<Uncommitted>) -> Request {
    let member = name.replace(['/', '.'], "-");
    Request {
        from: from.to_owned(),
        slug: slug(name),
        owner: Owner {
            team: Some(TeamName::parse("demo").unwrap()),
            member: Some(MemberName::parse(&member).unwrap()),
            ..Owner::default()
        },
        process: this_process(),
        uncommitted,
        now: NOW,
        cancel: tokio_util::sync::CancellationToken::new(),
    }
}

/// Returns pid and start time of this process (`proc_pid_stat(5)`).
pub(crate) fn this_process() -> ProcessMark {
    let pid = std::process::id();
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let (_, after) = stat.rsplit_once(')').unwrap();
    ProcessMark {
        pid,
        start: after.split_ascii_whitespace().nth(19).unwrap().to_owned(),
    }
}

/// Asserts that a text or an error message contains `words`.
#[track_caller]
pub(crate) fn says(text: &dyn Display, words: &str) {
    let text = text.to_string();
    assert!(text.contains(words), "{text}");
}
