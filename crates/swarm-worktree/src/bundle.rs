//! Git bundles of commits, by which they reach other machines. A received bundle is not trusted: its
//! objects are checked in a temporary directory, and no ref is named by it.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

use uuid::Uuid;

use crate::git::{Call, words};
use crate::heads::is_object_id;
use crate::repository::Repository;
use crate::temporary::TemporaryDirectory;
use crate::uncommitted::TemporaryObjects;
use crate::{GitError, Result, WorktreeError};

/// Longest header of a bundle in bytes. It has a line for each commit that the receiver must have.
const HEADER: usize = 1 << 20;

impl Repository {
    /// Creates a bundle of the commits up to `tip` that `known` do not contain, of at most `limit`
    /// bytes.
    pub(crate) fn bundle(&self, tip: &str, known: &[String], limit: u64) -> Result<Vec<u8>> {
        self.create_own_directories()?;
        let directory = TemporaryDirectory::create(self)?;
        let path = directory.path().join("bundle");
        // A bundle needs a name for its commit, and that of a branch may move meanwhile.
        let name = format!("refs/swarm/outgoing/{}", Uuid::new_v4());
        let at = self.common_git().changing();
        at.run(&["update-ref", &name, tip])?;
        let known = known.iter().map(|commit| format!("^{commit}\n"));
        let revisions: String = std::iter::once(format!("{name}\n")).chain(known).collect();
        let words = words!["bundle", "create", "--quiet", &path, "--stdin"];
        let created = at.clone().reading(revisions.as_bytes()).run(words);
        let forgotten = at.run(&["update-ref", "-d", &name]);
        created?;
        forgotten?;
        read_limited(&path, limit)
    }

    /// Adds the objects of a bundle of one commit, if they are intact and complete and `check` passes,
    /// which gets a call that reads them. No ref changes.
    pub(crate) fn add_bundle(
        &self,
        bundle: &[u8],
        tip: &str,
        check: impl FnOnce(&Call<'_>) -> Result<(), BundleError>,
    ) -> Result<(), BundleError> {
        let header = Header::parse(bundle)
            .ok_or_else(|| refused("what was published is not a git bundle"))?;
        if header.tips != [tip] {
            return Err(refused("its bundle contains other commits than announced"));
        }
        for commit in &header.required {
            if !self.has_commit(commit)? {
                return Err(BundleError::Lacks(commit.clone()));
            }
        }
        self.create_own_directories()?;
        let objects = TemporaryObjects::create(self)?;
        let at = objects.git(self);
        let pack = bundle.get(header.length..).unwrap_or_default();
        let words = ["index-pack", "--stdin", "--fix-thin", "--strict"];
        if let (code, _, said) = at.clone().reading(pack).status(&words)?
            && code != Some(0)
        {
            tracing::warn!(said = %String::from_utf8_lossy(&said), "a bundle was refused");
            return Err(refused("its bundle is damaged"));
        }
        // Objects beyond the pack are those of the repository, which are complete.
        let complete = ["rev-list", "--objects", "--quiet", tip, "--not", "--all"];
        let is_complete = is_commit(&at, tip)? && at.status(&complete)?.0 == Some(0);
        if !is_complete {
            return Err(refused("its bundle is incomplete"));
        }
        check(&at)?;
        objects.keep(self)?;
        Ok(())
    }

    pub(crate) fn has_commit(&self, id: &str) -> Result<bool, GitError> {
        is_commit(&self.common_git(), id)
    }
}

/// Why a bundle was not added.
#[derive(Debug)]
pub(crate) enum BundleError {
    /// The repository lacks this commit, on which it builds.
    Lacks(String),
    /// It is unusable, for this reason: a clause about the branch.
    Refused(&'static str),
    Failed(WorktreeError),
}

impl<E: Into<WorktreeError>> From<E> for BundleError {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

fn refused(why: &'static str) -> BundleError {
    BundleError::Refused(why)
}

pub(crate) fn is_commit(at: &Call<'_>, id: &str) -> Result<bool, GitError> {
    let (code, out, _) = at.status(&["cat-file", "-t", id])?;
    Ok(code == Some(0) && out.trim_ascii() == b"commit")
}

fn read_limited(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let failed = WorktreeError::at(path);
    let bytes = fs::metadata(path).map_err(&failed)?.len();
    if bytes > limit {
        return Err(WorktreeError::BundleTooLarge { bytes, limit });
    }
    let mut content = Vec::new();
    let file = File::open(path).map_err(&failed)?;
    file.take(limit).read_to_end(&mut content).map_err(failed)?;
    Ok(content)
}

/// The header of a bundle, see gitformat-bundle(5).
#[derive(Debug, PartialEq, Eq)]
struct Header {
    /// Commits that the receiver must have.
    required: Vec<String>,
    /// Commits that the bundle has names for.
    tips: Vec<String>,
    /// Bytes before the pack.
    length: usize,
}

impl Header {
    fn parse(bundle: &[u8]) -> Option<Self> {
        let end = bundle.len().min(HEADER);
        let end = bundle[..end].windows(2).position(|pair| pair == b"\n\n")?;
        let text = std::str::from_utf8(&bundle[..end]).ok()?;
        let mut lines = text.lines();
        let version = lines.next()?;
        if !["# v2 git bundle", "# v3 git bundle"].contains(&version) {
            return None;
        }
        let mut header = Self {
            required: Vec::new(),
            tips: Vec::new(),
            length: end + 2,
        };
        for line in lines {
            // Other capabilities omit objects.
            if line.starts_with("@object-format=") {
                continue;
            }
            let required = line.strip_prefix('-');
            let id = required.unwrap_or(line).split(' ').next()?;
            if !is_object_id(id) {
                return None;
            }
            let list = match required {
                Some(_) => &mut header.required,
                None => &mut header.tips,
            };
            list.push(id.to_owned());
        }
        Some(header)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_that_is_not_understood_is_refused() {
        let id = "0123456789abcdef0123456789abcdef01234567";
        let header = format!("# v2 git bundle\n-{id} subject\n{id} refs/heads/a\n\nPACK");
        let parsed = Header::parse(header.as_bytes()).unwrap();
        assert_eq!(
            (parsed.required, parsed.tips.len()),
            (vec![id.to_owned()], 1)
        );
        assert_eq!(&header.as_bytes()[parsed.length..], b"PACK");
        for wrong in [
            String::new(),
            "# v2 git bundle\n".to_owned(),
            format!("# v4 git bundle\n{id} refs/heads/a\n\n"),
            format!("# v3 git bundle\n@filter=blob:none\n{id} refs/heads/a\n\n"),
            "# v2 git bundle\n--upload-pack=x refs/heads/a\n\n".to_owned(),
            "# v2 git bundle\nHEAD refs/heads/a\n\n".to_owned(),
        ] {
            assert_eq!(Header::parse(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
