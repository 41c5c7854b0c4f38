//! The instructions that an agent's conversation contains, and announcements of changes.

use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use swarm_permissions::RuleFile;
use swarm_protocol::defang;

use super::file::{InstructionFile, InstructionSources, LoadedFile, Probes};
use super::layers::Repository;
use super::reader::LoadedInstructions;

const FIRST: &str = "Instructions of the user and of the project follow, from the general to the specific. They take \
                     precedence over your default behavior: follow them exactly. If two of them contradict each \
                     other, the later one wins.";
const CHANGED: &str = "Instruction files have changed. The following replaces the earlier content.";
const TOUCHED: &str = "These instructions apply to files that you have just used.";

/// Directories that belong to dependencies or to git.
const EXCLUDED: [&str; 2] = [".git", "node_modules"];

/// The instructions of one agent's conversation.
#[derive(Debug)]
pub(crate) struct Instructions {
    sources: Arc<InstructionSources>,
    cwd: PathBuf,
    repository: Repository,
    /// The text of each file that the conversation contains, by path; `None` until the first read.
    announced: Option<HashMap<PathBuf, String>>,
    /// Rules that apply once a matching file is touched.
    conditional: Vec<InstructionFile>,
    /// Directories that were searched because a file in them was touched.
    searched: HashSet<PathBuf>,
    probes: Probes,
    problems: Vec<String>,
    /// The load reason of the first read, for hooks.
    first_reason: &'static str,
    /// Files that are in the conversation but were not reported to hooks yet.
    loaded: Vec<LoadedFile>,
}

/// An announcement for the model, and notices for the person.
#[derive(Debug)]
pub(crate) struct News {
    pub(crate) text: Option<String>,
    pub(crate) notices: Vec<String>,
}

impl Instructions {
    pub(crate) fn new(sources: Arc<InstructionSources>, cwd: &Path) -> Self {
        // Tools report touched files without symbolic links.
        let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
        Self {
            sources,
            repository: Repository::around(&cwd),
            cwd,
            announced: None,
            conditional: Vec::new(),
            searched: HashSet::new(),
            probes: Probes::default(),
            problems: Vec::new(),
            first_reason: "session_start",
            loaded: Vec::new(),
        }
    }

    /// Returns the instructions for a conversation that was compacted.
    pub(crate) fn after_compaction(self) -> Self {
        Self {
            first_reason: "compact",
            ..self
        }
    }

    /// Returns the files added to the conversation since the last call, for hooks.
    pub(crate) fn take_loaded(&mut self) -> Vec<LoadedFile> {
        std::mem::take(&mut self.loaded)
    }

    /// Discards the known texts, because the conversation may have lost them. The next read
    /// compares the files with the conversation.
    pub(crate) fn forget(&mut self) {
        self.announced = None;
    }

    /// Returns the announcement before the next input. `said` returns whether the conversation
    /// already contains a text, which is the case if it was resumed or forked.
    pub(crate) fn news(&mut self, is_first: bool, said: impl Fn(&str) -> bool) -> Option<News> {
        if self.announced.is_some() && !self.probes.changed() {
            return None;
        }
        let mut loaded = LoadedInstructions::load(&self.sources, &self.cwd);
        let dirs: Vec<PathBuf> = self.searched.iter().cloned().collect();
        let known = canonical(&loaded.files);
        let nested =
            LoadedInstructions::of_directories(&self.sources, &self.repository, &dirs, known);
        let before = self.announced.take();
        let is_first_read = before.is_none();
        let (mut announced, mut fresh) = (HashMap::new(), Vec::new());
        // A nested file or a rule is announced only if the conversation contains an older version.
        let later = nested.files.iter().chain(&loaded.conditional);
        let later = later.filter(|file| {
            let before = before.as_ref();
            before.is_some_and(|announced| announced.contains_key(&file.path))
        });
        for file in loaded.files.iter().chain(later) {
            let is_known = match &before {
                Some(announced) => announced.get(&file.path) == Some(&file.text),
                None => !is_first && said(&defang(&file.text)),
            };
            if !is_known {
                fresh.push(file.clone());
            }
            announced.insert(file.path.clone(), file.text.clone());
        }
        let gone: Vec<PathBuf> = before
            .into_iter()
            .flatten()
            .map(|(path, _)| path)
            .filter(|path| !announced.contains_key(path))
            .collect();
        let mut probes = std::mem::take(&mut loaded.probes);
        probes.extend(nested.probes);
        self.probes = probes;
        self.announced = Some(announced);
        self.conditional = loaded.conditional;
        let mut notices = self.new_problems(loaded.problems);
        if fresh.is_empty() && gone.is_empty() {
            return (!notices.is_empty()).then_some(News {
                text: None,
                notices,
            });
        }
        let reason = if is_first_read {
            self.first_reason
        } else {
            "change"
        };
        let loaded = fresh.iter().map(|file| LoadedFile::new(file, reason));
        self.loaded.extend(loaded);
        let heading = if is_first { FIRST } else { CHANGED };
        notices.push(summary(
            if is_first { "read" } else { "changed" },
            &fresh,
            &gone,
        ));
        Some(News {
            text: Some(reminder(heading, &fresh, &gone)),
            notices,
        })
    }

