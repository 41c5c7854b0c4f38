//! Which kind of file system holds a file, and how much room it has.

use std::fs::File;
use std::path::Path;

/// File systems that may be shared with other machines, or are kept by another program, by the number that `statfs(2)`
/// gives for them (`linux/magic.h` and the man page). On these flock may hold for one machine alone, or not at all.
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

/// File systems without a disk, by the same number: `tmpfs` and `ramfs`.
const IN_MEMORY: [u32; 2] = [0x0102_1994, 0x8584_58f6];

/// Whether an open file is on a file system without a disk, where nothing waits for one.
pub(crate) fn is_in_memory(file: &File) -> bool {
    let found = rustix::fs::fstatfs(file).ok();
    let kind = found.and_then(|found| u64::try_from(found.f_type).ok());
    kind.and_then(low)
        .is_some_and(|low| IN_MEMORY.contains(&low))
}

/// The name of the file system that a path is on, if it may be shared with other machines or is kept by another program:
/// there flock is not to be trusted, whatever it says to one who tries. A path that is not there yet is judged by the nearest
/// directory above it that is.
pub fn shared_file_system(path: &Path) -> Option<&'static str> {
    let there = path.ancestors().find(|above| above.exists())?;
    let found = rustix::fs::statfs(there).ok()?;
    name_of_shared(u64::try_from(found.f_type).ok()?)
}

/// How many bytes a user may still write to the file system of a directory; `None` where it does not tell.
pub fn free_space(directory: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(directory).ok()?;
    // Some file systems in user space have no sizes at all.
    (found.f_blocks > 0).then(|| found.f_bavail.saturating_mul(found.f_frsize))
}

/// Some kernels extend the sign of the number.
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
    fn d17_file_systems_of_other_machines_are_known_by_their_numbers() {
        assert_eq!(name_of_shared(0x6969), Some("nfs"));
        assert_eq!(name_of_shared(0x6573_5546), Some("fuse"));
        assert_eq!(name_of_shared(0xffff_ffff_ff53_4d42), Some("cifs"));
        for local in [0xef53, 0x9123_683e, 0x0102_1994, 0x5846_5342] {
            assert_eq!(name_of_shared(local), None, "ext4, btrfs, tmpfs, xfs");
        }
    }

    #[test]
    fn a_directory_that_is_not_there_yet_is_judged_by_the_one_above() {
        assert_eq!(shared_file_system(Path::new("/proc/not/there")), None);
        assert_eq!(
            shared_file_system(Path::new("relative and not there")),
            None
        );
    }
}
