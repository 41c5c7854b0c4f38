//! Replays power cuts: from the write and flush steps that `swarm-os` logs, the states of the disk
//! that a power cut can leave at any moment are built, and each is opened. An unflushed content is
//! lost; of the unflushed changes of directories any selection may have reached the disk. Tests of
//! other crates include this file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Once;

use parking_lot::Mutex;

use crate::disk_steps;

/// A file with its content, or a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    File(Vec<u8>),
    Directory,
}

type Image = BTreeMap<PathBuf, Node>;

/// Up to this many unflushed changes, all selections of them are tried.
const ALL_SELECTIONS: usize = 8;

/// An unflushed change of a directory.
#[derive(Debug, Clone)]
enum Change {
    /// An entry that was made, or removed (`None`).
    Entry(PathBuf, Option<Node>),
    /// A file or directory that was moved, with everything below it.
    Move { from: PathBuf, to: PathBuf },
}

/// Returns the path after a move.
fn moved(path: &Path, from: &Path, to: &Path) -> Option<PathBuf> {
    let below = path.strip_prefix(from).ok()?;
    // Without the slash that an empty rest would add.
    Some(to.components().chain(below.components()).collect())
}

impl Change {
    /// Returns the directory whose flush writes the change.
    fn directory(&self) -> Option<&Path> {
        match self {
            Self::Entry(path, _) | Self::Move { to: path, .. } => path.parent(),
        }
    }

    fn apply(self, image: &mut Image) {
        match self {
            Self::Entry(path, Some(node)) => drop(image.insert(path, node)),
            Self::Entry(path, None) => drop(image.remove(&path)),
            Self::Move { from, to } => {
                let nodes: Vec<_> = image
                    .extract_if(.., |path, _| path.starts_with(&from))
                    .collect();
                let nodes = nodes.into_iter();
                image.extend(
                    nodes.filter_map(|(path, node)| Some((moved(&path, &from, &to)?, node))),
                );
            }
        }
    }

    /// Follows a move of the directory of this change.
    fn follow(&mut self, from: &Path, to: &Path) {
        if let Self::Entry(path, _) = self
            && let Some(new) = moved(path, from, to)
        {
            *path = new;
        }
    }
}

/// The content of every file, and `None` for a directory.
type State = Vec<(PathBuf, Option<Vec<u8>>)>;

/// A disk that keeps only what was flushed.
#[derive(Debug)]
struct Disk {
    root: PathBuf,
    durable: Image,
    /// Future names of files whose content was flushed.
    flushed: BTreeSet<PathBuf>,
    /// The oldest first.
    pending: Vec<Change>,
    /// The old path of what is being moved.
    moving: Option<PathBuf>,
    /// Every state that a power cut could have left.
    states: BTreeSet<State>,
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
    path.extension()
        .is_some_and(|end| end == "jsonl" || end == "broken")
}

impl Disk {
    fn of(root: &Path) -> Self {
        let mut durable = Image::new();
        walk(root, &mut durable);
        let mut disk = Self {
            root: root.to_owned(),
            durable,
            flushed: BTreeSet::new(),
            pending: Vec::new(),
            moving: None,
            states: BTreeSet::new(),
        };
        disk.cut();
        disk
    }

    fn step(&mut self, step: &str, path: &Path) {
        match step {
            "Wrote" => {
                self.flushed.remove(path);
            }
            "Flushed" => {
                self.flushed.insert(path.to_owned());
                if is_appended_to(path)
                    && let Some(node) = node_at(path)
                {
                    self.lines_were_flushed(path, &node);
                }
            }
            "Left" => self.moving = Some(path.to_owned()),
            "Entered" => {
                let change = self.entered(path);
                self.pending.push(change);
            }
            "FlushedDirectory" => self.directory_was_flushed(path),
            other => panic!("unknown step {other}"),
        }
        self.cut();
    }

