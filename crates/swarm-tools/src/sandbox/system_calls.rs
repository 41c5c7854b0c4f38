//! System calls that sandboxed commands cannot use (`seccomp(2)`).

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, apply_filter, sock_filter,
};

use super::error::SandboxError;

/// First number of the system calls of the x32 ABI, which x86-64 kernels also accept. No other
/// architecture has such numbers.
const FIRST_X32: u32 = 0x4000_0000;

/// Calls that reach what other restrictions do not cover: sockets without `socket(2)`, keys of the
/// user's session, and files by number.
const REFUSED: [i64; 5] = [
    libc::SYS_io_uring_setup,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_open_by_handle_at,
];

const INTERNET: [i32; 2] = [libc::AF_INET, libc::AF_INET6];

/// Which IP sockets are permitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InternetSockets {
    None,
    /// Those of TCP connections that Landlock limits to a port.
    Client,
    All,
}

/// Refuses these calls to this process and its descendants, with `EPERM`: [`REFUSED`], and sockets,
/// except for routing information and those that are permitted: `unix_sockets`, and `internet` for
/// IP. Pairs of connected Unix sockets are always permitted. With `sees_others`, also changes to the
/// limits of processes by their number: a limit can end a process.
pub(super) fn filter_system_calls(
    unix_sockets: bool,
    internet: InternetSockets,
    sees_others: bool,
) -> Result<(), SandboxError> {
    let mut rules = rules(unix_sockets, internet)?;
    if sees_others {
        rules.insert(libc::SYS_prlimit64, vec![limit_of_others()?]);
    }
    let calls: Vec<u32> = rules
        .keys()
        .filter_map(|call| u32::try_from(*call).ok())
        .collect();
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EPERM.unsigned_abs()),
        std::env::consts::ARCH.try_into()?,
    )?;
    let mut program: BpfProgram = filter.try_into()?;
    // Before it, the program checks the architecture, which decides what a number means.
    let loaded = program.iter().position(is_load_of_number);
    let loaded = loaded.ok_or(BackendError::EmptyRule)? + 1;
    program.splice(loaded..loaded, sort_out(&calls));
    Ok(apply_filter(&program)?)
}

/// Whether an instruction loads the number of the call, the first field of `seccomp_data`.
fn is_load_of_number(instruction: &sock_filter) -> bool {
    u32::from(instruction.code) == libc::BPF_LD | libc::BPF_W | libc::BPF_ABS && instruction.k == 0
}

/// Returns instructions, for a loaded number, that refuse every call of the x32 ABI and permit those
/// that are not among `calls`. When a command starts, the kernel runs its filter once for each number
/// to find the calls that are always permitted; the rules compare a number in three instructions.
fn sort_out(calls: &[u32]) -> Vec<sock_filter> {
    let instruction = |code, jt, jf, k| sock_filter {
        code: u16::try_from(code).unwrap_or_default(),
        jt,
        jf,
        k,
    };
    let compare = |code, jt, jf, k| instruction(libc::BPF_JMP | code | libc::BPF_K, jt, jf, k);
    let end = |action| instruction(libc::BPF_RET | libc::BPF_K, 0, 0, action);
    let refused = libc::SECCOMP_RET_ERRNO | libc::EPERM.unsigned_abs();
    let mut program = vec![compare(libc::BPF_JGE, 0, 1, FIRST_X32), end(refused)];
    // Each jumps over the others and the end.
    let others = (1..=u8::try_from(calls.len()).unwrap_or(u8::MAX)).rev();
    let known = calls.iter().zip(others);
    program.extend(known.map(|(call, jump)| compare(libc::BPF_JEQ, jump, 0, *call)));
    program.push(end(libc::SECCOMP_RET_ALLOW));
    program
}

/// Returns the calls that are refused, and the arguments with which they are.
fn rules(
    unix_sockets: bool,
    internet: InternetSockets,
) -> Result<BTreeMap<i64, Vec<SeccompRule>>, BackendError> {
    let mut families = vec![libc::AF_NETLINK];
    if internet != InternetSockets::None {
        families.extend(INTERNET);
    }
    let mut rules = BTreeMap::new();
    if internet == InternetSockets::Client {
        rules.extend(only_client(unix_sockets)?);
    }
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
    let sockets = rules.entry(libc::SYS_socket).or_default();
    sockets.push(SeccompRule::new(none_of(0, &families)?)?);
    rules.extend(REFUSED.map(|call| (call, Vec::new())));
    Ok(rules)
}

