//! A tool is one file, one line in its dialect's list and one folder of cases; dialects do not know
//! each other.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};
use syn::{Expr, GenericArgument, ImplItem, Item, Lit, PathArguments, Type, UseTree};

use super::rust_source::RustSource;
use super::{Fault, Tree};

const SOURCES: &str = "crates/loci-dialects/src/";
const CASES: &str = "crates/loci-dialects/cases/";
/// Cases that write through one dialect and read through the others.
const CROSS: &str = "cross";
/// Cases of a dialect's resources, beside the cases of its tools.
const RESOURCES: &str = "resources";

/// A type that implements `TypedTool`.
struct FoundTool {
    type_name: String,
    /// The name on the wire; `None` if it is not a literal.
    name: Option<String>,
}

/// Holds every dialect against the rules.
pub fn check(tree: &Tree, sources: &BTreeMap<String, RustSource>) -> Vec<Fault> {
    let dialects: BTreeSet<&str> = sources
        .keys()
        .filter_map(|path| path.strip_prefix(SOURCES)?.strip_suffix("/mod.rs"))
        .filter(|name| !name.contains('/'))
        .collect();
    let mut faults = unnamed_files(sources, tree);
    let mut tools = BTreeSet::new();
    for dialect in &dialects {
        let folder = format!("{SOURCES}{dialect}/");
        let list = format!("{folder}mod.rs");
        let files = || sources.iter().filter(|(path, _)| path.starts_with(&folder));
        let listed = ListedTools::of(&sources[&list]);
        for (path, source) in files() {
            faults.extend(foreign_imports(path, source, dialect, &dialects));
            for tool in tools_in(source) {
                if !listed.types.contains(&tool.type_name) {
                    let message = format!(
                        "{} is in no list: add Tool::of::<{}>() to {list}",
                        path, tool.type_name
                    );
                    faults.push(Fault::new(path, message));
                }
                match tool.name {
                    Some(name) => {
                        let place = format!("{}/{name}", cases_folder(dialect));
                        faults.extend(missing_cases(tree, path, &place, &name));
                        tools.insert(place);
                    }
                    None => faults.push(Fault::new(
                        path,
                        "write TypedTool::NAME as a literal string",
                    )),
                }
            }
        }
    }
    faults.extend(cases_without_tool(tree, &tools));
    faults
}

/// Returns a fault for each file that its parent module does not name, because the compiler skips
/// it in silence. A crate root has no parent and is left to cargo.
fn unnamed_files(sources: &BTreeMap<String, RustSource>, tree: &Tree) -> Vec<Fault> {
    let unnamed = |path: &String| {
        let stem = path.strip_suffix("/mod.rs").or(path.strip_suffix(".rs"))?;
        let (folder, name) = stem.rsplit_once('/')?;
        if matches!(name, "lib" | "main") {
            return None;
        }
        let parents = ["/mod.rs", "/lib.rs", "/main.rs", ".rs"].map(|end| format!("{folder}{end}"));
        let texts = || {
            parents
                .iter()
                .filter(|parent| *parent != path)
                .filter_map(|parent| tree.text(parent))
        };
        let line = format!("mod {name};");
        let names = |text: &str| {
            text.lines().any(|words| {
                let words = words.trim_start();
                !words.starts_with("//") && words.contains(&line)
            })
        };
        let parent = parents.iter().find(|parent| tree.text(parent).is_some())?;
        let message =
            format!("no module names it, so it is not compiled: add `{line}` to {parent}");
        (!texts().any(names)).then(|| Fault::new(path, message))
    };
    sources.keys().filter_map(unnamed).collect()
}

/// The folder of a dialect's cases has its name on the wire, where a module's underscore is a dash.
fn cases_folder(module: &str) -> String {
    module.replace('_', "-")
}

fn missing_cases(tree: &Tree, path: &str, place: &str, tool: &str) -> Option<Fault> {
    let folder = format!("{CASES}{place}/");
    let has_case = tree
        .texts("yaml")
        .any(|(case, _)| case.starts_with(&folder));
    (!has_case).then(|| {
        Fault::new(
            path,
            format!("the tool {tool} has no cases: add a .yaml file under {folder}"),
        )
    })
}

