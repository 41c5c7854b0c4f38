//! The file system as a sandbox sees it.

use std::ffi::CStr;
use std::fs;
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat2};
use rustix::mount::{MountFlags, mount, mount_bind_recursive, mount_remount};
use rustix::process::geteuid;

use super::bind::{MountError, at, lock};
use super::fixed::{FixedEntry, RESERVED};
use super::mount_table::mount_table;

/// Devices in the sandbox's own `/dev`, besides terminals and shared memory.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// What is not taken from outside. The multiplexer outside opens no terminals of another instance.
const OWN: [&str; 3] = ["/dev/pts", "/dev/ptmx", "/dev/shm"];

/// Parts of `/proc` that change the whole system.
const PROC_READ_ONLY: [&str; 4] = ["sys", "sysrq-trigger", "irq", "bus"];

/// File that replaces hidden files: empty and read-only.
const EMPTY: &str = "/dev/.hidden";

/// What a sandbox sees of the file system: everything, but read-only, with these exceptions. Paths
/// that do not exist are skipped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MountView {
    /// Files and directories that stay writable, except what is below a hidden path.
    pub writable: Vec<PathBuf>,
    /// Files and directories that appear empty.
    pub hidden: Vec<PathBuf>,
    /// Exceptions below hidden directories: readable, and writable if they are also in `writable`.
    pub shown: Vec<PathBuf>,
    /// Files and directories that appear in the place of others. What of `shown` and `writable` is
    /// below such a place stays visible there, and what of `hidden` is below it stays hidden.
    pub replaced: Vec<Replacement>,
    /// Entries of writable directories that cannot be changed, in the order in which
    /// [`FixedMounts`](super::FixedMounts) mounts them.
    pub fixed: Vec<FixedEntry>,
}

/// A file or directory that appears in the place of another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    /// Where it appears: an existing file or directory, or an entry of another replaced directory.
    pub path: PathBuf,
    /// What appears there.
    pub source: PathBuf,
    /// Whether it can be written.
    pub writable: bool,
}

impl MountView {
    /// Changes the mounts of this process accordingly, with new `/proc` and `/dev`, but without the
    /// fixed entries. Call it as the first process of new namespaces
    /// ([`super::enter_new_namespaces`]).
    ///
    /// # Errors
    /// [`MountError`]; some mounts may have been changed.
    pub fn apply(&self) -> Result<(), MountError> {
        let devices = self.writable.iter().filter(|path| path.starts_with("/dev"));
        let devices: Vec<&Path> = devices.map(PathBuf::as_path).collect();
        mount_proc()?;
        mount_dev(&devices)?;
        let sources = self.replaced.iter().filter(|replaced| replaced.writable);
        let sources = sources.map(|replaced| &replaced.source);
        let writable = self.writable.iter().chain(sources);
        let mut writable: Vec<&Path> = writable.map(PathBuf::as_path).collect();
        writable.retain(|path| !path.starts_with("/dev"));
        writable.sort();
        for path in &writable {
            if let Some(file) = open(path) {
                bind(&file, path).map_err(at("mount", path))?;
            }
        }
        lock_others(&writable)?;
        // Opened now, because they are not reachable once their directory is hidden.
        let same = self.shown.iter().chain(&self.writable);
        let same = same.map(|path| (path, path));
        let other = self.replaced.iter();
        let other = other.map(|replaced| (&replaced.path, &replaced.source));
        let mut exceptions: Vec<(&Path, OwnedFd)> = same
            .chain(other)
            .filter_map(|(path, source)| Some((path.as_path(), open(source)?)))
            .collect();
        // A directory precedes its entries. The sort is stable: what replaces comes last.
        exceptions.sort_by_key(|(path, _)| *path);
        let mut hidden: Vec<PathBuf> = self
            .hidden
            .iter()
            .filter_map(|path| path.canonicalize().ok())
            .collect();
        hidden.sort();
        hidden.dedup_by(|inner, outer| inner.starts_with(outer));
        let is_replaced = |path: &Path| {
            let mut replaced = self.replaced.iter();
            replaced.any(|replaced| path.starts_with(&replaced.path))
        };
        hidden.retain(|path| !writable.contains(&path.as_path()) && !is_replaced(path));
        hidden.iter().try_for_each(|path| hide(path, &exceptions))?;
        let is_hidden = |path: &Path| hidden.iter().any(|hidden| path.starts_with(hidden));
        exceptions
            .iter()
            .filter(|(path, _)| is_replaced(path) && !is_hidden(path))
            .try_for_each(|(path, file)| place(file, path))?;
        let read_only = self.replaced.iter().filter(|replaced| !replaced.writable);
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        // One without a source was skipped.
        let mut read_only = read_only.filter(|replaced| is_mounted(&exceptions, &replaced.path));
        read_only.try_for_each(|replaced| lock(&replaced.path, flags))?;
        let again = self.hidden_in_replaced();
        let mut again = again.iter().filter(|path| open(path).is_some());
        again.try_for_each(|path| hide(path, &exceptions))
    }

