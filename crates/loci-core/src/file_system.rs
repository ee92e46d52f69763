//! Kinds of file systems, by the mount table of Linux.

use std::path::{Path, PathBuf};

/// Kinds of file systems whose files another machine may change.
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
/// The same for file systems that run outside the kernel: the part after `fuse.`.
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
/// Kinds whose files the host of a virtual machine may change.
const HOST: [&str; 3] = ["drvfs", "virtiofs", "vmhgfs"];

/// Returns the kind of the file system that contains the absolute path, by the text of
/// `/proc/self/mountinfo`.
pub fn kind<'a>(mountinfo: &'a str, path: &Path) -> Option<&'a str> {
    let mounts = mountinfo.lines().filter_map(parse);
    let holding = mounts.filter(|(mount_point, _)| path.starts_with(mount_point));
    // The deepest mount point holds it; of several mounts on one point, the last.
    holding
        .max_by_key(|(mount_point, _)| mount_point.components().count())
        .map(|(_, kind)| kind)
}

/// True if a file system of that kind is used over a network or by several machines. SQLite's log
/// needs memory that all writers share, so that a database on it becomes corrupt.
pub fn is_network(kind: &str) -> bool {
    match kind.strip_prefix("fuse.") {
        Some(kind) => NETWORK_FUSE.contains(&kind),
        None => NETWORK.contains(&kind) || kind.starts_with("smb"),
    }
}

/// True if others may change files on a file system of that kind without an event here: besides
/// network file systems all that run outside the kernel, and folders of a virtual machine's host.
pub fn lacks_events(kind: &str) -> bool {
    is_network(kind) || HOST.contains(&kind) || kind.starts_with("fuse.") || kind.starts_with("nfs")
}

/// Returns the mount point and the kind of one mount.
fn parse(line: &str) -> Option<(PathBuf, &str)> {
    let (mount, source) = line.split_once(" - ")?;
    let mount_point = mount.split(' ').nth(4)?;
    Some((unescape(mount_point), source.split(' ').next()?))
}

/// Decodes white space and backslashes, which are written as a backslash and three octal digits.
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
35 22 0:45 / /odd\\name rw - 9p share rw
36 22 0:44 / /short
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
            ("/odd\\name/x", "9p"),
        ];
        for (path, kind) in rows {
            assert_eq!(super::kind(MOUNTS, Path::new(path)), Some(kind), "{path}");
        }
        assert_eq!(kind("", Path::new("/x")), None);
    }

    #[test]
    fn kinds_that_others_can_change_are_known() {
        let rows: [(&[&str], bool, bool); 3] = [
            (
                &[
                    "nfs",
                    "nfs4",
                    "cifs",
                    "smb3",
                    "smbfs",
                    "9p",
                    "vboxsf",
                    "fuse.sshfs",
                    "fuse.glusterfs",
                    "fuse.rclone",
                    "ceph",
                    "afs",
                ],
                true,
                true,
            ),
            (
                &["drvfs", "virtiofs", "vmhgfs", "fuse.ntfs-3g"],
                false,
                true,
            ),
            (
                &[
                    "ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "apfs", "fuseblk", "ntfs3",
                    "fuse",
                ],
                false,
                false,
            ),
        ];
        for (kinds, on_network, without_events) in rows {
            for kind in kinds {
                assert_eq!(
                    (is_network(kind), lacks_events(kind)),
                    (on_network, without_events),
                    "{kind}"
                );
            }
        }
    }
}
