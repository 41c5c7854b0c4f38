//! Git commands that only read.

use super::read_only::is_option;

/// Subcommands that read with any arguments but [`NEVER`].
const READING: [&str; 26] = [
    "blame",
    "cat-file",
    "check-ignore",
    "cherry",
    "count-objects",
    "describe",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "for-each-ref",
    "grep",
    "log",
    "ls-files",
    "ls-tree",
    "merge-base",
    "name-rev",
    "range-diff",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "show-ref",
    "status",
    "version",
    "whatchanged",
];

/// Options that write a file or run a program.
const NEVER: [&str; 6] = [
    "--output",
    "--ext-diff",
    "--textconv",
    "--filters",
    "--open-files-in-pager",
    "-O",
];

/// Options of `git branch` that only list.
const BRANCH_LISTS: [&str; 10] = [
    "-a",
    "--all",
    "-r",
    "--remotes",
    "-v",
    "-vv",
    "--verbose",
    "--show-current",
    "--color",
    "--no-color",
];

/// Options that turn `git branch` and `git tag` into a search, so that further words are what is searched.
const SEARCHES: [&str; 6] = [
    "--list",
    "--contains",
    "--no-contains",
    "--merged",
    "--no-merged",
    "--points-at",
];

/// Whether `git` with these arguments only reads.
pub(super) fn reads(arguments: &[&str]) -> bool {
    let harmless = |option: &&&str| matches!(**option, "--no-pager" | "-P" | "--no-optional-locks");
    let skipped = arguments.iter().take_while(harmless).count();
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
        name => READING.contains(&name) && plain(),
    }
}

/// Options out of `known` and formats only, or a search with any operands besides.
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
