//! Messages to the helper: lists of words.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::vec::IntoIter;

use rustix::io::Errno;
use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;

/// Most bytes of a message. The kernel limits the arguments and variables of a program to a fourth of
/// the limit for stacks, which is usually 8 MB.
const MAX_BYTES: usize = 4 << 20;

/// Encodes words: the length, and each of them with a zero byte after it.
///
/// # Errors
/// As `execve(2)` if they are too long.
pub(super) fn encode(words: impl IntoIterator<Item = OsString>) -> io::Result<Vec<u8>> {
    let mut message = vec![0; 4];
    for word in words {
        message.extend(word.into_vec());
        message.push(0);
    }
    let length = message.len() - 4;
    let length = u32::try_from(length).ok().filter(|_| length <= MAX_BYTES);
    let length = length.ok_or(Errno::TOOBIG)?;
    message[..4].copy_from_slice(&length.to_ne_bytes());
    Ok(message)
}

/// Receives the words of one message. `None` if the other end is closed.
pub(super) async fn receive_words(
    channel: &mut UnixStream,
) -> io::Result<Option<IntoIter<OsString>>> {
    let mut length = [0; 4];
    if channel.read(&mut length[..1]).await? == 0 {
        return Ok(None);
    }
    channel.read_exact(&mut length[1..]).await?;
    let length = usize::try_from(u32::from_ne_bytes(length)).unwrap_or(MAX_BYTES);
    let mut text = vec![0; length.min(MAX_BYTES)];
    channel.read_exact(&mut text).await?;
    text.pop();
    let words: Vec<OsString> = text
        .split(|byte| *byte == 0)
        .map(|word| OsString::from_vec(word.to_vec()))
        .collect();
    Ok(Some(words.into_iter()))
}
