//! Planted objects in place of a team's files and directories: links to files of others, pipes,
//! directories, files.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::everything::{FILES, furnished, run};
use super::ground::TeamFixture;
use super::log::{lines, path_of};
use super::workers::Programs;

/// Files in addition to [`FILES`] that are not read as documents. An object in place of a lock
/// directory causes a timeout error, which `swarm-os` tests with a short timeout.
const LOCKS: [&str; 5] = [
    "swarm/locks/teams",
    "teams/crew/swarm/locks/config",
    "teams/crew/swarm/locks/inbox-reader",
    "teams/crew/swarm/locks/tasks",
    "teams/crew/inboxes/.reader.json.x.swarm-tmp",
];

/// Directories of a team, which must not be links. Their parents may be.
const DIRECTORIES: [&str; 6] = [
    "teams/crew",
    "teams/crew/inboxes",
    "teams/crew/swarm",
    "teams/crew/swarm/locks",
    "teams/crew/swarm/members/reader",
    "tasks/crew",
];

/// Kinds of planted objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Planted {
    /// A symbolic link to a file of another user.
    Link,
    /// A dangling symbolic link.
    Dangling,
    /// A hard link to a file of another user.
    HardLink,
    /// A pipe without a writer.
    Pipe,
    /// A directory that is not empty.
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

/// Replaces each file and directory, or those that `choose` picks, and runs everything on it.
/// Returns the number of trials.
///
/// # Panics
/// If something hangs, crashes, or accesses files outside.
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
    // Next to the config directory, so that a hard link is possible.
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
    // A member's directory is removed with the member.
    if planted == Planted::Directory && !file.contains("/members/") {
        let inside = ground.paths().into_iter().find(|path| {
            path.ends_with("inside") && fs::read_to_string(path).is_ok_and(|text| text == "mine")
        });
        assert!(inside.is_some(), "{what}: what was in it is gone");
    }
}

/// Moves the team's directory out and replaces it by a link: writes through it would be outside.
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
    assert!(named, "{what}: no error names it: {refusals:#?}");
}

/// Returns the result of each operation of the worker.
fn run_and_tell(programs: &Programs, ground: &TeamFixture, what: &str) -> Vec<String> {
    let logs = run(programs, ground, what);
    let said = lines(&path_of(logs.path(), "all"));
    said.iter().map(|line| line.words.join(" ")).collect()
}

/// Returns every file below a directory with its content.
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
