//! A Rust file, parsed: which lines hold code, which attributes it has, and whether it is a test.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::{Attribute, Item};

use super::{Fault, Tree};

/// A parsed file.
pub struct RustSource {
    /// The syntax of the file.
    pub syntax: syn::File,
    /// True if it is compiled only for tests.
    pub is_test: bool,
    tokens: TokenStream,
}

/// An attribute, inside macros too.
pub struct FoundAttribute {
    /// Its line, from 1.
    pub line: usize,
    /// The tokens between the brackets.
    pub content: TokenStream,
}

impl RustSource {
    /// Parses `text`.
    ///
    /// # Errors
    /// If it is not Rust.
    pub fn parse(text: &str) -> syn::Result<Self> {
        // A byte order mark and a shebang line are part of a file, not of its tokens.
        let tokens = text.trim_start_matches('\u{feff}').parse()?;
        Ok(RustSource {
            syntax: syn::parse_file(text)?,
            is_test: false,
            tokens,
        })
    }

    /// The lines, from 1, that hold more than blanks and comments.
    pub fn code_lines(&self) -> BTreeSet<usize> {
        let mut lines = BTreeSet::new();
        collect_code_lines(&self.tokens, &mut lines);
        lines
    }

    /// All attributes but doc comments.
    pub fn attributes(&self) -> Vec<FoundAttribute> {
        let mut found = Vec::new();
        collect_attributes(&self.tokens, &mut found);
        found
    }

    /// The texts of all string literals outside tests, inside macros too, without doc comments.
    pub fn strings(&self) -> Vec<String> {
        let tests = self.test_ranges();
        let mut strings = Vec::new();
        collect_strings(&self.tokens, &mut |line, text| {
            if !tests
                .iter()
                .any(|(first, last)| (*first..=*last).contains(&line))
            {
                strings.push(text);
            }
        });
        strings
    }

    /// The first and last lines of items that exist only in tests.
    pub fn test_ranges(&self) -> Vec<(usize, usize)> {
        let tests = self
            .syntax
            .items
            .iter()
            .filter(|item| is_test_only(attributes_of(item)));
        tests
            .map(|item| (item.span().start().line, item.span().end().line))
            .collect()
    }
}

/// Every `.rs` file by path, and a fault for each that cannot be parsed.
pub fn parse_all(tree: &Tree) -> (BTreeMap<String, RustSource>, Vec<Fault>) {
    let (mut sources, mut faults) = (BTreeMap::new(), Vec::new());
    for (path, text) in tree.texts("rs") {
        match RustSource::parse(text) {
            Ok(source) => {
                sources.insert(path.to_owned(), source);
            }
            Err(error) => {
                faults.push(Fault::new(
                    format!("{path}:{}", error.span().start().line),
                    format!("cannot be parsed: {error}"),
                ));
            }
        }
    }
    mark_tests(&mut sources);
    (sources, faults)
}

/// Returns whether the item with these attributes is compiled only for tests.
pub fn is_test_only(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && attribute
                    .parse_args::<syn::Ident>()
                    .is_ok_and(|condition| condition == "test")
    })
}

/// Marks what lies in a `tests` or `benches` folder of a crate, and what a `#[cfg(test)] mod name;`
/// names.
fn mark_tests(sources: &mut BTreeMap<String, RustSource>) {
    let mut test_modules = Vec::new();
    for (path, source) in &*sources {
        for item in &source.syntax.items {
            if let Item::Mod(module) = item
                && module.content.is_none()
                && is_test_only(&module.attrs)
            {
                test_modules.push(format!("{}/{}", module_folder(path), module.ident));
            }
        }
    }
    for (path, source) in sources {
        source.is_test = path
            .split('/')
            .any(|part| ["tests", "benches", "loci-fuzz", "loci-testkit"].contains(&part))
            || test_modules.iter().any(|module| {
                path.strip_prefix(module.as_str())
                    .is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
            });
    }
}

/// Where the modules that the file at `path` names are looked for.
fn module_folder(path: &str) -> &str {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    if matches!(name, "mod.rs" | "lib.rs" | "main.rs") {
        folder
    } else {
        path.trim_end_matches(".rs")
    }
}

