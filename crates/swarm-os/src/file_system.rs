//! Type and free space of file systems.

use std::fs::File;
use std::path::Path;

/// File systems that may be shared with other machines or are implemented by another program, with
/// their numbers in `statfs(2)` (`linux/magic.h` and the man page). On these, flock may be limited
/// to one machine or have no effect.
const SHARED: [(u32, &str); 15] = [
    (0x6969, "nfs"),
    (0x517b, "smb"),
    (0xff53_4d42, "cifs"),
    (0xfe53_4d42, "smb2"),
    (0x6573_5546, "fuse"),
    (0x0102_1997, "9p"),
    (0x00c3_6400, "ceph"),
    (0x5346_414f, "afs"),
    (0x6b41_4653, "afs"),
    (0x0bd0_0bd0, "lustre"),
    (0x4750_4653, "gpfs"),
    (0x7461_636f, "ocfs2"),
    (0x0116_1970, "gfs2"),
    (0x7375_7245, "coda"),
    (0x786f_4256, "vboxsf"),
];

/// Numbers of file systems without a disk: `tmpfs` and `ramfs`.
const IN_MEMORY: [u32; 2] = [0x0102_1994, 0x8584_58f6];

/// Returns whether an open file is on a file system without a disk, where flushing is immediate.
pub(crate) fn is_in_memory(file: &File) -> bool {
    let found = rustix::fs::fstatfs(file).ok();
    let kind = found.and_then(|found| u64::try_from(found.f_type).ok());
    kind.and_then(low)
        .is_some_and(|low| IN_MEMORY.contains(&low))
}

/// Returns the name of the file system of a path if it may be shared with other machines or is
/// implemented by another program. Flock is unreliable there, even if a test succeeds. For a
/// missing path, checks its nearest existing parent directory.
pub fn shared_file_system(path: &Path) -> Option<&'static str> {
    let existing = path.ancestors().find(|above| above.exists())?;
    let found = rustix::fs::statfs(existing).ok()?;
    name_of_shared(u64::try_from(found.f_type).ok()?)
}

/// Returns the free space of the file system of a directory for unprivileged users, in bytes.
/// Returns `None` if it is unknown.
pub fn free_space(directory: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(directory).ok()?;
    // Some user-space file systems do not report sizes.
    (found.f_blocks > 0).then(|| found.f_bavail.saturating_mul(found.f_frsize))
}

/// Returns the lower 32 bits: some kernels sign-extend the number.
fn low(kind: u64) -> Option<u32> {
    u32::try_from(kind & 0xffff_ffff).ok()
}

fn name_of_shared(kind: u64) -> Option<&'static str> {
    let low = low(kind)?;
    let known = SHARED.iter().find(|(number, _)| *number == low);
    known.map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d17_shared_file_systems_are_recognized_by_their_numbers() {
        assert_eq!(name_of_shared(0x6969), Some("nfs"));
        assert_eq!(name_of_shared(0x6573_5546), Some("fuse"));
        assert_eq!(name_of_shared(0xffff_ffff_ff53_4d42), Some("cifs"));
        for local in [0xef53, 0x9123_683e, 0x0102_1994, 0x5846_5342] {
            assert_eq!(name_of_shared(local), None, "ext4, btrfs, tmpfs, xfs");
        }
    }

    #[test]
    fn a_missing_directory_is_checked_by_its_existing_parent() {
        assert_eq!(shared_file_system(Path::new("/proc/not/there")), None);
        assert_eq!(
            shared_file_system(Path::new("relative and not there")),
            None
        );
    }
}
