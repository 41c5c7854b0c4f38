//! Finds instruction files in the order in which Claude Code loads them: managed policy, the
//! user's, and those of each directory from the root of the file system down.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use swarm_permissions::RuleFile;

use super::file::{InstructionFile, InstructionKind, InstructionSources};
use super::layers::{Layer, Repository};
use super::probe::Probes;
use super::reader::Reader;

/// The administrator's file, as in Claude Code.
pub const MANAGED_INSTRUCTIONS: &str = "/etc/claude-code/CLAUDE.md";

/// Most levels of directories below `rules`.
const RULE_DEPTH: usize = 8;

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

impl LoadedInstructions {
    /// Loads all instruction files for an agent that works in `cwd`.
    pub fn load(sources: &InstructionSources, cwd: &Path) -> Self {
        let repository = Repository::around(cwd);
        let layers = repository.layers(cwd);
        let mut loader = Loader::new(sources, &repository, HashSet::new());
        loader.loaded.problems = sources.settings.problems();
        loader.file(&sources.managed, InstructionKind::Managed);
        loader.file(&sources.root.join("CLAUDE.md"), InstructionKind::User);
        loader.rules(&sources.root.join("rules"), InstructionKind::User);
        for layer in &layers {
            loader.directory(layer);
        }
        loader.finish()
    }

    /// Loads the files of directories outside the path to the working directory, except known files
    /// (by canonical path).
    pub(super) fn of_directories(
        sources: &InstructionSources,
        repository: &Repository,
        dirs: &[PathBuf],
        known: HashSet<PathBuf>,
    ) -> Self {
        let mut loader = Loader::new(sources, repository, known);
        for dir in dirs {
            loader.directory(&repository.layer(dir));
        }
        loader.finish()
    }
}

struct Loader<'a> {
    reader: Reader<'a>,
    loaded: LoadedInstructions,
}

impl<'a> Loader<'a> {
    fn new(
        sources: &'a InstructionSources,
        repository: &'a Repository,
        seen: HashSet<PathBuf>,
    ) -> Self {
        Self {
            reader: Reader {
                sources,
                repository,
                seen,
                total: 0,
                probes: Probes::default(),
                problems: Vec::new(),
            },
            loaded: LoadedInstructions::default(),
        }
    }

    /// Loads the files of one directory, its private file last.
    fn directory(&mut self, layer: &Layer) {
        let names = &self.reader.sources.settings.files;
        let mut found = false;
        for name in names {
            found = found || self.file_of(layer, Path::new(name), InstructionKind::Project);
        }
        let own = Path::new(".claude");
        self.file_of(layer, &own.join("CLAUDE.md"), InstructionKind::Project);
        let rules = own.join("rules");
        for dir in [Some(&layer.dir), layer.main.as_ref()]
            .into_iter()
            .flatten()
        {
            if self.rules(&dir.join(&rules), InstructionKind::Project) {
                break;
            }
        }
        self.file_of(layer, Path::new("CLAUDE.local.md"), InstructionKind::Local);
    }

    /// Reads a file of a directory, or its counterpart in the main checkout if only that exists.
    /// Returns whether one exists.
    fn file_of(&mut self, layer: &Layer, name: &Path, kind: InstructionKind) -> bool {
        if self.file(&layer.dir.join(name), kind) {
            return true;
        }
        let main = layer.main.as_ref().map(|main| main.join(name));
        main.is_some_and(|main| self.file(&main, kind))
    }

    /// Reads a file. Returns whether it exists.
    fn file(&mut self, path: &Path, kind: InstructionKind) -> bool {
        let files = self.reader.read(path, kind);
        self.loaded.files.extend(files);
        path.is_file()
    }

    /// Reads the rules below a directory. Returns whether it exists.
    fn rules(&mut self, dir: &Path, kind: InstructionKind) -> bool {
        let mut paths = Vec::new();
        markdown_below(dir, RULE_DEPTH, &mut self.reader.probes, &mut paths);
        for path in paths {
            let mut files = self.reader.read(&path, kind);
            let Some(first) = files.first_mut() else {
                continue;
            };
            let rule = RuleFile::parse(&first.text);
            first.text = rule.body;
            if rule.paths.is_empty() {
                self.loaded.files.extend(files);
            } else {
                for file in &mut files {
                    file.paths.clone_from(&rule.paths);
                }
                self.loaded.conditional.extend(files);
            }
        }
        dir.is_dir()
    }

    fn finish(mut self) -> LoadedInstructions {
        self.loaded.problems.append(&mut self.reader.problems);
        self.loaded.probes = self.reader.probes;
        self.loaded
    }
}

/// Collects the Markdown files below a directory in name order. Symbolic links to directories are
/// followed up to `depth` levels.
fn markdown_below(dir: &Path, depth: usize, probes: &mut Probes, found: &mut Vec<PathBuf>) {
    probes.add(dir);
    let Ok(entries) = fs::read_dir(dir) else {
        return;
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            if depth > 1 {
                markdown_below(&path, depth - 1, probes, found);
            }
        } else if path.extension().is_some_and(|end| end == "md") {
            found.push(path);
        }
    }
}
