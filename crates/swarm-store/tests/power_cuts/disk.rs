//! Replays power cuts: from the write and flush steps that `swarm-os` logs, the states of the disk
//! that a power cut can leave at any moment are built, and each is opened. An unflushed content is
//! lost; of the unflushed directory entries any selection may have reached the disk.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use swarm_store::FileStore;

use crate::disk_steps;
use crate::files::{World, store_at};

/// A file with its content, or a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    File(Vec<u8>),
    Directory,
}

type Image = BTreeMap<PathBuf, Node>;

/// A disk that keeps only what was flushed.
#[derive(Debug)]
struct Disk {
    root: PathBuf,
    durable: Image,
    /// Future names of files whose content was flushed.
    flushed: BTreeSet<PathBuf>,
    /// Entries that were made or removed (`None`) and not flushed.
    pending: BTreeMap<PathBuf, Option<Node>>,
    /// Every state that a power cut could have left.
    images: BTreeSet<Vec<(PathBuf, Option<Vec<u8>>)>>,
}

static DISK: Mutex<Option<Disk>> = Mutex::new(None);

fn node_at(path: &Path) -> Option<Node> {
    let metadata = path.symlink_metadata().ok()?;
    if metadata.is_dir() {
        return Some(Node::Directory);
    }
    std::fs::read(path).ok().map(Node::File)
}

fn walk(directory: &Path, into: &mut Image) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if let Some(node) = node_at(&path) {
            let is_directory = node == Node::Directory;
            into.insert(path.clone(), node);
            if is_directory {
                walk(&path, into);
            }
        }
    }
}

fn is_appended_to(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "jsonl")
}

impl Disk {
    fn of(root: &Path) -> Self {
        let mut durable = Image::new();
        walk(root, &mut durable);
        let mut disk = Self {
            root: root.to_owned(),
            durable,
            flushed: BTreeSet::new(),
            pending: BTreeMap::new(),
            images: BTreeSet::new(),
        };
        disk.cut();
        disk
    }

    fn step(&mut self, step: &str, path: &Path) {
        let node = node_at(path);
        match step {
            "Wrote" => {
                self.flushed.remove(path);
            }
            "Flushed" if is_appended_to(path) => {
                self.flushed.insert(path.to_owned());
                if let (Some(node), Some(known)) = (&node, self.durable.get_mut(path)) {
                    *known = node.clone();
                }
                if let Some(pending) = self.pending.get_mut(path) {
                    *pending = node;
                }
            }
            "Flushed" => {
                self.flushed.insert(path.to_owned());
            }
            "Entered" => {
                let is_lost = !self.flushed.contains(path);
                let node = node.map(|node| match node {
                    Node::File(_) if is_lost => Node::File(Vec::new()),
                    node => node,
                });
                self.pending.insert(path.to_owned(), node);
            }
            "FlushedDirectory" => {
                let entries = self
                    .pending
                    .extract_if(.., |entry, _| entry.parent() == Some(path));
                for (entry, node) in entries {
                    match node {
                        Some(node) => self.durable.insert(entry, node),
                        None => self.durable.remove(&entry),
                    };
                }
            }
            other => panic!("unknown step {other}"),
        }
        self.cut();
    }

    /// Adds the states that a power cut could leave now.
    fn cut(&mut self) {
        let pending: Vec<_> = self.pending.iter().collect();
        assert!(pending.len() < 10, "{pending:?}");
        for selection in 0..1_usize << pending.len() {
            let mut image = self.durable.clone();
            for (at, (path, node)) in pending.iter().enumerate() {
                if selection & (1 << at) == 0 {
                    continue;
                }
                match node {
                    Some(node) => image.insert((*path).clone(), node.clone()),
                    None => image.remove(*path),
                };
            }
            let entries = image.into_iter().map(|(path, node)| match node {
                Node::File(content) => (path, Some(content)),
                Node::Directory => (path, None),
            });
            self.images.insert(entries.collect());
        }
    }
}

/// The test that records; the steps are recorded for the whole process.
static RECORDING: Mutex<()> = Mutex::new(());

/// Does `work` and opens every state that a power cut could have left during it. `check` returns
/// whether the work is done in a state, and fails if it is done by half. After `work` it must be.
pub(crate) fn replay(world: &World, work: impl FnOnce(), check: impl Fn(&FileStore) -> bool) {
    let _alone = RECORDING.lock();
    disk_steps::observe(|step, path| {
        if let Some(disk) = &mut *DISK.lock()
            && path.starts_with(&disk.root)
        {
            disk.step(step, path);
        }
    });
    *DISK.lock() = Some(Disk::of(&world.root));
    work();
    let mut disk = DISK.lock().take().unwrap();
    let during = std::mem::take(&mut disk.images);
    disk.cut();
    assert!(during.len() > 1, "nothing was recorded");
    let opened = |image: &Vec<(PathBuf, Option<Vec<u8>>)>| {
        let directory = tempfile::tempdir().unwrap();
        for (path, content) in image {
            let path = directory
                .path()
                .join(path.strip_prefix(&world.root).unwrap());
            // An entry in a directory that did not reach the disk is lost with it.
            if !path.parent().is_some_and(Path::is_dir) {
                continue;
            }
            match content {
                None => swarm_os::create_private_dir(&path).unwrap(),
                Some(content) => swarm_os::replace_alone(&path, content).unwrap(),
            }
        }
        check(&store_at(directory.path()))
    };
    let done = during.iter().filter(|image| opened(image)).count();
    assert!(done < during.len(), "the work was done before it began");
    for image in &disk.images {
        assert!(opened(image), "reported as done, and lost");
    }
}
