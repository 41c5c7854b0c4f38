//! A small disk in memory that only a server of the test sees.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Mounts a disk and stays in its namespace until the test has ended.
const MOUNT: &str = "mount -t tmpfs -o size=$2,mode=700 none \"$1\" && echo mounted && exec cat";

/// A disk in a mount namespace, which exists as long as this value.
#[derive(Debug)]
pub struct SmallDisk {
    /// A process in the namespace.
    holder: Child,
    mount_point: PathBuf,
}

impl SmallDisk {
    /// Mounts a disk of a size such as `8m` at a directory, which is created. Returns `None` where that
    /// is not allowed.
    pub fn mount(mount_point: &Path, size: &str) -> Option<Self> {
        fs::create_dir_all(mount_point).ok()?;
        let holder = Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount"])
            .args(["sh", "-c", MOUNT, "sh"])
            .arg(mount_point)
            .arg(size)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut disk = Self {
            holder,
            mount_point: mount_point.to_owned(),
        };
        let mut said = String::new();
        let output = disk.holder.stdout.take()?;
        BufReader::new(output).read_line(&mut said).ok()?;
        (said == "mounted\n").then_some(disk)
    }

    /// Fills it to the last byte.
    ///
    /// # Panics
    /// If that fails.
    pub fn fill(&self) {
        let path = self.filler();
        let file = File::create(&path);
        let mut file = file.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for size in [1 << 16, 1] {
            let piece = vec![0; size];
            let full = loop {
                if let Err(error) = file.write_all(&piece) {
                    break error;
                }
            };
            assert_eq!(full.kind(), ErrorKind::StorageFull, "{full}");
        }
    }

    /// Makes room again.
    ///
    /// # Panics
    /// If that fails.
    pub fn make_room(&self) {
        let path = self.filler();
        let removed = fs::remove_file(&path);
        removed.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }

    /// Returns where it is mounted for a program in its namespace.
    pub(crate) fn mount_point(&self) -> &Path {
        &self.mount_point
    }

    /// Returns the words before a program that is to run in its namespace.
    pub(crate) fn prefix(&self) -> Vec<String> {
        let pid = self.holder.id().to_string();
        let words = ["nsenter", "--user", "--mount", "--preserve-credentials"];
        let words = words.into_iter().chain(["--target", &pid, "--"]);
        words.map(str::to_owned).collect()
    }

    /// The path of the filler, for this process.
    fn filler(&self) -> PathBuf {
        let mut path = PathBuf::from(format!("/proc/{}/root", self.holder.id()));
        path.extend(self.mount_point.components().skip(1));
        path.join("filler")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.holder.kill());
        drop(self.holder.wait());
    }
}
