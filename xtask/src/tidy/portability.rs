//! Nothing in the repository belongs to one machine: no path of a developer's disk, no registry's
//! host, no big file.

use super::{Fault, Tree};

/// The largest file, in bytes.
const BYTES_MAX: u64 = 1024 * 1024;
/// The embedding model is compiled into the binary, so it has to lie here.
const LARGE_FILES: [&str; 1] = ["crates/loci-embed/model/model_int8.onnx"];
/// Cargo writes the registry's address into it.
const LOCK: &str = "Cargo.lock";

/// Beginnings of paths on a person's machine. Written in pieces, because this file is checked too.
const PRIVATE_PATHS: [&str; 5] = [
    concat!("/ro", "ot/"),
    concat!("/wo", "rk/"),
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
    concat!("/tmp/ba", "sh_jobs"),
];
/// Names after a home folder's parent that stand for the reader.
const PLACEHOLDERS: [&str; 2] = ["you/", "user/"];
/// Hosts that only a package client should name.
const REGISTRY_HOSTS: [&str; 6] = [
    concat!("static.", "crates.io"),
    concat!("index.", "crates.io"),
    concat!("registry.", "npmjs.org"),
    concat!("py", "pi.org"),
    concat!("files.", "pythonhosted.org"),
    concat!("deb.", "debian.org"),
];

/// A fault for each line that names a machine or a registry, and for each large file.
pub fn check(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (path, file) in tree.files() {
        if file.bytes > BYTES_MAX && !LARGE_FILES.contains(&path) {
            let message = format!(
                "{} bytes, more than the {BYTES_MAX} allowed: make it smaller or build it",
                file.bytes
            );
            faults.push(Fault::new(path, message));
        }
        if path == LOCK {
            continue;
        }
        for (line, text) in file.text.iter().flat_map(|text| text.lines()).enumerate() {
            let found = private_path(text).into_iter().chain(
                REGISTRY_HOSTS
                    .into_iter()
                    .filter(|host| text.contains(host)),
            );
            for name in found {
                let message =
                    format!("names {name}, which means nothing on another machine: remove it");
                faults.push(Fault::new(format!("{path}:{}", line + 1), message));
            }
        }
    }
    faults
}

/// The first private path that starts in the line. After a letter, digit or `.` it is part of a
/// longer, relative path.
fn private_path(line: &str) -> Option<&'static str> {
    PRIVATE_PATHS.into_iter().find(|prefix| {
        line.match_indices(prefix).any(|(start, _)| {
            let is_start = !line[..start]
                .ends_with(|before: char| before.is_alphanumeric() || ".-_~}*)".contains(before));
            let rest = &line[start + prefix.len()..];
            is_start && !PLACEHOLDERS.iter().any(|name| rest.starts_with(name))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_text_passes() {
        let text = "see crates.io, https://example.org/work/x, crates/work/y, \"$HOME/work/z\", /home/you/notes, `target/root/`";
        assert_eq!(check(&Tree::from([("README.md", text)])), []);
    }

    #[test]
    fn a_private_path_is_a_fault() {
        for prefix in PRIVATE_PATHS {
            let text = format!("first\ncd \"{prefix}x\"\n");
            let faults = check(&Tree::from([("docs/a.md", text.as_str())]));
            assert_eq!(faults.len(), 1, "{prefix}");
            assert_eq!(faults[0].place, "docs/a.md:2");
        }
    }

    #[test]
    fn a_registry_host_is_a_fault_outside_the_lock_file() {
        for host in REGISTRY_HOSTS {
            let text = format!("https://{host}/x");
            let faults = check(&Tree::from([
                ("a.json", text.as_str()),
                ("Cargo.lock", text.as_str()),
            ]));
            assert_eq!(faults.len(), 1, "{host}");
            assert_eq!(faults[0].place, "a.json:1");
        }
    }

    #[test]
    fn a_large_file_is_a_fault() {
        let at_most = " ".repeat(BYTES_MAX as usize);
        let above = format!("{at_most} ");
        let faults = check(&Tree::from([
            ("a.txt", at_most.as_str()),
            ("b.txt", &above),
            (LARGE_FILES[0], &above),
        ]));
        assert_eq!(
            faults
                .iter()
                .map(|fault| fault.place.as_str())
                .collect::<Vec<_>>(),
            ["b.txt"]
        );
    }
}
