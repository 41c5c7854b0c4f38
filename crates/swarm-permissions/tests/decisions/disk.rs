//! A fake file system for decisions that depend on files.

use std::path::{Path, PathBuf};

use swarm_permissions::{FileFacts, RunsLater};

/// A file system with some links and the config directory `/home/dev/.claude`.
#[derive(Debug)]
pub(crate) struct Disk {
    pub(crate) git_is_as_found: bool,
}

pub(crate) const DISK: Disk = Disk {
    git_is_as_found: true,
};

/// Symbolic links by path, with their targets.
const LINKS: [(&str, &str); 6] = [
    ("/work/pl", "/proc"),
    ("/work/to-env", "/work/.env"),
    ("/work/docs/to-secrets", "/work/secrets"),
    ("/work/to-doc", "/work/docs/a"),
    ("/work/deep/to-config", "/home/dev/.claude/sub"),
    ("/work/deep/kernel", "/proc"),
];

impl FileFacts for Disk {
    fn leads_to(&self, path: &Path, pattern: bool) -> Option<Vec<PathBuf>> {
        if path.starts_with("/dev/fd") {
            return None;
        }
        let mut folded = PathBuf::new();
        for component in path {
            match component.to_str() {
                Some("..") => {
                    folded.pop();
                }
                Some(".") => {}
                _ => folded.push(component),
            }
            if let Some((_, to)) = LINKS.iter().find(|(from, _)| folded == Path::new(from)) {
                folded = PathBuf::from(to);
            }
        }
        let is_wild = |path: &Path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.contains(['*', '?', '[', '{']))
        };
        let around = folded.parent().filter(|_| pattern && is_wild(&folded));
        let mut places: Vec<PathBuf> = around.map(Path::to_owned).into_iter().collect();
        places.push(folded);
        if pattern && path.starts_with("/work") {
            places.push("/proc/1/environ".into());
        }
        Some(places)
    }

    fn is_secret(&self, real: &Path) -> bool {
        real == Path::new("/home/dev/.claude/.credentials.json")
    }

    fn secrets_below(&self, real: &Path) -> Vec<PathBuf> {
        let secret = PathBuf::from("/home/dev/.claude/.credentials.json");
        Vec::from_iter(Some(secret).filter(|secret| secret.starts_with(real)))
    }

    fn has_other_names(&self, real: &Path) -> bool {
        real == Path::new("/work/hard")
    }

    fn git_doubt(&self, directory: &Path) -> Option<&'static str> {
        let is_as_found = self.git_is_as_found && directory == Path::new("/work");
        (!is_as_found).then_some("the test says so")
    }

    fn runs_later(&self, real: &Path) -> Option<RunsLater> {
        let of_config_directory = real.starts_with("/home/dev/.claude/skills");
        let name = [".husky", ".bashrc", "skills"]
            .into_iter()
            .find(|name| real.iter().any(|part| part == *name))?;
        Some(RunsLater {
            name: name.to_owned(),
            of_config_directory,
        })
    }
}
