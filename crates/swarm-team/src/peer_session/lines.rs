//! Frames as lines.

use std::io;

use swarm_protocol::{LONGEST_FRAME, PeerFrame};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _};

/// Maximum bytes of a frame: a character has up to four.
const FRAME_BYTES: u64 = 4 * LONGEST_FRAME as u64;

/// Reads one line of at most [`LONGEST_FRAME`] characters.
pub(super) async fn next_frame(
    lines: &mut (impl tokio::io::AsyncBufRead + Unpin),
) -> io::Result<PeerFrame> {
    let mut bytes = Vec::new();
    lines
        .take(FRAME_BYTES + 1)
        .read_until(b'\n', &mut bytes)
        .await?;
    if bytes.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let text = String::from_utf8(bytes).map_err(io::Error::other)?;
    if text.chars().count() > LONGEST_FRAME {
        return Err(io::Error::other(format!(
            "a frame has more than {LONGEST_FRAME} characters"
        )));
    }
    serde_json::from_str(&text).map_err(io::Error::other)
}

/// Returns a frame as a line.
pub(super) fn line(frame: &PeerFrame) -> Vec<u8> {
    // Strings always serialize.
    let mut bytes = serde_json::to_vec(frame).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}
