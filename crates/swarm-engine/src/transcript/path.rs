//! Where a transcript lies.

use std::path::{Path, PathBuf};

use swarm_fs::fingerprint;
use swarm_protocol::SessionId;

/// Longest folder name before it is cut: room under the 255 bytes of a file name for the digest behind it.
const MAX_FOLDER: usize = 200;

/// The file of a conversation: `<root>/projects/<cwd>/<session>.jsonl`, where every UTF-16 unit of the working folder
/// that is not an ASCII letter or digit is a `-`, as Claude Code names its project folders.
///
/// A name longer than 200 is cut there and ends in a digest of the whole, so that two deep folders do not meet.
pub fn transcript_path(root: &Path, cwd: &Path, session: SessionId) -> PathBuf {
    project_dir(root, cwd).join(format!("{session}.jsonl"))
}

/// Where the transcripts of a working directory are.
pub(super) fn project_dir(root: &Path, cwd: &Path) -> PathBuf {
    root.join("projects").join(project_folder(cwd))
}

/// The file of a conversation that may have been begun in another working folder: wherever below `projects/` it lies,
/// since a session's id is unique, and else where [`transcript_path`] puts it.
pub fn find_transcript(root: &Path, cwd: &Path, session: SessionId) -> PathBuf {
    let expected = transcript_path(root, cwd, session);
    if expected.exists() {
        return expected;
    }
    let folders = std::fs::read_dir(root.join("projects"));
    let mut elsewhere = folders.into_iter().flatten().flatten();
    let found = elsewhere.find_map(|folder| {
        let file = folder.path().join(format!("{session}.jsonl"));
        file.is_file().then_some(file)
    });
    found.unwrap_or(expected)
}

fn project_folder(cwd: &Path) -> String {
    let cwd = cwd.to_string_lossy();
    let mut name: String = cwd
        .encode_utf16()
        .map(|unit| match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii_alphanumeric() => char::from(byte),
            _ => '-',
        })
        .collect();
    if name.len() > MAX_FOLDER {
        name.truncate(MAX_FOLDER);
        let digest = format!("-{:016x}", fingerprint(cwd.as_bytes()));
        name.push_str(&digest);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(cwd: &str) -> String {
        project_folder(Path::new(cwd))
    }

    #[test]
    fn a_conversation_is_found_wherever_it_was_begun() {
        let root = tempfile::tempdir().unwrap();
        let session = SessionId::random();
        let there = transcript_path(root.path(), Path::new("/there"), session);
        let here = transcript_path(root.path(), Path::new("/here"), session);
        let find = || find_transcript(root.path(), Path::new("/here"), session);
        assert_eq!(find(), here, "where it begins");
        for path in [&there, &here] {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            swarm_fs::replace_alone(path, b"").unwrap();
            assert_eq!(&find(), path);
        }
    }

    #[test]
    fn the_folder_follows_the_rule_of_claude_code() {
        let session: SessionId = "0b0e7f43-9f43-4f0c-8d5f-0d4a51f9d0a1".parse().unwrap();
        assert_eq!(
            transcript_path(Path::new("/r"), Path::new("/home/a_b/my.repo"), session),
            Path::new("/r/projects/-home-a-b-my-repo/0b0e7f43-9f43-4f0c-8d5f-0d4a51f9d0a1.jsonl")
        );
        // One unit outside ASCII is one dash, a character of two units is two.
        assert_eq!(folder("/é"), "--");
        assert_eq!(folder("/😀"), "---");
    }

    #[test]
    fn deep_folders_keep_apart_and_fit_a_file_name() {
        let (a, b) = (folder(&"/x".repeat(400)), folder(&"/x".repeat(401)));
        assert_ne!(a, b);
        assert!(a.len() < 255 && b.len() < 255);
        assert_eq!(folder(&"x".repeat(200)), "x".repeat(200));
    }
}
