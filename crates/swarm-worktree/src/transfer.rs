//! Repositories on their way to another machine: the commit that is checked out here becomes a
//! checkout there.

use std::path::{Path, PathBuf};

use swarm_os::{InheritableLock, ensure_private_dir};
use swarm_protocol::{Repository as SentRepository, word_list};

use crate::bundle::{BundleError, is_commit};
use crate::git::{Call, text};
use crate::heads::is_object_id;
use crate::record::{records_of, short};
use crate::repository::{LOCK_WAIT, Repository, unsuitable};
use crate::view::Checkout;
use crate::{Base, GitError, Record, Result, Uncommitted, WorktreeError, Worktrees};

/// Protocols by which a repository is fetched from its remote. Others can run programs.
const PROTOCOLS: [&str; 8] = word_list(
    "-c protocol.allow=never -c protocol.https.allow=always -c protocol.ssh.allow=always -c
    protocol.git.allow=always",
);

/// A commit for another machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// The commit, without the ID of a bundle.
    pub repository: SentRepository,
    /// A git bundle; `None` if the receiver has the commit, or is to fetch it from the remote.
    pub bundle: Option<Vec<u8>>,
}

/// A repository that was received. Others that are received wait until it is dropped.
#[derive(Debug)]
pub struct ReceivedRepository {
    /// Its checkout, at the commit.
    pub checkout: PathBuf,
    _lock: InheritableLock,
}

impl Worktrees {
    /// Returns the commit that is checked out in a directory for a machine that has the `known`
    /// commits; `None` outside of repositories. If the bundle exceeds `limit` bytes and the commit
    /// is on the remote `origin`, the receiver is to fetch it there.
    ///
    /// # Errors
    /// [`WorktreeError::Uncommitted`], unless the settings leave such changes out;
    /// [`WorktreeError::BundleTooLarge`].
    pub fn export(
        &self,
        directory: &Path,
        known: &[String],
        limit: u64,
    ) -> Result<Option<Exported>> {
        let repository = match Repository::find(self.git(), self.registry(), directory) {
            Err(WorktreeError::NoRepository(_)) => return Ok(None),
            found => found?,
        };
        let base = Base::of_checkout(&repository)?;
        let checkout = Checkout::at(&repository, &repository.top)?;
        let files = checkout.changed_files("--untracked-files=normal")?;
        if !files.is_empty() && self.settings().uncommitted != Uncommitted::Leave {
            let checkout = repository.top;
            return Err(WorktreeError::Uncommitted { checkout, files });
        }
        let mut wanted = SentRepository {
            root: root_of(&repository.common_git(), &base.sha)?,
            base: base.sha,
            branch: base.branch,
            remote: None,
            bundle: None,
        };
        let bundle = repository.bundle_beyond(&wanted.base, known, limit);
        let bundle = match bundle {
            Err(WorktreeError::BundleTooLarge { .. }) if repository.is_pushed(&wanted.base)? => {
                wanted.remote = repository.remote()?;
                match (&wanted.remote, bundle) {
                    (Some(_), _) => None,
                    (None, refused) => refused?,
                }
            }
            bundle => bundle?,
        };
        let repository = wanted;
        Ok(Some(Exported { repository, bundle }))
    }

