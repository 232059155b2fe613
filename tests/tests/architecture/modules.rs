//! The modules of a crate and the references between them, read from the source without compiling it.
//!
//! A reference is a path that starts with `crate`, `self`, `super`, a child module or an imported name, outside of tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Path of a module from the root of its crate. Empty for the root.
pub(crate) type ModulePath = Vec<String>;

/// Keywords that are followed by the name of an item.
const ITEM_KEYWORDS: [&str; 8] = [
    "struct", "enum", "union", "trait", "type", "fn", "const", "static",
];
/// Maximum number of re-exports that are followed for one path. Real chains have two or three.
const MAX_REEXPORTS: usize = 8;

/// A module: the paths it refers to, and the names it defines or re-exports.
#[derive(Debug, Default)]
struct Module {
    references: BTreeSet<Vec<String>>,
    items: BTreeSet<String>,
    /// Name and absolute path of each re-export.
    reexports: BTreeMap<String, Vec<String>>,
    glob_reexports: Vec<Vec<String>>,
    /// Name and absolute path of each import, re-exports included.
    imports: BTreeMap<String, Vec<String>>,
}

/// The modules of one crate.
#[derive(Debug, Default)]
pub(crate) struct Crate {
    modules: BTreeMap<ModulePath, Module>,
    test_modules: BTreeSet<ModulePath>,
}

impl Crate {
    /// Reads all modules under a `src` folder.
    pub(crate) fn read(source: &Path) -> Self {
        let mut files = Vec::new();
        collect_files(source, &mut Vec::new(), &mut files);
        Self::parse(&files)
    }

    fn parse(files: &[(ModulePath, String)]) -> Self {
        let mut result = Self::default();
        // All modules are declared first: whether a path starts with a child module depends on them.
        for (path, _) in files {
            result.modules.entry(path.clone()).or_default();
        }
        for (path, text) in files {
            let tokens: TokenStream = text.parse().expect("the source of the workspace is Rust");
            result.scan(path, &trees(tokens));
        }
        let tests = std::mem::take(&mut result.test_modules);
        let is_test = |path: &ModulePath| (1..=path.len()).any(|end| tests.contains(&path[..end]));
        result.modules.retain(|path, _| !is_test(path));
        result
    }

    /// Returns the pairs of modules in which the first refers to the second.
    pub(crate) fn references(&self) -> BTreeSet<(ModulePath, ModulePath)> {
        let mut references = BTreeSet::new();
        for (path, module) in &self.modules {
            for reference in &module.references {
                let target = self.resolve(reference.clone());
                if &target != path {
                    references.insert((path.clone(), target));
                }
            }
        }
        references
    }

    /// Returns the module that defines what an absolute path names.
    fn resolve(&self, mut path: Vec<String>) -> ModulePath {
        for _ in 0..MAX_REEXPORTS {
            let module = self.deepest_module(&path);
            let Some(name) = path.get(module.len()) else {
                return module;
            };
            let Some(target) = self.reexport(&module, name) else {
                return module;
            };
            path = [target, path[module.len() + 1..].to_vec()].concat();
        }
        self.deepest_module(&path)
    }

    fn deepest_module(&self, path: &[String]) -> ModulePath {
        let lengths = (0..=path.len()).rev();
        let mut modules = lengths.map(|length| path[..length].to_vec());
        modules
            .find(|module| self.modules.contains_key(module))
            .unwrap_or_default()
    }

    fn reexport(&self, module: &ModulePath, name: &str) -> Option<Vec<String>> {
        let module = &self.modules[module];
        if module.items.contains(name) {
            return None;
        }
        let by_glob = || {
            let holder = module.glob_reexports.iter().find(|target| {
                let target = self.modules.get(*target);
                target.is_some_and(|target| target.items.contains(name))
            });
            holder.map(|target| [target.clone(), vec![name.to_owned()]].concat())
        };
        module.reexports.get(name).cloned().or_else(by_glob)
    }

    /// Reads the tokens of a module, leaving out what is compiled for tests only.
    fn scan(&mut self, path: &ModulePath, tokens: &[TokenTree]) {
        let mut at = 0;
        while at < tokens.len() {
            at += self.scan_next(path, tokens, at);
        }
    }

    /// Reads what begins at a token, and returns its number of tokens.
    fn scan_next(&mut self, path: &ModulePath, tokens: &[TokenTree], at: usize) -> usize {
        if is_test_attribute(tokens, at) {
            let length = item_length(&tokens[at + 2..]);
            if let Some(name) = module_name(&tokens[at + 2..at + 2 + length]) {
                self.test_modules.insert(child(path, &name));
            }
            return 2 + length;
        }
        match &tokens[at] {
            TokenTree::Group(group) => {
                self.scan(path, &trees(group.stream()));
                1
            }
            TokenTree::Ident(word) => self.scan_word(path, tokens, at, &word.to_string()),
            TokenTree::Punct(_) | TokenTree::Literal(_) => 1,
        }
    }

