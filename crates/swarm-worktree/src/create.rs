//! Making a worktree, or taking up one that is there.

use std::path::{Path, PathBuf};

use swarm_os::{HandedLock, WORK_TREES, replace_alone};
use swarm_protocol::UnixMs;
use tokio_util::sync::CancellationToken;

use crate::git::fields;
use crate::heads::look_at;
use crate::places::Places;
use crate::record::short;
use crate::registration::{self, check};
use crate::repository::{LOCK_WAIT, Repository, unsuitable};
use crate::view::{self, Checkout};
use crate::{
    Base, Git, Owner, ProcessMark, Record, Slug, Stage, Uncommitted, WorktreeError,
    WorktreeSettings, carry, place, recover, snapshot, usage,
};

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// The caller's directory; the worktree is one of the repository that holds it.
    pub from: PathBuf,
    /// The name it shall go by.
    pub slug: Slug,
    /// Whose it will be.
    pub owner: Owner,
    /// The process that works in it, or starts who will.
    pub process: ProcessMark,
    /// What becomes of uncommitted changes; `None` is what the settings say.
    pub uncommitted: Option<Uncommitted>,
    /// The time.
    pub now: UnixMs,
    /// Falls when whoever asks waits no longer. What runs for as long as it likes is ended then; the rest takes its course,
    /// and is to be undone by whoever gets it.
    pub cancel: CancellationToken,
}

/// A worktree that can be worked in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Created {
    /// What is known of it.
    pub record: Record,
    /// Whether it was made now; otherwise it was there already.
    pub fresh: bool,
    /// The caller's directory, in the worktree.
    pub cwd: PathBuf,
    /// The branch that is checked out in it.
    pub branch: Option<String>,
    /// The commit that is checked out in it.
    pub head: String,
    /// What is worth knowing.
    pub notices: Vec<String>,
}

pub(crate) fn create(
    git: &Git,
    places: &Places,
    settings: &WorktreeSettings,
    request: &Request,
) -> Result<Created, WorktreeError> {
    let repository = Repository::find(git, places, &request.from)?;
    if repository.common.join("reftable").is_dir() {
        let why = "its refs are kept as tables (reftable), which swarm cannot read; `git refs migrate --ref-format=files` changes that";
        return Err(unsuitable(&repository.shown(), why));
    }
    let path = place::directory(&repository, settings)?.join(request.slug.directory());
    repository.make_own_directories()?;
    recover::half_made(&repository, Some(&request.slug))?;
    view::clear(&repository);
    let lock = HandedLock::take(&repository.slug_lock_path(&request.slug), LOCK_WAIT)?;
    let making = Making {
        repository: &repository,
        settings,
        request,
        path,
        lock: &lock,
    };
    let made = making.take_up_or_make();
    if made.is_err() && Record::load(&repository, &request.slug)?.is_none() {
        lock.retire();
    }
    made
}

struct Making<'a> {
    repository: &'a Repository,
    settings: &'a WorktreeSettings,
    request: &'a Request,
    path: PathBuf,
    lock: &'a HandedLock,
}