    /// Creates or updates the repository of a received commit, below the directory `own`, with
    /// objects of `bundle`, of the checkout `here` or of its remote, and checks out the commit.
    ///
    /// # Errors
    /// If it cannot be used.
    pub fn receive(
        &self,
        own: &Path,
        wanted: &SentRepository,
        bundle: Option<&[u8]>,
        here: &Path,
    ) -> Result<ReceivedRepository> {
        let not_received = |why: &str| WorktreeError::not_received(short(&wanted.base), why);
        if !is_object_id(&wanted.root) || !is_object_id(&wanted.base) {
            return Err(not_received("it is not a commit ID"));
        }
        ensure_private_dir(own)?;
        let checkout = own.join(&wanted.root);
        let lock = InheritableLock::take(&own.join(format!("{}.lock", wanted.root)), LOCK_WAIT)?;
        let repository = self.open_received(&checkout, wanted)?;
        let branch = wanted.branch.as_deref().unwrap_or("received");
        let checked = repository.at(&checkout);
        let is_name = checked.status(&["check-ref-format", "--branch", branch])?.0 == Some(0);
        if !is_name || branch.starts_with('-') {
            return Err(not_received("its branch has an invalid name"));
        }
        if !repository.has_commit(&wanted.base)? {
            let added = self.add_objects(&repository, wanted, bundle, here);
            added.map_err(|error| match error {
                BundleError::Lacks(commit) => not_received(&format!(
                    "this machine lacks the commit {}, and no bundle has it",
                    short(&commit)
                )),
                BundleError::Refused(why) => not_received(why),
                BundleError::Failed(WorktreeError::Git(GitError::Failed { why, .. })) => {
                    not_received(&why)
                }
                BundleError::Failed(error) => error,
            })?;
        }
        let at = repository.at(&checkout).changing().under(&lock);
        // Keeps it for the next bundle, which builds on it.
        let kept = format!("refs/swarm/received/{}", wanted.base);
        at.run(&["update-ref", &kept, &wanted.base])?;
        let words = const {
            word_list::<7>("-c submodule.recurse=false checkout --quiet --force --no-track -B")
        };
        at.run(&[&words[..], &[branch, &wanted.base]].concat())?;
        Ok(ReceivedRepository {
            checkout,
            _lock: lock,
        })
    }

    /// Returns commits that this machine has, for [`Worktrees::export`] on another one: what is
    /// checked out in a directory, and what was received below the directory `own`.
    pub fn known_commits(&self, own: &Path, here: &Path) -> Vec<String> {
        let mut known = Vec::new();
        for checkout in checkouts_below(own) {
            let words = const {
                word_list::<3>("for-each-ref --format=%(objectname) refs/swarm/received/")
            };
            if let Ok(listed) = self.git().at(&checkout).line(&words) {
                known.extend(listed.lines().map(str::to_owned));
            }
        }
        known.extend(crate::seen(here).and_then(|seen| seen.head));
        known
    }

    fn open_received(&self, checkout: &Path, wanted: &SentRepository) -> Result<Repository> {
        if !checkout.join(".git").is_dir() {
            ensure_private_dir(checkout)?;
            let format = if wanted.root.len() == 64 {
                "sha256"
            } else {
                "sha1"
            };
            self.git().at(checkout).changing().run(&[
                "init",
                "--quiet",
                "--template=",
                &format!("--object-format={format}"),
            ])?;
        }
        let repository = Repository::find(self.git(), self.registry(), checkout)?;
        if repository.top == checkout {
            return Ok(repository);
        }
        Err(unsuitable(checkout, "it is part of another repository"))
    }

