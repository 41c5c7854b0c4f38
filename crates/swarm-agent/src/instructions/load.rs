//! Finds instruction files in the order in which Claude Code loads them: managed policy, the
//! user's, and those of each directory from the root of the file system down.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use swarm_permissions::RuleFile;

use super::file::{InstructionKind, InstructionSources, Probes};
use super::layers::{Layer, Repository};
use super::reader::{LoadedInstructions, Reader};

/// The administrator's file, as in Claude Code.
pub const MANAGED_INSTRUCTIONS: &str = "/etc/claude-code/CLAUDE.md";

/// Most levels of directories below `rules`.
const RULE_DEPTH: usize = 8;

impl LoadedInstructions {
    /// Loads all instruction files for an agent that works in `cwd`.
    pub fn load(sources: &InstructionSources, cwd: &Path) -> Self {
        let repository = Repository::around(cwd);
        let layers = repository.layers(cwd);
        let mut reader = Reader::new(sources, &repository, HashSet::new());
        reader.loaded.problems = sources.settings.problems();
        reader.load_file(&sources.managed, InstructionKind::Managed);
        reader.load_file(&sources.root.join("CLAUDE.md"), InstructionKind::User);
        reader.load_rules(&sources.root.join("rules"), InstructionKind::User);
        for layer in &layers {
            reader.load_directory(layer);
        }
        reader.loaded
    }

    /// Loads the files of directories outside the path to the working directory, except known files
    /// (by canonical path).
    pub(super) fn of_directories(
        sources: &InstructionSources,
        repository: &Repository,
        dirs: &[PathBuf],
        known: HashSet<PathBuf>,
    ) -> Self {
        let mut reader = Reader::new(sources, repository, known);
        for dir in dirs {
            reader.load_directory(&repository.layer(dir));
        }
        reader.loaded
    }
}

impl Reader<'_> {
    /// Loads the files of one directory, its private file last.
    fn load_directory(&mut self, layer: &Layer) {
        let names = &self.sources.settings.files;
        let mut found = false;
        for name in names {
            found = found || self.load_either(layer, Path::new(name), InstructionKind::Project);
        }
        let own = Path::new(".claude");
        self.load_either(layer, &own.join("CLAUDE.md"), InstructionKind::Project);
        let rules = own.join("rules");
        for dir in [Some(&layer.dir), layer.main.as_ref()]
            .into_iter()
            .flatten()
        {
            if self.load_rules(&dir.join(&rules), InstructionKind::Project) {
                break;
            }
        }
        self.load_either(layer, Path::new("CLAUDE.local.md"), InstructionKind::Local);
    }

    /// Reads a file of a directory, or its counterpart in the main checkout if only that exists.
    /// Returns whether one exists.
    fn load_either(&mut self, layer: &Layer, name: &Path, kind: InstructionKind) -> bool {
        if self.load_file(&layer.dir.join(name), kind) {
            return true;
        }
        let main = layer.main.as_ref().map(|main| main.join(name));
        main.is_some_and(|main| self.load_file(&main, kind))
    }

    /// Reads a file. Returns whether it exists.
    fn load_file(&mut self, path: &Path, kind: InstructionKind) -> bool {
        let files = self.read(path, kind);
        self.loaded.files.extend(files);
        path.is_file()
    }

    /// Reads the rules below a directory. Returns whether it exists.
    fn load_rules(&mut self, dir: &Path, kind: InstructionKind) -> bool {
        let mut paths = Vec::new();
        markdown_below(dir, RULE_DEPTH, &mut self.loaded.probes, &mut paths);
        for path in paths {
            let mut files = self.read(&path, kind);
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
