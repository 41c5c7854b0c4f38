//! Comparison of the command analysis with bash: allowed commands are executed and must not do more
//! than was allowed.
#![allow(clippy::unwrap_used, reason = "a failed setup fails the test")]

#[path = "questions/question.rs"]
mod questions;

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use proptest::prelude::*;
use serde_json::json;
use swarm_permissions::{Behavior, Rule, RuleSet, bash_is_read_only, decide};
use swarm_protocol::{PermissionMode, ToolKind};
use tempfile::TempDir;

use questions::question;

/// A working directory and, next to it, the programs `ok` and `evil`, which log their execution.
struct Bench {
    scratch: TempDir,
}

impl Bench {
    fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let bench = Self { scratch };
        for directory in ["bin", "work/sub"] {
            std::fs::create_dir_all(bench.path(directory)).unwrap();
        }
        for name in ["ok", "evil"] {
            let program = bench.path("bin").join(name);
            put(&program, &format!("#!/bin/sh\necho {name} >> \"$LOG\"\n"));
            std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        put(&bench.path("work/f"), "b\na\n");
        put(&bench.path("work/sub/g"), "x\n");
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    fn run(&self, command: &str, path: &str) {
        let bin = self.path("bin");
        // Waits for all processes that hold the output, including background ones.
        // By its full path, because the test sets PATH.
        Command::new("/bin/bash")
            .args(["-c", command])
            .current_dir(self.path("work"))
            .env_clear()
            .env("PATH", format!("{}{path}", bin.display()))
            .env("LOG", self.path("log"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    /// Returns every file of the working directory with its content.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut directories = vec![self.path("work")];
        while let Some(directory) = directories.pop() {
            for entry in std::fs::read_dir(directory).unwrap().flatten() {
                if entry.file_type().unwrap().is_dir() {
                    directories.push(entry.path());
                } else {
                    files.insert(entry.path(), std::fs::read(entry.path()).unwrap());
                }
            }
        }
        files
    }
}

fn put(path: &Path, content: &str) {
    std::fs::File::create(path)
        .unwrap()
        .write_all(content.as_bytes())
        .unwrap();
}

fn allowed(command: &str) -> bool {
    let mut rules = RuleSet::default();
    rules.add(Behavior::Allow, Rule::parse("Bash(ok:*)").unwrap(), "test");
    let input = json!({ "command": command });
    let question = question("Bash", ToolKind::Execute, &input);
    decide(PermissionMode::Default, &rules, &question).is_allow()
}

/// Generates pieces joined with and without spaces.
fn pieces(of: &'static [&'static str]) -> impl Strategy<Value = String> {
    let piece = (
        proptest::sample::select(of),
        prop_oneof![Just(" "), Just("")],
    );
    proptest::collection::vec(piece, 0..7).prop_map(|pieces| {
        let texts: Vec<&str> = pieces.into_iter().flat_map(<[&str; 2]>::from).collect();
        texts.concat()
    })
}

const SHELL: &[&str] = &[
    "ok",
    "evil",
    "ok",
    "evil",
    " ",
    ";",
    "&",
    "&&",
    "|",
    "||",
    "\n",
    "\\\n",
    "'",
    "\"",
    "\\",
    "$(",
    ")",
    "`",
    "${",
    "}",
    "x:-",
    "<(",
    ">(",
    ">",
    "2>&1",
    "< f",
    "<<E",
    "E",
    "<<<",
    "#",
    "{",
    "(",
    "!",
    "$'",
    "\\x27",
    "if",
    "then",
    "fi",
    "A=1",
    "$x",
    "eval",
    "-c",
    "echo",
    "test",
    "-v",
    "a[$(evil)]",
    "~",
    "*",
    "=",
    "function ",
    "()",
    "\t",
    "\r",
    "time",
    "ls",
    "&>",
    "timeout 5",
    "nice",
    "LANG=C",
    "@P",
    "$((",
    "))",
    "[[",
    "]]",
    "coproc",
    "exec",
    "command",
    "builtin",
    ".",
];

const READERS: &[&str] = &[
    "ls",
    "cat",
    "sort",
    "sort",
    "uniq",
    "find",
    "find",
    "sed",
    "sed -n",
    "git",
    "git",
    "head",
    "grep",
    "printf",
    "echo",
    "tee",
    "-o",
    "-n",
    "-i",
    "1p",
    "w h",
    "f",
    "sub/g",
    "h",
    ".",
    "--output=h",
    "--outp=h",
    "-delete",
    "-exec",
    "evil",
    "{}",
    "\\;",
    "-fprint",
    "log",
    "branch",
    "tag",
    "x",
    "-D",
    "-a",
    "--list",
    "-l",
    "stash",
    "config",
    "a.b",
    "--get",
    "diff",
    "--no-index",
    " ",
    "|",
    ";",
    "&&",
    ">",
    "2>",
    "/dev/null",
    "*",
    "-",
    "--",
    "HEAD",
    "-ho",
    "-uo",
    "cd sub",
    "file",
    "-C",
    "$x",
    "{-o,h}",
    "tree",
    "date",
    "touch",
    "rm",
    "mv",
    "remote",
    "add",
    "rev-parse",
    "xargs",
    "env",
    "'",
    "\"",
    "checkout",
    "reset",
    "-O",
    "evil",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn an_allow_rule_for_one_program_runs_no_other(tail in pieces(SHELL), head in prop_oneof![Just("ok "), Just("")]) {
        let command = format!("{head}{tail}");
        if allowed(&command) {
            let bench = Bench::new();
            let before = bench.files();
            bench.run(&command, "");
            prop_assert!(!bench.log().contains("evil"), "{command:?}");
            prop_assert_eq!(bench.files(), before, "{:?}", command);
        }
    }

    #[test]
    fn read_only_commands_change_no_file(first in proptest::sample::select(READERS), tail in pieces(READERS)) {
        let command = format!("{first} {tail}");
        if bash_is_read_only(&command) {
            let bench = Bench::new();
            bench.run("git init -q -b main . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x", ":/usr/bin:/bin");
            let before = bench.files();
            bench.run(&command, ":/usr/bin:/bin");
            prop_assert!(!bench.log().contains("evil"), "{command:?}");
            prop_assert_eq!(bench.files(), before, "{:?}", command);
        }
    }
}

#[test]
fn the_test_bench_detects_violations() {
    let bench = Bench::new();
    let before = bench.files();
    bench.run("ok; evil; echo x > h", "");
    assert_eq!(bench.log(), "ok\nevil\n");
    assert_ne!(bench.files(), before);
    assert!(allowed("ok a 'b' && ok 2>&1") && !allowed("ok; evil"));
}
