//! Records the write and flush steps that `swarm-os` logs, and lists what a power failure could
//! still undo. Tests of other crates include this file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Once;

use parking_lot::Mutex;

use crate::disk_steps;

/// All steps of all threads of this process.
static STEPS: Mutex<Vec<(String, PathBuf)>> = Mutex::new(Vec::new());

/// Runs `work`, and returns its result and the changes below `directory` that a power failure could
/// undo afterwards: `[]` if everything was flushed, each content before its rename.
pub(crate) fn left_open<T>(directory: &Path, work: impl FnOnce() -> T) -> (T, Vec<String>) {
    static BEGIN: Once = Once::new();
    BEGIN.call_once(|| {
        disk_steps::observe(|step, path| STEPS.lock().push((step.to_owned(), path.to_owned())));
    });
    let begin = STEPS.lock().len();
    let done = work();
    let steps = STEPS.lock()[begin..].to_vec();
    let steps = steps
        .into_iter()
        .filter(|(_, path)| path.starts_with(directory));
    (done, unflushed(steps))
}

fn unflushed(steps: impl Iterator<Item = (String, PathBuf)>) -> Vec<String> {
    let (mut contents, mut entries) = (BTreeSet::new(), BTreeSet::new());
    let (mut faults, mut flushes) = (Vec::new(), 0);
    for (step, path) in steps {
        match step.as_str() {
            "Wrote" => {
                contents.insert(path);
            }
            "Flushed" => {
                contents.remove(&path);
                flushes += 1;
            }
            // A move between directories is one step for the file system.
            "Left" => {}
            "Entered" => {
                let is_appended_to = path.extension().is_some_and(|end| end == "jsonl");
                if contents.contains(&path) && !is_appended_to {
                    faults.push(format!(
                        "{} was renamed before it was flushed",
                        path.display()
                    ));
                }
                entries.insert(path);
            }
            "FlushedDirectory" => {
                entries.retain(|entry: &PathBuf| entry.parent() != Some(&path));
                flushes += 1;
            }
            other => faults.push(format!("unknown step {other}")),
        }
    }
    let left = contents
        .iter()
        .map(|path| format!("content of {}", path.display()));
    faults.extend(left);
    faults.extend(
        entries
            .iter()
            .map(|path| format!("entry {}", path.display())),
    );
    if flushes == 0 {
        faults.push("nothing was flushed".to_owned());
    }
    faults
}
