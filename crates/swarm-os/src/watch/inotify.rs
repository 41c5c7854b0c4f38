//! Inotify watches of directories.

use std::collections::HashMap;
use std::ffi::{CStr, OsStr};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

/// Events that count as changes. Opening, reading and closing do not: a reader that was woken by
/// them would wake itself and other readers.
const CHANGES: WatchFlags = WatchFlags::ATTRIB
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR);

/// An event of a watched directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileEvent<'a> {
    /// An entry of a directory changed.
    Name(&'a Path, &'a OsStr),
    /// The directory itself was removed, moved or changed.
    Directory(&'a Path),
    /// The event queue overflowed: anything may have changed.
    Lost,
}

/// An inotify instance, and the directory of each watch descriptor. A directory may be watched
/// under several paths.
#[derive(Debug)]
pub(crate) struct Inotify {
    queue: OwnedFd,
    directories: Mutex<HashMap<i32, Vec<PathBuf>>>,
}

impl Inotify {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            queue: inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?,
            directories: Mutex::default(),
        })
    }

    /// Watches a directory. Watching it again has no effect.
    pub(crate) fn watch(&self, directory: &Path) -> io::Result<()> {
        // Locked before the watch is added, so that no event arrives for an unknown descriptor.
        let mut directories = self.directories.lock();
        let number = inotify::add_watch(&self.queue, directory, CHANGES)?;
        let paths = directories.entry(number).or_default();
        if !paths.iter().any(|path| path == directory) {
            paths.push(directory.to_owned());
        }
        Ok(())
    }

    pub(crate) fn unwatch(&self, directory: &Path) -> io::Result<()> {
        let mut directories = self.directories.lock();
        for paths in directories.values_mut() {
            paths.retain(|path| path != directory);
        }
        let unused: Vec<i32> = directories
            .extract_if(|_, paths| paths.is_empty())
            .map(|(number, _)| number)
            .collect();
        let removed = unused
            .into_iter()
            .map(|number| inotify::remove_watch(&self.queue, number));
        // Continues after an error, so that the others are removed.
        let failed = removed.filter_map(Result::err).last();
        failed.map_or(Ok(()), |error| Err(error.into()))
    }

    /// Passes pending events to `tell`, at most one buffer, so that the caller can stop although
    /// events keep arriving. Returns whether the queue is empty.
    pub(crate) fn read(&self, mut tell: impl FnMut(FileEvent<'_>)) -> io::Result<bool> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&self.queue, &mut buffer);
        loop {
            match reader.next() {
                Ok(event) => {
                    let name = event.file_name().map(CStr::to_bytes);
                    self.dispatch(event.wd(), event.events(), name, &mut tell);
                    if reader.is_buffer_empty() {
                        return Ok(false);
                    }
                }
                Err(Errno::AGAIN) => return Ok(true),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn dispatch(
        &self,
        number: i32,
        what: ReadFlags,
        name: Option<&[u8]>,
        tell: &mut impl FnMut(FileEvent<'_>),
    ) {
        if what.contains(ReadFlags::QUEUE_OVERFLOW) {
            return tell(FileEvent::Lost);
        }
        let paths = if what.contains(ReadFlags::IGNORED) {
            // The directory was removed, which was reported before.
            return drop(self.directories.lock().remove(&number));
        } else {
            self.directories.lock().get(&number).cloned()
        };
        for directory in paths.iter().flatten() {
            tell(match name {
                Some(name) => FileEvent::Name(directory, OsStr::from_bytes(name)),
                None => FileEvent::Directory(directory),
            });
        }
    }
}

impl AsFd for Inotify {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.queue.as_fd()
    }
}

impl AsRawFd for Inotify {
    fn as_raw_fd(&self) -> RawFd {
        self.queue.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read_events(inotify: &Inotify) -> Vec<String> {
        let mut events = Vec::new();
        let mut tell = |event: FileEvent<'_>| {
            events.push(match event {
                FileEvent::Name(directory, name) => directory.join(name).display().to_string(),
                FileEvent::Directory(directory) => format!("{}/", directory.display()),
                FileEvent::Lost => "lost".to_owned(),
            });
        };
        while !inotify.read(&mut tell).unwrap() {}
        events
    }

    #[test]
    fn a_read_returns_although_more_events_are_pending() {
        let directory = tempfile::tempdir().unwrap();
        let inotify = Inotify::new().unwrap();
        inotify.watch(directory.path()).unwrap();
        for number in 0..1000 {
            fs::create_dir(directory.path().join(number.to_string())).unwrap();
        }
        let mut first = 0;
        assert!(!inotify.read(|_| first += 1).unwrap());
        assert!(first < 1000);
        assert_eq!(first + read_events(&inotify).len(), 1000);
        assert!(inotify.read(|_| {}).unwrap());
    }

    #[test]
    fn changes_are_reported_under_every_path_of_a_directory_and_reads_are_not() {
        let outer = tempfile::tempdir().unwrap();
        let (directory, link) = (outer.path().join("directory"), outer.path().join("link"));
        fs::create_dir(&directory).unwrap();
        std::os::unix::fs::symlink(&directory, &link).unwrap();
        let inotify = Inotify::new().unwrap();
        inotify.watch(&directory).unwrap();
        inotify.watch(&link).unwrap();
        inotify.watch(&link).unwrap();
        fs::create_dir(directory.join("a")).unwrap();
        let both = [&directory, &link].map(|path| path.join("a").display().to_string());
        assert_eq!(read_events(&inotify), both);
        fs::read_dir(&directory).unwrap().for_each(drop);
        assert!(read_events(&inotify).is_empty());
        inotify.unwatch(&directory).unwrap();
        fs::remove_dir(directory.join("a")).unwrap();
        assert_eq!(read_events(&inotify), both[1..]);
        inotify.unwatch(&link).unwrap();
        fs::create_dir(directory.join("a")).unwrap();
        assert!(read_events(&inotify).is_empty());
    }

    #[test]
    fn the_removal_of_a_directory_is_reported_and_it_can_be_watched_again() {
        let outer = tempfile::tempdir().unwrap();
        let directory = outer.path().join("directory");
        let inotify = Inotify::new().unwrap();
        for _ in 0..2 {
            inotify.watch(&directory).unwrap_err();
            fs::create_dir(&directory).unwrap();
            inotify.watch(&directory).unwrap();
            fs::remove_dir(&directory).unwrap();
            assert!(read_events(&inotify).contains(&format!("{}/", directory.display())));
            assert!(inotify.directories.lock().is_empty());
        }
        inotify.unwatch(&directory).unwrap();
    }

    #[test]
    fn an_overflow_is_reported_as_lost() {
        let inotify = Inotify::new().unwrap();
        let mut events = Vec::new();
        inotify.dispatch(-1, ReadFlags::QUEUE_OVERFLOW, None, &mut |event| {
            events.push(event == FileEvent::Lost);
        });
        assert_eq!(events, [true]);
    }
}
