//! Refused git commands and the messages to the model.

use swarm_protocol::word_list;

use super::losses::{GitFacts, GitPlace, Loss, loss};
use super::options::Options;

/// Commands that need no further checks: they are neither refused nor aliases.
const PLAIN: [&str; 20] = word_list(
    "add blame cat-file clone commit config describe diff fetch grep help init log ls-files merge
    pull push rev-parse show status",
);

/// Maximum depth of nested aliases.
const MAX_ALIAS_DEPTH: usize = 8;

/// Returns why this git call is refused, if it is. `words` are its arguments. `facts` are queried
/// only if the words are not sufficient, so that most calls are cheap.
pub fn git_refusal(words: &[String], facts: &dyn GitFacts) -> Option<String> {
    let line = GitLine::of(words)?;
    refusal(line.command, line.rest, facts, 0)
}

/// Returns the subcommand of this git call, with aliases expanded. `None` for a shell alias, whose
/// own git calls are checked separately.
pub fn git_command(words: &[String], facts: &dyn GitFacts) -> Option<String> {
    let mut words = words.to_vec();
    for _ in 0..=MAX_ALIAS_DEPTH {
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
        "bisect" if moves_head(command, rest, facts) => {
            bisect_refusal(facts).or_else(|| head_refusal(command, facts))
        }
        "switch" | "checkout" | "symbolic-ref" if moves_head(command, rest, facts) => {
            head_refusal(command, facts)
        }
        "gc" | "maintenance" | "pack-refs" if packs(command, rest) => {
            housekeeping_refusal(command, facts)
        }
        "prune" if !has_option(rest, &["-h", "--help", "-n", "--dry-run"]) => prune_refusal(facts),
        "clean" | "reset" | "restore" | "rm" | "mv" | "checkout" | "checkout-index"
        | "read-tree" => loss_refusal(command, rest, facts),
        "switch" | "bisect" | "symbolic-ref" | "gc" | "maintenance" | "pack-refs" | "prune" => None,
        other if depth < MAX_ALIAS_DEPTH => {
            let meant = facts.alias(other)?;
            // An alias that begins with `!` is a shell command; its own git calls are checked
            // separately.
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
        "git stash uses one stack for all worktrees of a repository, so it could remove or restore the work of \
        others. Commit on your own branch instead (`git commit -am wip`, later `git reset --soft HEAD~1`), or use \
        `git stash create`, which prints a commit with your changes, and restore them with `git stash apply COMMIT`."
            .to_owned()
    })
}

fn head_refusal(command: &str, facts: &dyn GitFacts) -> Option<String> {
    (facts.place() == GitPlace::SharedTree).then(|| {
        format!(
            "`git {command}` would switch the branch for others: this checkout is shared. Work on the branch \
            that is checked out, view other branches with `git show BRANCH:PATH` or `git diff BRANCH`, or ask the team \
            lead for your own worktree."
        )
    })
}

fn branch_refusal(facts: &dyn GitFacts) -> Option<String> {
    (facts.place() != GitPlace::Elsewhere).then(|| {
        "`git update-ref` moves a branch even if it is checked out elsewhere. Move your own branch with `git reset`, \
        create branches with `git branch`, and do not move the branches of others."
            .to_owned()
    })
}

fn deletion_refusal(command: &str, facts: &dyn GitFacts) -> Option<String> {
    (facts.sandboxed() && facts.place() != GitPlace::Elsewhere).then(|| {
        format!(
            "`git {command}` cannot delete or rename in the sandbox, because git would have to write next to the \
            repository's configuration. Keep what is no longer needed, use another name for what you create, and tell \
            the team lead."
        )
    })
}

/// `git bisect start` deletes refs first, even if there are none.
fn bisect_refusal(facts: &dyn GitFacts) -> Option<String> {
    (facts.sandboxed() && facts.place() != GitPlace::Elsewhere).then(|| {
        // Only there can it check out commits.
        let first = if facts.place() == GitPlace::SharedTree {
            "Ask the team lead for your own worktree. There, list"
        } else {
            "List"
        };
        format!(
            "`git bisect` does not work in the sandbox, because git would have to write next to the repository's \
            configuration. {first} the commits with `git log --oneline GOOD..BAD`, check one of them out with \
            `git switch --detach COMMIT`, test it, and halve the list yourself."
        )
    })
}

fn housekeeping_refusal(command: &str, facts: &dyn GitFacts) -> Option<String> {
    (facts.sandboxed() && facts.place() != GitPlace::Elsewhere).then(|| {
        format!(
            "`git {command}` does not work in the sandbox, because git would have to write next to the repository's \
            configuration. No command needs it; if git has become slow, tell the team lead, so that the user runs \
            `git gc` in the main checkout."
        )
    })
}

