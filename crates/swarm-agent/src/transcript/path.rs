//! Paths of transcripts.

use std::path::{Path, PathBuf};

use swarm_os::fingerprint;
use swarm_protocol::SessionId;

/// Longest directory name without a digest. File names have at most 255 bytes, so the digest fits
/// after it.
const MAX_DIRECTORY: usize = 200;

/// Returns the file of a conversation: `<root>/projects/<cwd>/<session>.jsonl`, where every UTF-16
/// unit of the working directory that is not an ASCII letter or digit becomes a `-`, as in Claude
/// Code.
///
/// A name longer than 200 bytes is cut and gets a digest of the whole path, so that two long paths
/// do not share a directory.
pub fn transcript_path(root: &Path, cwd: &Path, session: SessionId) -> PathBuf {
    project_dir(root, cwd).join(format!("{session}.jsonl"))
}

/// Returns the directory of a working directory's transcripts.
pub(super) fn project_dir(root: &Path, cwd: &Path) -> PathBuf {
    root.join("projects").join(project_directory(cwd))
}

/// Returns the existing file of a session in any directory below `projects/`, because session ids
/// are unique; otherwise the path that [`transcript_path`] returns.
pub fn find_transcript(root: &Path, cwd: &Path, session: SessionId) -> PathBuf {
    let expected = transcript_path(root, cwd, session);
    if expected.exists() {
        return expected;
    }
    let directories = std::fs::read_dir(root.join("projects"));
    let mut elsewhere = directories.into_iter().flatten().flatten();
    let found = elsewhere.find_map(|directory| {
        let file = directory.path().join(format!("{session}.jsonl"));
        file.is_file().then_some(file)
    });
    found.unwrap_or(expected)
}

fn project_directory(cwd: &Path) -> String {
    let cwd = cwd.to_string_lossy();
    let mut name: String = cwd
        .encode_utf16()
        .map(|unit| match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii_alphanumeric() => char::from(byte),
            _ => '-',
        })
        .collect();
    if name.len() > MAX_DIRECTORY {
        name.truncate(MAX_DIRECTORY);
        let digest = format!("-{:016x}", fingerprint(cwd.as_bytes()));
        name.push_str(&digest);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(cwd: &str) -> String {
        project_directory(Path::new(cwd))
    }

    #[test]
    fn a_transcript_of_another_working_directory_is_found() {
        let root = tempfile::tempdir().unwrap();
        let session = SessionId::random();
        let there = transcript_path(root.path(), Path::new("/there"), session);
        let here = transcript_path(root.path(), Path::new("/here"), session);
        let find = || find_transcript(root.path(), Path::new("/here"), session);
        assert_eq!(find(), here, "the path of a new session");
        for path in [&there, &here] {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            swarm_os::replace_alone(path, b"").unwrap();
            assert_eq!(&find(), path);
        }
    }

    #[test]
    fn project_directories_are_named_as_in_claude_code() {
        let session: SessionId = "0b0e7f43-9f43-4f0c-8d5f-0d4a51f9d0a1".parse().unwrap();
        assert_eq!(
            transcript_path(Path::new("/r"), Path::new("/home/a_b/my.repo"), session),
            Path::new("/r/projects/-home-a-b-my-repo/0b0e7f43-9f43-4f0c-8d5f-0d4a51f9d0a1.jsonl")
        );
        // A character outside ASCII becomes one dash per UTF-16 unit.
        assert_eq!(directory("/é"), "--");
        assert_eq!(directory("/😀"), "---");
    }

    #[test]
    fn long_paths_get_distinct_names_that_fit_a_file_name() {
        let (a, b) = (directory(&"/x".repeat(400)), directory(&"/x".repeat(401)));
        assert_ne!(a, b);
        assert!(a.len() < 255 && b.len() < 255);
        assert_eq!(directory(&"x".repeat(200)), "x".repeat(200));
    }
}
