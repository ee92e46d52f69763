//! The notices of third parties: every crate that is in the binary, with its licence as the crate
//! has it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, PackageId};

/// The file, in the root of the repository.
pub const FILE: &str = "THIRD-PARTY-NOTICES.txt";
/// The package whose binary is shipped.
const SHIPPED: &str = "loci";
/// The starts of the names of files that hold licences and notices.
const BEGINNINGS: [&str; 6] = [
    "license",
    "licence",
    "copying",
    "copyright",
    "notice",
    "unlicense",
];
const HEAD: &str = "Notices of third parties\n\n\
    loci contains the crates below, on one platform or another. Each is named with its licence; the texts follow, each\n\
    once, as the crates have them. The model and the vocabulary in the binary are in NOTICE. `cargo xtask notices` makes\n\
    this file from Cargo.lock.\n";
/// For crates that name the licence and leave out its text (<https://spdx.org/licenses/MIT.html>).
const MIT: &str = "Permission is hereby granted, free of charge, to any person obtaining a copy of this software and \
    associated documentation files (the \"Software\"), to deal in the Software without restriction, including without \
    limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the \
    Software, and to permit persons to whom the Software is furnished to do so, subject to the following conditions:\n\n\
    The above copyright notice and this permission notice shall be included in all copies or substantial portions of \
    the Software.\n\n\
    THE SOFTWARE IS PROVIDED \"AS IS\", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO \
    THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE \
    AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, \
    TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE \
    SOFTWARE.";

/// For crates that name this licence and leave out its text, which is the same for all.
const APACHE: &str = include_str!("../../LICENSE-APACHE");

/// Writes the file, or with `checks` only compares it.
///
/// # Errors
/// If a crate has no licence that this knows, its source cannot be read, or the file is stale.
pub fn run(checks: bool) -> Result<()> {
    let options = ["--locked".to_owned()];
    let metadata = MetadataCommand::new()
        .other_options(options)
        .exec()
        .context("cannot read the dependencies")?;
    let notices = notices(&metadata)?;
    let file = metadata.workspace_root.as_std_path().join(FILE);
    if !checks {
        return fs::write(&file, notices).with_context(|| format!("cannot write {FILE}"));
    }
    if fs::read_to_string(&file).ok().as_deref() != Some(&notices) {
        bail!(
            "{FILE} is not what Cargo.lock gives; run `cargo xtask notices` and read the difference"
        );
    }
    Ok(())
}

fn notices(metadata: &Metadata) -> Result<String> {
    let packages = shipped(metadata)?;
    // Texts that differ only in white space are one.
    let mut texts: BTreeMap<String, (String, Vec<String>)> = BTreeMap::new();
    let mut notices = HEAD.to_owned();
    for package in &packages {
        let name = format!("{} {}", package.name, package.version);
        let licence = package.license.as_deref().unwrap_or("see its text");
        let source = package.repository.as_deref().unwrap_or("https://crates.io");
        write!(notices, "\n{name}\n  {licence}\n  {source}\n")?;
        for text in licence_texts(package)? {
            let key = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let (_, crates) = texts.entry(key).or_insert_with(|| (text, Vec::new()));
            if crates.last() != Some(&name) {
                crates.push(name.clone());
            }
        }
    }
    let mut texts: Vec<_> = texts.into_values().collect();
    texts.sort_by(|left, right| left.1.cmp(&right.1).then_with(|| left.0.cmp(&right.0)));
    for (text, crates) in texts {
        write!(
            notices,
            "\n{}\n{}\n\n{}\n",
            "=".repeat(80),
            crates.join(", "),
            text.trim_matches('\n')
        )?;
    }
    Ok(notices)
}

