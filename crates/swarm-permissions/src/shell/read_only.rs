//! Commands that only read, by a table of programs.

use std::path::Path;

use swarm_protocol::word_list;

use super::lexer;
use super::reach::{MOVES, Reach};
use super::read_only_git;
use super::script::{Part, Word, is_option};
use super::wrappers::unwrap_harmless;

/// Programs that only read with any arguments.
const ALWAYS: [&str; 55] = word_list(
    ": basename cat cd cksum cmp column comm cut df dirname dirs echo expand false fmt fold free
    groups head hexdump id join ls locale logname md5sum nl nproc od paste popd pushd pwd readlink
    realpath rev seq sha1sum sha224sum sha256sum sha384sum sha512sum sleep stat sum tac tail tr
    true tty type unexpand whereis which",
);

/// Programs that only read, except with one of these options, which make them read files that no
/// word names: from a list or through links.
const EXCEPT_SPELLED: [(&str, &[&str]); 8] = [
    // `-l` runs `pr`. A recursive comparison follows links.
    ("diff", &["-l", "--paginate", "-r", "--recursive"]),
    ("du", &["--files0-from"]),
    ("egrep", &FOLLOWING_GREP),
    ("fgrep", &FOLLOWING_GREP),
    // `-v` runs another `getconf`.
    ("getconf", &["-v"]),
    ("grep", &FOLLOWING_GREP),
    // A jq program can load other files as modules or data.
    ("jq", &["-L", "--library-path", "-f", "--from-file"]),
    ("wc", &["--files0-from"]),
];

/// Options of `grep` that, unlike `-r`, follow every link.
const FOLLOWING_GREP: [&str; 2] = ["-R", "--dereference-recursive"];

/// Programs that only read, except with one of these options (`--long` or `-s`), which make them
/// write, run programs or read files that no word names. A pattern must not be able to expand to
/// such an option.
const EXCEPT_WITH: [(&str, &[&str]); 9] = [
    // Writes a file on macOS.
    ("base64", &["-o", "--output"]),
    // `-l` runs `ls`.
    (
        "fd",
        &["-x", "-X", "--exec", "--exec-batch", "-l", "--list-details"],
    ),
    // `-z` and `-Z` run decompression programs, `-S` runs them outside of the sandbox of `file`.
    (
        "file",
        &word_list::<12>(
            "-C --compile -f --files-from -m --magic-file -S --no-sandbox -z --uncompress -Z
            --uncompress-noreport",
        ),
    ),
    ("find", &[]),
    (
        "rg",
        &word_list::<6>("--pre --hostname-bin --search-zip -z -L --follow"),
    ),
    (
        "sort",
        &word_list::<6>("-o --output --compress-program --files0-from -T --temporary-directory"),
    ),
    // `-R` writes a file `00Tree.html` into each directory.
    ("tree", &["-o", "-R"]),
    ("uname", &[]),
    ("whoami", &[]),
];

/// Actions of `find` that do more than read.
const FIND_ACTIONS: [&str; 10] =
    word_list("-delete -exec -execdir -files0-from -fls -fprint -fprint0 -fprintf -ok -okdir");

/// Returns whether a command only reads, by the table of known programs, without redirections to
/// files and without substitutions. Only the text is judged; [`crate::decide`] also checks the
/// files that its words refer to.
pub fn bash_is_read_only(command: &str) -> bool {
    let script = lexer::read(command);
    let certain = !script.broken && !script.grouped;
    let reach = Reach::of(
        &script.parts,
        Path::new("/work"),
        None,
        &crate::PlainFiles,
        false,
    );
    certain
        && !script.parts.is_empty()
        && !moves_and_runs_git(&script.parts)
        && script
            .parts
            .iter()
            .all(|part| part_is_read_only(part, &reach))
}

