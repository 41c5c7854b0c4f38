//! Which git commands a member is refused: those that reach into the work of others who share the repository.

/// Where a git command would act, seen from the work of the member that gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitPlace {
    /// A work tree that is the member's alone.
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
    /// What an alias stands for, if the word is one.
    fn alias(&self, word: &str) -> Option<String>;
}

/// Options of git itself that take the next word.
const WITH_VALUE: [&str; 8] = [
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--exec-path",
    "--config-env",
    "--super-prefix",
];

/// Commands that need no look at anything, since they are neither refused nor aliases.
const PLAIN: [&str; 26] = [
    "add",
    "blame",
    "branch",
    "cat-file",
    "clean",
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
    "mv",
    "pull",
    "push",
    "reset",
    "restore",
    "rev-parse",
    "rm",
    "show",
    "status",
];

/// Aliases that stand for aliases are followed this far.
const DEEPEST_ALIAS: usize = 8;

/// Why this call of git is refused, if it is. `words` are its arguments. Looks at `facts` only where the words alone do not
/// decide, so that most calls cost nothing.
pub fn git_refusal(words: &[String], facts: &dyn GitFacts) -> Option<String> {
    let (command, rest) = subcommand(words)?;
    refusal(command, rest, facts, 0)
}

fn refusal(command: &str, rest: &[String], facts: &dyn GitFacts, depth: usize) -> Option<String> {
    match command {
        command if PLAIN.contains(&command) => None,
        "stash" if touches_the_stack(rest) && facts.place() != GitPlace::Elsewhere => Some(
            "git stash is one stack for all work trees of a repository, so it could take away or bring back the work of \
             others. Commit on your own branch instead (`git commit -am wip`, later `git reset --soft HEAD~1`); or \
             `git stash create` prints a commit that holds your changes, and `git stash apply COMMIT` brings them back."
                .to_owned(),
        ),
        "switch" | "checkout" | "bisect" | "symbolic-ref"
            if moves_head(command, rest, facts) && facts.place() == GitPlace::SharedTree =>
        {
            Some(format!(
                "`git {command}` would change the branch under others: this checkout is not yours alone. Work on the branch \
                 that is checked out, look at others with `git show BRANCH:PATH` or `git diff BRANCH`, or ask the team \
                 lead for a work tree of your own."
            ))
        }
        "stash" | "switch" | "checkout" | "bisect" | "symbolic-ref" => None,
        other if depth < DEEPEST_ALIAS => {
            let meant = facts.alias(other)?;
            // One that begins with `!` is a shell command, whose own calls of git come here again.
            let mut words: Vec<String> = meant.split_whitespace().map(str::to_owned).collect();
            words.extend_from_slice(rest);
            let (command, rest) = subcommand(&words)?;
            (!meant.starts_with('!')).then_some(())?;
            refusal(command, rest, facts, depth + 1)
        }
        _ => None,
    }
}

/// The subcommand behind git's own options, and what follows it.
fn subcommand(words: &[String]) -> Option<(&str, &[String])> {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        if WITH_VALUE.contains(&word.as_str()) {
            at += 2;
        } else if word.starts_with('-') {
            at += 1;
        } else {
            return Some((word, &words[at + 1..]));
        }
    }
    None
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
        "checkout" => checkout_moves_head(&words, facts),
        "bisect" => !matches!(words.as_slice(), ["log" | "view" | "visualize", ..] | []),
        "symbolic-ref" => words.iter().filter(|word| !word.starts_with('-')).count() > 1,
        _ => true,
    }
}

/// `git checkout` means two things: switching branches and taking files back (git-checkout(1)).
fn checkout_moves_head(words: &[&str], facts: &dyn GitFacts) -> bool {
    let end = words.iter().position(|word| *word == "--");
    let (before, paths) = match end {
        Some(at) => (&words[..at], &words[at + 1..]),
        None => (words, &[][..]),
    };
    let creates = |word: &&&str| {
        ["-b", "-B", "-d", "-t", "--detach", "--orphan", "--track"].contains(*word)
            || word.starts_with("--orphan=")
            || word.starts_with("--track=")
    };
    if before.iter().any(|word| creates(&word)) {
        return true;
    }
    let takes_files = [
        "-p",
        "--patch",
        "--pathspec-from-file",
        "--ours",
        "--theirs",
    ];
    if before.iter().any(|word| takes_files.contains(word)) || !paths.is_empty() {
        return false;
    }
    let named: Vec<&&str> = before
        .iter()
        .filter(|word| **word == "-" || !word.starts_with('-'))
        .collect();
    match named.as_slice() {
        [one] if **one == "-" => true,
        // A branch of a remote that is not here yet is neither, and would be made.
        [one] => facts.is_commit(one) || !facts.is_path(one),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Known(GitPlace);

    impl GitFacts for Known {
        fn place(&self) -> GitPlace {
            self.0
        }
        fn is_commit(&self, word: &str) -> bool {
            ["main", "feature", "HEAD", "HEAD~1", "abc1234"].contains(&word)
        }
        fn is_path(&self, word: &str) -> bool {
            [".", "src/a.rs", "feature"].contains(&word)
        }
        fn alias(&self, word: &str) -> Option<String> {
            match word {
                "co" => Some("checkout".into()),
                "wip" => Some("stash push".into()),
                "st" => Some("status".into()),
                "round" => Some("round".into()),
                "shell" => Some("!git stash".into()),
                _ => None,
            }
        }
    }

    fn refused(line: &str, place: GitPlace) -> bool {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        git_refusal(&words, &Known(place)).is_some()
    }

    #[test]
    fn i6_the_stack_of_stashes_is_refused_wherever_it_is_shared() {
        for line in [
            "stash",
            "stash push -u",
            "stash pop",
            "stash apply",
            "stash apply stash@{0}",
            "stash drop",
            "stash clear",
            "stash save x",
            "stash branch x",
            "stash store abc1234",
            "stash -u",
            "-C /x -c a=b stash",
            "--no-pager stash pop",
            "wip",
        ] {
            assert!(refused(line, GitPlace::OwnTree), "{line}");
            assert!(refused(line, GitPlace::SharedTree), "{line}");
            assert!(!refused(line, GitPlace::Elsewhere), "{line}");
        }
        for line in [
            "stash list",
            "stash show -p",
            "stash create",
            "stash apply abc1234def",
        ] {
            assert!(!refused(line, GitPlace::SharedTree), "{line}");
        }
    }

    #[test]
    fn i6_branches_are_switched_in_ones_own_tree_alone() {
        for line in [
            "switch main",
            "switch -c new",
            "switch -",
            "checkout main",
            "checkout -",
            "checkout -b new",
            "checkout --detach",
            "checkout -q feature",
            "checkout main --",
            "checkout only-on-origin",
            "co main",
            "bisect start",
            "symbolic-ref HEAD refs/heads/x",
        ] {
            assert!(refused(line, GitPlace::SharedTree), "{line}");
            assert!(!refused(line, GitPlace::OwnTree), "{line}");
            assert!(!refused(line, GitPlace::Elsewhere), "{line}");
        }
        for line in [
            "checkout",
            "checkout .",
            "checkout src/a.rs",
            "checkout -- src/a.rs",
            "checkout main -- src/a.rs",
            "checkout main src/a.rs",
            "checkout -p main",
            "switch --help",
            "symbolic-ref --short HEAD",
            "bisect log",
            "status",
            "st",
            "commit -m checkout",
            "log main",
            "--version",
            "",
            "round",
            "shell",
            "unknown",
        ] {
            assert!(!refused(line, GitPlace::SharedTree), "{line}");
        }
    }
}
