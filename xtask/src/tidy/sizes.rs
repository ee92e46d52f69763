//! Files and functions stay small. A larger one stands in the ratchet file with its size and a
//! reason, and may only shrink.

use std::collections::BTreeMap;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{
    Attribute, Block, ImplItemFn, ItemFn, ItemImpl, ItemMod, ItemTrait, Signature, TraitItemFn,
};

use super::rust_source::{RustSource, is_test_only};
use super::{Fault, Tree};

const RATCHET: &str = "xtask/tidy-ratchet.txt";
/// The most code lines of a file. Blank lines, comments and tests are no code.
const FILE_LINES_MAX: usize = 500;
/// The most code lines of a function, from `fn` to its closing brace.
const FUNCTION_LINES_MAX: usize = 70;

/// Holds every file and function against its limit or its entry in the ratchet file.
pub fn check(tree: &Tree, sources: &BTreeMap<String, RustSource>) -> Vec<Fault> {
    let mut sizes = BTreeMap::new();
    for (path, source) in sources.iter().filter(|(_, source)| !source.is_test) {
        measure(path, source, &mut sizes);
    }
    let (entries, mut faults) = parse_ratchet(tree.text(RATCHET).unwrap_or_default());
    for (name, size) in &sizes {
        let limit = limit_of(name);
        if *size > limit && !entries.contains_key(name) {
            let message = format!(
                "{size} code lines, more than {limit}: split it where the parts have names of their own"
            );
            faults.push(Fault::new(name, message));
        }
    }
    for (name, (line, allowed)) in entries {
        let limit = limit_of(&name);
        let message = match sizes.get(&name) {
            None => format!("{name} is gone: remove the line"),
            Some(size) if *size <= limit => {
                format!("{name} is within {limit} lines: remove the line")
            }
            Some(size) if *size < allowed => {
                format!("{name} shrank to {size} lines: write {size} for {allowed}")
            }
            Some(size) if *size > allowed => {
                format!("{name} grew from {allowed} to {size} lines: it may only shrink")
            }
            Some(_) => continue,
        };
        faults.push(Fault::new(format!("{RATCHET}:{line}"), message));
    }
    faults
}

fn limit_of(name: &str) -> usize {
    if name.contains("::") {
        FUNCTION_LINES_MAX
    } else {
        FILE_LINES_MAX
    }
}

/// The entries `NAME SIZE REASON` by name, with their line and size. Lines that start with `#` are
/// comments.
fn parse_ratchet(text: &str) -> (BTreeMap<String, (usize, usize)>, Vec<Fault>) {
    let (mut entries, mut faults) = (BTreeMap::new(), Vec::new());
    for (index, text) in text.lines().enumerate() {
        if text.trim().is_empty() || text.starts_with('#') {
            continue;
        }
        let mut parts = text.splitn(3, ' ');
        let name = parts.next().unwrap_or_default();
        let size = parts.next().and_then(|size| size.parse().ok());
        let place = format!("{RATCHET}:{}", index + 1);
        match (
            size,
            parts
                .next()
                .map(str::trim)
                .filter(|reason| !reason.is_empty()),
        ) {
            (Some(size), Some(_)) => {
                if entries.insert(name.to_owned(), (index + 1, size)).is_some() {
                    faults.push(Fault::new(
                        place,
                        format!("{name} stands here twice: remove one"),
                    ));
                }
            }
            _ => faults.push(Fault::new(
                place,
                "write NAME SIZE REASON, with one blank between them",
            )),
        }
    }
    (entries, faults)
}

/// Adds the size of the file, under its path, and of its functions, under `path::name` or
/// `path::Type::name`.
fn measure(path: &str, source: &RustSource, sizes: &mut BTreeMap<String, usize>) {
    let tests = source.test_ranges();
    let is_test = |line: usize| {
        tests
            .iter()
            .any(|(first, last)| (*first..=*last).contains(&line))
    };
    let lines: Vec<usize> = source
        .code_lines()
        .into_iter()
        .filter(|line| !is_test(*line))
        .collect();
    let mut functions = Functions {
        path,
        scope: Vec::new(),
        lines: &lines,
        sizes,
    };
    functions.visit_file(&source.syntax);
    sizes.insert(path.to_owned(), lines.len());
}

struct Functions<'a> {
    path: &'a str,
    /// The types and functions around the current place.
    scope: Vec<String>,
    lines: &'a [usize],
    sizes: &'a mut BTreeMap<String, usize>,
}

