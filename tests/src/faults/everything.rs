//! Runs every reader and writer of a team's files in a separate process: on damaged files, on other
//! file types, and with restricted permissions.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use serde_json::json;
use swarm_protocol::{Event, LifeKind, LifeRecord, PauseMark, SpawnId, TaskId, UnixMs};
use swarm_store::{Actor, BlockOn as _, Draft, TaskChange, TeamStore as _};

use super::ground::{TEAM, TeamFixture, name, new_member, new_task};
use super::log::{lines, path_of};
use super::worker::{READER, WorkerArguments};
use super::workers::{Programs, Worker};
use crate::wait::wait_until;

/// Timeout of the process.
const HANGS: Duration = Duration::from_mins(1);

/// Files to damage, relative to the config directory.
pub(super) const FILES: [&str; 13] = [
    "teams/crew/config.json",
    "teams/crew/inboxes/reader.json",
    "teams/crew/swarm/journal.jsonl",
    "teams/crew/swarm/members/reader/life",
    "teams/crew/swarm/members/reader/state.json",
    "teams/crew/swarm/members/reader/hello.json",
    "teams/crew/swarm/members/reader/paused",
    "teams/crew/swarm/archive/reader.jsonl",
    "teams/crew/swarm/tasks.redo.json",
    "teams/crew/swarm/members/waiting/reservation.json",
    "tasks/crew/1.json",
    "tasks/crew/.highwatermark",
    "tasks/crew/.lock",
];

/// Files that only contain the latest state of their writer, so that the next write replaces the
/// content.
const OWN_WORDS: [&str; 5] = ["life", "state.json", "hello.json", "paused", ".lock"];

/// Creates a config directory in which each of the files exists.
///
/// # Panics
/// If it cannot be created.
pub fn furnished() -> TeamFixture {
    let ground = TeamFixture::fresh();
    let (store, team) = (&ground.store, &ground.team);
    let spawn = ground.join(READER);
    drop(ground.live(READER, spawn).expect("a life"));
    ground.task("first", &[]);
    ground.task("second", &[1]);
    for text in ["one", "two"] {
        store
            .team(team)
            .send(&name(READER), Draft::new("a", text))
            .block_on()
            .expect("sent");
    }
    let mut waiting = new_member("waiting");
    waiting.prompt = Some(Draft::new("a", "begin"));
    store
        .team(team)
        .reserve(waiting)
        .block_on()
        .expect("a place");
    let mark = PauseMark {
        reason: None,
        spawn_id: spawn,
        by: "a test".to_owned(),
        at: UnixMs(1),
    };
    store
        .team(team)
        .set_paused(&name(READER), Some(&mark))
        .block_on()
        .expect("a mark");
    for path in FILES.map(|path| ground.root.join(path)) {
        if !path.exists() {
            fs::write(path, "{}").expect("a file");
        }
    }
    // A redo log that was not applied completely.
    let redo = json!({"writes": []});
    fs::write(ground.root.join(FILES[8]), redo.to_string()).expect("a file");
    ground
}

