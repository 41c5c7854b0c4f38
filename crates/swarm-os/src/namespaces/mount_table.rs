//! The mounts of this process (`/proc/self/mountinfo`, `proc_pid_mountinfo(5)`).

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use rustix::mount::MountFlags;

/// Options that a process without privileges over a mount must keep when it changes the mount.
const OPTIONS: [(&str, MountFlags); 7] = [
    ("nosuid", MountFlags::NOSUID),
    ("nodev", MountFlags::NODEV),
    ("noexec", MountFlags::NOEXEC),
    ("noatime", MountFlags::NOATIME),
    ("nodiratime", MountFlags::NODIRATIME),
    ("relatime", MountFlags::RELATIME),
    ("nosymfollow", MountFlags::NOSYMFOLLOW),
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mounted {
    pub(super) path: PathBuf,
    pub(super) flags: MountFlags,
    pub(super) read_only: bool,
}

/// Returns all mounts, the oldest first.
pub(super) fn mount_table() -> io::Result<Vec<Mounted>> {
    Ok(parse(&fs::read("/proc/self/mountinfo")?))
}

fn parse(table: &[u8]) -> Vec<Mounted> {
    let lines = table.split(|byte| *byte == b'\n');
    lines.filter_map(parse_line).collect()
}

/// Parses `ID PARENT DEVICE ROOT PATH OPTIONS …`.
fn parse_line(line: &[u8]) -> Option<Mounted> {
    let mut fields = line.split(|byte| *byte == b' ').skip(4);
    let path = PathBuf::from(OsString::from_vec(unescape(fields.next()?)));
    let options = std::str::from_utf8(fields.next()?).ok()?;
    let has = |name: &str| options.split(',').any(|option| option == name);
    let flags = OPTIONS.iter().filter(|(name, _)| has(name));
    Some(Mounted {
        path,
        flags: flags.fold(MountFlags::empty(), |all, (_, flag)| all | *flag),
        read_only: has("ro"),
    })
}

/// Decodes `\ooo`, by which the kernel writes spaces and backslashes in paths.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, others)) = rest.split_first() {
        let code = others.get(..3).filter(|_| *first == b'\\');
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        if let Some(byte) = code.and_then(|code| u8::from_str_radix(code, 8).ok()) {
            bytes.push(byte);
            rest = &others[3..];
        } else {
            bytes.push(*first);
            rest = others;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_parsed_with_their_escapes_and_options() {
        let table = b"22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
            30 22 0:26 /x /a\\040b\\134c ro,nosuid,nodev shared:1 - tmpfs tmpfs rw\nbroken\n";
        let (first, second) = (&parse(table)[0], &parse(table)[1]);
        assert_eq!((first.path.to_str(), first.read_only), (Some("/"), false));
        assert_eq!(first.flags, MountFlags::RELATIME);
        assert_eq!(
            (second.path.to_str(), second.read_only),
            (Some("/a b\\c"), true)
        );
        assert_eq!(second.flags, MountFlags::NOSUID | MountFlags::NODEV);
        assert_eq!(parse(table).len(), 2);
    }
}
