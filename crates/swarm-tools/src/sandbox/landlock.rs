//! Restricts the current thread with landlock(7).

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath,
    Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat2};
use rustix::io::Errno;
use swarm_os::namespaces::MountView;

use super::error::SandboxError;

/// Hidden, except what is writable there: disks and consoles, which root could read.
const DEVICES: &str = "/dev";

/// The newest ABI version whose file rights are supported.
const KNOWN: ABI = ABI::V3;

/// The newest ABI version whose scopes are supported.
const KNOWN_SCOPES: ABI = ABI::V6;

/// How far the kernel enforces Landlock rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LandlockLevel {
    Full,
    /// Partially, because the kernel is old: some ways out of the sandbox remain.
    Partial,
    /// Not at all: Landlock is missing or disabled.
    Absent,
}

/// Returns the level of this kernel. Restricts a temporary thread, because there is no other
/// reliable test.
pub(super) fn landlock_level() -> LandlockLevel {
    let tried = std::thread::spawn(|| restrict_to(Vec::new(), None));
    match tried.join() {
        Ok(Ok(level)) => level,
        _ => LandlockLevel::Absent,
    }
}

/// Whether this kernel has Landlock. Restricts nothing and starts nothing.
pub fn landlock_works() -> bool {
    let required = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let ruleset = required.handle_access(AccessFs::from_all(ABI::V1));
    ruleset.and_then(Ruleset::create).is_ok()
}

/// Whether this kernel can limit TCP connections to one port (ABI 4, Linux 6.7).
pub(super) fn limits_ports() -> bool {
    let limited = require_port_rules(Ruleset::default());
    limited.and_then(Ruleset::create).is_ok()
}

/// Restricts the current thread, and every program that it executes or starts, to writing to the
/// writable paths, reading what is not hidden, signals and abstract sockets of its descendants, and,
/// with `port`, TCP connections to this port of any address. Missing paths are skipped; a writable
/// path with a symbolic link is refused, since an agent may have created the link. `fixed` entries
/// cannot be enforced.
pub(super) fn restrict(view: &MountView, port: Option<u16>) -> Result<(), SandboxError> {
    match enforce(view, port)? {
        LandlockLevel::Absent => Err(SandboxError::Absent),
        _ => Ok(()),
    }
}

fn enforce(view: &MountView, port: Option<u16>) -> Result<LandlockLevel, SandboxError> {
    let (read, write) = (AccessFs::from_read(KNOWN), AccessFs::from_write(KNOWN));
    let mut rules = Vec::new();
    // A file of a disk that root creates would be the disk.
    let granted = (read | write) & !(AccessFs::MakeBlock | AccessFs::MakeChar);
    for path in &view.writable {
        rules.extend(grant(path, granted)?);
    }
    for path in readable_paths(view) {
        rules.extend(grant(&path, read).unwrap_or_default());
    }
    // Names are visible everywhere: a right to list a directory also holds below it, and without it
    // nobody could list the ancestors of hidden directories.
    rules.extend(grant(Path::new("/"), AccessFs::ReadDir.into())?);
    restrict_to(rules, port)
}

/// Restricts the current thread to what the rules grant.
fn restrict_to(
    rules: Vec<PathBeneath<OwnedFd>>,
    port: Option<u16>,
) -> Result<LandlockLevel, SandboxError> {
    let (read, write) = (AccessFs::from_read(KNOWN), AccessFs::from_write(KNOWN));
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(read | write)?
        .scope(Scope::from_all(KNOWN_SCOPES))?;
    if port.is_some() {
        ruleset = require_port_rules(ruleset)?;
    }
    let connect = port.map(|port| NetPort::new(port, AccessNet::ConnectTcp));
    let status = ruleset
        .create()?
        .add_rules(rules.into_iter().map(Ok::<_, RulesetError>))?
        .add_rules(connect.into_iter().map(Ok::<_, RulesetError>))?
        .restrict_self()?;
    Ok(match status.ruleset {
        RulesetStatus::FullyEnforced => LandlockLevel::Full,
        RulesetStatus::PartiallyEnforced => LandlockLevel::Partial,
        RulesetStatus::NotEnforced => LandlockLevel::Absent,
    })
}

/// Denies TCP connections without a rule. An error on a kernel that cannot, where best effort would
/// permit all of them.
fn require_port_rules(ruleset: Ruleset) -> Result<Ruleset, RulesetError> {
    let required = ruleset.set_compatibility(CompatLevel::HardRequirement);
    let required = required.handle_access(AccessNet::ConnectTcp)?;
    Ok(required.set_compatibility(CompatLevel::BestEffort))
}

/// Returns the files and directories that together contain everything except what is hidden: rules
/// can only grant. What is below a writable directory cannot be hidden.
fn readable_paths(view: &MountView) -> Vec<PathBuf> {
    let is_writable = |path: &Path| {
        let mut writable = view.writable.iter();
        writable.any(|writable| path.starts_with(writable))
    };
    let hidden = view.hidden.iter().map(PathBuf::as_path);
    let hidden: Vec<PathBuf> = hidden
        .chain([Path::new(DEVICES)])
        .filter_map(|path| path.canonicalize().ok())
        .filter(|path| !is_writable(path))
        .collect();
    let mut readable = Vec::new();
    add_readable(PathBuf::from("/"), &hidden, &mut readable);
    for shown in &view.shown {
        let inner = hidden.iter().filter(|path| *path != shown);
        let inner: Vec<_> = inner
            .filter(|path| path.starts_with(shown))
            .cloned()
            .collect();
        add_readable(shown.clone(), &inner, &mut readable);
    }
    readable
}