/// Returns damaged contents.
pub fn damages(sound: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut damages: Vec<(String, Vec<u8>)> = vec![
        ("nothing".to_owned(), Vec::new()),
        ("an open bracket".to_owned(), b"[".to_vec()),
        ("a number".to_owned(), b"17".to_vec()),
        ("null".to_owned(), b"null".to_vec()),
        ("an array of arrays".to_owned(), b"[[],[[]]]".to_vec()),
        (
            "an object of wrong types".to_owned(),
            br#"{"name":7,"members":"x","id":[],"status":{}}"#.to_vec(),
        ),
        (
            "the same key twice".to_owned(),
            br#"{"id":"1","id":"2"}"#.to_vec(),
        ),
        ("no UTF-8".to_owned(), vec![b'"', 0xff, 0xfe, b'"']),
        ("ten thousand brackets".to_owned(), b"[".repeat(10_000)),
        (
            "balanced brackets".to_owned(),
            [b"[".repeat(10_000), b"]".repeat(10_000)].concat(),
        ),
        ("half a surrogate".to_owned(), br#"["\ud800"]"#.to_vec()),
    ];
    let with = |front: &[u8], back: &[u8]| [front, sound, back].concat();
    damages.push(("a byte order mark".to_owned(), with(b"\xef\xbb\xbf", b"")));
    damages.push(("a tail of zeros".to_owned(), with(b"", &[0; 512])));
    damages.push(("two documents".to_owned(), with(sound, b"")));
    damages.push(("all zeros".to_owned(), vec![0; sound.len().max(1)]));
    let cuts = [
        1,
        sound.len() / 3,
        sound.len() / 2,
        sound.len().saturating_sub(1),
    ];
    for cut in cuts {
        damages.push((
            format!("its first {cut} bytes"),
            sound[..cut.min(sound.len())].to_vec(),
        ));
    }
    damages
}

/// Damages each file in each way, or those that `choose` picks, and runs everything on it. Returns
/// the number of trials.
///
/// # Panics
/// If something hangs, crashes, or loses data.
pub fn on_damaged(programs: &Programs, mut choose: impl FnMut() -> bool) -> usize {
    let mut tried = 0;
    for file in FILES {
        let sound = fs::read(furnished().root.join(file)).expect("a file");
        for (what, bytes) in damages(&sound) {
            if !choose() {
                continue;
            }
            let ground = furnished();
            let path = ground.root.join(file);
            fs::write(&path, &bytes).expect("a damaged file");
            drop(run(programs, &ground, &format!("{file} holds {what}")));
            let is_own = OWN_WORDS.iter().any(|name| file.ends_with(name));
            // Any number is a valid value.
            let is_number = String::from_utf8_lossy(&bytes).parse::<u64>().is_ok();
            let is_own = is_own || (is_number && file.ends_with("mark"));
            let is_empty = bytes.iter().all(u8::is_ascii_whitespace);
            // Claude Code overwrites the roster in place: what follows it may be the end of a longer one.
            let is_overwritten = file.ends_with("config.json") && bytes.starts_with(&sound);
            let is_read = is_overwritten && is_document(&path);
            assert!(
                is_own || is_empty || is_read || is_kept(&ground, &bytes),
                "{file} with {what} in it is gone"
            );
            tried += 1;
        }
    }
    tried
}

/// Runs everything with an umask of 0, and returns the paths that others could read or enter.
///
/// # Panics
/// If it crashes.
pub fn open_to_others(programs: &Programs) -> Vec<PathBuf> {
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path().join("root");
    let mut command = Command::new("sh");
    command
        .args(["-c", "umask 000; exec \"$0\" \"$@\""])
        .arg(&programs.worker)
        .arg("everything")
        .args([&root, &path_of(directory.path(), "all")])
        .args([READER, "from-nothing"]);
    Worker::start(command, directory.path(), "all").finish();
    let ground = TeamFixture::at(&root, super::ground::Locking::Both);
    let mut paths = ground.paths();
    assert!(paths.len() > 15, "{paths:?}");
    paths.push(root);
    paths.retain(|path| {
        let mode = fs::symlink_metadata(path)
            .expect("a path")
            .permissions()
            .mode();
        mode & 0o077 != 0
    });
    paths
}

/// Runs everything on a config directory; the results are in the log `all` of the returned
/// directory.
pub(super) fn run(programs: &Programs, ground: &TeamFixture, what: &str) -> tempfile::TempDir {
    let logs = tempfile::tempdir().expect("a directory for logs");
    let log = path_of(logs.path(), "all");
    let mut command = Command::new(&programs.worker);
    command
        .arg("everything")
        .args([&ground.root, &log])
        .arg(READER);
    let mut worker = Worker::start(command, logs.path(), "all");
    let ended = wait_until("everything has been tried", HANGS, || {
        worker.has_finished().then_some(())
    });
    let last = lines(&log).last().map(|line| line.words.join(" "));
    assert!(ended.is_ok(), "{what}: it hangs behind {last:?}");
    assert_eq!(last.as_deref(), Some("finished"), "{what}");
    logs
}

fn is_document(path: &Path) -> bool {
    let content = fs::read(path).unwrap_or_default();
    serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(&content).is_ok()
}

/// Returns whether the bytes still exist: in place, in a copy, or line by line among the malformed
/// entries.
fn is_kept(ground: &TeamFixture, bytes: &[u8]) -> bool {
    let is_in = |path: &PathBuf| {
        let content = fs::read(path).unwrap_or_default();
        content == bytes
            || (path.extension().is_some_and(|end| end == "jsonl") && content.starts_with(bytes))
    };
    let malformed = |path: &PathBuf| path.to_string_lossy().ends_with(".malformed.jsonl");
    let paths = ground.paths();
    // An array with some malformed elements keeps the others.
    paths.iter().any(is_in) || paths.iter().any(malformed)
}

/// Runs each reader and writer once; errors are acceptable results.
pub(super) fn try_all(mut arguments: WorkerArguments) -> Result<()> {
    if arguments
        .rest
        .first()
        .is_some_and(|word| word == "from-nothing")
    {
        arguments.ground.create_team()?;
        arguments.ground.join(READER);
    }
    let me = arguments.member()?;
    let WorkerArguments { ground, log, .. } = &mut arguments;
    let (store, team) = (ground.hurried(), ground.team.clone());
    let files = store.team(&team);
    let spawn = SpawnId::random();
    let actor = Actor::person(&team);
    let mut outcome = |what: &str, outcome: std::result::Result<(), swarm_store::StoreError>| {
        let said = outcome.map_or_else(|error| error.to_string(), |()| "done".to_owned());
        log.say(&format!("{what}: {}", said.replace('\n', " ")))
    };
    outcome("teams", store.teams().block_on().map(drop))?;
    outcome("config", files.config().block_on().map(drop))?;
    outcome("members", files.member_view().block_on().map(drop))?;
    outcome("inbox", files.inbox(&me).block_on().map(drop))?;
    outcome("tasks", files.tasks().block_on().map(drop))?;
    outcome("requests", files.requests().block_on().map(drop))?;
    outcome("events", files.events().block_on().map(drop))?;
    outcome("state", files.state(&me).block_on().map(drop))?;
    outcome("hello", files.hello(&me).block_on().map(drop))?;
    outcome("paused", files.paused(&me).block_on().map(drop))?;
    outcome("liveness", files.liveness(&me).block_on().map(drop))?;
    outcome(
        "send",
        files
            .send(&me, Draft::new("a", "text"))
            .block_on()
            .map(drop),
    )?;
    let taken = files.take_unread(&me).block_on();
    let ids: Vec<_> = taken
        .iter()
        .flatten()
        .filter_map(|entry| entry.msg_id.clone())
        .collect();
    outcome("take", taken.map(drop))?;
    outcome("delivered", files.delivered(&me, &ids).block_on().map(drop))?;
    outcome(
        "create",
        files
            .create_tasks(&[new_task("new", &[])], &actor)
            .block_on()
            .map(drop),
    )?;
    outcome("claim", files.claim_next(&actor).block_on().map(drop))?;
    let change = TaskChange {
        description: Some("other".to_owned()),
        ..TaskChange::default()
    };
    outcome(
        "update",
        files
            .update_task(&TaskId::new(1), change, &actor)
            .block_on()
            .map(drop),
    )?;
    outcome(
        "delete task",
        files
            .delete_task(&TaskId::new(2), &actor)
            .block_on()
            .map(drop),
    )?;
    outcome("active", files.set_active(&me, false).block_on())?;
    outcome("reconcile", files.reconcile().block_on().map(drop))?;
    outcome(
        "reserve",
        files.reserve(new_member("fresh")).block_on().map(drop),
    )?;
    outcome(
        "abort",
        files.abort_spawn(&spawn, "a test").block_on().map(drop),
    )?;
    outcome("live", live(ground, spawn))?;
    outcome(
        "journal",
        files
            .journal(Event::TeamCreated {
                by: "a test".to_owned(),
            })
            .block_on(),
    )?;
    outcome(
        "remove",
        files.remove_member(&me, None).block_on().map(drop),
    )?;
    outcome("sweep", store.sweep(false).block_on().map(drop))?;
    log.say("finished")?;
    Ok(())
}

/// Takes the life lock for a moment.
fn live(
    ground: &TeamFixture,
    spawn_id: SpawnId,
) -> std::result::Result<(), swarm_store::StoreError> {
    let record = LifeRecord {
        host: TEAM.to_owned(),
        ..LifeRecord::new(LifeKind::Task, std::process::id(), "", spawn_id)
    };
    let life = (ground.store)
        .team(&ground.team)
        .take_life(&name(READER), &record)
        .block_on();
    life.map(drop)
}
