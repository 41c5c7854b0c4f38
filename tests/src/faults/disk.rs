//! A full disk: a tmpfs of 64 KB in a private mount namespace.

use std::process::Command;

use anyhow::Result;
use swarm_protocol::MemberName;
use swarm_store::{BlockOn as _, Draft, TeamStore as _};

use super::ground::TEAM;
use super::log::{Line, lines, path_of};
use super::worker::{READER, WorkerArguments};
use super::workers::Programs;

/// Result of filling a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DiskReport {
    /// Acknowledged sends.
    pub sent: usize,
    /// Failed sends.
    pub refused: usize,
}

/// Fills a disk by sending, and checks the state afterwards. `None` if none can be mounted.
///
/// # Panics
/// If a guarantee is violated.
pub fn fill_one(programs: &Programs) -> Option<DiskReport> {
    let directory = tempfile::tempdir().expect("a directory");
    let mount = directory.path().join("mount");
    std::fs::create_dir(&mount).expect("a directory to mount on");
    let log = path_of(directory.path(), "fills");
    let script = "mount -t tmpfs -o size=64k,mode=700 none \"$1\" || exit 42\n\
                  exec \"$0\" fills \"$1/root\" \"$2\" reader";
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", script])
        .arg(&programs.worker)
        .args([&mount, &log])
        .output();
    let output = match output {
        Ok(output) if lines(&log).is_empty() && !output.status.success() => {
            eprintln!(
                "skipped: a disk can only be mounted by root: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            return None;
        }
        Ok(output) => output,
        Err(error) => {
            eprintln!("skipped: no unshare here: {error}");
            return None;
        }
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let said = lines(&log);
    let count = |word: &str| said.iter().filter(|line| line.word(0) == word).count();
    let find = |word: &str| said.iter().find(|line| line.word(0) == word).cloned();
    let report = DiskReport {
        sent: count("sent"),
        refused: count("refused"),
    };
    let refusal = find("refused").expect("a full disk").words.join(" ");
    assert!(refusal.contains("/root/"), "it names the file: {refusal}");
    let number = |line: Option<Line>| line.map(|line| line.number(1));
    let sent = u64::try_from(report.sent).unwrap_or_default();
    assert_eq!(
        number(find("there")),
        Some(sent),
        "what was acknowledged is there, and nothing else:\n{said:#?}"
    );
    assert_eq!(
        number(find("acked")),
        Some(sent),
        "it can be read and acknowledged once there is room:\n{said:#?}"
    );
    assert_eq!(
        find("deleted")
            .map(|line| line.word(1).to_owned())
            .as_deref(),
        Some("true"),
        "{said:#?}"
    );
    Some(report)
}

/// Sends until the disk is full, reads, frees space, reads again; fills it again, and deletes the
/// team.
pub(super) fn fill(mut arguments: WorkerArguments) -> Result<()> {
    let me = MemberName::parse(READER)?;
    let (ground, log) = (&arguments.ground, &mut arguments.log);
    let (store, team) = (&ground.store, &ground.team);
    ground.create_team()?;
    ground.join(READER);
    let ballast = ground.root.join("ballast");
    std::fs::write(&ballast, vec![b'x'; 8192])?;
    let mut refused = 0;
    while refused < 10 {
        let draft = Draft::new("a", "x".repeat(300));
        match store.team(team).send(&me, draft).block_on() {
            Ok(_) => log.say("sent")?,
            Err(error) => {
                refused += 1;
                log.say(&format!("refused {}", with_causes(&error)))?;
            }
        }
    }
    log.say(&format!(
        "there {}",
        store.team(team).inbox(&me).block_on()?.unread().count()
    ))?;
    ground.assert_whole();
    // Space is freed.
    std::fs::remove_file(&ballast)?;
    let unread = store.team(team).take_unread(&me).block_on()?;
    let ids: Vec<_> = unread
        .into_iter()
        .filter_map(|entry| entry.msg_id)
        .collect();
    log.say(&format!(
        "acked {}",
        store.team(team).delivered(&me, &ids).block_on()?.len()
    ))?;
    // A team can be deleted to free space, even on a disk without a free byte.
    let filler = ground.root.join("filler");
    let mut size = 65_536;
    while size > 0 {
        if std::fs::write(&filler, vec![b'x'; size]).is_ok() {
            break;
        }
        size -= 512;
    }
    let deleted = store.team(team).delete(true, true).block_on();
    log.say(&format!("deleted {} {deleted:?}", deleted.is_ok()))?;
    anyhow::ensure!(deleted.is_err() || !ground.root.join("teams").join(TEAM).exists());
    Ok(())
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text = format!("{text}: {next}");
        cause = next.source();
    }
    text.replace('\n', " ")
}