    /// Returns the hidden entries of replaced directories, which reappear there. The last component of
    /// a path may be a link.
    fn hidden_in_replaced(&self) -> Vec<PathBuf> {
        let is_inside = |path: &Path| {
            let mut replaced = self.replaced.iter();
            replaced.any(|replaced| replaced.path != path && path.starts_with(&replaced.path))
        };
        let hidden = self.hidden.iter().filter_map(|path| {
            let directory = path.parent()?.canonicalize().ok()?;
            Some(directory.join(path.file_name()?))
        });
        let mut hidden: Vec<PathBuf> = hidden
            .filter(|path| is_inside(path) && !self.writable.contains(path))
            .collect();
        hidden.sort();
        hidden
    }
}

/// Opens a path without following links, which an agent may have created. `None` if there is none.
fn open(path: &Path) -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS).ok()
}

fn is_mounted(exceptions: &[(&Path, OwnedFd)], path: &Path) -> bool {
    exceptions.iter().any(|(mounted, _)| *mounted == path)
}

fn is_directory(file: &OwnedFd) -> bool {
    fstat(file).is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Directory)
}

/// Path of an open file that mount(2) accepts.
fn link(file: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

fn bind(source: &OwnedFd, target: &Path) -> io::Result<()> {
    Ok(mount_bind_recursive(link(source), target)?)
}

/// Makes every mount read-only that is not at or below a writable path.
fn lock_others(writable: &[&Path]) -> Result<(), MountError> {
    let table = mount_table().map_err(at("read", Path::new("/proc/self/mountinfo")))?;
    let kept = |path: &Path| {
        path.starts_with("/dev") || writable.iter().any(|writable| path.starts_with(writable))
    };
    for mounted in table.iter().filter(|mounted| !mounted.read_only) {
        if kept(&mounted.path) || (mounted.path.starts_with("/proc")) {
            continue;
        }
        let locked = mount_remount(
            &mounted.path,
            MountFlags::BIND | MountFlags::RDONLY | mounted.flags,
            c"",
        );
        match locked {
            // Not reachable: another mount is on top of it, or its directory is not accessible.
            Err(
                rustix::io::Errno::INVAL | rustix::io::Errno::NOENT | rustix::io::Errno::ACCESS,
            ) => {}
            locked => locked.map_err(at("write-protect", &mounted.path))?,
        }
    }
    Ok(())
}

fn mount_proc() -> Result<(), MountError> {
    let path = Path::new("/proc");
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", path, "proc", flags, None).map_err(at("mount", path))?;
    let own = geteuid().as_raw();
    // Only root owns them. Mounts there would keep sandboxes inside this one from mounting `/proc`.
    let inner = PROC_READ_ONLY.iter().map(|name| path.join(name));
    let inner = inner.filter(|inner| inner.metadata().is_ok_and(|found| found.uid() == own));
    for inner in inner {
        mount_bind_recursive(&inner, &inner).map_err(at("mount", &inner))?;
        lock(&inner, flags)?;
    }
    Ok(())
}

fn mount_dev(additional: &[&Path]) -> Result<(), MountError> {
    let path = Path::new("/dev");
    let usual = DEVICES.iter().map(|name| path.join(name));
    let devices: Vec<(PathBuf, OwnedFd)> = usual
        .chain(additional.iter().map(|path| path.to_path_buf()))
        .filter(|device| !OWN.iter().any(|own| device.starts_with(own)))
        .filter_map(|device| Some((device.clone(), open(&device)?)))
        .collect();
    let nosuid = MountFlags::NOSUID | MountFlags::NOEXEC;
    mount_memory(path, nosuid, c"mode=0755,size=64k")?;
    for (device, file) in &devices {
        place(file, device)?;
    }
    for (name, target) in [
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
        ("ptmx", "pts/ptmx"),
    ] {
        let link = path.join(name);
        symlink(target, &link).map_err(at("create", &link))?;
    }
    for name in ["pts", "shm"] {
        let directory = path.join(name);
        fs::create_dir(&directory).map_err(at("create", &directory))?;
    }
    let terminals = path.join("pts");
    let options = c"newinstance,ptmxmode=0666,mode=0620";
    mount("devpts", &terminals, "devpts", nosuid, options).map_err(at("mount", &terminals))?;
    let shared = MountFlags::NOSUID | MountFlags::NODEV;
    mount_memory(&path.join("shm"), shared, c"mode=1777")?;
    fs::File::create_new(EMPTY).map_err(at("create", Path::new(EMPTY)))?;
    create_reserved().map_err(at("create", Path::new(RESERVED)))?;
    lock(path, nosuid)
}

/// Creates the directory that covers reserved ones. Git treats it as ignored, so `git clean` and
/// `git stash` leave it alone.
fn create_reserved() -> io::Result<()> {
    let directory = Path::new(RESERVED);
    fs::create_dir(directory)?;
    let mut file = fs::File::create_new(directory.join(".gitignore"))?;
    file.write_all(b"*\n")
}

fn mount_memory(path: &Path, flags: MountFlags, options: &CStr) -> Result<(), MountError> {
    mount("tmpfs", path, "tmpfs", flags, options).map_err(at("mount", path))
}

/// Mounts an open file or directory at a path, which is created.
fn place(file: &OwnedFd, path: &Path) -> Result<(), MountError> {
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent).map_err(at("create", parent))?;
    // A mount would follow a link that a program has left in its directory.
    if path.is_symlink() {
        fs::remove_file(path).map_err(at("remove", path))?;
    }
    if path.symlink_metadata().is_err() {
        let created = if is_directory(file) {
            fs::create_dir(path)
        } else {
            fs::File::create_new(path).map(drop)
        };
        created.map_err(at("create", path))?;
    }
    bind(file, path).map_err(at("mount", path))
}

