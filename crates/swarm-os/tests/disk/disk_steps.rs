//! Observes the write and flush steps that `swarm-os` logs. Tests of other crates include this file.

use std::fmt::Debug;
use std::path::Path;
use std::sync::Once;

use parking_lot::Mutex;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Is told the name and the path of a step.
type OnStep = fn(&str, &Path);

static OBSERVERS: Mutex<Vec<OnStep>> = Mutex::new(Vec::new());

/// Calls `on_step` with the name and the path of each step of this process from now on.
pub(crate) fn observe(on_step: OnStep) {
    static BEGIN: Once = Once::new();
    BEGIN.call_once(|| tracing::subscriber::set_global_default(Observer).unwrap());
    OBSERVERS.lock().push(on_step);
}

struct Observer;

impl Subscriber for Observer {
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
        for on_step in &*OBSERVERS.lock() {
            on_step(&fields.step, Path::new(&fields.path));
        }
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
