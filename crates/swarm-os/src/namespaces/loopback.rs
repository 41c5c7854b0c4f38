//! The loopback interface of a new network namespace.

use std::io;

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, recv, sendto, socket};

/// `RTM_NEWLINK` of `rtnetlink(7)`: changes an interface.
const CHANGE_LINK: u16 = 16;

/// `NLM_F_REQUEST | NLM_F_ACK` of `netlink(7)`.
const ACKNOWLEDGED_REQUEST: u16 = 1 | 4;

/// Number of the loopback interface in every network namespace.
const LOOPBACK: i32 = 1;

/// `IFF_UP` of `netdevice(7)`.
const UP: u32 = 1;

/// Activates the loopback interface, so that the processes of a namespace reach each other's servers.
///
/// # Errors
/// Fails if the process has no rights over the network namespace.
pub fn start_loopback() -> io::Result<()> {
    let socket = socket(AddressFamily::NETLINK, SocketType::RAW, None)?;
    let mut request = Vec::with_capacity(32);
    // struct nlmsghdr: length, type, flags, sequence number, port.
    request.extend(32_u32.to_ne_bytes());
    request.extend(CHANGE_LINK.to_ne_bytes());
    request.extend(ACKNOWLEDGED_REQUEST.to_ne_bytes());
    request.extend([1_u32.to_ne_bytes(), 0_u32.to_ne_bytes()].concat());
    // struct ifinfomsg: family, padding, type, index, flags, mask of changed flags.
    request.extend([0; 4]);
    request.extend(LOOPBACK.to_ne_bytes());
    request.extend([UP.to_ne_bytes(), UP.to_ne_bytes()].concat());
    sendto(
        &socket,
        &request,
        SendFlags::empty(),
        &SocketAddrNetlink::new(0, 0),
    )?;
    let mut answer = [0_u8; 256];
    let (length, _) = recv(&socket, &mut answer, RecvFlags::empty())?;
    // struct nlmsgerr follows the header: a negated error number, or 0.
    match answer.get(16..20).filter(|_| length >= 20) {
        Some(&[a, b, c, d]) => match i32::from_ne_bytes([a, b, c, d]) {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(-error)),
        },
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}
