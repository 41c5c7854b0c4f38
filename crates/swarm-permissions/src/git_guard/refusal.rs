//! What is refused, and what is said then.

use super::line::GitLine;
use super::losses::{Loss, loss};
use super::options::Options;

/// Where a git command would act, seen from the work of the member that gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitPlace {
    /// A worktree that is the member's alone.
    OwnTree,
    /// A checkout that others use too, the main one or another's.
    SharedTree,
    /// A repository that has nothing to do with the team's.
    Elsewhere,
}

/// What a guarded command needs to be known about.
pub trait GitFacts {
    /// Where it acts.
    fn place(&self) -> GitPlace;
    /// Whether a word names a commit in it.
    fn is_commit(&self, word: &str) -> bool;
    /// Whether a word names a path in it.
    fn is_path(&self, word: &str) -> bool;
    /// Whether a word names one file in it that git tracks, and not a directory or a pattern.
    fn is_file(&self, word: &str) -> bool;
    /// Whether tracked files below these paths differ from the commit; none named is all.
    fn has_changes(&self, paths: &[String]) -> bool;
    /// Whether `git clean` with these arguments would remove anything. None of them is one that makes it quiet, ask or
    /// only tell.
    fn would_clean(&self, arguments: &[String]) -> bool;
    /// Whether the command runs in the sandbox of its agent.
    fn sandboxed(&self) -> bool;
    /// What an alias stands for, if the word is one.
    fn alias(&self, word: &str) -> Option<String>;
}

/// Commands that need no look at anything, since they are neither refused nor aliases.
const PLAIN: [&str; 20] = [
    "add",
    "blame",
    "cat-file",
    "clone",
    "commit",
    "config",
    "describe",
    "diff",
    "fetch",
    "grep",
    "help",
    "init",
    "log",
    "ls-files",
    "merge",
    "pull",
    "push",
    "rev-parse",
    "show",
    "status",
];

/// Aliases that stand for aliases are followed this far.
const DEEPEST_ALIAS: usize = 8;

/// Why this call of git is refused, if it is. `words` are its arguments. Looks at `facts` only where the words alone do not
/// decide, so that most calls cost nothing.
pub fn git_refusal(words: &[String], facts: &dyn GitFacts) -> Option<String> {
    let line = GitLine::of(words)?;
    refusal(line.command, line.rest, facts, 0)
}

/// The subcommand that this call of git comes to, with aliases followed. None where that is a shell command, whose own
/// calls of git are looked at for themselves.
pub fn git_command(words: &[String], facts: &dyn GitFacts) -> Option<String> {
    let mut words = words.to_vec();
    for _ in 0..=DEEPEST_ALIAS {
        let line = GitLine::of(&words)?;
        let command = line.command.to_owned();
        let known = PLAIN.contains(&&*command);
        let Some(meant) = (!known).then(|| facts.alias(&command)).flatten() else {
            return Some(command);
        };
        if meant.starts_with('!') {
            return None;
        }
        words = meant.split_whitespace().map(str::to_owned).collect();
    }
    None
}

fn refusal(command: &str, rest: &[String], facts: &dyn GitFacts, depth: usize) -> Option<String> {
    match command {
        command if PLAIN.contains(&command) => None,
        "stash" => touches_the_stack(rest)
            .then(|| stack_refusal(facts))
            .flatten(),
        "update-ref" => names_a_branch(rest)
            .then(|| branch_refusal(facts))
            .flatten(),
        "branch" | "tag" => deletes(command, rest)
            .then(|| deletion_refusal(command, facts))
            .flatten(),
        "switch" | "checkout" | "bisect" | "symbolic-ref" if moves_head(command, rest, facts) => {
            head_refusal(command, facts)
        }
        "clean" | "reset" | "restore" | "rm" | "mv" | "checkout" | "checkout-index"
        | "read-tree" => loss_refusal(command, rest, facts),
        "switch" | "bisect" | "symbolic-ref" => None,
        other if depth < DEEPEST_ALIAS => {
            let meant = facts.alias(other)?;
            // One that begins with `!` is a shell command, whose own calls of git come here again.
            let mut words: Vec<String> = meant.split_whitespace().map(str::to_owned).collect();
            words.extend_from_slice(rest);
            let line = GitLine::of(&words)?;
            (!meant.starts_with('!')).then_some(())?;
            refusal(line.command, line.rest, facts, depth + 1)
        }
        _ => None,
    }
}

fn stack_refusal(facts: &dyn GitFacts) -> Option<String> {
    (facts.place() != GitPlace::Elsewhere).then(|| {
        "git stash is one stack for all worktrees of a repository, so it could take away or bring back the work of \
         others. Commit on your own branch instead (`git commit -am wip`, later `git reset --soft HEAD~1`); or \
         `git stash create` prints a commit that holds your changes, and `git stash apply COMMIT` brings them back."
            .to_owned()
    })
}

