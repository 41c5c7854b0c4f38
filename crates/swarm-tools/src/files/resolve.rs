//! Following symbolic links, also towards what does not exist yet.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// How many links one path may lead through, as in the Linux kernel.
const MOST_LINKS: usize = 40;

/// Where an absolute path leads when every symbolic link in it is followed, a link to nothing included. What does not
/// exist, or may not be looked at, is taken by its name. Nothing for a circle of links.
pub(crate) fn resolve(path: &Path) -> Option<PathBuf> {
    resolve_where(path, |_| true)
}

/// The same, following only links that stand where `follows` says. Nothing for a path through any other.
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
                if links > MOST_LINKS || !follows(&next) {
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

/// How many directory entries are looked at to expand one pattern.
const MOST_ENTRIES: usize = 4_096;

/// Where an absolute path may lead. In a `pattern`, a component with a wildcard stands for every entry of its directory
/// that leads further, and at the end for the directory itself and every link in it. `None` if it leads through the
/// links of `/proc`, which are different for each process, or if there is too much to look at.
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
    let mut looked_at = 0;
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
            // Patterns and braces may also make `..`.
            if name.to_str().is_none_or(|name| name.contains('.')) {
                next.extend(place.parent().map(Path::to_owned));
            }
            for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
                looked_at += 1;
                let kind = entry.file_type().ok()?;
                if kind.is_symlink() {
                    next.push(follow(&entry.path())?);
                } else if kind.is_dir() && !rest.is_empty() {
                    next.push(entry.path());
                }
            }
            if looked_at > MOST_ENTRIES {
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
    fn links_are_followed_to_what_is_and_what_is_not_yet() {
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
    fn a_pattern_leads_wherever_an_entry_may_lead() {
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
        for n in 0..=MOST_ENTRIES {
            std::fs::File::create(dir.join(format!("sub/deep/{n}"))).unwrap();
        }
        assert_eq!(leads("sub/deep/*", true), None);
    }
}