/// Returns whether a simple command only reads, and only ordinary files.
pub(crate) fn part_is_read_only(part: &Part, reach: &Reach<'_>) -> bool {
    let mut words = part.words.as_slice();
    while let Some(inner) = unwrap_harmless(words) {
        words = inner;
    }
    let Some((program, arguments)) = words.split_first() else {
        return false;
    };
    let named_plainly = program.is_literal() && program.raw == program.text;
    named_plainly
        && part.is_plain()
        && !part
            .words
            .iter()
            .chain(part.redirects.iter().map(|r| &r.target))
            .any(looks_into_processes)
        && reads(&program.text, arguments)
        && (matches!(program.text.as_str(), "echo" | "printf")
            || reach.is_harmless(part, descends(part)))
}

fn reads(program: &str, arguments: &[Word]) -> bool {
    if matches!(program, "echo") {
        return true;
    }
    // A variable could expand to an option.
    if arguments.iter().any(|word| word.variable) {
        return false;
    }
    if ALWAYS.contains(&program) {
        return true;
    }
    let texts: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
    let none_of = |(_, bad): &(&str, &[&str])| !texts.iter().any(|text| is_option(text, bad));
    if let Some(entry) = EXCEPT_SPELLED.iter().find(|(name, _)| *name == program) {
        return none_of(entry)
            && !(program == "jq" && texts.iter().any(|text| loads_modules(text)));
    }
    // The pattern could expand to a file name that is an option.
    let unsure = |word: &Word| word.pattern && word.raw.starts_with(['*', '?', '[', '{', '-']);
    if arguments.iter().any(unsure) {
        return false;
    }
    match program {
        "command" => matches!(texts.first(), Some(&("-v" | "-V"))),
        "date" => date_reads(&texts),
        "find" => !texts.iter().any(|text| FIND_ACTIONS.contains(text)),
        "git" => read_only_git::reads(&texts),
        "arch" | "hostname" => texts.is_empty(),
        "printf" | "test" | "[" => !texts.iter().any(|text| text.starts_with("-v")),
        "ps" => texts
            .iter()
            .all(|text| matches!(*text, "aux" | "-ef" | "-e" | "-A")),
        "sed" => sed_reads(&texts),
        // `@FILE` includes options from a file.
        "strings" => !texts.iter().any(|text| text.starts_with('@')),
        "uniq" => uniq_reads(&texts),
        _ => EXCEPT_WITH
            .iter()
            .find(|(name, _)| *name == program)
            .is_some_and(none_of),
    }
}

/// Returns whether `sed` only reads: `sed -n` with a script that only prints lines by number.
fn sed_reads(arguments: &[&str]) -> bool {
    let [quiet, script, files @ ..] = arguments else {
        return false;
    };
    let by_number = |c: char| c.is_ascii_digit() || matches!(c, ',' | '$' | 'p' | ';' | ' ');
    *quiet == "-n"
        && script.chars().all(by_number)
        && !files.iter().any(|file| file.starts_with('-'))
}

/// Returns whether `uniq` only reads: it writes to its second operand.
fn uniq_reads(arguments: &[&str]) -> bool {
    let mut operands = 0;
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if matches!(*argument, "-f" | "-s" | "-w") {
            arguments.next();
        } else if !argument.starts_with('-') || *argument == "-" {
            operands += 1;
        }
    }
    operands <= 1
}

/// Returns whether `date` only reads: it sets the clock with `-s` or with an operand that is not a
/// format.
fn date_reads(arguments: &[&str]) -> bool {
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match *argument {
            "-d" | "--date" | "-r" | "--reference" => {
                arguments.next();
            }
            text if text.starts_with('+') => {}
            text if text.starts_with('-') && !is_option(text, &["-s", "--set"]) => {}
            _ => return false,
        }
    }
    true
}

/// Returns whether these commands change the directory and also run git. Git runs programs from the
/// configuration of a repository, so the repository must not change in between.
pub(crate) fn moves_and_runs_git(parts: &[Part]) -> bool {
    parts.iter().any(|part| mentions(part, &MOVES)) && parts.iter().any(runs_git)
}

/// Returns whether a simple command contains the word `git`.
pub(crate) fn runs_git(part: &Part) -> bool {
    mentions(part, &["git"])
}

fn mentions(part: &Part, words: &[&str]) -> bool {
    part.words
        .iter()
        .any(|word| words.contains(&word.text.as_str()))
}