    /// Returns the instructions that apply to touched files and were not announced before.
    pub(crate) fn touched(
        &mut self,
        paths: &[PathBuf],
        said: impl Fn(&str) -> bool,
    ) -> Option<News> {
        let known = self.announced.as_ref()?;
        let dirs = self.unsearched(paths);
        let mut seen: HashSet<PathBuf> = known.keys().filter_map(real).collect();
        seen.extend(self.conditional.iter().filter_map(|file| real(&file.path)));
        let loaded =
            LoadedInstructions::of_directories(&self.sources, &self.repository, &dirs, seen);
        let (root, repository) = (&self.sources.root, &self.repository);
        let applies = |file: &InstructionFile, path: &Path| {
            let base = rule_base(file, root, repository);
            let below = path.strip_prefix(base).ok();
            below.is_some_and(|below| RuleFile::applies_to(&file.paths, below))
        };
        self.searched.extend(dirs);
        self.conditional.extend(loaded.conditional);
        let matching = |file: &InstructionFile| paths.iter().any(|path| applies(file, path));
        let (now, wait) = std::mem::take(&mut self.conditional)
            .into_iter()
            .partition(matching);
        self.conditional = wait;
        let mut fresh = loaded.files;
        fresh.extend::<Vec<InstructionFile>>(now);
        let announced = self.announced.get_or_insert_default();
        for file in &fresh {
            announced.insert(file.path.clone(), file.text.clone());
        }
        // The same text in another checkout, or from before a restart, is not announced again.
        fresh.retain(|file| !said(&defang(&file.text)));
        self.loaded.extend(fresh.iter().map(|file| {
            let near = |path: &Path| match file.path.parent() {
                Some(directory) if file.paths.is_empty() => path.starts_with(directory),
                _ => applies(file, path),
            };
            LoadedFile::touched(file, paths, near)
        }));
        self.probes.extend(loaded.probes);
        let mut notices = self.new_problems(loaded.problems);
        if !fresh.is_empty() {
            notices.push(summary("read", &fresh, &[]));
        }
        (!notices.is_empty()).then(|| News {
            text: (!fresh.is_empty()).then(|| reminder(TOUCHED, &fresh, &[])),
            notices,
        })
    }

    /// Returns the directories of touched files that are not above the working directory and were
    /// not searched yet, outermost first.
    fn unsearched(&self, paths: &[PathBuf]) -> Vec<PathBuf> {
        let mut dirs: Vec<PathBuf> = Vec::new();
        for path in paths {
            let dir = if path.is_dir() {
                Some(&**path)
            } else {
                path.parent()
            };
            let Some(dir) = dir.filter(|dir| dir.starts_with(&self.repository.top)) else {
                continue;
            };
            let is_excluded =
                |part: Component<'_>| EXCLUDED.iter().any(|name| part.as_os_str() == *name);
            let below = dir.strip_prefix(&self.repository.top).unwrap_or(dir);
            if below.components().any(is_excluded) {
                continue;
            }
            let inside = dir
                .ancestors()
                .take_while(|dir| dir.starts_with(&self.repository.top));
            for dir in inside {
                let is_new = !self.cwd.starts_with(dir) && !self.searched.contains(dir);
                if is_new && !dirs.iter().any(|known| known == dir) {
                    dirs.push(dir.to_owned());
                }
            }
        }
        dirs.sort_by_key(|dir| dir.components().count());
        dirs
    }

    /// Returns the problems that were not reported to the person yet.
    fn new_problems(&mut self, problems: Vec<String>) -> Vec<String> {
        let fresh: Vec<String> = problems
            .into_iter()
            .filter(|problem| !self.problems.contains(problem))
            .collect();
        self.problems.extend(fresh.iter().cloned());
        fresh
            .into_iter()
            .map(|problem| format!("instructions: {problem}"))
            .collect()
    }
}

/// Returns the directory to which the patterns of a rule are relative: the parent of `.claude`, or
/// the repository for the user's rules.
fn rule_base<'a>(file: &'a InstructionFile, root: &Path, repository: &'a Repository) -> &'a Path {
    if file.path.starts_with(root.join("rules")) {
        return &repository.top;
    }
    let own = file.path.ancestors().find(|dir| dir.ends_with(".claude"));
    own.and_then(Path::parent).unwrap_or(&repository.top)
}

fn real(path: impl AsRef<Path>) -> Option<PathBuf> {
    path.as_ref().canonicalize().ok()
}

fn canonical(files: &[InstructionFile]) -> HashSet<PathBuf> {
    files.iter().filter_map(|file| real(&file.path)).collect()
}

fn section(file: &InstructionFile) -> String {
    let what = file.kind.description();
    let text = defang(&file.text);
    format!("Contents of {} ({what}):\n\n{text}\n", file.path.display())
}

fn reminder(heading: &str, files: &[InstructionFile], gone: &[PathBuf]) -> String {
    let gone = gone
        .iter()
        .map(|path| format!("{} no longer applies.\n", path.display()));
    let parts: Vec<String> = files.iter().map(section).chain(gone).collect();
    let parts = parts.join("\n");
    format!("<system-reminder>\n{heading}\n\n{parts}</system-reminder>")
}

/// Returns a notice for the person.
fn summary(verb: &str, files: &[InstructionFile], gone: &[PathBuf]) -> String {
    let name = |path: &Path| {
        let name = path.file_name().unwrap_or(path.as_os_str());
        name.to_string_lossy().into_owned()
    };
    let chars: usize = files.iter().map(|file| file.text.chars().count()).sum();
    let mut names: Vec<String> = files.iter().map(|file| name(&file.path)).collect();
    names.extend(gone.iter().map(|path| format!("{} (removed)", name(path))));
    format!(
        "instructions {verb}: {} ({chars} characters; `swarm instructions` lists the files)",
        names.join(", ")
    )
}
