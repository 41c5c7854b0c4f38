//! Passing a socket to another process (`SCM_RIGHTS` in `unix(7)`): a socket keeps the network
//! namespace in which it was created.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;

use rustix::fd::{AsFd, OwnedFd};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// The message that carries a socket.
const BYTE: [u8; 1] = [b's'];

/// Sends an open socket through a Unix socket.
///
/// # Errors
/// Fails if the other end is closed.
pub fn send_socket(channel: impl AsFd, socket: impl AsFd) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let sockets = [socket.as_fd()];
    if !control.push(SendAncillaryMessage::ScmRights(&sockets)) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    let bytes = [IoSlice::new(&BYTE)];
    sendmsg(channel, &bytes, &mut control, SendFlags::empty())?;
    Ok(())
}

/// Receives an open socket from a Unix socket; blocks until there is one.
///
/// # Errors
/// Fails if the other end is closed or sent something else.
pub fn receive_socket(channel: impl AsFd) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut bytes = [IoSliceMut::new(&mut byte)];
    recvmsg(channel, &mut bytes, &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let socket = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut sockets) => sockets.next(),
        _ => None,
    });
    socket.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_socket_arrives_at_the_other_end() {
        let (here, there) = UnixStream::pair().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        send_socket(&here, &listener).unwrap();
        let received = TcpListener::from(receive_socket(&there).unwrap());
        assert_eq!(
            received.local_addr().unwrap(),
            listener.local_addr().unwrap()
        );
        drop(here);
        assert!(receive_socket(&there).is_err());
    }
}
