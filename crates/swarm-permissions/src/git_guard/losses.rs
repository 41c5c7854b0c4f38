//! Commands that discard uncommitted work, which in a shared checkout may belong to other members,
//! and what must be known about the repository.

use super::options::Options;

/// The work that a command would discard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Loss {
    /// Changes of tracked files below these paths; all if empty.
    Changes(Vec<String>),
    /// Untracked files, as found by `git clean` with these arguments.
    Unknown(Vec<String>),
    /// The file or directory at this path.
    Replaced(String),
}

/// Returns the work that a command would discard, if any.
pub(super) fn loss(command: &str, rest: &[String]) -> Option<Loss> {
    let options = Options::of(command, rest);
    if options.has(&["-h", "--help"]) {
        return None;
    }
    let all = || owned(options.words());
    let chooses = options.has(&["-p", "--patch"]);
    let forced = options.may_have(&["-f", "--force"]);
    let dry = options.has(&["-n", "--dry-run"]);
    match command {
        "reset" => {
            let files = options.may_have(&["--hard"]) || options.may_have(&["--merge"]);
            files.then_some(Loss::Changes(Vec::new()))
        }
        "clean" => (!dry).then(|| {
            let same = ["-n", "--dry-run", "-q", "--quiet", "-i", "--interactive"];
            Loss::Unknown(options.without(&same))
        }),
        "rm" => (forced && !dry && !options.has(&["--cached"])).then(|| Loss::Changes(all())),
        "mv" => {
            let there = options.words().last().filter(|_| forced && !dry)?;
            Some(Loss::Replaced((*there).to_owned()))
        }
        "restore" => {
            let files = options.may_have(&["-W", "--worktree"]);
            let index = options.has(&["-S", "--staged"]);
            ((files || !index) && !chooses).then(|| Loss::Changes(all()))
        }
        "checkout" if !chooses => {
            let paths = owned(options.after_end().unwrap_or(options.words()));
            let sweeps = forced || options.may_have(&["--pathspec-from-file"]);
            (sweeps || !paths.is_empty()).then_some(Loss::Changes(paths))
        }
        "read-tree" => {
            let files = options.has(&["-u"]) && options.may_have(&["--reset"]);
            (files && !dry).then_some(Loss::Changes(Vec::new()))
        }
        "checkout-index" => {
            let sweeps = options.may_have(&["-a", "--all"]) || options.may_have(&["--stdin"]);
            let paths = if sweeps { Vec::new() } else { all() };
            (forced && (sweeps || !paths.is_empty())).then_some(Loss::Changes(paths))
        }
        _ => None,
    }
}

impl Loss {
    /// Returns whether work would be lost that the command does not name file by file.
    pub(super) fn is_real(&self, facts: &dyn GitFacts) -> bool {
        match self {
            Self::Changes(paths) if paths.is_empty() => facts.has_changes(&[]),
            Self::Changes(paths) => {
                let is_commit = |word: &&String| facts.is_commit(word) && !facts.is_path(word);
                let mut named = paths.iter().filter(|word| !is_commit(word));
                !named.all(|path| facts.is_file(path)) && facts.has_changes(paths)
            }
            Self::Unknown(arguments) => facts.would_clean(arguments),
            // Overwriting is not explicit, so a single file is sufficient.
            Self::Replaced(path) => {
                let unknown = ["-x", "--", path].map(str::to_owned);
                facts.has_changes(std::slice::from_ref(path)) || facts.would_clean(&unknown)
            }
        }
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The location that a git command affects, relative to the member's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitPlace {
    /// The member's own worktree.
    OwnTree,
    /// A shared checkout: the main one or another member's.
    SharedTree,
    /// A repository unrelated to the team.
    Elsewhere,
}

/// The facts needed to judge a git command.
pub trait GitFacts {
    /// Returns the affected location.
    fn place(&self) -> GitPlace;
    /// Returns whether a word names a commit in it.
    fn is_commit(&self, word: &str) -> bool;
    /// Returns whether a word names a path in it.
    fn is_path(&self, word: &str) -> bool;
    /// Returns whether a word names a single tracked file, as opposed to a directory or pattern.
    fn is_file(&self, word: &str) -> bool;
    /// Returns whether tracked files below these paths have uncommitted changes; an empty list
    /// means all.
    fn has_changes(&self, paths: &[String]) -> bool;
    /// Returns whether `git clean` with these arguments would remove anything. The arguments
    /// contain no quiet, interactive or dry-run option.
    fn would_clean(&self, arguments: &[String]) -> bool;
    /// Returns whether the command runs in the agent's sandbox.
    fn sandboxed(&self) -> bool;
    /// Returns the expansion of an alias.
    fn alias(&self, word: &str) -> Option<String>;
}