    fn scan_word(
        &mut self,
        path: &ModulePath,
        tokens: &[TokenTree],
        at: usize,
        word: &str,
    ) -> usize {
        let next = tokens.get(at + 1);
        match (word, next) {
            ("mod", Some(TokenTree::Ident(name))) => {
                let inner = child(path, &name.to_string());
                self.modules.entry(inner.clone()).or_default();
                let Some(TokenTree::Group(body)) = tokens.get(at + 2) else {
                    return 2;
                };
                self.scan(&inner, &trees(body.stream()));
                3
            }
            ("use", Some(_)) => {
                let end = tokens[at..].iter().position(|token| is_punct(token, ';'));
                let length = end.unwrap_or(tokens.len() - at);
                self.scan_use(path, &tokens[at + 1..at + length], is_public(tokens, at));
                length
            }
            (keyword, Some(TokenTree::Ident(name))) if ITEM_KEYWORDS.contains(&keyword) => {
                self.module(path).items.insert(name.to_string());
                2
            }
            _ if is_path_start(tokens, at) => {
                let (segments, length) = segments(&tokens[at..]);
                self.refer(path, &segments);
                length
            }
            _ => 1,
        }
    }

    /// Reads a use tree: every leaf is a reference, and a re-export if it is public.
    fn scan_use(&mut self, path: &ModulePath, tree: &[TokenTree], is_public: bool) {
        for (segments, name) in use_leaves(tree) {
            self.refer(path, &segments);
            let Some(target) = self.absolute(path, &segments) else {
                continue;
            };
            let module = self.module(path);
            module.imports.insert(name.clone(), target.clone());
            if !is_public {
                continue;
            }
            if name == "*" {
                module.glob_reexports.push(target);
            } else {
                module.reexports.insert(name, target);
            }
        }
    }

    fn refer(&mut self, path: &ModulePath, segments: &[String]) {
        if let Some(target) = self.absolute(path, segments) {
            self.module(path).references.insert(target);
        }
    }

    /// Returns a path from the root of the crate. `None` for paths into other crates and local names.
    fn absolute(&self, path: &ModulePath, segments: &[String]) -> Option<Vec<String>> {
        let first = segments.first()?;
        let supers = segments.iter().take_while(|name| *name == "super").count();
        match first.as_str() {
            "crate" => Some(segments[1..].to_vec()),
            "super" => {
                let parent = path.len().checked_sub(supers)?;
                Some([&path[..parent], &segments[supers..]].concat())
            }
            "self" if segments.get(1).is_some_and(|next| next == "super") => {
                self.absolute(path, &segments[1..])
            }
            "self" => Some([path, &segments[1..]].concat()),
            name if self.modules.contains_key(&child(path, name)) => {
                Some([path, segments].concat())
            }
            name => {
                let target = self.modules.get(path)?.imports.get(name)?;
                Some([target.as_slice(), &segments[1..]].concat())
            }
        }
    }

    fn module(&mut self, path: &ModulePath) -> &mut Module {
        self.modules.entry(path.clone()).or_default()
    }
}

fn collect_files(folder: &Path, module: &mut ModulePath, files: &mut Vec<(ModulePath, String)>) {
    let entries = fs::read_dir(folder).expect("the folder of a crate is readable");
    for entry in entries {
        let entry = entry.expect("the folder of a crate is readable");
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() {
            module.push(name);
            collect_files(&entry.path(), module, files);
            module.pop();
        } else if let Some(stem) = name.strip_suffix(".rs") {
            let text = fs::read_to_string(entry.path()).expect("a source file is readable");
            let is_own = ["mod", "lib", "main"].contains(&stem);
            let path = if is_own {
                module.clone()
            } else {
                child(module, stem)
            };
            files.push((path, text));
        }
    }
}

fn child(path: &ModulePath, name: &str) -> ModulePath {
    [path.as_slice(), &[name.to_owned()]].concat()
}

fn trees(tokens: TokenStream) -> Vec<TokenTree> {
    tokens.into_iter().collect()
}

fn is_punct(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}

fn is_path_separator(tokens: &[TokenTree]) -> bool {
    tokens.len() >= 2 && tokens[..2].iter().all(|token| is_punct(token, ':'))
}