fn head_refusal(command: &str, facts: &dyn GitFacts) -> Option<String> {
    (facts.place() == GitPlace::SharedTree).then(|| {
        format!(
            "`git {command}` would change the branch under others: this checkout is not yours alone. Work on the branch \
             that is checked out, look at others with `git show BRANCH:PATH` or `git diff BRANCH`, or ask the team \
             lead for a worktree of your own."
        )
    })
}

fn branch_refusal(facts: &dyn GitFacts) -> Option<String> {
    (facts.place() != GitPlace::Elsewhere).then(|| {
        "`git update-ref` moves a branch without a look at who has it checked out. Move your own with `git reset`, make \
         others with `git branch`, and leave those of others alone."
            .to_owned()
    })
}

fn deletion_refusal(command: &str, facts: &dyn GitFacts) -> Option<String> {
    (facts.sandboxed() && facts.place() != GitPlace::Elsewhere).then(|| {
        format!(
            "`git {command}` cannot delete or rename in the sandbox: git would have to write beside the repository's own \
             settings. Leave what is no longer needed where it is, make what you need under another name, and tell the \
             team lead."
        )
    })
}

fn loss_refusal(command: &str, rest: &[String], facts: &dyn GitFacts) -> Option<String> {
    let loss = loss(command, rest)?;
    (facts.place() == GitPlace::SharedTree && loss.is_real(facts)).then(|| {
        let (what, instead) = match loss {
            Loss::Changes(_) => (
                "changes that are not committed",
                "Take your own files back one by one with `git restore FILE`",
            ),
            Loss::Unknown(_) => (
                "files that git does not know",
                "Delete your own files one by one with `rm FILE`",
            ),
            Loss::Replaced(_) => (
                "what stands in that place, changes that are in no commit",
                "Choose another name, or leave the force out",
            ),
        };
        format!(
            "`git {command}` would throw away {what}, and in this checkout, which is not yours alone, they may be those of \
             others. {instead}, or ask the team lead."
        )
    })
}

/// Whether branches or tags would be deleted or renamed.
fn deletes(command: &str, rest: &[String]) -> bool {
    let options = Options::of(command, rest);
    let own: &[&[&str]] = match command {
        "branch" => &[&["-d", "--delete"], &["-D"], &["-m", "--move"], &["-M"]],
        _ => &[&["-d", "--delete"]],
    };
    own.iter().any(|option| options.may_have(option))
}

/// Whether a branch is named as a ref, or refs come from the input.
fn names_a_branch(rest: &[String]) -> bool {
    rest.iter()
        .any(|word| word.starts_with("refs/heads/") || word == "--stdin")
}

/// All of git stash but what only looks, and what works without the stack.
fn touches_the_stack(rest: &[String]) -> bool {
    let words: Vec<&str> = rest.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["list" | "show" | "create" | "-h" | "--help", ..] => false,
        ["apply", rest @ ..] => {
            // An entry of the stack may be anybody's; a commit that was made by `create` is named by its hash.
            let hash = |word: &str| word.len() >= 7 && word.chars().all(|c| c.is_ascii_hexdigit());
            !rest.iter().any(|word| hash(word))
        }
        _ => true,
    }
}

fn moves_head(command: &str, rest: &[String], facts: &dyn GitFacts) -> bool {
    let words: Vec<&str> = rest.iter().map(String::as_str).collect();
    if matches!(words.as_slice(), ["-h" | "--help", ..]) {
        return false;
    }
    match command {
        "checkout" => checkout_moves_head(rest, facts),
        "bisect" => !matches!(words.as_slice(), ["log" | "view" | "visualize", ..] | []),
        "symbolic-ref" => words.iter().filter(|word| !word.starts_with('-')).count() > 1,
        _ => true,
    }
}

/// `git checkout` means two things: switching branches and taking files back (git-checkout(1)).
fn checkout_moves_head(rest: &[String], facts: &dyn GitFacts) -> bool {
    let options = Options::of("checkout", rest);
    let creates: [&[&str]; 5] = [
        &["-b"],
        &["-B"],
        &["-d", "--detach"],
        &["-t", "--track"],
        &["--orphan"],
    ];
    if creates.iter().any(|option| options.has(option)) {
        return true;
    }
    let takes_files: [&[&str]; 4] = [
        &["-p", "--patch"],
        &["--pathspec-from-file"],
        &["-2", "--ours"],
        &["-3", "--theirs"],
    ];
    let paths = options.after_end().unwrap_or_default();
    if takes_files.iter().any(|option| options.has(option)) || !paths.is_empty() {
        return false;
    }
    match options.before_end() {
        ["-"] => true,
        // A branch of a remote that is not here yet is neither, and would be made.
        [one] => facts.is_commit(one) || !facts.is_path(one),
        _ => false,
    }
}
