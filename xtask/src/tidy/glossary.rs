//! The names of the code that the glossary gives exist: a type that was renamed, or a member that
//! moved, would leave a reader searching.

use std::collections::{BTreeMap, BTreeSet};

use pulldown_cmark::{Event, Options, Parser};
use syn::visit::{self, Visit};
use syn::{ImplItem, Type};

use super::rust_source::RustSource;
use super::{Fault, Tree};

const GLOSSARY: &str = "docs/glossary.md";

/// A fault for each name in the glossary that no source declares. A name begins with a capital, e.g.
/// `Memory`, or `Memory::kind` with a field, a variant or a method; other code, e.g. of SQL, is not
/// looked at.
pub fn check(tree: &Tree, sources: &BTreeMap<String, RustSource>) -> Vec<Fault> {
    let mut names = Names::default();
    for source in sources.values() {
        names.visit_file(&source.syntax);
    }
    let text = tree.text(GLOSSARY).unwrap_or_default();
    let mut faults = Vec::new();
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        if let Event::Code(code) = event
            && is_name(&code)
            && !names.0.contains(&*code)
        {
            let line = text[..range.start].matches('\n').count() + 1;
            faults.push(Fault::new(
                format!("{GLOSSARY}:{line}"),
                format!("no source declares `{code}`: give the name that it has now"),
            ));
        }
    }
    faults
}

/// Returns true for the name of a type, trait or constant, also with a member after `::`.
fn is_name(code: &str) -> bool {
    code.starts_with(|first: char| first.is_ascii_uppercase())
        && code
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_:".contains(c))
}

/// The types, traits and constants, and their members after `::`.
#[derive(Default)]
struct Names(BTreeSet<String>);

impl Names {
    fn add<'a>(
        &mut self,
        owner: &impl ToString,
        members: impl IntoIterator<Item = &'a syn::Ident>,
    ) {
        let owner = owner.to_string();
        for member in members {
            self.0.insert(format!("{owner}::{member}"));
        }
        self.0.insert(owner);
    }
}

impl<'ast> Visit<'ast> for Names {
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        let fields = item.fields.iter().filter_map(|field| field.ident.as_ref());
        self.add(&item.ident, fields);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.add(
            &item.ident,
            item.variants.iter().map(|variant| &variant.ident),
        );
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.add(&item.ident, []);
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.add(&item.ident, []);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        let methods = item.items.iter().filter_map(|item| match item {
            syn::TraitItem::Fn(method) => Some(&method.sig.ident),
            _ => None,
        });
        self.add(&item.ident, methods);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if let Type::Path(path) = &*item.self_ty
            && let Some(owner) = path.path.segments.last()
        {
            let members = item.items.iter().filter_map(|item| match item {
                ImplItem::Fn(method) => Some(&method.sig.ident),
                ImplItem::Const(constant) => Some(&constant.ident),
                _ => None,
            });
            self.add(&owner.ident, members);
        }
        visit::visit_item_impl(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rust_source::parse_all;

    #[test]
    fn a_name_that_no_source_declares_is_a_fault() {
        let mut tree = Tree::default();
        let source = "pub struct Memory { pub kind: String }
            enum Tier { LongTerm }
            trait Store { fn version(&self); }
            impl Memory { fn forget(&self) {} }
            const KINDS: u8 = 0;";
        tree.insert("crates/a/src/lib.rs", source);
        let text = "| `Memory`, `Memory::kind`, `Memory::forget`, `Tier::LongTerm`, `KINDS` |\n\
            `Store::version`, `further_vector`, `If-Match`\n\n`Record`\n`Memory::weight` `Tier::kind`\n";
        tree.insert(GLOSSARY, text);
        let (sources, _) = parse_all(&tree);
        let faults: Vec<String> = check(&tree, &sources)
            .iter()
            .map(ToString::to_string)
            .collect();
        let [record, weight, kind] = &faults[..] else {
            panic!("{faults:?}");
        };
        assert!(record.starts_with("docs/glossary.md:4: no source declares `Record`"));
        assert!(weight.contains(":5: no source declares `Memory::weight`"));
        assert!(kind.contains("`Tier::kind`"));
    }
}
