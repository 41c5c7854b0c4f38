//! Transcripts, whose parser reads a file.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use swarm_agent::{TranscriptAuthor, TranscriptFile};
use swarm_protocol::{SessionId, SystemClock};

use super::checks::Target;
use crate::faults::ground::place;

/// Opening a transcript moves unreadable lines to another file, and loses nothing.
pub(super) const TARGET: Target = ("transcript", transcript);

fn transcript(bytes: &[u8]) {
    let directory = tempfile::tempdir_in(place()).expect("a directory");
    let path = directory.path().join("transcript.jsonl");
    fs::write(&path, bytes).expect("a transcript");
    let open = || {
        let author = TranscriptAuthor {
            session: SessionId::random(),
            cwd: PathBuf::from("/project"),
            version: "0".to_owned(),
            agent: None,
            team: None,
            spawn: None,
            sub_agent: None,
        };
        TranscriptFile::open(path.clone(), author, Arc::new(SystemClock)).expect("a transcript")
    };
    let broken = open().broken().len();
    assert_eq!(open().broken(), [], "what is broken is moved once");
    let kept = lines(&fs::read(&path).unwrap_or_default());
    let aside =
        lines(&fs::read(directory.path().join("transcript.jsonl.broken")).unwrap_or_default());
    assert_eq!(aside.len(), broken);
    let mut all = [kept, aside].concat();
    let mut before = lines(bytes);
    all.sort();
    before.sort();
    assert_eq!(all, before, "a line is lost or changed");
}

fn lines(bytes: &[u8]) -> Vec<Vec<u8>> {
    let lines = bytes.split(|byte| *byte == b'\n');
    let written = lines.filter(|line| !line.iter().all(u8::is_ascii_whitespace));
    written.map(<[u8]>::to_vec).collect()
}
