//! Modules of a crate do not use each other in a circle, which Cargo sees only between crates.
//!
//! A module may use its own children, and a child its parent: the two are read together anyway.
//! Names that a crate exports at its root are not followed to where they are defined.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};
use syn::{ItemFn, ItemImpl, ItemMod, UseTree};

use super::rust_source::{RustSource, is_test_only};
use super::{Fault, Tree};

const RATCHET: &str = "xtask/circles-ratchet.txt";

/// The path of a module within its crate; empty for the root.
type Module = Vec<String>;

/// Names each circle that is not in the ratchet file, and each in it that is gone. A line of that
/// file is the crate and the modules of one circle, in order.
pub fn check(tree: &Tree, sources: &BTreeMap<String, RustSource>) -> Vec<Fault> {
    let mut crates: BTreeMap<&str, BTreeMap<Module, &RustSource>> = BTreeMap::new();
    for (path, source) in sources.iter().filter(|(_, source)| !source.is_test) {
        if let Some((name, module)) = module_of(path) {
            crates.entry(name).or_default().insert(module, source);
        }
    }
    let mut found = BTreeSet::new();
    for (name, modules) in &crates {
        for circle in circles(modules) {
            let modules: Vec<String> = circle.iter().map(|module| module.join("::")).collect();
            found.insert(format!("{name}: {}", modules.join(" ")));
        }
    }
    let known: BTreeSet<String> = (tree.text(RATCHET).unwrap_or_default().lines())
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_owned)
        .collect();
    let new = found.difference(&known).map(|circle| {
        format!("{circle}: these use each other: move what both need to a module of its own")
    });
    let gone = known
        .difference(&found)
        .map(|circle| format!("{circle} is no circle now: remove the line"));
    new.chain(gone)
        .map(|message| Fault::new(RATCHET, message))
        .collect()
}

/// The crate and the module that a file of `crates/*/src` holds.
fn module_of(path: &str) -> Option<(&str, Module)> {
    let (name, file) = path.strip_prefix("crates/")?.split_once("/src/")?;
    let mut parts: Module = file
        .strip_suffix(".rs")?
        .split('/')
        .map(str::to_owned)
        .collect();
    if matches!(parts.last()?.as_str(), "mod" | "lib" | "main") {
        parts.pop();
    }
    Some((name, parts))
}

/// The strongly connected components of more than one module, each in order.
fn circles(modules: &BTreeMap<Module, &RustSource>) -> Vec<Vec<Module>> {
    let uses: BTreeMap<&Module, BTreeSet<Module>> = modules
        .iter()
        .map(|(module, source)| (module, uses_of(module, source, modules)))
        .collect();
    let reach = |start: &Module| {
        let mut seen = BTreeSet::new();
        let mut waiting = vec![start.clone()];
        while let Some(module) = waiting.pop() {
            let next = uses.get(&module).into_iter().flatten();
            waiting.extend(next.filter(|next| seen.insert((*next).clone())).cloned());
        }
        seen
    };
    let reached: BTreeMap<&Module, BTreeSet<Module>> = modules
        .keys()
        .map(|module| (module, reach(module)))
        .collect();
    let mut circles = BTreeSet::new();
    for (module, others) in reached
        .iter()
        .filter(|(module, others)| others.contains(**module))
    {
        let both = others
            .iter()
            .filter(|other| reached[other].contains(*module));
        circles.insert(both.cloned().collect::<Vec<_>>());
    }
    circles.into_iter().collect()
}

/// The modules that a module names, but for those above and below it.
fn uses_of(
    module: &Module,
    source: &RustSource,
    modules: &BTreeMap<Module, &RustSource>,
) -> BTreeSet<Module> {
    let mut paths = Paths::default();
    paths.visit_file(&source.syntax);
    let resolved = paths
        .0
        .iter()
        .filter_map(|path| resolve(module, path, modules));
    resolved
        .filter(|other| !other.is_empty() && !module.is_empty())
        .filter(|other| !other.starts_with(module) && !module.starts_with(other))
        .collect()
}

/// The deepest module that a path leads to.
fn resolve(
    module: &Module,
    path: &[String],
    modules: &BTreeMap<Module, &RustSource>,
) -> Option<Module> {
    let mut segments = path.iter().peekable();
    let mut at = match segments.next()?.as_str() {
        "crate" => Module::new(),
        "self" => module.clone(),
        "super" => module[..module.len().checked_sub(1)?].to_vec(),
        _ => return None,
    };
    while segments.next_if(|segment| *segment == "super").is_some() {
        at.pop()?;
    }
    for segment in segments {
        let mut deeper = at.clone();
        deeper.push(segment.clone());
        if !modules.contains_key(&deeper) {
            break;
        }
        at = deeper;
    }
    Some(at)
}

/// The paths of a file, its tests left out.
#[derive(Default)]
struct Paths(Vec<Vec<String>>);

impl Paths {
    fn add(&mut self, before: &[String], tree: &UseTree) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.add(&with(&path.ident), &path.tree),
            UseTree::Name(name) => self.0.push(with(&name.ident)),
            UseTree::Rename(rename) => self.0.push(with(&rename.ident)),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.add(before, tree)),
            UseTree::Glob(_) => self.0.push(before.to_vec()),
        }
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !is_test_only(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        if !is_test_only(&item.attrs) {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        if !is_test_only(&item.attrs) {
            visit::visit_item_impl(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !is_test_only(&item.attrs) {
            self.add(&[], &item.tree);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string());
        self.0.push(names.collect());
        visit::visit_path(self, path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rust_source::parse_all;

    fn faults_of(files: &[(&str, &str)]) -> Vec<String> {
        let mut tree = Tree::default();
        for (path, text) in files {
            tree.insert(path, text);
        }
        let (sources, _) = parse_all(&tree);
        check(&tree, &sources)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn a_tree_of_modules_passes() {
        let files = [
            ("crates/a/src/lib.rs", "mod one; mod two; pub use one::One;"),
            (
                "crates/a/src/one.rs",
                "mod deep; use deep::Deep; use crate::two::Two;",
            ),
            (
                "crates/a/src/one/deep.rs",
                "use super::One; use crate::two;",
            ),
            (
                "crates/a/src/two.rs",
                "use crate::One; #[cfg(test)] mod tests { use crate::one::X; }",
            ),
            ("crates/b/src/two.rs", "use crate::one::One;"),
        ];
        assert_eq!(faults_of(&files), Vec::<String>::new());
    }

    #[test]
    fn a_circle_is_a_fault_unless_it_is_known() {
        let circle = [
            ("crates/a/src/one.rs", "fn f() { crate::two::g() }"),
            ("crates/a/src/two.rs", "use super::three::{self, Three};"),
            ("crates/a/src/three/mod.rs", "use crate::{one::f, two};"),
        ];
        let faults = faults_of(&circle);
        assert_eq!(faults.len(), 1);
        assert!(
            faults[0].contains("a: one three two: these use each other"),
            "{faults:?}"
        );
        let known = [&circle[..], &[(RATCHET, "# known\na: one three two\n")]].concat();
        assert_eq!(faults_of(&known), Vec::<String>::new());
        let gone = [(RATCHET, "a: one two\n")];
        assert!(faults_of(&gone)[0].contains("remove the line"));
    }
}
