//! Which file system a folder is on, from the table of mounts that Linux keeps.

use std::path::{Path, PathBuf};

/// Kinds of file systems whose files another machine may change. SQLite's log needs memory that all
/// writers share, so a database on them gets damaged.
const NETWORK: [&str; 23] = [
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
    "fhgfs",
    "gfs",
    "gfs2",
    "glusterfs",
    "gpfs",
    "lustre",
    "ncpfs",
    "nfs",
    "nfs4",
    "ocfs2",
    "orangefs",
    "prl_fs",
    "vboxsf",
];
/// The same, for file systems that run outside the kernel: the part after `fuse.`.
const NETWORK_FUSE: [&str; 16] = [
    "ceph",
    "cephfs",
    "curlftpfs",
    "davfs",
    "davfs2",
    "gcsfuse",
    "glusterfs",
    "juicefs",
    "moosefs",
    "mfs",
    "nfs",
    "rclone",
    "s3fs",
    "seaweedfs",
    "sshfs",
    "vmhgfs-fuse",
];

/// The kind of the file system that holds the absolute path, by the text of `/proc/self/mountinfo`.
pub(crate) fn file_system(mountinfo: &str, path: &Path) -> Option<String> {
    let mounts = mountinfo.lines().filter_map(parse);
    let holding = mounts.filter(|(mount_point, _)| path.starts_with(mount_point));
    // The deepest mount point holds it; of several mounts on one point, the last.
    holding
        .max_by_key(|(mount_point, _)| mount_point.components().count())
        .map(|(_, kind)| kind.to_owned())
}

/// Whether a kind of file system reaches over a network or between machines.
pub(crate) fn is_network(kind: &str) -> bool {
    match kind.strip_prefix("fuse.") {
        Some(kind) => NETWORK_FUSE.contains(&kind),
        None => NETWORK.contains(&kind) || kind.starts_with("smb"),
    }
}

/// The mount point and the kind of one mount.
fn parse(line: &str) -> Option<(PathBuf, &str)> {
    let (mount, source) = line.split_once(" - ")?;
    let mount_point = mount.split(' ').nth(4)?;
    Some((unescape(mount_point), source.split(' ').next()?))
}

/// Blanks and backslashes stand as three octal digits after a backslash.
fn unescape(text: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let escaped = after.get(..3).filter(|_| *first == b'\\');
        let octal = escaped
            .and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        bytes.push(octal.unwrap_or(*first));
        rest = if octal.is_some() { &after[3..] } else { after };
    }
    PathBuf::from(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
25 22 0:22 / /proc rw,nosuid - proc proc rw
30 22 0:40 / /net rw,relatime shared:2 - nfs4 server:/export/net rw,vers=4.2
31 30 254:1 / /net/ann/local rw,relatime - xfs /dev/vdb rw
32 22 0:41 / /mnt/my\\040share rw - fuse.sshfs ann@server:/srv rw
33 22 0:42 / /srv rw - ext4 /dev/vdc rw
34 22 0:43 / /srv rw master:3 propagate_from:1 - cifs //server/srv rw
garbage
35 22 0:44 / /short
";

    #[test]
    fn the_deepest_and_last_mount_holds_a_path() {
        let rows = [
            ("/var/lib/loci", "ext4"),
            ("/net/ann", "nfs4"),
            ("/net/ann/local/loci", "xfs"),
            ("/net2", "ext4"),
            ("/mnt/my share/loci", "fuse.sshfs"),
            ("/srv/x", "cifs"),
        ];
        for (path, kind) in rows {
            assert_eq!(
                file_system(MOUNTS, Path::new(path)).as_deref(),
                Some(kind),
                "{path}"
            );
        }
        assert_eq!(file_system("", Path::new("/x")), None);
    }

    #[test]
    fn kinds_that_cross_machines_are_known() {
        for kind in [
            "nfs",
            "nfs4",
            "cifs",
            "smb3",
            "smbfs",
            "9p",
            "vboxsf",
            "fuse.sshfs",
            "fuse.glusterfs",
            "ceph",
            "afs",
        ] {
            assert!(is_network(kind), "{kind}");
        }
        for kind in [
            "ext4",
            "xfs",
            "btrfs",
            "zfs",
            "tmpfs",
            "overlay",
            "apfs",
            "fuse.ntfs-3g",
            "fuseblk",
            "ntfs3",
            "fuse",
        ] {
            assert!(!is_network(kind), "{kind}");
        }
    }
}
