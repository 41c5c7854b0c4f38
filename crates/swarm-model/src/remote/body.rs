//! Request bodies.
//!
//! Every request carries the whole conversation, which may be megabytes of JSON in memory. A body
//! shares that memory as far as it contains the bytes to send.

use std::convert::Infallible;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::stream;

/// Minimum length in bytes of memory that is shared: copying less is faster than sending another
/// piece.
const MIN_SHARED: usize = 4 * 1024;

/// A request body, in pieces. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Body(Arc<[Bytes]>);

impl From<Vec<u8>> for Body {
    fn from(whole: Vec<u8>) -> Self {
        Self([Bytes::from(whole)].into())
    }
}

impl Body {
    pub(super) fn length(&self) -> usize {
        self.0.iter().map(Bytes::len).sum()
    }

    pub(crate) fn joined(&self) -> Bytes {
        match &*self.0 {
            [whole] => whole.clone(),
            pieces => pieces.concat().into(),
        }
    }

    /// Converts to the body type of the HTTP client.
    pub(super) fn sent(&self) -> reqwest::Body {
        if let [whole] = &*self.0 {
            return whole.clone().into();
        }
        let pieces: Vec<_> = self.0.iter().cloned().map(Ok::<_, Infallible>).collect();
        reqwest::Body::wrap_stream(stream::iter(pieces))
    }
}

/// Assembles a body from memory to share and bytes to copy.
#[derive(Debug, Default)]
pub(crate) struct BodyWriter {
    pieces: Vec<Bytes>,
    /// Copied bytes behind the pieces.
    copied: Vec<u8>,
    /// Memory to share behind the copied bytes.
    shared: Option<(Arc<Bytes>, Range<usize>)>,
}

impl BodyWriter {
    /// Appends bytes. Nothing is copied if they follow the last ones in shared memory.
    pub(crate) fn copy(&mut self, bytes: &[u8]) {
        if let Some((memory, range)) = &mut self.shared
            && memory[range.end..].starts_with(bytes)
        {
            range.end += bytes.len();
            return;
        }
        self.end_shared();
        self.copied.extend_from_slice(bytes);
    }

    /// Appends a part of memory, which the body shares unless it is short.
    pub(crate) fn share(&mut self, memory: &Arc<Bytes>, part: Range<usize>) {
        if let Some((last, range)) = &mut self.shared
            && Arc::ptr_eq(last, memory)
            && range.end == part.start
        {
            range.end = part.end;
            return;
        }
        self.end_shared();
        self.shared = Some((Arc::clone(memory), part));
    }

    pub(crate) fn finish(mut self) -> Body {
        self.end_shared();
        self.end_copied();
        Body(self.pieces.into())
    }

    fn end_shared(&mut self) {
        let Some((memory, range)) = self.shared.take() else {
            return;
        };
        if range.len() < MIN_SHARED {
            self.copied.extend_from_slice(&memory[range]);
        } else {
            self.end_copied();
            self.pieces.push(memory.slice(range));
        }
    }

    fn end_copied(&mut self) {
        if !self.copied.is_empty() {
            self.pieces.push(std::mem::take(&mut self.copied).into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_shares_long_parts_of_memory_and_the_bytes_between_them() {
        let text = format!("{},{};", "a".repeat(MIN_SHARED), "b".repeat(MIN_SHARED));
        let memory = Arc::new(Bytes::from(text.clone()));
        let (one, two) = (0..MIN_SHARED, MIN_SHARED + 1..2 * MIN_SHARED + 1);
        let written = |between: &[u8]| {
            let mut writer = BodyWriter::default();
            writer.copy(b"head");
            writer.share(&memory, one.clone());
            writer.copy(between);
            writer.share(&memory, two.clone());
            writer.copy(b"end");
            writer.finish()
        };
        let whole = written(b",");
        assert_eq!(
            whole.joined(),
            format!("head{}end", text.trim_end_matches(';'))
        );
        assert_eq!(whole.0[1].as_ptr(), memory.as_ptr());
        assert_eq!(whole.0.len(), 3);
        let apart = written(b"::");
        assert_eq!(
            apart.joined(),
            format!("head{}end", text.replace(',', "::").trim_end_matches(';'))
        );
        assert_eq!(apart.0.len(), 5);
        assert_eq!(apart.joined().len(), apart.length());
    }

    #[test]
    fn short_parts_are_copied_into_one_piece() {
        let mut writer = BodyWriter::default();
        for part in ["one", "two", "three"] {
            let memory = Arc::new(Bytes::from_static(part.as_bytes()));
            writer.share(&memory, 0..part.len());
            writer.copy(b" ");
        }
        let body = writer.finish();
        assert_eq!((body.0.len(), &*body.joined()), (1, &b"one two three "[..]));
    }
}
