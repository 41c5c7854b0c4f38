//! Calls of `flock`.

use std::fs::{File, TryLockError};
use std::io;

/// Releases a lock before its descriptor is closed. A child that another thread has just forked
/// holds a copy of the descriptor until it calls `exec`, and would keep the lock if this process
/// only closed its own descriptor.
pub(crate) fn release(file: &File) {
    if let Err(error) = file.unlock() {
        tracing::debug!(%error, "lock not released before its descriptor is closed");
    }
}

/// Repeats an attempt to lock while signals interrupt it. Returns whether the lock was free.
pub(crate) fn was_free(mut attempt: impl FnMut() -> Result<(), TryLockError>) -> io::Result<bool> {
    retrying_interrupted(|| match attempt() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    })
}

/// Repeats a call while signals interrupt it: the lock calls of std do not.
pub(crate) fn retrying_interrupted<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}
