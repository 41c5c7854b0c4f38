//! Records the write and flush steps that `swarm-os` logs, and lists what a power failure could
//! still undo. Tests of other crates include this file.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use parking_lot::Mutex;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// All steps of all threads of this process.
static STEPS: Mutex<Vec<(String, PathBuf)>> = Mutex::new(Vec::new());

struct Recorder;

impl Subscriber for Recorder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "swarm_os::disk"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let mut steps = STEPS.lock();
        steps.push((fields.step, PathBuf::from(fields.path)));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[derive(Default)]
struct Fields {
    step: String,
    path: String,
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        match field.name() {
            "step" => self.step = format!("{value:?}"),
            "path" => self.path = format!("{value:?}"),
            _ => {}
        }
    }
}

/// Runs `work`, and returns its result and the changes below `directory` that a power failure could
/// undo afterwards: `[]` if everything was flushed, each content before its rename.
pub(crate) fn left_open<T>(directory: &Path, work: impl FnOnce() -> T) -> (T, Vec<String>) {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| tracing::subscriber::set_global_default(Recorder).unwrap());
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
