//! Streamed request bodies.
//!
//! Every request carries the whole conversation, which may be megabytes of JSON in memory. A body
//! shares that memory and copies small chunks while it is sent.

use std::convert::Infallible;
use std::fmt::Debug;
use std::iter;
use std::sync::Arc;

use bytes::Bytes;
use futures::stream;

/// Chunk size in bytes; a longer part is a separate chunk. HTTP connections queue 16 chunks for one
/// write, so this bounds what is copied ahead: it fits the CPU cache, and stays below the 128 kB
/// that the C library's allocator keeps at the top of the heap instead of returning them after each
/// request.
const CHUNK: usize = 8 * 1024;

/// Parts of a body that are serialized while it is sent.
pub(crate) trait Parts: Debug + Send + Sync {
    fn count(&self) -> usize;

    /// Passes the bytes of one part to `sink`, in order.
    fn write(&self, part: usize, sink: &mut dyn FnMut(&[u8]));
}

/// A request body. Clones share the content.
#[derive(Debug, Clone)]
pub(crate) enum Body {
    Whole(Bytes),
    /// Parts, with the length of each in bytes.
    Parts(Arc<dyn Parts>, Arc<[usize]>),
}

impl Default for Body {
    fn default() -> Self {
        Self::Whole(Bytes::new())
    }
}

impl From<Vec<u8>> for Body {
    fn from(whole: Vec<u8>) -> Self {
        Self::Whole(whole.into())
    }
}

impl Body {
    /// Creates a body that is serialized while it is sent.
    pub(crate) fn of(parts: impl Parts + 'static) -> Self {
        let length = |part| {
            let mut length = 0;
            parts.write(part, &mut |bytes| length += bytes.len());
            length
        };
        let lengths = (0..parts.count()).map(length).collect();
        Self::Parts(Arc::new(parts), lengths)
    }

    pub(super) fn length(&self) -> usize {
        match self {
            Self::Whole(whole) => whole.len(),
            Self::Parts(_, lengths) => lengths.iter().sum(),
        }
    }

    pub(crate) fn joined(&self) -> Bytes {
        match self {
            Self::Whole(whole) => whole.clone(),
            Self::Parts(parts, lengths) => write(&**parts, 0..lengths.len(), self.length()).into(),
        }
    }

    /// Converts to the body type of the HTTP client.
    pub(super) fn sent(&self) -> reqwest::Body {
        match self {
            Self::Whole(whole) => whole.clone().into(),
            Self::Parts(parts, lengths) => {
                let chunks = chunks(Arc::clone(parts), Arc::clone(lengths));
                reqwest::Body::wrap_stream(stream::iter(chunks.map(Ok::<_, Infallible>)))
            }
        }
    }
}

fn chunks(parts: Arc<dyn Parts>, lengths: Arc<[usize]>) -> impl Iterator<Item = Bytes> {
    let mut begin = 0;
    iter::from_fn(move || {
        let (mut end, mut length) = (begin, 0);
        while let Some(more) = lengths.get(end)
            && (length == 0 || length + more <= CHUNK)
        {
            length += more;
            end += 1;
        }
        // Chunks have the same capacity, so that the allocator reuses their memory.
        let chunk = write(&*parts, begin..end, length.max(CHUNK));
        begin = end;
        (length > 0).then(|| chunk.into())
    })
}

fn write(parts: &dyn Parts, which: std::ops::Range<usize>, room: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(room);
    for part in which {
        parts.write(part, &mut |piece| bytes.extend_from_slice(piece));
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Repeated(Vec<usize>);

    impl Parts for Repeated {
        fn count(&self) -> usize {
            self.0.len()
        }

        fn write(&self, part: usize, sink: &mut dyn FnMut(&[u8])) {
            sink(&b"ab".repeat(self.0[part] / 2));
            sink(&b"c".repeat(self.0[part] % 2));
        }
    }

    #[test]
    fn chunks_concatenate_to_the_body_and_are_no_longer_than_necessary() {
        let mut parts = vec![0, 1, 3 * CHUNK, 0, 5];
        parts.extend([CHUNK / 4 + 1; 9]);
        parts.extend([0, 0]);
        let body = Body::of(Repeated(parts));
        let Body::Parts(parts, lengths) = body.clone() else {
            panic!("{body:?}");
        };
        let chunks: Vec<Bytes> = chunks(parts, lengths).collect();
        assert_eq!(chunks.concat(), body.joined());
        assert_eq!(body.joined().len(), body.length());
        assert!(body.joined().starts_with(b"cabab"));
        let lengths: Vec<usize> = chunks.iter().map(Bytes::len).collect();
        let three = 3 * (CHUNK / 4 + 1);
        assert_eq!(lengths, [1, 3 * CHUNK, three + 5, three, three]);
    }
}
