//! A value that several settings files can set and of which one applies.

use std::path::PathBuf;

use serde_json::Value;

use super::file::File;
use crate::settings::Layer;

/// The values of one key, by source.
#[derive(Debug, Default)]
pub(super) struct ValueBySource {
    managed: Option<Value>,
    user: Option<Value>,
    /// With the directory of the file.
    project: Option<(PathBuf, Value)>,
}

impl ValueBySource {
    /// Takes the value of a file. Of a repository's files, which come nearest first, the nearest
    /// directory wins, and its `settings.local.json` over its `settings.json`.
    pub(super) fn take(&mut self, file: &File, key: &str) {
        let value = match &file.document[key] {
            Value::Null => return,
            value => value.clone(),
        };
        match file.layer {
            Layer::Managed => self.managed = Some(value),
            Layer::Project => {
                let directory = file.directory();
                let known = self.project.as_ref();
                if known.is_none_or(|(nearest, _)| nearest == directory) {
                    self.project = Some((directory.to_owned(), value));
                }
            }
            _ => self.user = Some(value),
        }
    }

    /// Whether the effective value is that of the repository.
    pub(super) fn is_of_repository(&self, trusted: bool) -> bool {
        trusted && self.managed.is_none() && self.project.is_some()
    }

    /// Returns the effective value: managed policy wins over a trusted repository, and that over the
    /// user.
    pub(super) fn effective(&self, trusted: bool) -> Option<&Value> {
        let project = self.project.as_ref().map(|(_, value)| value);
        self.managed
            .as_ref()
            .or(project.filter(|_| trusted))
            .or(self.user.as_ref())
    }
}
