use std::io::Write;

use super::*;

/// Returns a file with these bytes, to read.
fn file_of(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file.set_modified(modified_at()).unwrap();
    file.rewind().unwrap();
    file
}

fn modified_at() -> SystemTime {
    UNIX_EPOCH + Duration::from_nanos(1_700_000_000_012_345_678)
}

fn bytes_of(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap()
}

/// Writes an archive with these entries; `add` may append more.
fn archive(entries: &[(&str, &[u8])], add: impl FnOnce(&mut ArchiveWriter)) -> Vec<u8> {
    let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
    let file = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(&path)
        .unwrap();
    let mut writer = ArchiveWriter::new(file);
    for (path, bytes) in entries {
        writer.append(path, &file_of(bytes)).unwrap();
    }
    add(&mut writer);
    writer
        .finish(Manifest::new("2026-01-31T12:00:00Z".to_owned(), 7, 3))
        .unwrap();
    bytes_of(&path)
}

fn small() -> Vec<u8> {
    let long = format!(
        "vault/{}/{}.md",
        "folder".repeat(20),
        "note \u{e9}".repeat(10)
    );
    archive(
        &[
            (DATABASE, b"a database"),
            ("vault/a.md", b""),
            (&long, b"text"),
        ],
        |_| {},
    )
}

fn refusal(bytes: &[u8]) -> String {
    Archive::open(file_of(bytes)).map(drop).unwrap_err().0
}

#[test]
fn what_goes_in_comes_out() {
    let mut opened = Archive::open(file_of(&small())).unwrap();
    let Manifest {
        schema,
        memories,
        entries,
        ..
    } = opened.manifest.clone();
    assert_eq!(
        (
            schema,
            memories,
            entries.len(),
            opened.manifest.notes().count()
        ),
        (7, 3, 3, 2)
    );
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = 0;
    opened.unpack(folder.path(), |more| bytes += more).unwrap();
    assert_eq!(bytes, 14);
    assert_eq!(bytes_of(&folder.path().join(DATABASE)), b"a database");
    assert_eq!(bytes_of(&folder.path().join(&entries[2].path)), b"text");
    assert_eq!(
        fs::metadata(folder.path().join(DATABASE))
            .unwrap()
            .modified()
            .unwrap(),
        modified_at()
    );
    // An existing file is never replaced.
    assert_eq!(
        opened.unpack(folder.path(), |_| {}).unwrap_err().kind(),
        ErrorKind::AlreadyExists
    );
}

#[test]
fn every_flipped_bit_and_every_cut_is_noticed() {
    let whole = small();
    let mut damaged = whole.clone();
    for place in 0..whole.len() {
        for bit in [1, 16, 128] {
            damaged[place] ^= bit;
            assert!(
                Archive::open(file_of(&damaged)).is_err(),
                "byte {place}, bit {bit}"
            );
            damaged[place] ^= bit;
        }
    }
    for length in (0..whole.len()).step_by(64) {
        assert!(
            Archive::open(file_of(&whole[..length])).is_err(),
            "{length} bytes"
        );
    }
    damaged.push(0);
    assert!(refusal(&damaged).contains("does not end as it should"));
    assert!(Archive::open(file_of(&whole)).is_ok());
}

#[test]
fn nothing_leads_out_of_its_folder() {
    let long = "x".repeat(5_000);
    for path in [
        "vault/.git/hooks/a",
        "vault/a/.b",
        "other",
        "token",
        "loci.db-wal",
        "vault",
        &long,
    ] {
        let refused = refusal(&archive(&[(DATABASE, b"d"), (path, b"x")], |_| {}));
        assert!(refused.contains("leads out"), "{path}: {refused}");
    }
    // The library itself writes none of these paths.
    for path in [
        "../a",
        "/etc/a",
        "vault/../../a",
        "vault/../loci.db",
        "vault//a",
        "vault/a/",
    ] {
        let crafted = archive(&[(DATABASE, b"d")], |writer| {
            let mut header = header(1, 0);
            let name = &mut header.as_old_mut().name;
            name[..path.len()].copy_from_slice(path.as_bytes());
            header.set_cksum();
            writer.builder.append(&header, &b"x"[..]).unwrap();
            let sha256 =
                "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881".to_owned();
            writer.entries.push(Entry {
                path: path.to_owned(),
                bytes: 1,
                sha256,
            });
        });
        let refused = refusal(&crafted);
        assert!(refused.contains("leads out"), "{path}: {refused}");
    }
}