/// Returns rules for what Landlock does not limit: IP sockets other than those of TCP itself,
/// connections without `connect(2)` (TCP Fast Open), and the ways to accept connections and to change
/// the protocol. `listen(2)` is permitted where Unix sockets are, which need it.
fn only_client(unix_sockets: bool) -> Result<BTreeMap<i64, Vec<SeccompRule>>, BackendError> {
    let (close, nonblocking) = (libc::SOCK_CLOEXEC, libc::SOCK_NONBLOCK);
    let kinds = [0, close, nonblocking, close | nonblocking].map(|flag| libc::SOCK_STREAM | flag);
    let protocols = [0, libc::IPPROTO_TCP];
    let mut sockets = Vec::new();
    for family in INTERNET {
        for (argument, values) in [(1, &kinds[..]), (2, &protocols[..])] {
            let mut conditions = none_of(argument, values)?;
            conditions.push(condition(0, SeccompCmpOp::Eq, family)?);
            sockets.push(SeccompRule::new(conditions)?);
        }
    }
    let mut rules = BTreeMap::from([(libc::SYS_socket, sockets)]);
    let fast_open = SeccompCmpOp::MaskedEq(u64::from(libc::MSG_FASTOPEN.unsigned_abs()));
    for (call, flags) in [
        (libc::SYS_sendto, 3),
        (libc::SYS_sendmsg, 2),
        (libc::SYS_sendmmsg, 3),
    ] {
        let opening = condition(flags, fast_open.clone(), libc::MSG_FASTOPEN)?;
        rules.insert(call, vec![SeccompRule::new(vec![opening])?]);
    }
    let protocol = vec![
        condition(1, SeccompCmpOp::Eq, libc::IPPROTO_TCP)?,
        condition(2, SeccompCmpOp::Eq, libc::TCP_ULP)?,
    ];
    rules.insert(libc::SYS_setsockopt, vec![SeccompRule::new(protocol)?]);
    if !unix_sockets {
        rules.insert(libc::SYS_listen, Vec::new());
    }
    Ok(rules)
}

/// Returns the rule for a new limit of a process that is named by its number.
fn limit_of_others() -> Result<SeccompRule, BackendError> {
    let has_limit = SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
    SeccompRule::new(vec![condition(0, SeccompCmpOp::Ne, 0)?, has_limit])
}

/// The conditions that an argument has none of these values.
fn none_of(argument: u8, values: &[i32]) -> Result<Vec<SeccompCondition>, BackendError> {
    let values = values.iter();
    let conditions = values.map(|value| condition(argument, SeccompCmpOp::Ne, *value));
    conditions.collect()
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
    use std::collections::HashSet;
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};

    use super::*;

    /// Runs instructions for a number. Returns the action, or `None` if the rules decide.
    fn action(program: &[sock_filter], number: u32) -> Option<u32> {
        let mut at = 0;
        loop {
            let instruction = program.get(at)?;
            let code = u32::from(instruction.code);
            let holds = match code {
                _ if code == libc::BPF_RET | libc::BPF_K => return Some(instruction.k),
                _ if code & 0xf0 == libc::BPF_JGE => number >= instruction.k,
                _ => number == instruction.k,
            };
            let jump = if holds {
                instruction.jt
            } else {
                instruction.jf
            };
            at += 1 + usize::from(jump);
        }
    }

    #[test]
    fn calls_without_rules_are_permitted_first() {
        for internet in [InternetSockets::Client, InternetSockets::All] {
            let calls: Vec<u32> = rules(false, internet)
                .unwrap()
                .keys()
                .map(|call| u32::try_from(*call).unwrap())
                .collect();
            let program = sort_out(&calls);
            let known: HashSet<u32> = calls.iter().copied().collect();
            for number in 0..600 {
                let expected = (!known.contains(&number)).then_some(libc::SECCOMP_RET_ALLOW);
                assert_eq!(action(&program, number), expected, "{number}");
                let refused = libc::SECCOMP_RET_ERRNO | libc::EPERM.unsigned_abs();
                assert_eq!(action(&program, FIRST_X32 + number), Some(refused));
            }
        }
    }

    #[test]
    fn only_permitted_sockets_and_pairs_can_be_created() {
        let directory = tempfile::tempdir().unwrap();
        for permitted in [false, true] {
            let path = directory.path().join(format!("socket-{permitted}"));
            let tried = std::thread::spawn(move || {
                let internet = if permitted {
                    InternetSockets::None
                } else {
                    InternetSockets::All
                };
                filter_system_calls(permitted, internet, false).unwrap();
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

    #[test]
    fn only_the_own_limits_can_be_changed() {
        use rustix::process::{Resource, getpid, getrlimit, prlimit, setrlimit};
        std::thread::spawn(|| {
            filter_system_calls(false, InternetSockets::None, true).unwrap();
            let limit = getrlimit(Resource::Core);
            setrlimit(Resource::Core, limit).unwrap();
            let refused = prlimit(Some(getpid()), Resource::Core, limit);
            assert_eq!(refused.unwrap_err(), rustix::io::Errno::PERM);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_client_has_only_tcp_connections_that_begin_with_connect() {
        use rustix::net::{AddressFamily, SendFlags, SocketType, ipproto, listen, sendto, socket};
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = server.local_addr().unwrap();
        let tried = std::thread::spawn(move || {
            filter_system_calls(false, InternetSockets::Client, false).unwrap();
            TcpStream::connect(address).unwrap();
            let tcp = |protocol| socket(AddressFamily::INET, SocketType::STREAM, protocol);
            let opened = tcp(None).unwrap();
            let fast_open = SendFlags::from_bits_retain(libc::MSG_FASTOPEN.unsigned_abs());
            [
                sendto(&opened, b"x", fast_open, &address).map(drop),
                listen(&opened, 1),
                tcp(Some(ipproto::MPTCP)).map(drop),
                socket(AddressFamily::INET6, SocketType::DGRAM, None).map(drop),
                socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::ICMP)).map(drop),
            ]
        });
        for (number, tried) in tried.join().unwrap().into_iter().enumerate() {
            assert_eq!(tried, Err(rustix::io::Errno::PERM), "attempt {number}");
        }
    }
}