/// Returns whether a simple command reads the content of the given directories and of its own.
fn descends(part: &Part) -> bool {
    const RECURSIVE: [&str; 6] =
        word_list("-r -R -d --recursive --dereference-recursive --directories");
    let is_recursive = |word: &Word| is_option(&word.text, &RECURSIVE);
    mentions(part, &["rg"])
        || (mentions(part, &["grep", "egrep", "fgrep", "diff"])
            && part.words.iter().any(is_recursive))
}

/// Returns whether a jq program loads modules or data.
fn loads_modules(program: &str) -> bool {
    let is_keyword = |(at, word): (usize, &str)| {
        let before = program[..at].chars().next_back();
        let after = program[at + word.len()..].chars().next();
        let parts = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '$' | '@' | '"');
        !before.is_some_and(parts)
            && after.is_some_and(|c| c.is_whitespace() || matches!(c, '"' | '#'))
    };
    ["import", "include"]
        .iter()
        .any(|word| program.match_indices(word).any(is_keyword))
}

/// Returns whether a simple command may read files that its words do not name: through a pattern,
/// recursion, a changed directory, or git's stored content.
pub(crate) fn names_files_vaguely(part: &Part) -> bool {
    part.words.iter().any(|word| !word.is_literal())
        || mentions(part, &MOVES)
        || descends(part)
        || (runs_git(part) && !read_only_git::shows_no_content(&part.words))
}

/// Returns whether the words of a command of this program are file names.
pub(crate) fn takes_files(program: &str) -> bool {
    const OTHERS: [&str; 15] = [
        "awk", "cp", "dd", "install", "less", "ln", "more", "mv", "nano", "sed", "source",
        "strings", "tee", "vim", "xxd",
    ];
    let excepted = EXCEPT_SPELLED.iter().chain(&EXCEPT_WITH);
    ALWAYS.contains(&program)
        || OTHERS.contains(&program)
        || excepted.map(|(name, _)| *name).any(|name| name == program)
}

