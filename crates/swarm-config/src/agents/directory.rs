//! The Markdown files below a directory, with limits on depth, number and size.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Maximum nesting depth.
const DEPTH: usize = 16;
/// Maximum number of files per source.
const FILES: usize = 1_000;
/// Maximum size of one file in bytes.
const BYTES: u64 = 256 * 1024;

/// The files below a directory.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// Texts by path, sorted by path.
    pub(super) texts: Vec<(PathBuf, String)>,
    /// Unread files, with the reason.
    pub(super) problems: Vec<(PathBuf, String)>,
}

/// Reads the Markdown files below `directory`. A directory reached again through a link is skipped.
pub(super) fn read(directory: &Path) -> Files {
    let mut files = Files::default();
    let mut paths = Vec::new();
    walk(
        directory,
        0,
        &mut BTreeSet::new(),
        &mut paths,
        &mut files.problems,
    );
    paths.sort();
    if paths.len() > FILES {
        let what = format!(
            "has more than {FILES} files: move the unneeded ones, because the rest was not read"
        );
        files.problems.push((directory.to_owned(), what));
        paths.truncate(FILES);
    }
    for path in paths {
        match text(&path) {
            Ok(text) => files.texts.push((path, text)),
            Err(what) => files.problems.push((path, what)),
        }
    }
    files
}

fn walk(
    directory: &Path,
    depth: usize,
    seen: &mut BTreeSet<PathBuf>,
    paths: &mut Vec<PathBuf>,
    problems: &mut Vec<(PathBuf, String)>,
) {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    let is_new = directory.canonicalize().is_ok_and(|real| seen.insert(real));
    if !is_new {
        return;
    }
    if depth > DEPTH {
        let what = format!("is more than {DEPTH} directories deep and was not read");
        problems.push((directory.to_owned(), what));
        return;
    }
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => return,
        Err(error) => {
            problems.push((directory.to_owned(), format!("cannot be read: {error}")));
            return;
        }
    };
    let mut inner: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    inner.sort();
    for path in inner {
        // Follows links; pipes and devices are skipped.
        let Ok(found) = path.metadata() else { continue };
        if found.is_dir() {
            walk(&path, depth + 1, seen, paths, problems);
        } else if found.is_file() && path.extension().is_some_and(|end| end == "md") {
            paths.push(path);
        }
    }
}

fn text(path: &Path) -> Result<String, String> {
    let cannot = |error: std::io::Error| format!("cannot be read: {error}");
    let file = std::fs::File::open(path).map_err(cannot)?;
    let mut bytes = Vec::new();
    file.take(BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(cannot)?;
    if bytes.len() as u64 > BYTES {
        return Err(format!(
            "is larger than {} KiB, the limit for a definition",
            BYTES / 1024
        ));
    }
    String::from_utf8(bytes).map_err(|_| "is not UTF-8 text".to_owned())
}
