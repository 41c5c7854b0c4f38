//! Git commands that only read.

use swarm_protocol::word_list;

use super::script::{Word, is_option};

/// Subcommands that only read, except with the options in [`NEVER`], and show content of files.
const READING_CONTENT: [&str; 12] = word_list(
    "blame cat-file diff diff-files diff-index diff-tree grep log range-diff show status
    whatchanged",
);

/// The same for subcommands that show no content of files.
const READING_NAMES: [&str; 14] = word_list(
    "check-ignore cherry count-objects describe for-each-ref ls-files ls-tree merge-base name-rev
    rev-list rev-parse shortlog show-ref version",
);

/// Options that write a file or run a program.
const NEVER: [&str; 6] =
    word_list("--output --ext-diff --textconv --filters --open-files-in-pager -O");

/// Options of `git branch` that only list.
const BRANCH_LISTS: [&str; 10] =
    word_list("-a --all -r --remotes -v -vv --verbose --show-current --color --no-color");

/// Options that turn `git branch` and `git tag` into a search with the further words as operands.
const SEARCHES: [&str; 6] =
    word_list("--list --contains --no-contains --merged --no-merged --points-at");

/// Options that make a log show changes.
const PATCHES: [&str; 19] = word_list(
    "-p -u -U -c -L -W -m --binary --cc --color-words --dd --diff-merges --function-context --patch
    --patch-with-raw --patch-with-stat --remerge-diff --unified --word-diff",
);

/// Options that prevent comparisons from running programs.
const NO_DRIVERS: &[&str] = &["--no-ext-diff", "--no-textconv"];

/// Options that prevent any subcommand from running programs from the configuration, and from using
/// a repository inside an ordinary directory.
const WITHOUT_PROGRAMS: [&str; 7] = word_list(
    "-c core.fsmonitor= -c core.hooksPath=/dev/null -c safe.bareRepository=explicit --no-pager",
);

/// How to run a reading git command without starting programs from the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuietGit {
    /// Global git options, inserted before all arguments.
    pub first: &'static [&'static str],
    /// The index of the arguments at which `then` is inserted.
    pub at: usize,
    /// Options for the subcommand.
    pub then: &'static [&'static str],
}

/// Returns how to run `git` with these arguments if the command only reads.
pub fn git_without_programs(arguments: &[String]) -> Option<QuietGit> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if !reads(&words) {
        return None;
    }
    let at = words.iter().position(|word| !is_harmless(word))?;
    let patches = || words.iter().any(|word| is_option(word, &PATCHES));
    let (taken, then) = match (*words.get(at)?, words.get(at + 1)) {
        ("blame", _) => (1, &NO_DRIVERS[1..]),
        (
            "diff" | "diff-files" | "diff-index" | "diff-tree" | "log" | "show" | "whatchanged",
            _,
        ) => (1, NO_DRIVERS),
        // Without options these show a summary, with any option a patch.
        ("reflog" | "stash", Some(&"show")) if patches() => (2, NO_DRIVERS),
        _ => (1, &[][..]),
    };
    Some(QuietGit {
        first: &WITHOUT_PROGRAMS,
        at: at + taken,
        then,
    })
}

/// Returns whether a git command shows only names, without the content of files that its words do
/// not name.
pub(super) fn shows_no_content(words: &[Word]) -> bool {
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    let git = texts.iter().position(|text| *text == "git");
    let mut arguments = texts
        .iter()
        .skip(git.map_or(texts.len(), |at| at + 1))
        .skip_while(|text| is_harmless(text));
    match arguments.next() {
        Some(&("log" | "reflog")) => !arguments.any(|text| is_option(text, &PATCHES)),
        Some(&"status") => !arguments.any(|text| is_option(text, &["-v", "--verbose"])),
        Some(&("branch" | "config" | "remote" | "submodule" | "tag" | "worktree")) => true,
        Some(subcommand) => READING_NAMES.contains(subcommand),
        None => false,
    }
}

fn is_harmless(option: &str) -> bool {
    matches!(option, "--no-pager" | "-P" | "--no-optional-locks")
}

/// Returns whether `git` with these arguments only reads.
pub(super) fn reads(arguments: &[&str]) -> bool {
    let skipped = arguments
        .iter()
        .take_while(|option| is_harmless(option))
        .count();
    let Some((subcommand, rest)) = arguments.get(skipped..).and_then(<[&str]>::split_first) else {
        return false;
    };
    let plain = || !rest.iter().any(|argument| is_option(argument, &NEVER));
    match *subcommand {
        "branch" => lists(rest, &BRANCH_LISTS, &SEARCHES),
        "tag" => lists(rest, &["-n"], &[&SEARCHES[..], &["-l"]].concat()),
        "remote" => matches!(rest, [] | ["-v" | "--verbose"] | ["get-url", ..]),
        "stash" => matches!(rest, ["list" | "show", ..]) && plain(),
        "reflog" => matches!(rest, [] | ["show", ..]) && plain(),
        "submodule" => matches!(rest, ["status"]),
        "worktree" => matches!(rest, ["list", ..]),
        "config" => config_reads(rest),
        name => (READING_CONTENT.contains(&name) || READING_NAMES.contains(&name)) && plain(),
    }
}

/// Returns whether the arguments are only options in `known` and formats, or a search with any
/// operands.
fn lists(arguments: &[&str], known: &[&str], searches: &[&str]) -> bool {
    let searching = arguments
        .iter()
        .any(|argument| searches.contains(&argument.split('=').next().unwrap_or(argument)));
    arguments.iter().all(|argument| {
        let name = argument.split('=').next().unwrap_or(argument);
        if !argument.starts_with('-') {
            return searching;
        }
        known.contains(&name) || searches.contains(&name) || matches!(name, "--sort" | "--format")
    })
}

fn config_reads(arguments: &[&str]) -> bool {
    let Some((first, rest)) = arguments.split_first() else {
        return false;
    };
    matches!(
        *first,
        "--get" | "--get-all" | "--get-regexp" | "--list" | "-l"
    ) && !rest.iter().any(|argument| argument.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quiet(line: &str) -> Option<Vec<String>> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let quiet = git_without_programs(&words)?;
        let mut all = words.clone();
        all.splice(
            quiet.at..quiet.at,
            quiet.then.iter().map(|word| (*word).to_owned()),
        );
        assert_eq!(quiet.first, WITHOUT_PROGRAMS);
        Some(all)
    }

    #[test]
    fn a_reading_command_is_run_without_programs() {
        for (line, expected) in [
            ("status --short", "status --short"),
            ("diff HEAD", "diff --no-ext-diff --no-textconv HEAD"),
            ("-P show a:b", "-P show --no-ext-diff --no-textconv a:b"),
            ("blame a", "blame --no-textconv a"),
            ("stash show", "stash show"),
            ("stash show -p", "stash show --no-ext-diff --no-textconv -p"),
            ("reflog", "reflog"),
        ] {
            assert_eq!(quiet(line).unwrap().join(" "), expected);
        }
        for line in [
            "commit -m x",
            "push",
            "-C a status",
            "diff --ext-diff",
            "checkout a",
        ] {
            assert_eq!(quiet(line), None, "{line}");
        }
    }
}
