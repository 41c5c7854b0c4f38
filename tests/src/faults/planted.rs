//! Something else in the place of a team's files and directories: links to somebody else's, pipes, directories, files.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::everything::{FILES, furnished, run};
use super::ground::Ground;
use super::log::{lines, path_of};
use super::workers::Programs;

/// Files beside [`FILES`] that are not read as documents. What stands where a lock directory should be is waited for and
/// named at the deadline, which `swarm-os` tests with a short one.
const LOCKS: [&str; 5] = [
    "swarm/locks/teams",
    "teams/crew/swarm/locks/config",
    "teams/crew/swarm/locks/inbox-reader",
    "teams/crew/swarm/locks/tasks",
    "teams/crew/inboxes/.reader.json.x.swarm-tmp",
];

/// Directories of a team, that may be no links. Those around all teams may.
const DIRECTORIES: [&str; 6] = [
    "teams/crew",
    "teams/crew/inboxes",
    "teams/crew/swarm",
    "teams/crew/swarm/locks",
    "teams/crew/swarm/members/reader",
    "tasks/crew",
];

/// What may stand where a file should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Planted {
    /// A symbolic link to a file of somebody else.
    Link,
    /// A symbolic link that leads nowhere yet.
    Dangling,
    /// A second name for a file of somebody else.
    HardLink,
    /// A pipe that nobody writes into.
    Pipe,
    /// A directory with something in it.
    Directory,
}

impl Planted {
    const ALL: [Self; 5] = [
        Self::Link,
        Self::Dangling,
        Self::HardLink,
        Self::Pipe,
        Self::Directory,
    ];

    fn put(self, path: &Path, victim: &Path) {
        match self {
            Self::Link => symlink(victim, path).expect("a link"),
            Self::Dangling => symlink(victim.with_extension("none"), path).expect("a link"),
            Self::HardLink => fs::hard_link(victim, path).expect("a second name"),
            Self::Pipe => make_pipe(path),
            Self::Directory => {
                fs::create_dir(path).expect("a directory");
                fs::write(path.join("inside"), "mine").expect("a file");
            }
        }
    }
}

fn make_pipe(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status();
    assert!(made.expect("mkfifo").success());
}

/// Puts something else in the place of each file and directory, or of those that `choose` picks, and runs everything on it.
/// Returns how many were tried.
///
/// # Panics
/// When something hangs, breaks down, or is led to what is outside.
pub fn on_planted(programs: &Programs, mut choose: impl FnMut() -> bool) -> usize {
    let mut tried = 0;
    for file in FILES.into_iter().chain(LOCKS) {
        for planted in Planted::ALL {
            if choose() {
                in_place_of_file(programs, file, planted);
                tried += 1;
            }
        }
    }
    for directory in DIRECTORIES {
        for is_pipe in [false, true] {
            if choose() {
                in_place_of_directory(programs, directory, is_pipe);
                tried += 1;
            }
        }
    }
    tried
}

fn in_place_of_file(programs: &Programs, file: &str, planted: Planted) {
    let ground = furnished();
    // Beside the root, so that a second name is possible.
    let victim = ground.root.with_extension("victim");
    fs::write(&victim, "mine").expect("a victim");
    let path = ground.root.join(file);
    drop(fs::remove_file(&path));
    planted.put(&path, &victim);
    let what = format!("{planted:?} in the place of {file}");
    drop(run(programs, &ground, &what));
    let kept = fs::read_to_string(&victim).expect("the victim");
    assert_eq!(kept, "mine", "{what}");
    let made = victim.with_extension("none");
    assert!(!made.exists(), "{what}: it was followed");
    // A member's own directory goes with the member.
    if planted == Planted::Directory && !file.contains("/members/") {
        let inside = ground.paths().into_iter().find(|path| {
            path.ends_with("inside") && fs::read_to_string(path).is_ok_and(|text| text == "mine")
        });
        assert!(inside.is_some(), "{what}: what was in it is gone");
    }
}

/// The team's own directory is moved out, and a link leads there: whatever is written through it is written outside.
fn in_place_of_directory(programs: &Programs, directory: &str, is_pipe: bool) {
    let ground = furnished();
    let outside = ground.root.with_extension("outside");
    let path = ground.root.join(directory);
    fs::rename(&path, &outside).expect("a directory to move");
    let before = contents(&outside);
    if is_pipe {
        make_pipe(&path);
    } else {
        symlink(&outside, &path).expect("a link");
    }
    let kind = if is_pipe { "a pipe" } else { "a link" };
    let what = format!("{kind} in the place of {directory}");
    let refusals = run_and_tell(programs, &ground, &what);
    assert_eq!(contents(&outside), before, "{what}");
    let named = refusals
        .iter()
        .any(|line| line.contains(&*path.to_string_lossy()));
    assert!(named, "{what}: nobody is told: {refusals:#?}");
}

/// What the worker was told of each thing that it tried.
fn run_and_tell(programs: &Programs, ground: &Ground, what: &str) -> Vec<String> {
    let logs = run(programs, ground, what);
    let said = lines(&path_of(logs.path(), "all"));
    said.iter().map(|line| line.words.join(" ")).collect()
}

/// Every file below a directory with its bytes.
fn contents(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).expect("a directory").flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                directories.push(path.clone());
                found.push((path, Vec::new()));
            } else {
                let bytes = fs::read(&path).expect("a file");
                found.push((path, bytes));
            }
        }
    }
    found.sort();
    found
}
