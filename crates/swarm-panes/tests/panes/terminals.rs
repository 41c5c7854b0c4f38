//! Fakes of terminals that other programs control: they run commands without a window and record
//! their arguments.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use swarm_panes::{ExternalBackend, It2, PaneProgram};
use swarm_protocol::PaneId;

use crate::rig::{Directory, PATH};

/// What both fakes have in common: `run ID WORDS…` runs a command in a new session with a terminal's
/// endless input, and its output in a file. A terminal without `setsid` uses perl for it.
const TERMINAL: &str = r#"#!/bin/sh
cd "$FAKE" || exit
echo "$*" >>calls
next() { echo x >>opened; wc -l <opened | tr -d ' '; }
run() {
    id=$1; shift
    mkfifo "$id.in"
    perl -MPOSIX -e 'fork and exit; POSIX::setsid; system("echo $$ >>groups"); exec @ARGV' "$@" \
        <>"$id.in" >"$id.out" 2>&1
}
"#;

/// The program of the setting `spawn.pane_program`.
const PROGRAM: &str = r#"
case $1 in
open) shift; id=$(next); run "$id" "$@"; echo "$SWARM_PANE_NEWEST" >>newest; echo "$id" ;;
close) test -e "$2.out" ;;
capture) cat "$2.out" ;;
*) echo "unknown verb $1" >&2; exit 1 ;;
esac
"#;

/// `it2` 0.2.3, as far as it is used.
const IT2: &str = r#"
case "$1 $2" in
'session split')
    case "$*" in *closed*) echo "Error: Session 'closed' not found" >&2; exit 3 ;; esac
    echo "Created new pane: uuid-$(next)" ;;
'session run') id=$4; shift 4; run "$id" /bin/sh -c "$*" ;;
'session close') test "$3 $4" = '-f -s' || exit 1; echo Session closed ;;
'session read') cat "$4.out" ;;
'session set-name' | 'session list') ;;
*) echo "No such command '$2'." >&2; exit 2 ;;
esac
"#;

fn fake(directory: &Directory, name: &str, verbs: &str) -> (PathBuf, Vec<(String, String)>) {
    let program = directory.script(name, &format!("{TERMINAL}{verbs}"));
    let path = PATH.to_owned();
    let state = directory.path("");
    let env = [("PATH", path), ("FAKE", state.display().to_string())];
    (
        program,
        env.map(|(name, value)| (name.to_owned(), value)).into(),
    )
}

/// Ends what still runs in the fake terminals of a directory, as closing their windows would.
pub(crate) fn close_windows(directory: &Directory) {
    let groups = std::fs::read_to_string(directory.path("groups")).unwrap_or_default();
    let groups = groups.lines().map(|group| format!("-{group}"));
    Command::new("kill")
        .args(["-KILL", "--"])
        .args(groups)
        .output()
        .ok();
}

/// A backend whose panes the fake program of a user opens.
pub(crate) fn with_program(directory: &Directory) -> ExternalBackend {
    let (program, env) = fake(directory, "panes", PROGRAM);
    ExternalBackend::new(
        &directory.path("members"),
        Arc::new(PaneProgram { program, env }),
    )
}

/// A backend whose panes a program with this text opens.
pub(crate) fn with_script(directory: &Directory, text: &str) -> ExternalBackend {
    let driver = PaneProgram {
        program: directory.script("panes", text),
        env: vec![("PATH".to_owned(), PATH.to_owned())],
    };
    ExternalBackend::new(&directory.path("members"), Arc::new(driver))
}

/// A fake `it2` and its environment.
pub(crate) fn it2(directory: &Directory) -> (PathBuf, Vec<(String, String)>) {
    fake(directory, "it2", IT2)
}

/// A backend in a fake iTerm2, with the lead in the session `lead`.
pub(crate) fn in_iterm2(directory: &Directory) -> ExternalBackend {
    let (program, env) = it2(directory);
    let lead = Some(PaneId::new("lead"));
    ExternalBackend::new(
        &directory.path("members"),
        Arc::new(It2 { program, lead, env }),
    )
}

/// The arguments of each call of a fake.
pub(crate) fn calls(directory: &Directory) -> Vec<String> {
    let calls = std::fs::read_to_string(directory.path("calls")).unwrap_or_default();
    calls.lines().map(str::to_owned).collect()
}