    fn add_objects(
        &self,
        repository: &Repository,
        wanted: &SentRepository,
        bundle: Option<&[u8]>,
        here: &Path,
    ) -> Result<(), BundleError> {
        let base = &wanted.base;
        if let Some(bundle) = bundle {
            self.add_head_of(repository, wanted, here)?;
            let check = |at: &Call<'_>| {
                if root_of(at, base)? == wanted.root {
                    return Ok(());
                }
                Err(BundleError::Refused("its bundle is of another repository"))
            };
            return repository.add_bundle(bundle, base, check);
        }
        let fetch = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head"];
        let at = repository.common_git().changing();
        let has_it = Repository::find(self.git(), self.registry(), here)
            .is_ok_and(|here| here.has_commit(base).unwrap_or(false));
        let mut words = Vec::new();
        let here = here.display().to_string();
        match &wanted.remote {
            _ if has_it => {
                words.extend(fetch);
                words.extend(["--", &here, base]);
            }
            Some(remote) => {
                words.extend(PROTOCOLS);
                words.extend(fetch);
                words.extend(["--", remote, base]);
            }
            None => return Err(BundleError::Lacks(base.clone())),
        }
        at.run(&words)?;
        if is_commit(&at, base)? && root_of(&at, base)? == wanted.root {
            return Ok(());
        }
        Err(BundleError::Refused(
            "it was fetched from another repository",
        ))
    }

    /// Fetches what is checked out in `here`, if it is the same repository: a bundle may build on
    /// it.
    fn add_head_of(
        &self,
        repository: &Repository,
        wanted: &SentRepository,
        here: &Path,
    ) -> Result<(), GitError> {
        let Some(head) = crate::seen(here).and_then(|seen| seen.head) else {
            return Ok(());
        };
        let at = repository.common_git().changing();
        let is_same = root_of(&self.git().at(here), &head).is_ok_and(|root| root == wanted.root);
        if !is_same || is_commit(&at, &head)? {
            return Ok(());
        }
        let fetch = const { word_list::<5>("fetch --quiet --no-tags --no-write-fetch-head --") };
        let from = here.display().to_string();
        let kept = format!("{head}:refs/swarm/received/{head}");
        at.run(&[&fetch[..], &[&from, &kept]].concat()).map(drop)
    }
}

impl Repository {
    /// Returns whether it was received from another machine.
    pub(crate) fn is_received(&self) -> Result<bool, GitError> {
        let words = ["for-each-ref", "--count=1", "refs/swarm/received/"];
        Ok(!self.common_git().line(&words)?.is_empty())
    }

    /// Creates a bundle of a commit for a machine that has the `known` commits; `None` if it has
    /// it.
    fn bundle_beyond(&self, commit: &str, known: &[String], limit: u64) -> Result<Option<Vec<u8>>> {
        let mut shared = Vec::new();
        for known in known.iter().filter(|known| is_object_id(known)) {
            if !self.has_commit(known)? {
                continue;
            }
            let at = self.common_git();
            if at.succeeds(&["merge-base", "--is-ancestor", commit, known])? {
                return Ok(None);
            }
            shared.push(known.clone());
        }
        self.bundle(commit, &shared, limit).map(Some)
    }

    /// Returns whether a branch of the remote `origin`, as last fetched or pushed, has a commit.
    fn is_pushed(&self, commit: &str) -> Result<bool, GitError> {
        let words = [
            "for-each-ref",
            "--count=1",
            "--contains",
            commit,
            "refs/remotes/origin/",
        ];
        Ok(!self.common_git().line(&words)?.is_empty())
    }

    /// Returns the URL of the remote `origin`, unless it contains a password.
    fn remote(&self) -> Result<Option<String>, GitError> {
        let (code, url, _) = self.common_git().status(&["remote", "get-url", "origin"])?;
        let url = text(&url).trim().to_owned();
        let has_password = url.starts_with("http") && url.contains('@');
        Ok((code == Some(0) && !has_password).then_some(url))
    }
}

/// Returns the records of the worktrees of the repositories that were received below the directory
/// `own`. Unreadable ones are skipped.
pub fn received_worktrees(own: &Path) -> Vec<Record> {
    let checkouts = checkouts_below(own).into_iter();
    let listed = checkouts.filter_map(|checkout| {
        let records = records_of(&checkout.join(".git"));
        Record::all_in(&records).ok()
    });
    listed.flat_map(|(records, _damaged)| records).collect()
}

/// Returns the checkouts of received repositories below the directory `own`.
fn checkouts_below(own: &Path) -> Vec<PathBuf> {
    let names = swarm_os::names_in(own).ok().flatten().unwrap_or_default();
    let directories = names.into_iter().map(|name| own.join(name));
    directories
        .filter(|directory| directory.join(".git").is_dir())
        .collect()
}

/// Returns the oldest root commit of the history of a commit, which identifies its repository.
fn root_of(at: &Call<'_>, commit: &str) -> Result<String, GitError> {
    let roots = at.line(&["rev-list", "--max-parents=0", commit])?;
    Ok(roots.lines().last().unwrap_or_default().to_owned())
}