fn cases_without_tool(tree: &Tree, tools: &BTreeSet<String>) -> Vec<Fault> {
    let mut folders = BTreeSet::new();
    for path in tree.under(CASES) {
        let parts: Vec<&str> = path[CASES.len()..].split('/').collect();
        match parts.as_slice() {
            [CROSS, ..] | [_, RESOURCES, ..] | [_] | [] => {}
            [dialect, tool, _, ..] => {
                folders.insert(format!("{dialect}/{tool}"));
            }
            [dialect, _] => {
                folders.insert((*dialect).to_owned());
            }
        }
    }
    let orphans = folders.into_iter().filter(|folder| !tools.contains(folder));
    orphans
        .map(|folder| {
            let message = if folder.contains('/') {
                "no tool of that dialect has this name: rename or remove the folder"
            } else {
                "cases stand in the folder of their tool: move them there"
            };
            Fault::new(format!("{CASES}{folder}"), message)
        })
        .collect()
}

fn tools_in(source: &RustSource) -> Vec<FoundTool> {
    let implementations = source.syntax.items.iter().filter_map(|item| match item {
        Item::Impl(item) => Some(item),
        _ => None,
    });
    implementations
        .filter(|item| {
            item.trait_
                .as_ref()
                .is_some_and(|(path, ..)| path_ends_with(path, "TypedTool"))
        })
        .map(|item| {
            let name = item.items.iter().find_map(|item| match item {
                ImplItem::Const(constant) if constant.ident == "NAME" => literal(&constant.expr),
                _ => None,
            });
            FoundTool {
                type_name: last_name(&item.self_ty).unwrap_or_default(),
                name,
            }
        })
        .collect()
}

fn literal(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

fn path_ends_with(path: &syn::Path, name: &str) -> bool {
    path.segments
        .last()
        .is_some_and(|segment| segment.ident == name)
}

fn last_name(named: &Type) -> Option<String> {
    match named {
        Type::Path(named) => named
            .path
            .segments
            .last()
            .map(|segment| segment.ident.to_string()),
        _ => None,
    }
}

/// The types in the `Tool::of::<…>` of a file.
#[derive(Default)]
struct ListedTools {
    types: BTreeSet<String>,
}

impl ListedTools {
    fn of(source: &RustSource) -> Self {
        let mut listed = ListedTools::default();
        listed.visit_file(&source.syntax);
        listed
    }
}

impl<'ast> Visit<'ast> for ListedTools {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        if let Some(last) = path.segments.last()
            && last.ident == "of"
            && let PathArguments::AngleBracketed(arguments) = &last.arguments
        {
            self.types
                .extend(arguments.args.iter().filter_map(|argument| match argument {
                    GenericArgument::Type(named) => last_name(named),
                    _ => None,
                }));
        }
        visit::visit_path(self, path);
    }
}

fn foreign_imports(
    path: &str,
    source: &RustSource,
    dialect: &str,
    dialects: &BTreeSet<&str>,
) -> Vec<Fault> {
    let mut paths = ModulePaths::default();
    paths.visit_file(&source.syntax);
    let foreign: BTreeSet<String> = paths
        .heads
        .into_iter()
        .filter(|head| head != dialect && dialects.contains(head.as_str()))
        .collect();
    let message = |other: String| {
        format!("uses the dialect {other}: move what both need to {SOURCES}wire.rs")
    };
    foreign
        .into_iter()
        .map(|other| Fault::new(path, message(other)))
        .collect()
}

/// The first names after `crate::` and `super::` in the paths of a file.
#[derive(Default)]
struct ModulePaths {
    heads: BTreeSet<String>,
}

impl ModulePaths {
    fn add_tree(&mut self, tree: &UseTree, is_relative: bool) {
        let mut head = |name: &syn::Ident| {
            if is_relative {
                self.heads.insert(name.to_string());
            }
        };
        match tree {
            UseTree::Path(path) if is_relative_keyword(&path.ident) => {
                self.add_tree(&path.tree, true);
            }
            UseTree::Path(path) => head(&path.ident),
            UseTree::Name(name) => head(&name.ident),
            UseTree::Rename(rename) => head(&rename.ident),
            UseTree::Group(group) => group
                .items
                .iter()
                .for_each(|tree| self.add_tree(tree, is_relative)),
            UseTree::Glob(_) => {}
        }
    }
}

impl<'ast> Visit<'ast> for ModulePaths {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.add_tree(&item.tree, false);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let is_relative = path
            .segments
            .first()
            .is_some_and(|first| is_relative_keyword(&first.ident));
        let head = path
            .segments
            .iter()
            .find(|segment| !is_relative_keyword(&segment.ident));
        if let (true, Some(head)) = (is_relative, head) {
            self.heads.insert(head.ident.to_string());
        }
        visit::visit_path(self, path);
    }
}