/// Adds `path`, or as much of it as is not hidden.
fn add_readable(path: PathBuf, hidden: &[PathBuf], readable: &mut Vec<PathBuf>) {
    if hidden.contains(&path) {
        return;
    }
    if !hidden.iter().any(|hidden| hidden.starts_with(&path)) {
        readable.push(path);
        return;
    }
    let entries = std::fs::read_dir(&path).into_iter().flatten().flatten();
    for entry in entries {
        // The target of a link is granted, or not, by its own path.
        if !entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
            add_readable(entry.path(), hidden, readable);
        }
    }
}

/// Creates the rule that grants rights at or below a path. Returns `None` if it cannot be opened.
fn grant(
    path: &Path,
    rights: BitFlags<AccessFs>,
) -> Result<Option<PathBeneath<OwnedFd>>, SandboxError> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let opened = match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Err(Errno::LOOP) => return Err(SandboxError::Link(path.to_owned())),
        opened => opened.ok(),
    };
    Ok(opened.map(|opened| {
        let is_directory = fstat(&opened)
            .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Directory);
        // The kernel refuses directory rights on a file.
        let rights = if is_directory {
            rights
        } else {
            rights & AccessFs::from_file(KNOWN)
        };
        PathBeneath::new(opened, rights)
    }))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::ErrorKind;
    use std::net::{SocketAddr, TcpListener, TcpStream};

    use super::*;

    /// Whether the test must be skipped. Prints a message, since a silent pass would look like a
    /// proof.
    pub(super) fn kernel_has_none() -> bool {
        let absent = landlock_level() == LandlockLevel::Absent;
        if absent {
            eprintln!("NOT PROVEN HERE: this kernel has no landlock, so no sandbox was tried");
        }
        absent
    }

    #[test]
    fn the_quick_test_agrees_with_the_one_that_restricts_a_thread() {
        assert_eq!(landlock_works(), landlock_level() != LandlockLevel::Absent);
    }

    #[test]
    fn a_path_through_a_symbolic_link_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("real/inner")).unwrap();
        std::os::unix::fs::symlink(base.join("real"), base.join("link")).unwrap();
        for path in ["link", "link/", "link/inner"] {
            let refused = grant(&base.join(path), AccessFs::from_write(KNOWN));
            assert!(matches!(refused, Err(SandboxError::Link(_))), "{path}");
        }
        assert!(
            grant(&base.join("real/inner"), AccessFs::from_write(KNOWN))
                .unwrap()
                .is_some()
        );
        assert!(
            grant(Path::new("/dev/null"), AccessFs::from_write(KNOWN))
                .unwrap()
                .is_some()
        );
        assert!(
            grant(&base.join("nothing/inner"), AccessFs::from_write(KNOWN))
                .unwrap()
                .is_none()
        );
    }

    #[test]
    fn a_restricted_thread_writes_only_to_granted_paths_and_reads_what_is_not_hidden() {
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
        let hidden = other.join("hidden");
        fs::create_dir_all(hidden.join("shown")).unwrap();
        for name in ["secret", "shown/public", "shown/inner"] {
            fs::File::create(hidden.join(name)).unwrap();
        }
        let (inside, outside) = (own.clone(), other.clone());
        let tried = std::thread::spawn(move || {
            let view = MountView {
                writable: vec![inside.clone(), inside.join("no such directory")],
                shown: vec![hidden.join("shown")],
                hidden: vec![hidden.clone(), hidden.join("shown/inner")],
                replaced: Vec::new(),
                fixed: Vec::new(),
            };
            restrict(&view, None).unwrap();
            fs::read(hidden.join("shown/public")).unwrap();
            fs::File::create(inside.join("new")).unwrap();
            fs::rename(inside.join("new"), inside.join("renamed")).unwrap();
            fs::read(outside.join("there")).unwrap();
            [
                fs::File::open("/dev/full").map(drop),
                fs::read(hidden.join("secret")).map(drop),
                fs::read(hidden.join("shown/inner")).map(drop),
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
        assert_eq!(names.len(), 2);
        // This thread is not restricted.
        fs::File::create(other.join("new")).unwrap();
    }

    #[test]
    fn connections_are_limited_to_one_port_of_any_address() {
        if kernel_has_none() || !limits_ports() {
            eprintln!("NOT PROVEN HERE: this kernel cannot limit connections to a port");
            return;
        }
        let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [permitted, other] = [0, 1].map(|at: usize| listeners[at].local_addr().unwrap());
        let tried = std::thread::spawn(move || {
            restrict(&MountView::default(), Some(permitted.port())).unwrap();
            // Nobody listens there.
            let elsewhere = SocketAddr::from(([127, 0, 0, 2], permitted.port()));
            [permitted, elsewhere, other].map(|address| {
                let tried = TcpStream::connect(address).map(drop);
                tried.map_err(|error| error.kind())
            })
        });
        let expected = [
            Ok(()),
            Err(ErrorKind::ConnectionRefused),
            Err(ErrorKind::PermissionDenied),
        ];
        assert_eq!(tried.join().unwrap(), expected);
    }
}
