//! What is reported is on the disk. strace records the system calls of commands and of a member; from
//! them follows what a power cut would leave. Unlike the steps that `swarm-os` logs, a call that was
//! taken out is missing there.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use swarm_tests::fake_api::{Ask, Gate, Reply};
use swarm_tests::stage::World;

use crate::scene::{spawn_args, team_with, wait_for_state, world_saying};

/// The calls that change files and directories, those that flush them, and those that start threads.
const TRACED: &str = "trace=clone,clone3,?fork,?vfork,?open,openat,openat2,?mkdir,mkdirat,write,writev,pwrite64,ftruncate,?rename,renameat,renameat2,?link,linkat,fsync,fdatasync";

/// A recorded system call.
#[derive(Debug)]
struct Call<'t> {
    thread: &'t str,
    name: &'t str,
    arguments: Vec<&'t str>,
    result: &'t str,
}

impl<'t> Call<'t> {
    /// `thread name(argument, …) = result`.
    fn parse(line: &'t str) -> Option<Self> {
        let (thread, line) = line.split_once(' ')?;
        let (name, rest) = line.split_once('(')?;
        // Columns are padded.
        let (arguments, result) = rest.rsplit_once(" = ")?;
        let arguments = arguments.trim_end().strip_suffix(')')?;
        let has_failed = result.starts_with("-1");
        (!has_failed).then(|| Self {
            thread,
            name,
            arguments: split(arguments),
            result,
        })
    }

    fn creates(&self) -> bool {
        let mut flags = self.arguments.iter();
        flags.any(|argument| argument.contains("O_CREAT"))
    }

    /// Path of the open file that an argument names: `7</path>`.
    fn file(&self, at: usize) -> Option<PathBuf> {
        path_of(self.arguments.get(at)?)
    }

    /// Path that two arguments name: a directory, and a path that may be relative to it.
    fn below(&self, directory: usize) -> Option<PathBuf> {
        let directory = self.file(directory).zip(self.path(directory + 1));
        directory.map(|(directory, path)| directory.join(path))
    }

    fn path(&self, at: usize) -> Option<PathBuf> {
        Some(self.arguments.get(at)?.trim_matches('"').into())
    }
}

fn path_of(described: &str) -> Option<PathBuf> {
    let (_, path) = described.split_once('<')?;
    Some(path.rsplit_once('>')?.0.into())
}

/// Splits at the commas outside of strings and paths.
fn split(arguments: &str) -> Vec<&str> {
    let (mut is_string, mut is_escaped, mut depth, mut start) = (false, false, 0_u32, 0);
    let mut parts = Vec::new();
    for (at, byte) in arguments.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_string => is_escaped = true,
            b'"' => is_string = !is_string,
            _ if is_string => {}
            b'<' => depth += 1,
            b'>' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                parts.push(arguments[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(arguments[start..].trim());
    parts
}

/// Returns the calls in the order of their ends: other threads may interrupt the record of one.
fn completed(trace: &str) -> Vec<String> {
    let mut interrupted: HashMap<&str, &str> = HashMap::new();
    let mut calls = Vec::new();
    for line in trace.lines() {
        let Some((thread, call)) = line.split_once(' ') else {
            continue;
        };
        let call = call.trim_start();
        if let Some(begin) = call.strip_suffix("<unfinished ...>") {
            interrupted.insert(thread, begin.trim_end());
        } else if let Some((_, end)) = call.split_once(" resumed>") {
            let begin = interrupted.remove(thread).unwrap_or_default();
            calls.push(format!("{thread} {begin}{end}"));
        } else {
            calls.push(format!("{thread} {call}"));
        }
    }
    calls
}

/// Returns the first thread of each other thread's process.
fn processes<'t>(calls: &[Call<'t>]) -> HashMap<&'t str, &'t str> {
    let mut processes = HashMap::new();
    for call in calls {
        let is_thread = |argument: &&str| argument.contains("CLONE_THREAD");
        if call.name.starts_with("clone") && call.arguments.iter().any(is_thread) {
            let process = processes.get(call.thread).copied();
            processes.insert(call.result, process.unwrap_or(call.thread));
        }
    }
    processes
}

