//! Zip archives: any bytes are refused, or unpacked into a folder of their own that goes with them;
//! no file is written anywhere else.

use std::path::Component;

use crate::folder;
use loci_mine::unpacked::UnpackedArchive;

pub(crate) fn run(data: &[u8]) {
    let root = folder();
    let path = root.path().join("export.zip");
    std::fs::write(&path, data).unwrap();
    if let Ok(unpacked) = UnpackedArchive::new(&path, |_| true) {
        for file in unpacked.files() {
            let inner = file
                .path
                .strip_prefix(unpacked.folder())
                .expect("it is in the folder");
            assert!(
                inner
                    .components()
                    .all(|part| matches!(part, Component::Normal(_)))
            );
            assert!(file.path.is_file());
        }
        let folder = unpacked.folder().to_owned();
        drop(unpacked);
        assert!(!folder.exists());
    }
    let entries = std::fs::read_dir(root.path()).unwrap();
    assert_eq!(entries.count(), 1, "nothing is written beside the archive");
}
