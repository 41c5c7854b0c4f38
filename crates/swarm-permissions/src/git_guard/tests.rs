use super::*;

/// A place, and whether the command runs in the sandbox.
struct Known(GitPlace, bool);

impl GitFacts for Known {
    fn place(&self) -> GitPlace {
        self.0
    }
    fn is_commit(&self, word: &str) -> bool {
        ["main", "feature", "HEAD", "HEAD~1", "abc1234"].contains(&word)
    }
    fn is_path(&self, word: &str) -> bool {
        [".", "clean", "src", "src/a.rs", "feature"].contains(&word)
    }
    fn is_file(&self, word: &str) -> bool {
        word == "src/a.rs"
    }
    fn has_changes(&self, paths: &[String]) -> bool {
        !paths.iter().any(|path| path == "clean")
    }
    fn would_clean(&self, rest: &[String]) -> bool {
        !rest.iter().any(|word| word == "clean")
    }
    fn sandboxed(&self) -> bool {
        self.1
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
    git_refusal(&words, &Known(place, place == GitPlace::OwnTree)).is_some()
}

#[test]
fn aliases_are_expanded_to_their_command() {
    for (line, expected) in [
        ("commit -q", Some("commit")),
        ("-C /x co main", Some("checkout")),
        ("st", Some("status")),
        ("no-such-word", Some("no-such-word")),
        ("shell", None),
        ("round", None),
        ("--version", None),
    ] {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let command = git_command(&words, &Known(GitPlace::OwnTree, true));
        assert_eq!(command.as_deref(), expected, "{line}");
    }
}

#[test]
fn i6_the_stash_is_refused_in_every_shared_repository() {
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
        "--attr-source HEAD stash",
        "--attr-source=HEAD --git-dir x stash pop",
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
fn i6_branches_can_only_be_switched_in_the_members_own_worktree() {
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
        "checkout -bnew",
        "checkout -qbnew",
        "symbolic-ref HEAD refs/heads/x",
    ] {
        assert!(refused(line, GitPlace::SharedTree), "{line}");
        assert!(!refused(line, GitPlace::OwnTree), "{line}");
        assert!(!refused(line, GitPlace::Elsewhere), "{line}");
    }
    for line in [
        "checkout",
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

#[test]
fn a_bisection_is_refused_in_a_shared_checkout_and_in_the_sandbox() {
    for line in ["bisect start", "bisect good", "bisect reset"] {
        assert!(refused(line, GitPlace::SharedTree), "{line}");
        assert!(refused(line, GitPlace::OwnTree), "{line}");
        assert!(!refused(line, GitPlace::Elsewhere), "{line}");
    }
    for line in ["bisect log", "bisect terms", "bisect help", "bisect --help"] {
        assert!(!refused(line, GitPlace::OwnTree), "{line}");
        assert!(!refused(line, GitPlace::SharedTree), "{line}");
    }
    // What helps in a worktree is not done in a shared checkout.
    for (place, asks_for_a_worktree) in [(GitPlace::SharedTree, true), (GitPlace::OwnTree, false)] {
        let words = ["bisect".to_owned(), "start".to_owned()];
        let why = git_refusal(&words, &Known(place, true)).unwrap();
        assert!(why.contains("git switch --detach"), "{why}");
        assert_eq!(why.contains("your own worktree"), asks_for_a_worktree);
    }
}

#[test]
fn packing_is_refused_in_the_sandbox() {
    let lines = ["gc", "gc --prune=now", "maintenance run", "pack-refs --all"];
    for line in lines {
        assert!(refused(line, GitPlace::OwnTree), "{line}");
        assert!(!refused(line, GitPlace::Elsewhere), "{line}");
        // Without a sandbox.
        assert!(!refused(line, GitPlace::SharedTree), "{line}");
    }
    for line in [
        "gc --auto",
        "gc --help",
        "maintenance run --auto",
        "maintenance run --task=commit-graph",
        "maintenance start",
        "repack -d",
        "count-objects",
    ] {
        assert!(!refused(line, GitPlace::OwnTree), "{line}");
    }
}

#[test]
fn objects_that_others_may_be_creating_are_not_pruned() {
    for place in [GitPlace::OwnTree, GitPlace::SharedTree] {
        assert!(refused("prune", place) && refused("prune --expire=now", place));
        assert!(!refused("prune --dry-run", place));
    }
    assert!(!refused("prune", GitPlace::Elsewhere));
}

#[test]
fn git_calls_are_found_where_their_repository_is_certain() {
    let found = |line: &str| {
        let calls = git_calls(line).into_iter();
        calls.map(|call| call.join(" ")).collect::<Vec<_>>()
    };
    assert_eq!(
        found("make && ls | tee log; git 'bisect' start | cat\ngit log > x"),
        ["bisect start", "log"]
    );
    assert_eq!(found("git status || git stash && exit; git gc"), ["status"]);
    for line in [
        "cd x && git stash",
        "GIT_DIR=x git stash",
        "export GIT_DIR=x; git stash",
        "git stash \"$WHAT\"",
        "echo git stash",
        "git stash 'unterminated",
        "make &&\ngit stash",
        "false && ls | git stash",
        "if true; then\ngit stash\nfi",
        "for i in $LIST; do\ngit stash\ndone",
        "false || { ls; git stash; }",
        "(exit 1; git stash)",
        "exit 0; git stash",
        "set -e; make; git stash",
        "$RUN; git stash",
    ] {
        assert_eq!(found(line), [""; 0], "{line}");
    }
}

#[test]
fn i6_uncommitted_work_is_not_discarded_in_a_shared_checkout() {
    for line in [
        "reset --hard",
        "reset --hard HEAD~1",
        "reset --har",
        "reset --merge",
        "clean -fd",
        "clean -xdf",
        "-C /x clean --force",
        "restore .",
        "restore src",
        "restore --source HEAD~1 .",
        "restore -SW .",
        "checkout .",
        "checkout -- .",
        "checkout main -- src",
        "checkout -f",
        "checkout --pathspec-from-file=x",
        "rm -rf .",
        "--attr-source HEAD reset --hard",
        // Letters in the value of an option are not options.
        "clean -fdx -enode_modules",
        "clean -fd -e -n",
        "clean -fd --exclude -n",
        "clean -n --no-dry-run -f",
        "restore -sprod .",
        "restore --source -p .",
        "restore . -- src/a.rs",
        "rm -rf . -q",
        "read-tree -u --reset HEAD",
        "read-tree --rese -u HEAD",
        "checkout-index -f -a",
        "checkout-index -fa",
        "checkout-index --force src",
        "mv -f src/a.rs src",
        "mv --force src/a.rs src/b.rs",
    ] {
        assert!(refused(line, GitPlace::SharedTree), "{line}");
        assert!(!refused(line, GitPlace::OwnTree), "{line}");
        assert!(!refused(line, GitPlace::Elsewhere), "{line}");
    }
    for line in [
        "reset",
        "reset --soft HEAD~1",
        "reset src/a.rs",
        "clean -n",
        "clean -fd clean",
        "restore src/a.rs",
        "restore --staged .",
        "restore -S .",
        "restore clean",
        "restore -p .",
        "checkout -- src/a.rs",
        "checkout main -- src/a.rs",
        "rm src/a.rs",
        "rm --cached -rf .",
        "reset --hard --help",
        "clean -nfd -ex",
        "restore -Sq .",
        "restore -qp .",
        "rm -rfn .",
        "read-tree -m HEAD",
        "read-tree --reset HEAD",
        "checkout-index -a",
        "checkout-index -f src/a.rs",
        "mv src/a.rs src/b.rs",
        "mv -f src/a.rs clean",
    ] {
        assert!(!refused(line, GitPlace::SharedTree), "{line}");
    }
}

#[test]
fn branches_of_others_are_not_moved_and_none_is_deleted_in_the_sandbox() {
    for line in [
        "update-ref refs/heads/main abc1234",
        "update-ref -d refs/heads/main",
        "update-ref --stdin",
        "branch -D side",
        "branch --delete side",
        "branch -m side",
        "tag -d v1",
    ] {
        assert!(refused(line, GitPlace::OwnTree), "{line}");
        assert!(!refused(line, GitPlace::Elsewhere), "{line}");
    }
    for line in [
        "update-ref refs/tags/x HEAD",
        "branch side",
        "branch -f side",
        "branch -uorigin/dev",
        "tag v1",
        "tag -mdone v1",
    ] {
        assert!(!refused(line, GitPlace::OwnTree), "{line}");
    }
    assert!(!refused("branch -D side", GitPlace::SharedTree));
}
