//! Detection of directories that git treats as a repository because of their content.

use std::path::Path;

use swarm_protocol::word_list;

/// Names of the entries of a git directory.
const PARTS: [&str; 13] = word_list(
    "HEAD commondir config config.worktree gitdir hooks index info modules objects packed-refs refs
    worktrees",
);

/// Whether git treats this directory as a repository. Less strict than git, which also reads
/// `HEAD`.
pub(crate) fn is_git_directory(directory: &Path) -> bool {
    is_complete(|name| directory.join(name).symlink_metadata().is_ok())
}

/// Whether a file at this path would be part of a directory that git treats as a repository, either
/// an existing one or one that this file completes.
pub(crate) fn part_of_git_directory(real: &Path) -> bool {
    real.ancestors().skip(1).any(|directory| {
        let first = real
            .strip_prefix(directory)
            .ok()
            .and_then(|rest| rest.iter().next()?.to_str());
        let part = PARTS
            .into_iter()
            .find(|part| first.is_some_and(|first| first.eq_ignore_ascii_case(part)));
        part.is_some_and(|part| {
            is_complete(|name| name == part || directory.join(name).symlink_metadata().is_ok())
        })
    })
}

/// Whether the entries form a repository; see `is_git_directory` in git's `setup.c`.
fn is_complete(has: impl Fn(&str) -> bool) -> bool {
    has("HEAD") && (has("commondir") || (has("objects") && has("refs")))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_file_that_completes_a_repository_is_detected_in_any_order() {
        let orders = [
            vec!["HEAD", "refs/x", "objects/x"],
            vec!["objects/x", "HEAD", "config", "refs/heads/x"],
            vec!["refs/x", "objects/pack/x", "head"],
            vec!["HEAD", "commondir"],
            vec!["commondir", "HEAD"],
        ];
        for order in orders {
            let scratch = tempfile::tempdir().unwrap();
            let (last, before) = order.split_last().unwrap();
            for name in before {
                let path = scratch.path().join(name);
                assert!(!part_of_git_directory(&path), "{name} of {order:?}");
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::File::create(path).unwrap();
            }
            assert!(
                part_of_git_directory(&scratch.path().join(last)),
                "{order:?}"
            );
        }
    }

    #[test]
    fn a_git_directory_with_an_unusual_name_is_detected() {
        let scratch = tempfile::tempdir().unwrap();
        for name in ["a.git/objects", "a.git/refs"] {
            fs::create_dir_all(scratch.path().join(name)).unwrap();
        }
        fs::File::create(scratch.path().join("a.git/HEAD")).unwrap();
        assert!(is_git_directory(&scratch.path().join("a.git")));
        for (path, part) in [
            ("a.git/config", true),
            ("a.git/hooks/post-update", true),
            ("a.git/README", false),
            ("config", false),
            ("HEAD", false),
            ("b/HEAD", false),
        ] {
            assert_eq!(
                part_of_git_directory(&scratch.path().join(path)),
                part,
                "{path}"
            );
        }
    }
}
