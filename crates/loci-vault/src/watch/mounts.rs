//! Detects file systems that other machines can change without an event here, by the mount table of
//! Linux.

use std::fs;
use std::path::{Path, PathBuf};

/// The kinds of these file systems; all FUSE file systems (`fuse.`), NFS and SMB count among them
/// too.
const SHARED: [&str; 24] = [
    "9p",
    "acfs",
    "afp",
    "afs",
    "auristorfs",
    "beegfs",
    "ceph",
    "cifs",
    "coda",
    "davfs",
    "drvfs",
    "fhgfs",
    "gfs",
    "gfs2",
    "glusterfs",
    "gpfs",
    "lustre",
    "ncpfs",
    "ocfs2",
    "orangefs",
    "prl_fs",
    "vboxsf",
    "virtiofs",
    "vmhgfs",
];

/// Returns the kind of the file system of the absolute path, if it is one of these.
pub fn without_events(path: &Path) -> Option<String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    kind(&mounts, path)
        .filter(|kind| is_shared(kind))
        .map(str::to_owned)
}

/// Returns the kind of the file system that contains the path: that of the deepest mount point
/// above it, and of several mounts on one point the last.
fn kind<'a>(mounts: &'a str, path: &Path) -> Option<&'a str> {
    let holding = mounts
        .lines()
        .filter_map(mount)
        .filter(|(point, _)| path.starts_with(point));
    holding
        .max_by_key(|(point, _)| point.components().count())
        .map(|(_, kind)| kind)
}

fn is_shared(kind: &str) -> bool {
    SHARED.contains(&kind)
        || ["fuse.", "nfs", "smb"]
            .iter()
            .any(|family| kind.starts_with(family))
}

/// Returns the mount point and the kind of one mount.
fn mount(line: &str) -> Option<(PathBuf, &str)> {
    let (mount, source) = line.split_once(" - ")?;
    Some((
        unescaped(mount.split(' ').nth(4)?),
        source.split(' ').next()?,
    ))
}

/// Decodes white space and backslashes, which are written as a backslash and three octal digits.
fn unescaped(point: &str) -> PathBuf {
    let mut parts = point.split('\\');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        if let Some(code) = part
            .get(..3)
            .and_then(|digits| u8::from_str_radix(digits, 8).ok())
        {
            text.push(char::from(code));
            text.push_str(&part[3..]);
        } else {
            text.push('\\');
            text.push_str(part);
        }
    }
    PathBuf::from(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:40 / /net rw,relatime shared:2 - nfs4 server:/export/net rw,vers=4.2
31 30 254:1 / /net/ann/local rw,relatime - xfs /dev/vdb rw
32 22 0:41 / /mnt/my\\040share rw - fuse.sshfs ann@server:/srv rw
33 22 0:42 / /srv rw - ext4 /dev/vdc rw
34 22 0:43 / /srv rw master:3 propagate_from:1 - cifs //server/srv rw
35 22 0:45 / /odd\\name rw - 9p share rw
garbage
36 22 0:44 / /short
";

    #[test]
    fn the_deepest_and_last_mount_holds_a_path() {
        let rows = [
            ("/var/lib/notes", "ext4"),
            ("/net/ann", "nfs4"),
            ("/net/ann/local/notes", "xfs"),
            ("/net2", "ext4"),
            ("/mnt/my share/notes", "fuse.sshfs"),
            ("/srv/x", "cifs"),
            ("/odd\\name/x", "9p"),
        ];
        for (path, expected) in rows {
            assert_eq!(kind(MOUNTS, Path::new(path)), Some(expected), "{path}");
        }
        assert_eq!(kind("", Path::new("/x")), None);
    }

    #[test]
    fn kinds_that_others_can_change_are_known() {
        for kind in [
            "nfs",
            "nfs4",
            "cifs",
            "smb3",
            "smbfs",
            "9p",
            "drvfs",
            "vboxsf",
            "fuse.sshfs",
            "fuse.rclone",
        ] {
            assert!(is_shared(kind), "{kind}");
        }
        for kind in [
            "ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "apfs", "fuseblk", "ntfs3", "fuse",
        ] {
            assert!(!is_shared(kind), "{kind}");
        }
    }
}