/// The crates of others that come into the binary, on any platform, by name and version.
fn shipped(metadata: &Metadata) -> Result<Vec<&Package>> {
    let resolve = metadata
        .resolve
        .as_ref()
        .context("cargo resolved nothing")?;
    let dependencies: BTreeMap<&PackageId, _> = resolve
        .nodes
        .iter()
        .map(|node| (&node.id, &node.deps))
        .collect();
    let root = metadata
        .packages
        .iter()
        .find(|package| package.name.as_str() == SHIPPED);
    let mut waiting = vec![&root.context("there is no package to ship")?.id];
    let mut found = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if !found.insert(id) {
            continue;
        }
        let is_shipped = |kinds: &[cargo_metadata::DepKindInfo]| {
            kinds
                .iter()
                .any(|kind| matches!(kind.kind, DependencyKind::Normal | DependencyKind::Build))
        };
        let deps = dependencies
            .get(id)
            .into_iter()
            .flat_map(|deps| deps.iter());
        waiting.extend(
            deps.filter(|dependency| is_shipped(&dependency.dep_kinds))
                .map(|dependency| &dependency.pkg),
        );
    }
    let mut packages: Vec<&Package> = metadata
        .packages
        .iter()
        .filter(|package| package.source.is_some() && found.contains(&package.id))
        .collect();
    packages.sort_by(|left, right| (&left.name, &left.version).cmp(&(&right.name, &right.version)));
    Ok(packages)
}

/// The texts of a crate's licence, and its notices. Where it offers MIT, that is chosen.
fn licence_texts(package: &Package) -> Result<Vec<String>> {
    let folder = package
        .manifest_path
        .parent()
        .context("a manifest lies in a folder")?;
    let licence = package.license.as_deref().unwrap_or_default();
    let mut files = licence_files(folder.as_std_path())?;
    if let Some(named) = &package.license_file {
        let named = named.as_str().to_owned();
        if !files.contains(&named) {
            files.push(named);
        }
    }
    let is_of = |file: &str, word: &str| file.to_ascii_lowercase().contains(word);
    if licence.contains("OR") && files.iter().any(|file| is_of(file, "mit")) {
        files
            .retain(|file| is_of(file, "mit") || is_of(file, "notice") || is_of(file, "copyright"));
    }
    let read = |file: &String| {
        let bytes = fs::read(folder.as_std_path().join(file))
            .with_context(|| format!("cannot read {file} of {}", package.name))?;
        Ok(String::from_utf8_lossy(&bytes).replace("\r\n", "\n"))
    };
    let texts: Vec<String> = files.iter().map(read).collect::<Result<_>>()?;
    if !texts.is_empty() {
        return Ok(texts);
    }
    if licence.split([' ', '/']).any(|word| word == "MIT") {
        let authors = if package.authors.is_empty() {
            format!("the authors of {}", package.name)
        } else {
            package.authors.join(", ")
        };
        return Ok(vec![format!(
            "MIT License\n\nCopyright (c) {authors}\n\n{MIT}"
        )]);
    }
    if licence == "Apache-2.0" {
        return Ok(vec![APACHE.to_owned()]);
    }
    bail!(
        "{} {} has no text of its licence ({licence}): add what it needs to xtask/src/notices.rs",
        package.name,
        package.version
    )
}

/// The names of the files of licences and notices in a folder, in their order.
fn licence_files(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?
    {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let small = name.to_ascii_lowercase();
        let extension = Path::new(&small)
            .extension()
            .and_then(|extension| extension.to_str());
        if !matches!(extension, Some("rs" | "toml"))
            && BEGINNINGS
                .iter()
                .any(|beginning| small.starts_with(beginning))
            && entry.path().is_file()
        {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licences_are_found_by_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let names = [
            "LICENSE-MIT",
            "Licence.txt",
            "COPYING",
            "NOTICE",
            "license.rs",
            "README.md",
            "unlicensed.toml",
        ];
        for name in names {
            fs::write(folder.path().join(name), name).unwrap();
        }
        fs::create_dir(folder.path().join("licenses")).unwrap();
        assert_eq!(
            licence_files(folder.path()).unwrap(),
            ["COPYING", "LICENSE-MIT", "Licence.txt", "NOTICE"]
        );
        assert!(licence_files(&folder.path().join("none")).is_err());
    }
}
