//! System calls that sandboxed commands cannot use (`seccomp(2)`).

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};

use super::error::SandboxError;

/// Number ranges in which x86-64 kernels accept system calls: the usual one, and that of the x32 ABI.
#[cfg(target_arch = "x86_64")]
const NUMBERS: [i64; 2] = [0, 0x4000_0000];
#[cfg(not(target_arch = "x86_64"))]
const NUMBERS: [i64; 1] = [0];

/// Calls that reach what other restrictions do not cover: sockets without `socket(2)`, keys of the
/// user's session, and files by number.
const REFUSED: [i64; 5] = [
    libc::SYS_io_uring_setup,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_open_by_handle_at,
];

/// Refuses these calls to this process and its descendants, with `EPERM`: [`REFUSED`], and sockets,
/// except for routing information and those that are permitted: `unix_sockets`, and `internet` for
/// IP. Pairs of connected Unix sockets are always permitted.
pub(super) fn filter_system_calls(unix_sockets: bool, internet: bool) -> Result<(), SandboxError> {
    let filter = filter(unix_sockets, internet)?;
    let program: seccompiler::BpfProgram = filter.try_into()?;
    Ok(apply_filter(&program)?)
}

fn filter(unix_sockets: bool, internet: bool) -> Result<SeccompFilter, BackendError> {
    let mut families = vec![libc::AF_NETLINK];
    if internet {
        families.extend([libc::AF_INET, libc::AF_INET6]);
    }
    let mut rules = BTreeMap::new();
    if unix_sockets {
        families.push(libc::AF_UNIX);
    } else {
        // A datagram socket of a pair can still be connected to another address. The kernel makes
        // one of a raw Unix socket as well.
        let mut pairs = Vec::new();
        for kind in [libc::SOCK_DGRAM, libc::SOCK_RAW] {
            let pair = condition(1, SeccompCmpOp::MaskedEq(0xf), kind)?;
            pairs.push(SeccompRule::new(vec![pair])?);
        }
        rules.insert(libc::SYS_socketpair, pairs);
    }
    let others: Result<_, _> = families
        .into_iter()
        .map(|family| condition(0, SeccompCmpOp::Ne, family))
        .collect();
    rules.insert(libc::SYS_socket, vec![SeccompRule::new(others?)?]);
    rules.extend(REFUSED.map(|call| (call, Vec::new())));
    let all = NUMBERS.iter().flat_map(|base| {
        let shifted = rules.iter();
        shifted.map(move |(call, rules)| (base + call, rules.clone()))
    });
    SeccompFilter::new(
        all.collect(),
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EPERM.unsigned_abs()),
        std::env::consts::ARCH.try_into()?,
    )
}

fn condition(
    argument: u8,
    operator: SeccompCmpOp,
    value: i32,
) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(
        argument,
        SeccompCmpArgLen::Dword,
        operator,
        u64::from(value.unsigned_abs()),
    )
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};

    use super::*;

    #[test]
    fn only_permitted_sockets_and_pairs_can_be_created() {
        let directory = tempfile::tempdir().unwrap();
        for permitted in [false, true] {
            let path = directory.path().join(format!("socket-{permitted}"));
            let tried = std::thread::spawn(move || {
                filter_system_calls(permitted, !permitted).unwrap();
                UnixStream::pair().unwrap();
                [
                    UnixListener::bind(&path).is_ok(),
                    UnixDatagram::pair().is_ok(),
                    UdpSocket::bind("127.0.0.1:0").is_err(),
                ]
            });
            assert_eq!(tried.join().unwrap(), [permitted; 3]);
        }
    }
}