fn is_relative_keyword(name: &syn::Ident) -> bool {
    name == "crate" || name == "super" || name == "self"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rust_source::parse_all;

    const LIST: &str = "mod keep;\npub static D: &[Tool] = &[Tool::of::<keep::Keep>()];\n";
    const KEEP: &str = "use crate::wire;\nimpl TypedTool for Keep {\n    const NAME: &'static str = \"keep\";\n}\n";

    fn faults_of(changes: &[(&str, &str)]) -> Vec<String> {
        let mut files = vec![
            ("src/one/mod.rs", LIST),
            ("src/one/keep.rs", KEEP),
            ("src/two/mod.rs", ""),
            ("src/wire.rs", ""),
            ("cases/one/keep/plain.yaml", ""),
            ("cases/cross/all.yaml", ""),
        ];
        for change in changes {
            files.retain(|file| file.0 != change.0);
            files.push(*change);
        }
        files.retain(|file| file.1 != "gone");
        let paths: Vec<String> = files
            .iter()
            .map(|(path, _)| format!("crates/loci-dialects/{path}"))
            .collect();
        let mut tree = Tree::default();
        for (path, (_, text)) in paths.iter().zip(&files) {
            tree.insert(path, text);
        }
        let (sources, _) = parse_all(&tree);
        check(&tree, &sources)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    fn only_fault(changes: &[(&str, &str)]) -> String {
        let faults = faults_of(changes);
        assert_eq!(faults.len(), 1, "{faults:?}");
        faults[0].clone()
    }

    #[test]
    fn a_whole_dialect_passes() {
        assert_eq!(faults_of(&[]), Vec::<String>::new());
    }

    #[test]
    fn an_unnamed_file_is_a_fault() {
        assert!(only_fault(&[("src/one/lost.rs", "")]).contains("add `mod lost;`"));
    }

    #[test]
    fn an_unlisted_tool_is_a_fault() {
        assert!(only_fault(&[("src/one/mod.rs", "mod keep;")]).contains("add Tool::of::<Keep>()"));
    }

    #[test]
    fn a_tool_without_cases_is_a_fault() {
        assert!(
            only_fault(&[("cases/one/keep/plain.yaml", "gone")])
                .contains("the tool keep has no cases")
        );
        assert!(
            only_fault(&[
                ("cases/one/keep/plain.yaml", "gone"),
                ("cases/one/keep/notes.md", "")
            ])
            .contains("has no cases")
        );
    }

    #[test]
    fn a_dash_in_a_name_is_an_underscore_in_its_module() {
        let dashed = [("src/one_two/mod.rs", LIST), ("src/one_two/keep.rs", KEEP)];
        let with_cases_in = |path| faults_of(&[dashed[0], dashed[1], (path, "")]);
        assert_eq!(
            with_cases_in("cases/one-two/keep/plain.yaml"),
            Vec::<String>::new()
        );
        assert_eq!(with_cases_in("cases/one_two/keep/plain.yaml").len(), 2);
    }

    #[test]
    fn cases_without_a_tool_are_a_fault() {
        assert!(
            only_fault(&[("cases/one/kept/plain.yaml", "")])
                .starts_with("crates/loci-dialects/cases/one/kept: ")
        );
        assert!(
            only_fault(&[("cases/six/keep/plain.yaml", "")]).contains("cases/six/keep: no tool")
        );
        assert!(only_fault(&[("cases/one/plain.yaml", "")]).contains("move them there"));
    }

    #[test]
    fn a_computed_name_is_a_fault() {
        let computed = "impl TypedTool for Keep {\n    const NAME: &'static str = KEEP;\n}\n";
        assert!(faults_of(&[("src/one/keep.rs", computed)])[0].contains("literal string"));
    }

    #[test]
    fn a_word_from_another_dialect_is_a_fault() {
        for line in [
            "use crate::two::word;",
            "use crate::{wire, two};",
            "use super::super::two as other;",
            "fn f() -> u32 { crate::two::word() }",
        ] {
            let text = format!("{line}\n{KEEP}");
            assert!(
                only_fault(&[("src/one/keep.rs", &text)]).contains("uses the dialect two"),
                "{line}"
            );
        }
        let own = format!("use crate::one::word;\nuse two::stranger;\n{KEEP}");
        assert_eq!(
            faults_of(&[("src/one/keep.rs", &own)]),
            Vec::<String>::new()
        );
    }
}