/// What a power cut would undo.
#[derive(Debug)]
struct Unflushed {
    root: PathBuf,
    /// Everything that exists.
    known: BTreeSet<PathBuf>,
    /// Files with content that was not flushed since a process wrote it.
    contents: BTreeSet<(PathBuf, String)>,
    /// Paths whose entry in their directory was not flushed since a process changed it.
    entries: BTreeSet<(PathBuf, String)>,
}

impl Unflushed {
    fn of(root: &Path) -> Self {
        let mut known = BTreeSet::from([root.to_owned()]);
        let mut left = vec![root.to_owned()];
        while let Some(directory) = left.pop() {
            for entry in std::fs::read_dir(&directory)
                .into_iter()
                .flatten()
                .flatten()
            {
                known.insert(entry.path());
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    left.push(entry.path());
                }
            }
        }
        Self {
            root: root.to_owned(),
            known,
            contents: BTreeSet::new(),
            entries: BTreeSet::new(),
        }
    }

    fn apply(&mut self, call: &Call<'_>, process: &str) {
        match call.name {
            "write" | "writev" | "pwrite64" | "ftruncate" => {
                let file = call.file(0).map(|file| (file, process.to_owned()));
                self.contents.extend(file);
            }
            "open" | "openat" | "openat2" if call.creates() => {
                self.enter(path_of(call.result), process);
            }
            "mkdir" => self.enter(call.path(0), process),
            "mkdirat" => self.enter(call.below(0), process),
            "rename" | "link" => self.rename(call.path(0), call.path(1), process),
            "renameat" | "renameat2" | "linkat" => {
                self.rename(call.below(0), call.below(2), process);
            }
            "fsync" | "fdatasync" => {
                let Some(flushed) = call.file(0) else { return };
                self.contents.retain(|(file, _)| *file != flushed);
                self.entries
                    .retain(|(entry, _)| entry.parent() != Some(flushed.as_path()));
            }
            _ => {}
        }
    }

    fn enter(&mut self, path: Option<PathBuf>, process: &str) {
        let new = path.filter(|path| self.known.insert(path.clone()));
        self.entries
            .extend(new.map(|path| (path, process.to_owned())));
    }

    fn rename(&mut self, from: Option<PathBuf>, to: Option<PathBuf>, process: &str) {
        let Some((from, to)) = from.zip(to) else {
            return;
        };
        self.contents.retain(|(file, _)| *file != to);
        let moved = self.contents.extract_if(.., |(file, _)| *file == from);
        let moved: Vec<_> = moved.map(|(_, process)| (to.clone(), process)).collect();
        self.contents.extend(moved);
        self.known.insert(to.clone());
        self.entries.insert((to, process.to_owned()));
    }

    fn transcript(&self) -> Option<&Path> {
        let projects = self.root.join("projects");
        let is_transcript = |path: &&PathBuf| {
            path.starts_with(&projects) && path.extension().is_some_and(|end| end == "jsonl")
        };
        self.known.iter().find(is_transcript).map(PathBuf::as_path)
    }

    /// Asserts that a power cut would leave a file as this process has written it.
    #[track_caller]
    fn assert_durable(&self, file: &Path, process: &str) {
        assert!(self.known.contains(file), "{} is missing", file.display());
        let own = |path: &Path| (path.to_owned(), process.to_owned());
        let shown = file.display();
        assert!(!self.contents.contains(&own(file)), "content of {shown}");
        let above = file.ancestors();
        let mut above = above.take_while(|path| path.starts_with(&self.root));
        let lost = above.find(|path| self.entries.contains(&own(path)));
        assert_eq!(lost, None, "an entry above {shown}");
    }
}

/// Returns the words that record another program's system calls in a file; `None` without strace.
#[expect(clippy::print_stderr, reason = "a test that cannot run here says so")]
fn tracer(world: &World) -> Option<Vec<String>> {
    let trace = world.directory().join("trace").display().to_string();
    let words = ["strace", "-f", "-qq", "-y", "-e", TRACED, "-o", &trace];
    let tried = world
        .command(words[0])
        .args(&words[1..])
        .arg("true")
        .status();
    if !tried.is_ok_and(|status| status.success()) {
        eprintln!("NOT PROVEN HERE: no system calls can be recorded, so no flush was checked");
        return None;
    }
    Some(words.map(str::to_owned).into())
}

