//! The body of a request, in pieces.
//!
//! A conversation of megabytes goes out with every request. Its JSON is in memory already; a body shares it and copies a
//! little at a time while it is sent.

use std::convert::Infallible;
use std::iter;
use std::sync::Arc;

use bytes::Bytes;
use futures::stream;
use serde_json::value::RawValue;

/// Bytes that are handed to the connection at once, but for a longer piece. Enough for few calls, and small enough that
/// the allocator takes the same memory for the next ones.
const CHUNK: usize = 64 * 1024;

/// The body of a request. Clones share the pieces.
#[derive(Debug, Clone, Default)]
pub(crate) struct Body {
    pieces: Arc<[Piece]>,
}

/// A part of a body.
#[derive(Debug, Clone)]
pub(crate) enum Piece {
    Fixed(&'static str),
    Text(Bytes),
    /// A value that is kept as JSON.
    Json(Arc<RawValue>),
    /// The same of an object, without the brace at its end.
    Open(Arc<RawValue>),
}

impl Piece {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Fixed(text) => text.as_bytes(),
            Self::Text(text) => text,
            Self::Json(json) => json.get().as_bytes(),
            Self::Open(json) => {
                let json = json.get();
                json.strip_suffix('}').unwrap_or(json).as_bytes()
            }
        }
    }
}

impl From<Vec<Piece>> for Body {
    fn from(pieces: Vec<Piece>) -> Self {
        Self {
            pieces: pieces.into(),
        }
    }
}

impl From<Vec<u8>> for Body {
    fn from(whole: Vec<u8>) -> Self {
        vec![Piece::Text(whole.into())].into()
    }
}

impl Body {
    /// Its length in bytes.
    pub(super) fn length(&self) -> usize {
        self.pieces.iter().map(|piece| piece.bytes().len()).sum()
    }

    /// All of it in one piece.
    pub(crate) fn joined(&self) -> Bytes {
        match &*self.pieces {
            [Piece::Text(whole)] => whole.clone(),
            pieces => {
                let mut whole = Vec::with_capacity(self.length());
                whole.extend(pieces.iter().flat_map(Piece::bytes));
                whole.into()
            }
        }
    }

    /// What is sent.
    pub(super) fn sent(&self) -> reqwest::Body {
        if let [Piece::Text(whole)] = &*self.pieces {
            return whole.clone().into();
        }
        let chunks = self.clone().chunks().map(Ok::<_, Infallible>);
        reqwest::Body::wrap_stream(stream::iter(chunks))
    }

    fn chunks(self) -> impl Iterator<Item = Bytes> {
        let mut next = 0;
        iter::from_fn(move || {
            let mut chunk = Vec::with_capacity(CHUNK);
            while let Some(piece) = self.pieces.get(next) {
                let bytes = piece.bytes();
                if !chunk.is_empty() && chunk.len() + bytes.len() > CHUNK {
                    break;
                }
                chunk.extend_from_slice(bytes);
                next += 1;
            }
            (!chunk.is_empty()).then(|| Bytes::from(chunk))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chunks_of_a_body_are_its_bytes_and_none_is_longer_than_it_must_be() {
        let json = |text: String| Arc::<RawValue>::from(RawValue::from_string(text).unwrap());
        let long = json(format!("\"{}\"", "x".repeat(3 * CHUNK)));
        let short = json(r#"{"a":{}}"#.to_owned());
        let mut pieces = vec![Piece::Fixed("["), Piece::Json(long), Piece::Fixed(",")];
        for _ in 0..CHUNK / 4 {
            pieces.extend([
                Piece::Open(Arc::clone(&short)),
                Piece::Fixed("},"),
                Piece::Text(Bytes::from_static(b"2,")),
            ]);
        }
        let body = Body::from(pieces);
        let chunks: Vec<Bytes> = body.clone().chunks().collect();
        assert_eq!(chunks.concat(), body.joined());
        assert_eq!(body.joined().len(), body.length());
        assert!(body.joined().ends_with(br#"{"a":{}},2,"#));
        let lengths: Vec<usize> = chunks.iter().map(Bytes::len).collect();
        assert_eq!(&lengths[..2], [1, 3 * CHUNK + 2]);
        assert!(
            lengths[2..].iter().all(|length| *length <= CHUNK),
            "{lengths:?}"
        );
    }
}
