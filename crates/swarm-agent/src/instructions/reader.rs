//! Reads instruction files with their imports.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use swarm_os::read_beginning;
use swarm_permissions::imports;

use super::file::{InstructionFile, InstructionKind, InstructionSources, Probes};
use super::layers::Repository;

/// Most bytes of one file.
const MAX_BYTES: u64 = 256 * 1024;

/// Most bytes of all files together.
const MAX_TOTAL: u64 = 1024 * 1024;

/// Most levels of imports, as in Claude Code.
const MAX_DEPTH: usize = 5;

/// The instruction files of a working directory.
#[derive(Debug, Default)]
pub struct LoadedInstructions {
    /// Files that always apply, in the order in which a model reads them.
    pub files: Vec<InstructionFile>,
    /// Rules that apply once a matching file is touched.
    pub conditional: Vec<InstructionFile>,
    /// Files that were not read, each with the reason.
    pub problems: Vec<String>,
    pub(super) probes: Probes,
}

/// Reads each file at most once.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    pub(super) sources: &'a InstructionSources,
    repository: &'a Repository,
    /// Canonical paths of the files read so far.
    seen: HashSet<PathBuf>,
    /// Bytes read so far.
    total: u64,
    pub(super) loaded: LoadedInstructions,
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        sources: &'a InstructionSources,
        repository: &'a Repository,
        seen: HashSet<PathBuf>,
    ) -> Self {
        Self {
            sources,
            repository,
            seen,
            total: 0,
            loaded: LoadedInstructions::default(),
        }
    }

    /// Reads a file followed by its imports. Returns nothing if the file does not exist, is
    /// excluded, or was read before.
    pub(super) fn read(&mut self, path: &Path, kind: InstructionKind) -> Vec<InstructionFile> {
        let mut files = Vec::new();
        self.read_into(path, kind, None, &mut files);
        files
    }

    fn read_into(
        &mut self,
        path: &Path,
        kind: InstructionKind,
        imported_by: Option<&Path>,
        files: &mut Vec<InstructionFile>,
    ) {
        self.loaded.probes.add(path);
        let Some(text) = self.text(path, kind, imported_by) else {
            return;
        };
        let depth = chain_length(imported_by, files);
        let mut imported = imports(&text);
        if depth >= MAX_DEPTH && !imported.is_empty() {
            self.problem(
                path,
                &format!("is imported over {MAX_DEPTH} levels: its imports are not read"),
            );
            imported.clear();
        }
        files.push(InstructionFile {
            path: path.to_owned(),
            kind,
            text,
            imported_by: imported_by.map(Path::to_owned),
            paths: Vec::new(),
        });
        for import in imported {
            let target = self.resolve(&import, path);
            if !target.exists() && is_explicit(&import) {
                self.loaded.probes.add(&target);
                self.loaded.problems.push(format!(
                    "{} imports {import}, which does not exist",
                    path.display()
                ));
                continue;
            }
            self.read_into(&target, kind, Some(path), files);
        }
    }

    /// Returns the text of a file that may be read and was not read before.
    fn text(
        &mut self,
        path: &Path,
        kind: InstructionKind,
        imported_by: Option<&Path>,
    ) -> Option<String> {
        let metadata = fs::metadata(path).ok()?;
        if !metadata.is_file() {
            if !metadata.is_dir() {
                self.problem(path, "is not a regular file");
            }
            return None;
        }
        let canonical = path.canonicalize().ok()?;
        let excluded = |path: &Path| self.sources.settings.excludes(path);
        if excluded(path) || excluded(&canonical) || self.seen.contains(&canonical) {
            return None;
        }
        if self.sources.unreadable.hides(&canonical) || self.sources.unreadable.hides(path) {
            self.problem(path, "is not read: a deny rule covers it");
            return None;
        }
        if !self.may_read(&canonical, path, kind, imported_by) {
            self.problem(
                path,
                "is outside the repository and is not read unless you trust the repository (`swarm trust`)",
            );
            return None;
        }
        let bytes = match beginning(&canonical, kind) {
            Ok(bytes) => bytes,
            Err(error) => {
                self.problem(path, &format!("cannot be read: {error}"));
                return None;
            }
        };
        if self.total + bytes.len() as u64 > MAX_TOTAL {
            self.problem(
                path,
                &format!("is not read: instruction files exceed {MAX_TOTAL} bytes in total"),
            );
            return None;
        }
        self.total += bytes.len() as u64;
        if bytes.contains(&0) {
            self.problem(path, "is not a text file");
            return None;
        }
        self.seen.insert(canonical);
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_start_matches('\u{feff}').trim();
        (!text.is_empty()).then(|| with_cut_note(text, metadata.len()))
    }

    /// Returns whether a file may be read. The user's files may import any file. Files of a
    /// repository may only import files inside it unless it is trusted, through imports and
    /// symbolic links alike.
    fn may_read(
        &self,
        canonical: &Path,
        path: &Path,
        kind: InstructionKind,
        imported_by: Option<&Path>,
    ) -> bool {
        if matches!(kind, InstructionKind::Managed | InstructionKind::User) {
            return true;
        }
        let real = |path: &Path| path.canonicalize().ok();
        let mut tops = self.repository.tops().filter_map(|top| real(top));
        let trusted = self.sources.settings.trusted.as_ref();
        let in_place = || {
            let dir = path.parent().and_then(real);
            imported_by.is_none() && dir.is_some_and(|dir| canonical.starts_with(dir))
        };
        tops.any(|top| canonical.starts_with(&top) || trusted == Some(&top)) || in_place()
    }

    fn resolve(&self, import: &str, from: &Path) -> PathBuf {
        match (import.strip_prefix("~/"), &self.sources.home) {
            (Some(below), Some(home)) => home.join(below),
            _ => from.parent().unwrap_or(from).join(import),
        }
    }

    fn problem(&mut self, path: &Path, what: &str) {
        let problem = format!("{} {what}", path.display());
        self.loaded.problems.push(problem);
    }
}

/// Returns the import depth of a file that is imported by `imported_by`.
fn chain_length<'a>(mut imported_by: Option<&'a Path>, files: &'a [InstructionFile]) -> usize {
    let mut length = 0;
    while let Some(path) = imported_by {
        length += 1;
        let file = files.iter().find(|file| file.path == path);
        imported_by = file.and_then(|file| file.imported_by.as_deref());
    }
    length
}

/// Returns whether a word after `@` is certainly a path: `@alice` may be a person.
fn is_explicit(import: &str) -> bool {
    ["./", "../", "~/", "/"]
        .iter()
        .any(|beginning| import.starts_with(beginning))
        || Path::new(import).extension().is_some_and(|end| end == "md")
}

/// Reads the beginning of a file. Files of other users are not read, because anyone could have
/// placed one above a repository, except for the administrator's file.
fn beginning(path: &Path, kind: InstructionKind) -> Result<Vec<u8>, String> {
    if kind != InstructionKind::Managed {
        let read = read_beginning(path, MAX_BYTES).map_err(|error| error.to_string())?;
        return Ok(read.unwrap_or_default());
    }
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut bytes));
    read.map_err(|error| error.to_string())?;
    Ok(bytes)
}

/// Adds a note to the text of a file that was cut.
fn with_cut_note(text: &str, length: u64) -> String {
    if length <= MAX_BYTES {
        return text.to_owned();
    }
    format!("{text}\n[cut here: the file has {length} bytes; read it for the rest]")
}
