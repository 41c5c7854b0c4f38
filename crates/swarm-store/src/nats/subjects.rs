//! Names of streams and subjects. Names of teams and members have only letters, digits, `_` and `-`.

use swarm_protocol::TeamName;

use crate::records::{Key, WriteId};

/// Returns the stream of a team.
pub(super) fn stream(team: &TeamName) -> String {
    format!("swarm-{team}")
}

/// Returns the subjects that the stream of a team stores.
pub(super) fn stored(team: &TeamName) -> Vec<String> {
    let kinds = [
        "record.>", "page.>", "log.>", "lease.*", "chunk.>", "blob.*.*", "clock",
    ];
    kinds.map(|kind| format!("swarm.{team}.{kind}")).to_vec()
}

/// Returns the subject of a record or a lease.
pub(super) fn of(team: &TeamName, key: &Key) -> String {
    format!("swarm.{team}.{key}")
}

/// Returns the subject of one entry of a log. Each entry has one of its own, so that it is appended
/// only once.
pub(super) fn entry(team: &TeamName, log: &Key, id: WriteId) -> String {
    format!("swarm.{team}.{log}.{id}")
}

/// Returns the pattern of the entries of a log.
pub(super) fn entries(team: &TeamName, log: &Key) -> String {
    format!("swarm.{team}.{log}.*")
}

/// Returns the pattern of the records whose keys begin with these words.
pub(super) fn below(team: &TeamName, prefix: &Key) -> String {
    format!("swarm.{team}.{prefix}.>")
}

/// Returns the pattern of all leases.
pub(super) fn leases(team: &TeamName) -> String {
    format!("swarm.{team}.lease.*")
}

/// Returns the key of a record, or of an entry of a log, that has a subject.
pub(super) fn key(team: &TeamName, subject: &str) -> Key {
    let own = subject.strip_prefix(&format!("swarm.{team}."));
    Key::new(own.unwrap_or(subject))
}

/// Returns the prefix of the subjects of all chunks of values that were written to a subject.
pub(super) fn chunks_of(team: &TeamName, subject: &str) -> String {
    let team = format!("swarm.{team}");
    let own = subject.strip_prefix(&team).unwrap_or(subject);
    format!("{team}.chunk{own}")
}

/// Returns the subject whose messages show the server's time.
pub(super) fn clock(team: &TeamName) -> String {
    format!("swarm.{team}.clock")
}

/// Returns which subjects the server announces when it has stored a message of theirs, and where.
/// Announcements are not stored.
pub(super) fn announcements(team: &TeamName) -> (String, String) {
    (format!("swarm.{team}.>"), format!("swarm.{team}.changed.>"))
}

/// Returns the subjects on which changes of a key, or of a prefix of keys, are announced.
pub(super) fn changes_of(team: &TeamName, key: &Key) -> [String; 2] {
    let own = format!("swarm.{team}.changed.{key}");
    let below = format!("{own}.>");
    [own, below]
}

/// Returns the prefix of the subjects on which the server answers.
pub(super) fn replies(team: &TeamName) -> String {
    format!("swarm.{team}.reply")
}
