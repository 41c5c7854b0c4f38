//! Restricts writes of the current thread with landlock(7).

use std::path::Path;

use landlock::{
    ABI, AccessFs, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetStatus,
};
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat2};
use rustix::io::Errno;

use super::error::SandboxError;

/// The newest ABI version whose write rights are supported.
const KNOWN: ABI = ABI::V3;

/// How far the kernel enforces the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxLevel {
    /// Completely.
    Full,
    /// Partially, because the kernel is old: some ways to write outside the sandbox remain.
    Partial,
    /// Not at all: landlock is missing or disabled.
    Absent,
}

/// Returns the sandbox level of this kernel. Restricts a temporary thread, because there is no
/// other reliable test.
pub fn sandbox_level() -> SandboxLevel {
    let tried = std::thread::spawn(|| restrict::<&Path>(&[]));
    match tried.join() {
        Ok(Ok(level)) => level,
        _ => SandboxLevel::Absent,
    }
}

/// Restricts the current thread, and every program that it executes or starts, to writing below
/// these paths. Missing paths are skipped; a path with a symbolic link is refused, since an agent
/// may have created the link.
pub(super) fn restrict<P: AsRef<Path>>(writable: &[P]) -> Result<SandboxLevel, SandboxError> {
    let rules = writable
        .iter()
        .filter_map(|path| grant(path.as_ref()).transpose());
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_write(KNOWN))?
        .create()?
        .add_rules(rules)?
        .restrict_self()?;
    Ok(match status.ruleset {
        RulesetStatus::FullyEnforced => SandboxLevel::Full,
        RulesetStatus::PartiallyEnforced => SandboxLevel::Partial,
        RulesetStatus::NotEnforced => SandboxLevel::Absent,
    })
}

/// Creates the rule that grants writing at or below a path. Returns `None` if it cannot be opened.
fn grant(path: &Path) -> Result<Option<PathBeneath<OwnedFd>>, SandboxError> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let opened = match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Err(Errno::LOOP) => return Err(SandboxError::Link(path.to_owned())),
        opened => opened.ok(),
    };
    Ok(opened.map(|opened| {
        let writing = AccessFs::from_write(KNOWN);
        let is_directory = fstat(&opened)
            .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Directory);
        // The kernel refuses directory rights on a file.
        let rights = if is_directory {
            writing
        } else {
            writing & AccessFs::from_file(KNOWN)
        };
        PathBeneath::new(opened, rights)
    }))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Whether the test must be skipped. Prints a message, since a silent pass would look like a
    /// proof.
    pub(super) fn kernel_has_none() -> bool {
        let absent = sandbox_level() == SandboxLevel::Absent;
        if absent {
            eprintln!("NOT PROVEN HERE: this kernel has no landlock, so no sandbox was tried");
        }
        absent
    }

    #[test]
    fn a_path_through_a_symbolic_link_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("real/inner")).unwrap();
        std::os::unix::fs::symlink(base.join("real"), base.join("link")).unwrap();
        for path in ["link", "link/", "link/inner"] {
            let refused = grant(&base.join(path));
            assert!(matches!(refused, Err(SandboxError::Link(_))), "{path}");
        }
        assert!(grant(&base.join("real/inner")).unwrap().is_some());
        assert!(grant(Path::new("/dev/null")).unwrap().is_some());
        assert!(grant(&base.join("nothing/inner")).unwrap().is_none());
    }

    #[test]
    fn a_restricted_thread_writes_only_to_granted_paths_and_reads_everywhere() {
        if kernel_has_none() {
            return;
        }
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let (own, other) = (base.join("own"), base.join("other"));
        for directory in [&own, &other] {
            fs::create_dir_all(directory).unwrap();
            fs::File::create(directory.join("there")).unwrap();
        }
        let (inside, outside) = (own.clone(), other.clone());
        let tried = std::thread::spawn(move || {
            restrict(&[&inside, &inside.join("no such directory")]).unwrap();
            fs::File::create(inside.join("new")).unwrap();
            fs::rename(inside.join("new"), inside.join("renamed")).unwrap();
            fs::read(outside.join("there")).unwrap();
            [
                fs::File::create(outside.join("new")).map(drop),
                fs::File::options()
                    .append(true)
                    .open(outside.join("there"))
                    .map(drop),
                fs::remove_file(outside.join("there")),
                fs::create_dir(outside.join("directory")),
                fs::rename(inside.join("renamed"), outside.join("moved")),
                std::os::unix::fs::symlink(&inside, outside.join("link")),
            ]
        });
        for (number, done) in tried.join().unwrap().into_iter().enumerate() {
            assert!(done.is_err(), "attempt {number} succeeded");
        }
        let names: Vec<_> = fs::read_dir(&other).unwrap().flatten().collect();
        assert_eq!(names.len(), 1);
        // This thread is not restricted.
        fs::File::create(other.join("new")).unwrap();
    }
}