/// Returns true at `#[cfg(test)]`, also within `any` and `all`, and at `#[test]`.
fn is_test_attribute(tokens: &[TokenTree], at: usize) -> bool {
    let [hash, TokenTree::Group(attribute), ..] = &tokens[at..] else {
        return false;
    };
    let text = attribute.stream().to_string();
    let is_cfg = text.starts_with("cfg");
    let mut words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    is_punct(hash, '#')
        && attribute.delimiter() == Delimiter::Bracket
        && (text == "test" || is_cfg)
        && !text.contains("not")
        && words.any(|word| word == "test")
}

/// Returns the number of tokens of the item at the start: up to its body or semicolon.
fn item_length(tokens: &[TokenTree]) -> usize {
    let ends = |token: &TokenTree| {
        let is_body =
            matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
        is_body || is_punct(token, ';') || is_punct(token, ',')
    };
    tokens
        .iter()
        .position(ends)
        .map_or(tokens.len(), |at| at + 1)
}

/// Returns the name of the module that an item declares.
fn module_name(item: &[TokenTree]) -> Option<String> {
    let mut pairs = item.windows(2);
    pairs.find_map(|pair| match pair {
        [TokenTree::Ident(keyword), TokenTree::Ident(name)] if keyword == "mod" => {
            Some(name.to_string())
        }
        _ => None,
    })
}

/// Returns true if the item at a token follows `pub` or `pub(…)`.
fn is_public(tokens: &[TokenTree], at: usize) -> bool {
    let before = &tokens[at.saturating_sub(2)..at];
    before
        .iter()
        .any(|token| matches!(token, TokenTree::Ident(word) if word == "pub"))
}

/// Returns true at the first name of a path of several.
fn is_path_start(tokens: &[TokenTree], at: usize) -> bool {
    let goes_on = at >= 2 && is_path_separator(&tokens[at - 2..at]);
    !goes_on && is_path_separator(&tokens[at + 1..])
}

/// Returns the names of the path at the start, and its number of tokens.
fn segments(tokens: &[TokenTree]) -> (Vec<String>, usize) {
    let mut names = Vec::new();
    let mut at = 0;
    while let Some(TokenTree::Ident(name)) = tokens.get(at) {
        names.push(name.to_string());
        at += 1;
        if !is_path_separator(&tokens[at..]) {
            break;
        }
        at += 2;
    }
    (names, at)
}

/// Returns the paths of a use tree, each with the name it gets.
fn use_leaves(tree: &[TokenTree]) -> Vec<(Vec<String>, String)> {
    let branches = tree.split(|token| is_punct(token, ','));
    branches.flat_map(branch_leaves).collect()
}

fn branch_leaves(branch: &[TokenTree]) -> Vec<(Vec<String>, String)> {
    let (prefix, length) = segments(branch);
    match &branch[length..] {
        [TokenTree::Group(group), ..] => {
            let leaves = use_leaves(&trees(group.stream())).into_iter();
            let leaves = leaves.map(|(segments, name)| {
                let is_own = segments == ["self"];
                let inner = if is_own { Vec::new() } else { segments };
                let name = prefix.last().filter(|_| is_own).cloned().unwrap_or(name);
                ([prefix.clone(), inner].concat(), name)
            });
            leaves.collect()
        }
        [star, ..] if is_punct(star, '*') => vec![(prefix, "*".to_owned())],
        [TokenTree::Ident(_), TokenTree::Ident(name), ..] => vec![(prefix, name.to_string())],
        _ => {
            let name = prefix.last().cloned();
            name.map(|name| (prefix, name)).into_iter().collect()
        }
    }
}

#[test]
fn references_follow_reexports_and_skip_tests() {
    let file = |path: &str, text: &str| {
        let path = path.split("::").filter(|name| !name.is_empty());
        (
            path.map(str::to_owned).collect::<ModulePath>(),
            text.to_owned(),
        )
    };
    let read = Crate::parse(&[
        file(
            "",
            "mod a; mod b; mod c; mod d; pub use b::B; pub use d::*;",
        ),
        file(
            "a",
            "use crate::{B, c::{self, C as Other}}; fn a() { c::f(); crate::D::new() }",
        ),
        file(
            "b",
            "pub struct B; #[cfg(test)] mod tests { use crate::a::A; } #[cfg(test)] mod more;",
        ),
        file("b::more", "use crate::c::C;"),
        file(
            "c",
            "// crate::a::A\nfn f() { vec![super::d::X] } const TEXT: &str = \"crate::a::A\";",
        ),
        file("d", "pub struct D; #[cfg(not(test))] use crate::b::B;"),
        file("d::inner", "use super::D; use std::fmt;"),
    ]);
    let references = read.references().into_iter();
    let found: Vec<String> = references
        .filter(|(from, _)| !from.is_empty())
        .map(|(from, to)| format!("{} {}", from.join("::"), to.join("::")))
        .collect();
    assert_eq!(found, ["a b", "a c", "a d", "c d", "d b", "d::inner d"]);
}