impl Making<'_> {
    fn take_up_or_make(&self) -> Result<Created, WorktreeError> {
        let there = Record::load(self.repository, &self.request.slug)?;
        match there {
            Some(record) if record.stage == Stage::Making => {
                // Its lock is ours, so its maker and all its programs are gone.
                recover::undo(self.repository, &record)?;
            }
            Some(record) if record.path.symlink_metadata().is_ok() => return self.take_up(record),
            Some(record) => self.forget_missing(&record)?,
            None => {}
        }
        self.make()
    }

    /// A worktree that was made before. Its files tell what it is; git is not run.
    fn take_up(&self, mut record: Record) -> Result<Created, WorktreeError> {
        let slug = self.request.slug.to_string();
        if let Some(by) = self.user_of(&record)? {
            return Err(WorktreeError::Taken { slug, by });
        }
        let seen = check(self.repository, &record)?;
        let head = seen.head.clone().ok_or_else(|| WorktreeError::Mismatch {
            path: record.path.clone(),
            why: "its commit cannot be told".to_owned(),
        })?;
        let same = record.owner.is_same_agent(&self.request.owner);
        if !same && seen.branch.as_ref() != Some(&record.branch) {
            let now = seen.branch.as_deref().unwrap_or("no branch");
            let why = format!(
                "it was left on {now} instead of {}; check that branch out there, or choose another name",
                record.branch
            );
            return Err(self.in_the_way(why));
        }
        record.owner = self.request.owner.clone();
        record.process = Some(self.request.process.clone());
        record.in_use = true;
        let locked = seen.git_dir.join("locked");
        replace_alone(&locked, record.lock_reason().as_bytes())?;
        record.save(self.repository)?;
        let mut notices = vec![format!(
            "{} was there already, with its work; it was made from {}",
            record.path.display(),
            record.base.describe()
        )];
        let here = look_at(&self.repository.top).and_then(|seen| seen.head);
        if let Some(here) = here.filter(|here| *here != record.base.sha && *here != head) {
            notices.push(format!(
                "your HEAD is {} now: it may lack what was committed since",
                short(&here)
            ));
        }
        Ok(self.created(record, false, seen.branch, head, notices))
    }

    /// A worktree whose directory somebody has removed. Its branch may still hold work.
    fn forget_missing(&self, record: &Record) -> Result<(), WorktreeError> {
        let lost = recover::commits_of_its_own(self.repository, record)?;
        if lost > 0 {
            let why = format!(
                "its directory is gone and its branch {} has {lost} commits that no other branch has; merge it, or delete it with `git branch -D {}`",
                record.branch, record.branch
            );
            return Err(self.in_the_way(why));
        }
        recover::forget(self.repository, record)
    }

    fn make(&self) -> Result<Created, WorktreeError> {
        let mut base = Base::of_checkout(self.repository)?;
        let target = base.branch.clone();
        let mut notices = self.uncommitted(&mut base)?;
        let mut record = Record {
            version: Record::VERSION,
            slug: self.request.slug.clone(),
            path: self.path.clone(),
            branch: self.request.slug.branch(),
            base,
            from: self.repository.top.clone(),
            target,
            owner: self.request.owner.clone(),
            created_at: self.request.now,
            stage: Stage::Making,
            in_use: true,
            process: Some(self.request.process.clone()),
            carried: Vec::new(),
            notices: Vec::new(),
            git_directory: None,
            git_settings: None,
            taken: None,
            taken_as: None,
            hooks_path: None,
            by_hook: false,
        };
        self.add(&record)?;
        let noted = registration::note(self.repository, &mut record);
        let filled = noted.and_then(|()| self.fill(&mut record));
        let seen = filled.and_then(|()| {
            record.stage = Stage::Ready;
            record.notices.splice(0..0, notices.drain(..));
            let seen = check(self.repository, &record)?;
            let as_made = seen.branch.as_ref() == Some(&record.branch)
                && seen.head.as_ref() == Some(&record.base.sha);
            if !as_made {
                return Err(WorktreeError::Mismatch {
                    path: record.path.clone(),
                    why: format!("it is not at {} on {}", record.base.sha, record.branch),
                });
            }
            record.save(self.repository)?;
            Ok(seen)
        });
        match seen {
            Ok(seen) => {
                let (head, notices) = (record.base.sha.clone(), record.notices.clone());
                Ok(self.created(record, true, seen.branch, head, notices))
            }
            Err(error) => {
                recover::undo(self.repository, &record)?;
                Err(error)
            }
        }
    }

    /// What becomes of changes that no commit holds.
    fn uncommitted(&self, base: &mut Base) -> Result<Vec<String>, WorktreeError> {
        let top = &self.repository.top;
        let files = changed_files(self.repository, top)?;
        if files.is_empty() {
            return Ok(Vec::new());
        }
        let wanted = self
            .request
            .uncommitted
            .unwrap_or(self.settings.uncommitted);
        match wanted {
            Uncommitted::Refuse => Err(WorktreeError::Uncommitted {
                checkout: top.clone(),
                files,
            }),
            Uncommitted::Leave => Ok(vec![format!(
                "uncommitted changes were left behind: {}",
                crate::hazard::named(&files)
            )]),
            Uncommitted::Snapshot => {
                if snapshot::has_conflicts(self.repository, top)? {
                    let why =
                        "a merge waits in it for its conflicts to be resolved; finish or abort it";
                    return Err(unsuitable(top, why));
                }
                let tree = snapshot::tree(self.repository, top, &[])?;
                let message = format!(
                    "Uncommitted changes at which {} began",
                    self.request.slug.branch()
                );
                let commit = snapshot::commit(self.repository, &tree, &[&base.sha], &message)?;
                base.snapshot_of = Some(std::mem::replace(&mut base.sha, commit));
                Ok(Vec::new())
            }
        }
    }

    /// Registers the worktree with git, empty, under the repository's lock: what git writes here is shared by all.
    fn add(&self, record: &Record) -> Result<(), WorktreeError> {
        let (repository, path) = (self.repository, &record.path);
        let lock = HandedLock::take(&repository.lock_path(), LOCK_WAIT)?;
        if path.symlink_metadata().is_ok() {
            let why = format!(
                "{} is there already and is no worktree of swarm; move it away, or choose another name",
                path.display()
            );
            return Err(self.in_the_way(why));
        }
        if repository.has_branch(&record.branch)? {
            let why = format!(
                "there is a branch {} already; delete it, or choose another name",
                record.branch
            );
            return Err(self.in_the_way(why));
        }
        let outer = path.parent().unwrap_or(path);
        std::fs::create_dir_all(outer).map_err(|source| WorktreeError::Read {
            path: outer.to_owned(),
            source,
        })?;
        place::exclude(repository, outer)?;
        if !outer.ends_with(WORK_TREES) {
            repository.places.enter(outer, &repository.common)?;
        }
        if record.base.snapshot_of.is_some() {
            let name = recover::snapshot_ref(&record.slug);
            let at = repository.common_git().changing().under(&lock);
            at.run(&["update-ref", &name, &record.base.sha])?;
        }
        record.save(repository)?;
        let added = self.register(record, &lock);
        drop(lock);
        if let Err(error) = added {
            recover::undo(repository, record)?;
            return Err(error);
        }
        Ok(())
    }

    fn register(&self, record: &Record, lock: &HandedLock) -> Result<(), WorktreeError> {
        let reason = record.lock_reason();
        let at = self.repository.checkout_git();
        let words = [
            "worktree".as_ref(),
            "add".as_ref(),
            // A branch that follows another writes to the configuration, which has a lock that nobody waits for.
            "--no-track".as_ref(),
            "--no-checkout".as_ref(),
            "--lock".as_ref(),
            "--reason".as_ref(),
            reason.as_ref(),
            "-b".as_ref(),
            record.branch.as_ref(),
            "--".as_ref(),
            record.path.as_os_str(),
            record.base.sha.as_ref(),
        ];
        at.changing().under(lock).run(&words)?;
        if !self.settings.sparse_paths.is_empty() {
            // Writes to the configuration, too.
            let mut words = vec!["sparse-checkout", "set", "--cone", "--"];
            words.extend(self.settings.sparse_paths.iter().map(String::as_str));
            let at = self.repository.at(&record.path);
            at.changing().under(lock).run(&words)?;
        }
        Ok(())
    }

    /// Checks the files out and brings along what git does not know. Only this worktree is written to, so many can be
    /// filled at a time.
    fn fill(&self, record: &mut Record) -> Result<(), WorktreeError> {
        let at = self.repository.at(&record.path);
        at.changing().under(self.lock).run(&[
            "reset",
            "--hard",
            "--quiet",
            "--no-recurse-submodules",
        ])?;
        carry::bring_along(self.repository, self.settings, record)
    }

    fn created(
        &self,
        record: Record,
        fresh: bool,
        branch: Option<String>,
        head: String,
        notices: Vec<String>,
    ) -> Created {
        let below = record.path.join(&self.repository.below);
        let cwd = if below.is_dir() {
            below
        } else {
            record.path.clone()
        };
        Created {
            cwd: cwd.components().collect(),
            record,
            fresh,
            branch,
            head,
            notices,
        }
    }

    fn user_of(&self, record: &Record) -> Result<Option<String>, WorktreeError> {
        let user = usage::user_of(record, &self.repository.places.occupants);
        user.map_err(|why| self.in_the_way(why))
    }

    fn in_the_way(&self, why: String) -> WorktreeError {
        WorktreeError::InTheWay {
            slug: self.request.slug.to_string(),
            why,
        }
    }
}

/// Paths of a checkout that differ from its commit, untracked ones included.
pub(crate) fn changed_files(
    repository: &Repository,
    checkout: &Path,
) -> Result<Vec<String>, WorktreeError> {
    let checkout = Checkout::at(repository, checkout)?;
    let out = checkout.git().run(&[
        "status",
        "--porcelain=v1",
        "-z",
        "--no-renames",
        "--untracked-files=normal",
        checkout.submodules(),
    ])?;
    let name =
        |field: &[u8]| String::from_utf8_lossy(field.get(3..).unwrap_or_default()).into_owned();
    Ok(fields(&out).map(name).collect())
}