#[test]
fn what_no_backup_holds_is_refused() {
    let rows: [(Vec<u8>, &str); 8] = [
        (
            b"this is no archive".repeat(100),
            "no backup of loci (its form",
        ),
        (Vec::new(), "manifest"),
        (archive(&[("vault/a.md", b"x")], |_| {}), "no database"),
        (
            archive(&[(DATABASE, b"d"), (DATABASE, b"e")], |_| {}),
            "twice",
        ),
        (
            archive(&[(DATABASE, b"d")], |writer| drop(writer.entries.pop())),
            "not what its manifest names",
        ),
        (
            archive(&[(DATABASE, b"d")], |writer| writer.entries[0].bytes = 2),
            "not what its manifest names",
        ),
        (
            archive(&[(DATABASE, b"d")], |writer| {
                let mut header = header(0, 0);
                header.set_entry_type(tar::EntryType::Symlink);
                writer
                    .builder
                    .append_link(&mut header, "vault/a.md", "/etc/passwd")
                    .unwrap();
            }),
            "no plain file",
        ),
        (
            {
                let mut builder = tar::Builder::new(Vec::new());
                builder
                    .append_data(&mut header(1, 0), DATABASE, &b"d"[..])
                    .unwrap();
                builder.into_inner().unwrap()
            },
            "manifest",
        ),
    ];
    for (bytes, words) in rows {
        let refused = refusal(&bytes);
        assert!(refused.contains(words), "{words}: {refused}");
    }
    let newer = {
        let mut builder = tar::Builder::new(Vec::new());
        builder
            .append_data(&mut header(13, 0), MANIFEST, &br#"{"version":2}"#[..])
            .unwrap();
        builder.into_inner().unwrap()
    };
    assert!(
        refusal(&newer).contains("update loci"),
        "{}",
        refusal(&newer)
    );
}

#[test]
fn a_checksum_of_one_entry_is_looked_at_again_when_it_is_taken_out() {
    let wrong = archive(&[(DATABASE, b"d")], |writer| {
        writer.entries[0].sha256 = "0".repeat(64);
    });
    let folder = tempfile::tempdir().unwrap();
    assert!(
        Archive::open(file_of(&wrong))
            .unwrap()
            .unpack(folder.path(), |_| {})
            .is_err()
    );
}

/// A file that another thread writes while it is read.
#[test]
fn a_file_that_changes_is_read_again() {
    let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
    fs::write(&path, b"short").unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut length = 1;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                length = length % 5_000 + 1;
                fs::write(&path, vec![b'0' + (length % 10) as u8; length]).unwrap();
            }
        });
        for _ in 0..50 {
            let mut outcome = Ok(());
            let bytes = archive(&[(DATABASE, b"d")], |writer| {
                outcome = writer.append("vault/a.md", &File::open(&path).unwrap());
            });
            // The file is skipped or complete, never torn.
            let mut opened = Archive::open(file_of(&bytes)).unwrap();
            assert_eq!(
                opened.manifest.entries.len(),
                1 + usize::from(outcome.is_ok())
            );
            let folder = tempfile::tempdir().unwrap();
            opened.unpack(folder.path(), |_| {}).unwrap();
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

/// An archive of another program with valid checksums, whose headers have any values.
#[test]
fn no_header_is_too_much() {
    let mut state = 7_u64;
    let mut random = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let extremes = [
        0,
        1,
        511,
        512,
        513,
        1 << 33,
        1 << 62,
        (1 << 63) - 1,
        1 << 63,
        u64::MAX - 511,
        u64::MAX,
    ];
    let types = [
        b'0', 0, b'5', b'L', b'K', b'x', b'g', b'S', b'7', b'1', 0xff,
    ];
    let (mut taken, mut refused) = (0, 0);
    for number in 0..2_000 {
        // The real size of the content in half of the cases.
        let size = if random() % 2 == 0 {
            1
        } else {
            extremes[random() as usize % extremes.len()]
        };
        let time = extremes[random() as usize % extremes.len()];
        let kind = if random() % 2 == 0 {
            b'0'
        } else {
            types[random() as usize % types.len()]
        };
        let crafted = archive(&[(DATABASE, b"d")], |writer| {
            let mut crafted = header(0, 0);
            crafted.set_path("vault/a.md").unwrap();
            crafted.set_size(size);
            crafted.set_mtime(time);
            crafted.as_mut_bytes()[156] = kind;
            if random() % 4 == 0 {
                // A random byte anywhere but in the checksum.
                let place = [random() % 148, 156 + random() % 356][random() as usize % 2];
                crafted.as_mut_bytes()[place as usize] = random() as u8;
            }
            crafted.set_cksum();
            writer.builder.append(&crafted, &b"x"[..]).unwrap();
            let sha256 =
                "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881".to_owned();
            writer.entries.push(Entry {
                path: "vault/a.md".to_owned(),
                bytes: size,
                sha256,
            });
        });
        let folder = tempfile::tempdir().unwrap();
        match Archive::open(file_of(&crafted)) {
            Ok(mut opened) => {
                // The file system may not support the date.
                let _ = opened.unpack(folder.path(), |_| {});
                taken += 1;
            }
            Err(_) => refused += 1,
        }
        assert!(
            fs::read_dir(folder.path()).unwrap().count() <= 2,
            "{number}"
        );
    }
    assert!(
        taken > 50 && refused > 50,
        "{taken} taken, {refused} refused"
    );
}

#[test]
fn dates_and_sizes_that_cannot_be_are_refused() {
    let crafted = |change: &dyn Fn(&mut tar::Header)| {
        archive(&[(DATABASE, b"d")], |writer| {
            let mut crafted = header(1, 0);
            crafted.set_path("vault/a.md").unwrap();
            change(&mut crafted);
            crafted.set_cksum();
            writer.builder.append(&crafted, &b"x"[..]).unwrap();
        })
    };
    let date = refusal(&crafted(&|header| header.set_mtime(u64::MAX)));
    assert!(date.contains("no possible date"), "{date}");
    for size in [1 << 30, (1 << 63) - 1, u64::MAX - 600, u64::MAX] {
        for kind in [
            tar::EntryType::Regular,
            tar::EntryType::GNULongName,
            tar::EntryType::XHeader,
        ] {
            let refused = refusal(&crafted(&|header| {
                header.set_size(size);
                header.set_entry_type(kind);
            }));
            assert!(
                refused.contains("damaged or no backup"),
                "{size}: {refused}"
            );
        }
    }
    // A name of megabytes is not read.
    let long = archive(&[(DATABASE, b"d")], |writer| {
        let mut header = header(1 << 20, 0);
        header.set_entry_type(tar::EntryType::GNULongName);
        header.set_cksum();
        writer
            .builder
            .append(&header, &*vec![b'x'; 1 << 20])
            .unwrap();
    });
    assert!(refusal(&long).contains("size"), "{}", refusal(&long));
}
