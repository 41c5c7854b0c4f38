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
        let below = |folder: &'static str| {
            let folder = dir.join(folder);
            move |link: &Path| !link.starts_with(&folder)
        };
        assert_eq!(resolve_where(&dir.join("deep"), below("")), None);
        let deep = resolve_where(&dir.join("deep"), below("real"));
        assert_eq!(deep, Some(dir.join("real/sub")));
        assert_eq!(resolve(Path::new("/../..")), Some(PathBuf::from("/")));
    }
}
