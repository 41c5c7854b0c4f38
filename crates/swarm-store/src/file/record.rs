//! Reading and writing whole JSON files.

use std::path::Path;

use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use swarm_protocol::parse_repaired;

use crate::{Result, StoreError};

/// Reads a record; `None` if there is no file.
///
/// # Errors
/// [`StoreError::Damaged`] if the file is not a valid record.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    match swarm_os::read_optional(path)? {
        Some(bytes) => parse(path, &bytes).map(Some),
        None => Ok(None),
    }
}

/// Like [`read`], for a file that Claude Code rewrites in place. It writes over the previous content
/// and cuts the file to its new length only afterwards, so the end of a longer version may follow
/// the record.
///
/// # Errors
/// [`StoreError::Damaged`] if the file does not begin with a valid record.
pub(crate) fn read_overwritten<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    let Some(bytes) = swarm_os::read_optional(path)? else {
        return Ok(None);
    };
    match parse(path, &bytes) {
        Err(damaged) => {
            let mut values = serde_json::Deserializer::from_slice(&bytes).into_iter::<IgnoredAny>();
            match values.next() {
                Some(Ok(_)) => parse(path, &bytes[..values.byte_offset()]).map(Some),
                _ => Err(damaged),
            }
        }
        parsed => parsed.map(Some),
    }
}

/// Parses the content of a file.
///
/// # Errors
/// [`StoreError::Damaged`] if the content is not a valid record.
pub(crate) fn parse<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T> {
    let parsed = std::str::from_utf8(bytes)
        .map_err(|error| error.to_string())
        .and_then(|text| parse_repaired(text).map_err(|error| error.to_string()));
    parsed.map_err(|reason| StoreError::Damaged {
        path: path.to_owned(),
        reason,
    })
}

/// Serializes a record as Claude Code does: indented by two spaces, without a final newline.
pub(crate) fn pretty<T: Serialize>(path: &Path, record: &T) -> Result<Vec<u8>> {
    serde_json::to_vec_pretty(record).map_err(|source| unwritable(path, source))
}

/// Serializes a record as one line, without the newline.
pub(crate) fn line<T: Serialize>(path: &Path, record: &T) -> Result<Vec<u8>> {
    serde_json::to_vec(record).map_err(|source| unwritable(path, source))
}

pub(crate) fn unwritable(path: &Path, source: serde_json::Error) -> StoreError {
    StoreError::Unwritable {
        path: path.to_owned(),
        source,
    }
}