/// Replaces a path by something empty, except what remains visible below it.
fn hide(path: &Path, exceptions: &[(&Path, OwnedFd)]) -> Result<(), MountError> {
    if !path.is_dir() {
        return mount_bind_recursive(EMPTY, path).map_err(at("hide", path));
    }
    mount_memory(
        path,
        MountFlags::NOSUID | MountFlags::NODEV,
        c"mode=0755,size=64k",
    )?;
    for (shown, file) in exceptions {
        if shown.starts_with(path) && *shown != path {
            place(file, shown)?;
        }
    }
    lock(path, MountFlags::NOSUID | MountFlags::NODEV)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_a_replaced_directory_stay_hidden_but_not_the_directory_itself() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let state = base.join("state");
        fs::create_dir(&state).unwrap();
        symlink(&state, base.join("link")).unwrap();
        symlink("/nowhere", state.join("settings")).unwrap();
        let replace = |path: PathBuf| Replacement {
            source: path.clone(),
            path,
            writable: false,
        };
        let view = MountView {
            hidden: vec![
                base.clone(),
                state.clone(),
                state.join("skills"),
                base.join("link/settings"),
                state.join("writable"),
                base.join("other"),
            ],
            writable: vec![state.join("writable")],
            replaced: vec![replace(state.clone()), replace(state.join("skills"))],
            ..MountView::default()
        };
        let expected = [state.join("settings"), state.join("skills")];
        assert_eq!(view.hidden_in_replaced(), expected);
    }
}
