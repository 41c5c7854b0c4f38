//! Resolution of symbolic links, including paths that do not exist yet.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// Maximum number of symbolic links in a path, as in the Linux kernel.
const MAX_LINKS: usize = 40;

/// Resolves every symbolic link in an absolute path, including dangling links. Components that do
/// not exist or are not accessible are kept. Returns `None` for a cycle of links.
pub(crate) fn resolve(path: &Path) -> Option<PathBuf> {
    resolve_where(path, |_| true)
}

/// Resolves symbolic links for which `follows` returns true. Returns `None` for a path through any
/// other link, and for a cycle of links.
pub(crate) fn resolve_where(path: &Path, follows: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let mut real = PathBuf::from("/");
    let mut links = 0;
    let mut rest: VecDeque<OsString> = names(path);
    while let Some(name) = rest.pop_front() {
        if name == ".." {
            real.pop();
            continue;
        }
        let next = real.join(&name);
        let link = match std::fs::symlink_metadata(&next) {
            Ok(metadata) if metadata.is_symlink() => std::fs::read_link(&next).ok(),
            _ => None,
        };
        match link {
            None => real = next,
            Some(to) => {
                links += 1;
                if links > MAX_LINKS || !follows(&next) {
                    return None;
                }
                if to.is_absolute() {
                    real = PathBuf::from("/");
                }
                let mut names = names(&to);
                names.append(&mut rest);
                rest = names;
            }
        }
    }
    Some(real)
}

/// Maximum number of directory entries read to expand a pattern.
const MAX_ENTRIES: usize = 4_096;

/// Returns the paths that an absolute path may resolve to. In a `pattern`, a component with a
/// wildcard matches every directory and link of its parent, and as the last component the parent
/// itself and every link in it. Returns `None` if the path leads through links in `/proc`, which
/// differ between processes, or if there are too many entries.
pub fn leads_to(path: &Path, pattern: bool) -> Option<Vec<PathBuf>> {
    let follow = |path: &Path| resolve_where(path, |link| !link.starts_with("/proc"));
    let is_wild = |name: &OsString| {
        pattern
            && name
                .to_str()
                .is_none_or(|name| name.contains(['*', '?', '[', '{']))
    };
    let mut rest = names(path);
    let literal: PathBuf = rest.iter().take_while(|name| !is_wild(name)).collect();
    rest.drain(..literal.components().count());
    let mut places = vec![follow(&Path::new("/").join(literal))?];
    let mut entries_read = 0;
    while let Some(name) = rest.pop_front() {
        let mut next = Vec::new();
        for place in &places {
            if !is_wild(&name) {
                next.push(follow(&place.join(&name))?);
                continue;
            }
            if rest.is_empty() {
                next.push(place.clone());
            }
            // Patterns and braces may expand to `..`.
            if name.to_str().is_none_or(|name| name.contains('.')) {
                next.extend(place.parent().map(Path::to_owned));
            }
            for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
                entries_read += 1;
                let kind = entry.file_type().ok()?;
                if kind.is_symlink() {
                    next.push(follow(&entry.path())?);
                } else if kind.is_dir() && !rest.is_empty() {
                    next.push(entry.path());
                }
            }
            if entries_read > MAX_ENTRIES {
                return None;
            }
        }
        places = next;
    }
    Some(places)
}

fn names(path: &Path) -> VecDeque<OsString> {
    path.components()
        .filter(|component| matches!(component, Component::Normal(_) | Component::ParentDir))
        .map(|component| component.as_os_str().to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_resolved_to_existing_and_missing_targets() {
        let scratch = tempfile::tempdir().unwrap();
        let dir = resolve(scratch.path()).unwrap();
        std::fs::create_dir_all(dir.join("real/sub")).unwrap();
        symlink("real", dir.join("link")).unwrap();
        symlink(dir.join("real/sub"), dir.join("deep")).unwrap();
        symlink("nowhere/else", dir.join("dangling")).unwrap();
        symlink("loop", dir.join("loop")).unwrap();
        for (given, leads_to) in [
            ("real/a", "real/a"),
            ("link/a", "real/a"),
            ("link/new/a", "real/new/a"),
            ("deep/../a", "real/a"),
            ("dangling", "nowhere/else"),
            ("dangling/../x", "nowhere/x"),
            ("missing/../x", "x"),
        ] {
            assert_eq!(
                resolve(&dir.join(given)),
                Some(dir.join(leads_to)),
                "{given}"
            );
        }
        assert_eq!(resolve(&dir.join("loop")), None);
        let below = |directory: &'static str| {
            let directory = dir.join(directory);
            move |link: &Path| !link.starts_with(&directory)
        };
        assert_eq!(resolve_where(&dir.join("deep"), below("")), None);
        let deep = resolve_where(&dir.join("deep"), below("real"));
        assert_eq!(deep, Some(dir.join("real/sub")));
        assert_eq!(resolve(Path::new("/../..")), Some(PathBuf::from("/")));
    }

    #[test]
    fn a_pattern_resolves_to_the_targets_of_all_matching_entries() {
        let scratch = tempfile::tempdir().unwrap();
        let dir = resolve(scratch.path()).unwrap();
        std::fs::create_dir_all(dir.join("sub/deep")).unwrap();
        std::fs::File::create(dir.join("file")).unwrap();
        symlink("/proc", dir.join("link")).unwrap();
        let leads = |path: &str, pattern| leads_to(&dir.join(path), pattern);
        let in_proc = |path: &str| {
            leads(path, true)
                .is_none_or(|places| places.iter().any(|place| place.starts_with("/proc")))
        };
        for path in [
            "*",
            "l*",
            "*/1/environ",
            "l?nk/1",
            "{sub,link}/1",
            "sub/../*/1",
            ".*/*/1",
        ] {
            assert!(in_proc(path), "{path}");
        }
        for path in ["sub/*", "sub/*/x", "nowhere/*"] {
            assert!(!in_proc(path), "{path}");
        }
        assert_eq!(leads("l*", false), Some(vec![dir.join("l*")]));
        assert_eq!(
            leads("link/1/environ", false),
            Some(vec!["/proc/1/environ".into()])
        );
        assert_eq!(leads("link/self/environ", false), None);
        assert_eq!(leads_to(Path::new("/dev/fd/../../1/environ"), false), None);
        for n in 0..=MAX_ENTRIES {
            std::fs::File::create(dir.join(format!("sub/deep/{n}"))).unwrap();
        }
        assert_eq!(leads("sub/deep/*", true), None);
    }
}