fn prune_refusal(facts: &dyn GitFacts) -> Option<String> {
    (facts.place() != GitPlace::Elsewhere).then(|| {
        "`git prune` removes objects that no branch contains yet, also those of a commit that another agent is just \
        creating. No command needs it; the user can run `git gc` in the main checkout."
            .to_owned()
    })
}

fn loss_refusal(command: &str, rest: &[String], facts: &dyn GitFacts) -> Option<String> {
    let loss = loss(command, rest)?;
    (facts.place() == GitPlace::SharedTree && loss.is_real(facts)).then(|| {
        let (what, instead) = match loss {
            Loss::Changes(_) => (
                "uncommitted changes",
                "Restore your own files one by one with `git restore FILE`",
            ),
            Loss::Unknown(_) => (
                "untracked files",
                "Delete your own files one by one with `rm FILE`",
            ),
            Loss::Replaced(_) => (
                "uncommitted changes at the destination",
                "Choose another name or omit the force option",
            ),
        };
        format!(
            "`git {command}` would discard {what}, which may belong to others, because this checkout is shared. \
            {instead}, or ask the team lead."
        )
    })
}

/// Returns whether branches or tags would be deleted or renamed.
fn deletes(command: &str, rest: &[String]) -> bool {
    let options = Options::of(command, rest);
    let own: &[&[&str]] = match command {
        "branch" => &[&["-d", "--delete"], &["-D"], &["-m", "--move"], &["-M"]],
        _ => &[&["-d", "--delete"]],
    };
    own.iter().any(|option| options.may_have(option))
}

/// Returns whether all objects or refs would be packed. What git starts by itself (`--auto`) is left
/// to git.
fn packs(command: &str, rest: &[String]) -> bool {
    if has_option(rest, &["-h", "--help", "--auto"]) {
        return false;
    }
    let is_run = rest.first().is_some_and(|word| word == "run");
    command != "maintenance" || is_run && !has_option(rest, &["--task"])
}

/// Returns whether one of these options is given, with or without `=VALUE`.
fn has_option(rest: &[String], names: &[&str]) -> bool {
    let mut options = rest.iter().filter_map(|word| word.split('=').next());
    options.any(|option| names.contains(&option))
}

/// Returns whether a branch is named as a ref, or refs are read from standard input.
fn names_a_branch(rest: &[String]) -> bool {
    rest.iter()
        .any(|word| word.starts_with("refs/heads/") || word == "--stdin")
}

/// Returns whether a `git stash` command uses the stack, which reading commands and `create` do
/// not.
fn touches_the_stack(rest: &[String]) -> bool {
    let words: Vec<&str> = rest.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["list" | "show" | "create" | "-h" | "--help", ..] => false,
        ["apply", rest @ ..] => {
            // A stack entry may belong to others; a commit made by `create` is named by its hash.
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
        "bisect" => !matches!(
            words.as_slice(),
            ["help" | "log" | "terms" | "view" | "visualize", ..] | []
        ),
        "symbolic-ref" => words.iter().filter(|word| !word.starts_with('-')).count() > 1,
        _ => true,
    }
}

/// `git checkout` has two functions: switching branches and restoring files (git-checkout(1)).
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
        // The name of a remote branch that does not exist locally is neither, and would be created.
        [one] => facts.is_commit(one) || !facts.is_path(one),
        _ => false,
    }
}

/// Options of git itself that take a separate value, see git(1).
const WITH_VALUE: [&str; 9] = word_list(
    "-C -c --git-dir --work-tree --namespace --config-env --super-prefix --attr-source
    --shallow-file",
);

/// A parsed git call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GitLine<'a> {
    /// git's global options, with their values.
    pub options: &'a [String],
    /// The subcommand.
    pub command: &'a str,
    /// The arguments of the subcommand.
    pub rest: &'a [String],
}

impl<'a> GitLine<'a> {
    /// Parses git's arguments. `None` without a subcommand.
    pub fn of(words: &'a [String]) -> Option<Self> {
        let mut at = 0;
        while let Some(word) = words.get(at) {
            if WITH_VALUE.contains(&word.as_str()) {
                at += 2;
            } else if word.starts_with('-') {
                at += 1;
            } else {
                return Some(Self {
                    options: &words[..at],
                    command: word,
                    rest: &words[at + 1..],
                });
            }
        }
        None
    }
}