/// Returns whether a word may refer to files under `/proc`, which show the environment and memory,
/// and so the secrets, of other processes.
fn looks_into_processes(word: &Word) -> bool {
    let first = word
        .text
        .trim_start_matches('/')
        .split('/')
        .next()
        .unwrap_or_default();
    word.text.contains("/proc")
        || (word.text.starts_with('/') && word.pattern && first.contains(['*', '?', '[', '{']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_only_read_are_recognized() {
        for command in [
            "ls",
            "ls -la src/*.rs",
            "cat a b | head -5 | wc -l",
            "pwd; echo hi && date +%s",
            "grep -rn 'a|b' src",
            "rg foo -g '*.rs'",
            "jq .compilerOptions.include tsconfig.json",
            "jq -r '.imports | keys' *.json",
            "jq '.include | keys' a",
            "find . -name '*.rs' -type f",
            "sort -u -k2 a",
            "git status",
            "git log --oneline -5",
            "git diff HEAD~1 -- src",
            "git show HEAD:a",
            "git branch --list",
            "git branch -a",
            "git branch --show-current",
            "git --no-pager log",
            "git branch --contains HEAD",
            "git tag",
            "git tag -l 'v*'",
            "git remote -v",
            "git stash list",
            "git rev-parse HEAD",
            "git config --get user.name",
            "sed -n '1,20p' src/lib.rs",
            "cat a 2>/dev/null",
            "ls 2>&1",
            "wc -l < a",
            "uniq -c -f 1 a",
            "echo $HOME '$(x)'",
            "[ -f a ]",
            "test -d b",
            "command -v cargo",
            "timeout 5 cat a",
            "LC_ALL=C sort a",
            "cd src && ls",
            "date -d yesterday",
            "ls # > a",
            "printf '%s\\n' a",
            "cat a\ncat b",
            "git grep -n foo",
            "true",
            "ps aux",
            "git worktree list",
            "base64 -d a",
            "diff a b",
            "wc -l a *.rs",
            "grep x *.rs",
            "diff -u a b",
            "strings a",
            "du -sh .",
            "grep -rn x src",
            "arch",
        ] {
            assert!(bash_is_read_only(command), "{command}");
        }
    }

    #[test]
    fn commands_that_may_do_more_are_not_read_only() {
        for command in [
            "",
            "   ",
            "# nothing",
            "rm a",
            "ls; rm a",
            "ls > a",
            "ls >> a",
            "ls &> a",
            "cat <<E\nE",
            "cat <<< x",
            "echo $(rm a)",
            "echo `rm a`",
            "cat <(rm a)",
            "(ls)",
            "{ ls; }",
            "ls 'a",
            "./ls",
            "/tmp/ls",
            "l''s",
            "$X",
            "A=1 ls",
            "PATH=. ls",
            "A=1",
            "env",
            "tee a",
            "find . -delete",
            "find . -exec rm {} +",
            "find . -fprint a",
            "sort -o a b",
            "sort -uo a b",
            "sort --output=a b",
            "sort --outp=a b",
            "sort *",
            "sort -{o,a}",
            "uniq a b",
            "date -s x",
            "date --set=x",
            "date 010100",
            "sed -i s/a/b/ f",
            "sed -n 'w out' f",
            "sed s/a/b/e f",
            "sed -n 1p -i f",
            "git push",
            "git",
            "git branch new",
            "git branch -D a",
            "git tag v1",
            "git tag -d v1",
            "git log --output=a",
            "git log --outpu=a",
            "git diff --ext-diff",
            "git grep -Oless x",
            "git grep --open-files=x y",
            "git -C x status",
            "git -c core.pager=x log",
            "git config a b",
            "git config --get-urlmatch a b",
            "git stash",
            "git stash pop",
            "git remote add a b",
            "git checkout a",
            "git reflog expire",
            "git reflog show --output=a",
            "cd x && git status",
            "git fetch",
            "cat /proc/1/environ",
            "cat /p*/1/environ",
            "cat < /proc/1/environ",
            "ps eww",
            "ps e",
            "cat < /dev/tcp/h/80",
            "rg --pre x y",
            "test -v 'a[$(x)]'",
            "printf -v a b",
            "xargs ls",
            "git log $X",
            "ls & rm a",
            "tree -o a",
            "fd -x rm",
            "command rm",
            "hostname x",
            "git branch -l new",
            "git worktree add x",
            "for f in a; do ls; done",
            "if ls; then ls; fi",
            "! ls",
            "time",
            "timeout 5 rm a",
            "file -C",
            "ls\nrm a",
        ] {
            assert!(!bash_is_read_only(command), "{command}");
        }
    }

    #[test]
    fn options_that_run_programs_or_read_unnamed_files_are_not_read_only() {
        for command in [
            "tree -R -H . -L 1",
            "tree -aRL 2",
            "sort --files0-from=names",
            "sort -T /x a",
            "wc --files0-from=names",
            "du --files0-from=names",
            "find -files0-from names",
            "strings @options",
            "diff -l a b",
            "diff -r a b",
            "diff -ru a b",
            "grep -R x .",
            "grep -nR x .",
            "grep --deref x .",
            "rg -L x",
            "rg --follow x",
            "rg --hostname-bin=x y",
            "fd -l",
            "file -z a",
            "file -f names",
            "file -m magic a",
            "base64 -o a b",
            "arch -x86_64 ./a",
            "getconf -v x y",
            "jq -n 'import \"a\" as $a; $a'",
            "jq -n 'include\"a\"; .'",
            "jq -L lib . a",
            "jq -rf program a",
            "cat ~-/a",
            "cat ~bob/a",
            "cd - && cat a",
            "cd d* && cat a",
            "cat /sys/x",
            "cat /dev/sda",
            "cat /dev/pts/1",
            "grep -f/dev/mem x",
            "grep --file=/dev/mem x",
            "cd / && cat proc/1/environ",
            "cd /dev && cat mem",
            "cat {,}/x",
            "cat {/dev/mem,x}",
            "cat a{/x,}{/../../dev/mem,}",
            "grep -r x /",
            "rg x /",
            "git\tpush",
            "ls |& tee a",
        ] {
            assert!(!bash_is_read_only(command), "{command}");
        }
    }
}