fn attributes_of(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Splits tokens into attributes and the rest. Doc comments are attributes that start with `doc =`.
fn walk(
    tokens: &TokenStream,
    on_attribute: &mut impl FnMut(&TokenTree, TokenStream),
    on_token: &mut impl FnMut(&TokenTree),
) {
    let mut tokens = tokens.clone().into_iter().peekable();
    while let Some(token) = tokens.next() {
        if !is_punctuation(&token, '#') {
            on_token(&token);
            continue;
        }
        let bang = tokens.next_if(|next| is_punctuation(next, '!'));
        match tokens.next_if(|next| matches!(next, TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket))
        {
            Some(TokenTree::Group(group)) => on_attribute(&token, group.stream()),
            _ => [Some(token), bang].iter().flatten().for_each(&mut *on_token),
        }
    }
}

fn is_punctuation(token: &TokenTree, character: char) -> bool {
    matches!(token, TokenTree::Punct(punctuation) if punctuation.as_char() == character)
}

fn is_doc_comment(content: &TokenStream) -> bool {
    let mut tokens = content.clone().into_iter();
    matches!(tokens.next(), Some(TokenTree::Ident(name)) if name == "doc")
        && tokens
            .next()
            .is_some_and(|token| is_punctuation(&token, '='))
}

fn collect_code_lines(tokens: &TokenStream, lines: &mut BTreeSet<usize>) {
    let mut attributes = Vec::new();
    walk(
        tokens,
        &mut |hash, content| attributes.push((hash.span().start().line, content)),
        &mut |token| match token {
            TokenTree::Group(group) => {
                lines.insert(group.span_open().start().line);
                collect_code_lines(&group.stream(), lines);
                lines.insert(group.span_close().end().line);
            }
            token => lines.extend(token.span().start().line..=token.span().end().line),
        },
    );
    for (line, content) in attributes {
        if !is_doc_comment(&content) {
            lines.insert(line);
            collect_code_lines(&content, lines);
        }
    }
}

fn collect_attributes(tokens: &TokenStream, found: &mut Vec<FoundAttribute>) {
    let mut groups = Vec::new();
    walk(
        tokens,
        &mut |hash, content| {
            if !is_doc_comment(&content) {
                found.push(FoundAttribute {
                    line: hash.span().start().line,
                    content,
                });
            }
        },
        &mut |token| {
            if let TokenTree::Group(group) = token {
                groups.push(group.stream());
            }
        },
    );
    for group in groups {
        collect_attributes(&group, found);
    }
}

fn collect_strings(tokens: &TokenStream, on_string: &mut impl FnMut(usize, String)) {
    let (mut attributes, mut groups) = (Vec::new(), Vec::new());
    walk(
        tokens,
        &mut |_, content| attributes.push(content),
        &mut |token| match token {
            TokenTree::Group(group) => groups.push(group.stream()),
            TokenTree::Literal(literal) => {
                if let syn::Lit::Str(text) = syn::Lit::new(literal.clone()) {
                    on_string(literal.span().start().line, text.value());
                }
            }
            TokenTree::Ident(_) | TokenTree::Punct(_) => {}
        },
    );
    attributes.retain(|content| !is_doc_comment(content));
    for group in attributes.iter().chain(&groups) {
        collect_strings(group, on_string);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_lines_and_comments_are_no_code() -> syn::Result<()> {
        let text = "//! Head.\n\n/// Doc.\n#[inline]\nfn f() {\n    // why\n    /* long\n       why */\n    g(\"a\n\nb\");\n}\n";
        let lines: Vec<usize> = RustSource::parse(text)?.code_lines().into_iter().collect();
        // A string runs over its blank line; that is text, not layout.
        assert_eq!(lines, [4, 5, 9, 10, 11, 12]);
        Ok(())
    }

    #[test]
    fn attributes_inside_macros_are_found() -> syn::Result<()> {
        let source = RustSource::parse(
            "#![deny(x)]\n/// doc\nmacro_rules! m {\n  () => {\n    #[ignore]\n    fn f() {}\n  };\n}\n",
        )?;
        let lines: Vec<usize> = source
            .attributes()
            .iter()
            .map(|attribute| attribute.line)
            .collect();
        assert_eq!(lines, [1, 5]);
        Ok(())
    }

    #[test]
    fn test_files_are_marked() {
        let tree = Tree::from([
            ("crates/a/src/lib.rs", "mod b;\n#[cfg(test)]\nmod checks;\n"),
            ("crates/a/src/b.rs", "#[cfg(test)]\nmod inner;\n"),
            ("crates/a/src/b/inner.rs", ""),
            ("crates/a/src/checks.rs", ""),
            ("crates/a/src/checks/deep.rs", ""),
            ("crates/a/tests/all.rs", ""),
        ]);
        let (sources, faults) = parse_all(&tree);
        let product: Vec<&String> = sources
            .iter()
            .filter(|(_, source)| !source.is_test)
            .map(|(path, _)| path)
            .collect();
        assert_eq!(product, ["crates/a/src/b.rs", "crates/a/src/lib.rs"]);
        assert_eq!(faults, []);
    }

    #[test]
    fn a_file_that_is_not_rust_is_a_fault() {
        let (_, faults) = parse_all(&Tree::from([("crates/a/src/lib.rs", "fn f() {}\nfn {")]));
        assert_eq!(faults.len(), 1);
        assert!(faults[0].place.starts_with("crates/a/src/lib.rs:"));
    }
}