impl Functions<'_> {
    fn add(
        &mut self,
        attributes: &[Attribute],
        signature: &Signature,
        body: Option<&Block>,
        inner: impl FnOnce(&mut Self),
    ) {
        if is_test_only(attributes) {
            return;
        }
        self.scope.push(signature.ident.to_string());
        if let Some(body) = body {
            let range = signature.span().start().line..=body.span().end().line;
            let size = self
                .lines
                .iter()
                .filter(|line| range.contains(line))
                .count();
            let name = format!("{}::{}", self.path, self.scope.join("::"));
            // Two traits may give a type functions of one name; the larger stands for both.
            let entry = self.sizes.entry(name).or_default();
            *entry = size.max(*entry);
        }
        inner(self);
        self.scope.pop();
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.add(&item.attrs, &item.sig, Some(&item.block), |this| {
            visit::visit_item_fn(this, item);
        });
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.add(&item.attrs, &item.sig, Some(&item.block), |this| {
            visit::visit_impl_item_fn(this, item);
        });
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        self.add(&item.attrs, &item.sig, item.default.as_ref(), |this| {
            visit::visit_trait_item_fn(this, item);
        });
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        let name = match &*item.self_ty {
            syn::Type::Path(named) => named
                .path
                .segments
                .last()
                .map(|segment| segment.ident.to_string()),
            _ => None,
        };
        self.scope.push(name.unwrap_or_else(|| "impl".to_owned()));
        visit::visit_item_impl(self, item);
        self.scope.pop();
    }

    fn visit_item_trait(&mut self, item: &'ast ItemTrait) {
        self.scope.push(item.ident.to_string());
        visit::visit_item_trait(self, item);
        self.scope.pop();
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !is_test_only(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rust_source::parse_all;

    const FILE: &str = "crates/a/src/lib.rs";

    fn function(name: &str, lines: usize) -> String {
        format!(
            "/// Doc.\nfn {name}() {{\n    // why\n\n{}}}\n",
            "    g();\n".repeat(lines - 2)
        )
    }

    fn faults_of(text: &str, ratchet: &str) -> Vec<String> {
        let tree = Tree::from([(FILE, text), (RATCHET, ratchet)]);
        let (sources, _) = parse_all(&tree);
        check(&tree, &sources)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    fn only_fault(text: &str, ratchet: &str) -> String {
        let faults = faults_of(text, ratchet);
        assert_eq!(faults.len(), 1, "{faults:?}");
        faults[0].clone()
    }

    #[test]
    fn sizes_at_the_limit_pass() {
        let text = function("f", 70).repeat(7)
            + "const A: [u8; 8] = [\n    1,\n    2,\n    3,\n    4,\n    5,\n    6,\n    7,\n];\n";
        assert_eq!(faults_of(&text, ""), Vec::<String>::new());
        assert!(
            only_fault(&(text + "const B: u8 = 0;\nconst C: u8 = 0;\n"), "")
                .starts_with("crates/a/src/lib.rs: 501 code lines")
        );
    }

    #[test]
    fn a_long_function_is_a_fault_wherever_it_stands() {
        assert!(
            only_fault(&function("long", 71), "")
                .starts_with("crates/a/src/lib.rs::long: 71 code lines")
        );
        assert!(
            only_fault(&format!("impl T<u8> {{\n{}}}\n", function("long", 71)), "")
                .contains("lib.rs::T::long: 71")
        );
        assert!(
            only_fault(&format!("trait T {{\n{}}}\n", function("long", 71)), "")
                .contains("lib.rs::T::long: 71")
        );
        let inner = format!("fn outer() {{\n{}}}\n", function("inner", 71));
        assert_eq!(faults_of(&inner, "").len(), 2);
    }

    #[test]
    fn tests_may_be_long() {
        let text = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", function("long", 600));
        assert_eq!(faults_of(&text, ""), Vec::<String>::new());
    }

    #[test]
    fn the_ratchet_only_goes_down() {
        let text = function("long", 80);
        let name = "crates/a/src/lib.rs::long";
        assert_eq!(
            faults_of(
                &text,
                &format!("# comment\n\n{name} 80 a table reads best whole\n")
            ),
            Vec::<String>::new()
        );
        assert!(only_fault(&text, &format!("{name} 81 x\n")).contains("shrank to 80"));
        assert!(only_fault(&text, &format!("{name} 79 x\n")).contains("grew from 79 to 80"));
        assert!(
            only_fault(&function("long", 70), &format!("{name} 80 x\n"))
                .contains("remove the line")
        );
        assert!(only_fault("", &format!("{name} 80 x\n")).contains("is gone"));
    }

    #[test]
    fn an_entry_needs_a_size_and_a_reason() {
        assert!(only_fault("", "a.rs 80\n").contains("NAME SIZE REASON"));
        assert!(only_fault("", "a.rs many lines\n").contains("NAME SIZE REASON"));
        let twice = "crates/a/src/lib.rs::long 80 x\ncrates/a/src/lib.rs::long 80 y\n";
        assert!(only_fault(&function("long", 80), twice).contains("twice"));
    }
}
