//! Passing open files to another process (`SCM_RIGHTS` in `unix(7)`): a socket keeps the network
//! namespace in which it was created.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// The message that carries files.
const BYTE: [u8; 1] = [b'f'];

/// Most files in one message.
const MOST: usize = 4;

/// Sends up to four open files through a Unix socket.
///
/// # Errors
/// Fails if the other end is closed.
pub fn send_files(channel: impl AsFd, files: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(files)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let bytes = [IoSlice::new(&BYTE)];
    sendmsg(channel, &bytes, &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives as many open files as one message carries. Blocks until there is one, unless the socket
/// does not block.
///
/// # Errors
/// Fails with [`io::ErrorKind::UnexpectedEof`] if the other end is closed or sent something else.
pub fn receive_files<const N: usize>(channel: impl AsFd) -> io::Result<[OwnedFd; N]> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut bytes = [IoSliceMut::new(&mut byte)];
    recvmsg(channel, &mut bytes, &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let files = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => Some(files),
        _ => None,
    });
    let files: Vec<OwnedFd> = files.flatten().collect();
    files
        .try_into()
        .map_err(|_other| io::ErrorKind::UnexpectedEof.into())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::TcpListener;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn files_arrive_at_the_other_end_in_order() {
        let (here, there) = UnixStream::pair().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (mut reader, writer) = std::io::pipe().unwrap();
        send_files(&here, &[listener.as_fd(), writer.as_fd()]).unwrap();
        drop(writer);
        let [socket, pipe] = receive_files(&there).unwrap();
        assert_eq!(
            TcpListener::from(socket).local_addr().unwrap(),
            listener.local_addr().unwrap()
        );
        std::io::PipeWriter::from(pipe).write_all(b"x").unwrap();
        assert_eq!(std::io::read_to_string(&mut reader).unwrap(), "x");
        drop(here);
        let closed = receive_files::<1>(&there).unwrap_err();
        assert_eq!(closed.kind(), io::ErrorKind::UnexpectedEof);
    }
}