    fn lines_were_flushed(&mut self, path: &Path, node: &Node) {
        if let Some(known) = self.durable.get_mut(path) {
            *known = node.clone();
        }
        for change in &mut self.pending {
            if let Change::Entry(entry, Some(known)) = change
                && entry == path
            {
                *known = node.clone();
            }
        }
    }

    fn entered(&mut self, path: &Path) -> Change {
        let to = path.to_owned();
        if let Some(from) = self.moving.take() {
            return Change::Move { from, to };
        }
        let is_lost = !self.flushed.contains(path);
        let node = node_at(path).map(|node| match node {
            Node::File(_) if is_lost => Node::File(Vec::new()),
            node => node,
        });
        Change::Entry(to, node)
    }

    fn directory_was_flushed(&mut self, directory: &Path) {
        let (written, left) = std::mem::take(&mut self.pending)
            .into_iter()
            .partition(|change| change.directory() == Some(directory));
        self.pending = left;
        for change in written {
            if let Change::Move { from, to } = &change {
                for left in &mut self.pending {
                    left.follow(from, to);
                }
            }
            change.apply(&mut self.durable);
        }
    }

    /// Adds the states that a power cut could leave now.
    fn cut(&mut self) {
        let count = self.pending.len();
        if count <= ALL_SELECTIONS {
            for selection in 0..1_usize << count {
                self.add_state(|at| selection & (1 << at) != 0);
            }
            return;
        }
        for one in 0..=count {
            self.add_state(|at| at < one);
            self.add_state(|at| at == one);
            self.add_state(|at| at != one);
        }
    }

    fn add_state(&mut self, is_written: impl Fn(usize) -> bool) {
        let mut image = self.durable.clone();
        for (at, change) in self.pending.iter().enumerate() {
            if is_written(at) {
                change.clone().apply(&mut image);
            }
        }
        let entries = image.into_iter().map(|(path, node)| match node {
            Node::File(content) => (path, Some(content)),
            Node::Directory => (path, None),
        });
        self.states.insert(entries.collect());
    }
}

/// Makes the files of a state below another root.
fn lay_out(state: &State, root: &Path, at: &Path) {
    for (path, content) in state {
        let path = at.join(path.strip_prefix(root).unwrap());
        // An entry in a directory that did not reach the disk is lost with it.
        if !path.parent().is_some_and(Path::is_dir) {
            continue;
        }
        match content {
            None => swarm_os::create_private_dir(&path).unwrap(),
            Some(content) => swarm_os::replace_alone(&path, content).unwrap(),
        }
    }
}

/// A directory in memory, where flushes take no time, if one can be created there.
fn in_memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap()
}

/// The test that records; the steps are recorded for the whole process.
static RECORDING: Mutex<()> = Mutex::new(());

/// Does `work` and opens every state of the files below `root` that a power cut could have left
/// during it. `check` gets the root of a state, returns whether the work is done in it, and fails if
/// it is done by half. After `work` it must be done in each state. Returns the result of `work`.
pub(crate) fn replay<T>(
    root: &Path,
    work: impl FnOnce() -> T,
    check: impl Fn(&Path, &T) -> bool,
) -> T {
    static BEGIN: Once = Once::new();
    let _alone = RECORDING.lock();
    BEGIN.call_once(|| {
        disk_steps::observe(|step, path| {
            if let Some(disk) = &mut *DISK.lock()
                && path.starts_with(&disk.root)
            {
                disk.step(step, path);
            }
        });
    });
    *DISK.lock() = Some(Disk::of(root));
    let result = work();
    let mut disk = DISK.lock().take().unwrap();
    let during = std::mem::take(&mut disk.states);
    disk.cut();
    assert!(during.len() > 1, "nothing was recorded");
    let is_done = |state: &State| {
        let directory = in_memory();
        lay_out(state, root, directory.path());
        check(directory.path(), &result)
    };
    let done = during.iter().filter(|state| is_done(state)).count();
    assert!(done < during.len(), "the work was done before it began");
    for state in &disk.states {
        assert!(is_done(state), "reported as done, and lost");
    }
    result
}
