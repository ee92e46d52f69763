//! Requests of people and agents enter the engine by a call, which logs them: the crates that only
//! serve requests do not use the engine as the system itself.

use std::collections::BTreeMap;

use syn::visit::{self, Visit};
use syn::{Attribute, ExprMethodCall, ItemFn, ItemMod, Meta};

use super::Fault;
use super::rust_source::RustSource;

/// The crates that serve requests. The others have work that no person asked for, too, e.g. the
/// background, hooks that look before they log, and copies of a store.
const SERVING: [&str; 3] = [
    "crates/loci-dialects/src/",
    "crates/loci-page/src/",
    "crates/loci-server/src/",
];
/// The method of the engine that is no call.
const SYSTEM: &str = "system";

/// Holds the serving crates against the rule.
pub fn check(sources: &BTreeMap<String, RustSource>) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (path, source) in sources {
        if source.is_test || !SERVING.iter().any(|folder| path.starts_with(folder)) {
            continue;
        }
        let mut uses = Uses::default();
        uses.visit_file(&source.syntax);
        faults.extend(uses.lines.into_iter().map(|line| {
            let message = "a request enters the engine by `Engine::call`, which logs it: take the parts from the call";
            Fault::new(format!("{path}:{line}"), message)
        }));
    }
    faults
}

/// The lines outside tests that use the engine as the system.
#[derive(Default)]
struct Uses {
    lines: Vec<usize>,
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
        Meta::NameValue(_) => false,
    })
}

impl<'a> Visit<'a> for Uses {
    fn visit_item_mod(&mut self, item: &'a ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'a ItemFn) {
        if !is_test(&item.attrs) {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_expr_method_call(&mut self, call: &'a ExprMethodCall) {
        if call.method == SYSTEM {
            self.lines.push(call.method.span().start().line);
        }
        visit::visit_expr_method_call(self, call);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::Tree;
    use crate::tidy::rust_source::parse_all;

    #[test]
    fn a_request_that_is_no_call_is_a_fault() {
        let lines_of = |path: &str, text: &str| {
            let (sources, _) = parse_all(&Tree::from([(path, text)]));
            check(&sources).len()
        };
        let text = "fn f(engine: &Engine) {\n    engine.system(&caller()).search();\n}\n";
        assert_eq!(lines_of("crates/loci-page/src/a.rs", text), 1);
        assert_eq!(lines_of("crates/loci-dialects/src/a/b.rs", text), 1);
        assert_eq!(lines_of("crates/loci/src/background.rs", text), 0);
        let tested = format!("#[cfg(test)]\nmod tests {{\n{text}}}\n");
        assert_eq!(lines_of("crates/loci-page/src/a.rs", &tested), 0);
    }
}