/// Replays what was recorded, and calls `check` after each call.
fn replay(world: &World, mut disk: Unflushed, mut check: impl FnMut(&Unflushed, &Call<'_>, &str)) {
    let trace = std::fs::read_to_string(world.directory().join("trace")).expect("the trace");
    let lines = completed(&trace);
    let calls: Vec<_> = lines.iter().filter_map(|line| Call::parse(line)).collect();
    let processes = processes(&calls);
    for call in &calls {
        let process = processes.get(call.thread).copied().unwrap_or(call.thread);
        disk.apply(call, process);
        check(&disk, call, process);
    }
}

/// Whether the traced command prints its result.
fn is_report(world: &World, call: &Call<'_>) -> bool {
    let output = call.arguments[0].strip_prefix("1<").is_some();
    let is_captured = |path: PathBuf| path.starts_with(world.directory().join("out"));
    call.name == "write" && output && call.file(0).is_some_and(is_captured)
}

/// Asserts that `files` are on the disk when a command prints its result.
fn reports_what_is_durable(world: &World, arguments: &[&str], files: &[&str]) {
    let Some(tracer) = tracer(world) else { return };
    let tracer: Vec<&str> = tracer.iter().map(String::as_str).collect();
    let root = world.root().canonicalize().expect("the config directory");
    let disk = Unflushed::of(&root);
    world.start_under(&tracer, arguments, &[]).wait().ok();
    let mut reports = 0;
    replay(world, disk, |disk, call, process| {
        if is_report(world, call) {
            reports += 1;
            for file in files {
                disk.assert_durable(&root.join(file), process);
            }
        }
    });
    assert!(reports > 0, "{arguments:?} reported nothing");
}

#[test]
fn a_message_and_a_task_are_on_the_disk_when_they_are_reported() {
    let (_api, world) = world_saying("done");
    world.swarm(&["team", "add", "ann", "--external"]).ok();
    let journal = "teams/demo/swarm/journal.jsonl";
    let send = ["send", "ann", "hello"];
    reports_what_is_durable(&world, &send, &["teams/demo/inboxes/ann.json"]);
    let create = ["task", "create", "something"];
    reports_what_is_durable(&world, &create, &["tasks/demo/1.json", journal]);
    let update = ["task", "update", "1", "--status", "completed"];
    reports_what_is_durable(&world, &update, &["tasks/demo/1.json", journal]);
}

#[test]
fn a_spawn_is_on_the_disk_when_it_is_reported_and_a_transcript_before_its_mail_is_acknowledged() {
    // The answer is appended to the transcript while the prompt is acknowledged, and flushed later.
    let (gate, held) = Gate::pair();
    let (_api, world) = team_with(move |_: &Ask| Reply::text("done").held_by(&held, 1));
    let Some(tracer) = tracer(&world) else { return };
    let tracer: Vec<&str> = tracer.iter().map(String::as_str).collect();
    let root = world.root().canonicalize().expect("the config directory");
    let disk = Unflushed::of(&root);
    let spawn = spawn_args("bob", "headless", &["--prompt", "hello"]);
    let spawning = world.start_under(&tracer, &spawn, &[]);
    world.wait_until("the prompt is acknowledged", || {
        let inbox = world.team("demo").inbox("bob");
        !inbox.is_empty() && inbox.iter().all(|entry| entry["read"] == true)
    });
    gate.open();
    wait_for_state(&world, "bob", "idle");
    world.swarm(&["shutdown", "bob"]).ok();
    spawning.wait().ok();
    let inbox = root.join("teams/demo/inboxes/bob.json");
    let (mut reports, mut acknowledged) = (0, 0);
    replay(&world, disk, |disk, call, process| {
        if is_report(&world, call) {
            reports += 1;
            for file in ["teams/demo/config.json", "teams/demo/swarm/journal.jsonl"] {
                disk.assert_durable(&root.join(file), process);
            }
        }
        let is_inbox = call.name == "renameat" && call.below(2).as_ref() == Some(&inbox);
        if let Some(transcript) = disk.transcript().filter(|_| is_inbox) {
            if acknowledged == 0 {
                disk.assert_durable(transcript, process);
            }
            acknowledged += 1;
        }
    });
    assert!(reports > 0 && acknowledged > 0, "{reports} {acknowledged}");
}
