//! The modules of each crate as a graph: which file uses what another one defines, and the largest
//! circle of files that use each other.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};

use crate::source::{Source, is_test_code};

/// The path of a module from the root of its crate.
type ModulePath = Vec<String>;

/// What a name of a module stands for.
#[derive(Debug, Clone)]
enum Name {
    /// Something that the module defines itself.
    Item,
    /// What a `use` brought in, as a path from the root of the crate.
    Alias(ModulePath),
}

/// A module that is a file.
#[derive(Debug, Default)]
struct Module {
    names: BTreeMap<String, Name>,
    /// Paths of `use a::*`.
    globs: Vec<ModulePath>,
    /// Paths that the file mentions, from the root of the crate.
    uses: BTreeSet<ModulePath>,
}

/// The files of a crate and their arrows.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    modules: BTreeMap<ModulePath, Module>,
}

impl Graph {
    /// The graph of the files of one crate, whose paths are given from its folder `src`.
    pub(crate) fn new(sources: &[(&str, &Source)]) -> Self {
        let paths: BTreeSet<ModulePath> =
            sources.iter().map(|(path, _)| module_path(path)).collect();
        let mut modules = BTreeMap::new();
        for (path, source) in sources {
            let here = module_path(path);
            let mut reader = Reader { here: &here, paths: &paths, module: Module::default() };
            reader.names(&source.syntax.items);
            reader.visit_file(&source.syntax);
            modules.insert(here.clone(), reader.module);
        }
        Self { modules }
    }

    /// The files of the largest circle; empty where no two files use each other.
    pub(crate) fn largest_circle(&self) -> Vec<String> {
        let nodes: Vec<&ModulePath> = self.modules.keys().collect();
        let index: BTreeMap<&ModulePath, usize> =
            nodes.iter().enumerate().map(|(at, path)| (*path, at)).collect();
        let arrows: Vec<Vec<usize>> = nodes
            .iter()
            .map(|path| self.targets(path).iter().filter_map(|to| index.get(to).copied()).collect())
            .collect();
        let largest = circles(&arrows).into_iter().max_by_key(Vec::len).unwrap_or_default();
        if largest.len() < 2 {
            return Vec::new();
        }
        largest.into_iter().map(|at| nodes[at].join("::")).collect()
    }

    /// The files that hold what a file mentions.
    fn targets(&self, here: &ModulePath) -> BTreeSet<ModulePath> {
        let Some(module) = self.modules.get(here) else { return BTreeSet::new() };
        let found = module.uses.iter().filter_map(|path| self.resolve(path, 0));
        found.filter(|path| path != here).collect()
    }

    /// The file that defines what a path names. Re-exports are followed.
    fn resolve(&self, path: &[String], depth: usize) -> Option<ModulePath> {
        if depth > 16 {
            return None;
        }
        let mut at = ModulePath::new();
        for (taken, segment) in path.iter().enumerate() {
            let mut below = at.clone();
            below.push(segment.clone());
            if self.modules.contains_key(&below) {
                at = below;
                continue;
            }
            let module = self.modules.get(&at)?;
            return match module.names.get(segment) {
                Some(Name::Alias(target)) => {
                    let mut target = target.clone();
                    target.extend(path[taken + 1..].iter().cloned());
                    self.resolve(&target, depth + 1)
                }
                Some(Name::Item) => Some(at),
                None => module.globs.iter().find_map(|glob| {
                    let mut target = glob.clone();
                    target.extend(path[taken..].iter().cloned());
                    self.resolve(&target, depth + 1).filter(|found| *found != at)
                }),
            };
        }
        Some(at)
    }
}

/// `a/b.rs` is `a::b`, `lib.rs` the root.
fn module_path(file: &str) -> ModulePath {
    let name = file.strip_suffix(".rs").unwrap_or(file);
    if matches!(name, "lib" | "main") {
        return ModulePath::new();
    }
    name.split('/').map(str::to_owned).collect()
}

/// Reads one file.
struct Reader<'a> {
    here: &'a ModulePath,
    paths: &'a BTreeSet<ModulePath>,
    module: Module,
}

impl Reader<'_> {
    /// Notes what the items of the file are called.
    fn names(&mut self, items: &[syn::Item]) {
        for item in items {
            let name = match item {
                syn::Item::Const(item) => &item.ident,
                syn::Item::Enum(item) => &item.ident,
                syn::Item::Fn(item) => &item.sig.ident,
                syn::Item::Static(item) => &item.ident,
                syn::Item::Struct(item) => &item.ident,
                syn::Item::Trait(item) => &item.ident,
                syn::Item::TraitAlias(item) => &item.ident,
                syn::Item::Type(item) => &item.ident,
                syn::Item::Union(item) => &item.ident,
                syn::Item::Macro(item) => match &item.ident {
                    Some(name) => name,
                    None => continue,
                },
                syn::Item::Use(item) => {
                    self.imports(&item.tree, &mut Vec::new());
                    continue;
                }
                _ => continue,
            };
            self.module.names.insert(name.to_string(), Name::Item);
        }
    }

    /// Notes the names that a `use` brings in.
    fn imports(&mut self, tree: &syn::UseTree, before: &mut Vec<String>) {
        match tree {
            syn::UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.imports(&path.tree, before);
                before.pop();
            }
            syn::UseTree::Name(name) if name.ident == "self" => {
                let alias = before.last().cloned();
                self.import(before, alias);
            }
            syn::UseTree::Name(name) => {
                before.push(name.ident.to_string());
                self.import(before, Some(name.ident.to_string()));
                before.pop();
            }
            syn::UseTree::Rename(rename) => {
                before.push(rename.ident.to_string());
                self.import(before, Some(rename.rename.to_string()));
                before.pop();
            }
            syn::UseTree::Glob(_) => {
                if let Some(path) = self.seen_from_root(before) {
                    self.module.globs.push(path);
                }
            }
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.imports(tree, before);
                }
            }
        }
    }

    fn import(&mut self, path: &[String], alias: Option<String>) {
        if let (Some(path), Some(alias)) = (self.seen_from_root(path), alias) {
            self.module.names.insert(alias, Name::Alias(path));
        }
    }

    /// A path as seen from the root of the crate; `None` where it leads out of the crate.
    fn seen_from_root(&self, path: &[String]) -> Option<ModulePath> {
        let (first, rest) = path.split_first()?;
        let mut at = match first.as_str() {
            "crate" => ModulePath::new(),
            "self" => self.here.clone(),
            "super" => self.here[..self.here.len().checked_sub(1)?].to_vec(),
            name => {
                let mut below = self.here.clone();
                below.push(name.to_owned());
                if !self.paths.contains(&below) {
                    return None;
                }
                below
            }
        };
        for segment in rest {
            if segment == "super" {
                at.pop();
            } else {
                at.push(segment.clone());
            }
        }
        Some(at)
    }

    fn note(&mut self, path: &[String]) {
        if let Some(path) = self.seen_from_root(path) {
            self.module.uses.insert(path);
        }
    }

    /// Notes the targets of a `use` that is no re-export.
    fn note_tree(&mut self, tree: &syn::UseTree, before: &mut Vec<String>) {
        match tree {
            syn::UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.note_tree(&path.tree, before);
                before.pop();
            }
            syn::UseTree::Name(syn::UseName { ident, .. })
            | syn::UseTree::Rename(syn::UseRename { ident, .. }) => {
                let is_self = ident == "self";
                if !is_self {
                    before.push(ident.to_string());
                }
                self.note(before);
                if !is_self {
                    before.pop();
                }
            }
            syn::UseTree::Glob(_) => self.note(before),
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.note_tree(tree, before);
                }
            }
        }
    }

    /// Finds `crate::a::b` in the tokens of a macro's arguments.
    fn note_tokens(&mut self, tokens: proc_macro2::TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                proc_macro2::TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.note(&std::mem::take(&mut path));
                    }
                    path.push(ident.to_string());
                    colons = 0;
                }
                proc_macro2::TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                proc_macro2::TokenTree::Group(group) => {
                    self.note(&std::mem::take(&mut path));
                    self.note_tokens(group.stream());
                }
                _ => self.note(&std::mem::take(&mut path)),
            }
        }
        self.note(&path);
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !is_test_code(item) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if matches!(item.vis, syn::Visibility::Inherited) {
            self.note_tree(&item.tree, &mut Vec::new());
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|part| part.ident.to_string()).collect();
        if names.len() > 1 {
            self.note(&names);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.note_tokens(call.tokens.clone());
        visit::visit_macro(self, call);
    }
}

/// The strongly connected components of a graph (R. Tarjan, 1972), without recursion.
fn circles(arrows: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let unseen = usize::MAX;
    let mut order = vec![unseen; arrows.len()];
    let mut low = vec![0; arrows.len()];
    let mut is_open = vec![false; arrows.len()];
    let (mut open, mut found, mut next) = (Vec::new(), Vec::new(), 0);
    for start in 0..arrows.len() {
        if order[start] != unseen {
            continue;
        }
        let mut calls = vec![(start, 0)];
        while let Some((node, step)) = calls.pop() {
            if step == 0 {
                order[node] = next;
                low[node] = next;
                next += 1;
                open.push(node);
                is_open[node] = true;
            } else {
                low[node] = low[node].min(low[arrows[node][step - 1]]);
            }
            let below = (step..arrows[node].len()).find(|&at| {
                let to = arrows[node][at];
                if order[to] != unseen && is_open[to] {
                    low[node] = low[node].min(order[to]);
                }
                order[to] == unseen
            });
            if let Some(at) = below {
                calls.push((node, at + 1));
                calls.push((arrows[node][at], 0));
            } else if low[node] == order[node] {
                let from = open.iter().rposition(|&it| it == node).unwrap_or_default();
                let circle = open.split_off(from);
                for &member in &circle {
                    is_open[member] = false;
                }
                found.push(circle);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circle(files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<Source> = files.iter().map(|(_, text)| Source::of(text)).collect();
        let pairs: Vec<(&str, &Source)> =
            files.iter().map(|(path, _)| *path).zip(&sources).collect();
        let mut circle = Graph::new(&pairs).largest_circle();
        circle.sort();
        circle
    }

    #[test]
    fn a_line_is_no_circle() {
        let files =
            [("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::B;"), ("b.rs", "pub struct B;")];
        assert!(circle(&files).is_empty());
    }

    #[test]
    fn circles_go_through_uses_paths_macros_and_re_exports() {
        for back in [
            "use crate::a::A; pub struct B;",
            "use super::a::{self, A}; pub struct B;",
            "pub struct B; fn f() -> crate::a::A { todo() }",
            "pub struct B; fn f() { g!(1, { crate::a::A }) }",
            "pub struct B; use crate::A;",
            "pub struct B; use super::*; use crate::A as Other;",
        ] {
            let files = [
                ("lib.rs", "mod a; mod b; pub use a::A;"),
                ("a.rs", "use crate::b::B; pub struct A;"),
                ("b.rs", back),
            ];
            assert_eq!(circle(&files), ["a", "b"], "{back}");
        }
    }

    #[test]
    fn tests_draw_no_arrows() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b::B; pub struct A;"),
            ("b.rs", "pub struct B; #[cfg(test)] mod tests { use crate::a::A; }"),
        ];
        assert!(circle(&files).is_empty());
    }

    #[test]
    fn a_parent_and_a_child_that_use_each_other_are_a_circle() {
        let files = [
            ("lib.rs", "mod a;"),
            ("a.rs", "mod b; use b::B; pub struct A;"),
            ("a/b.rs", "use super::A; pub struct B;"),
        ];
        assert_eq!(circle(&files), ["a", "a::b"]);
    }
}
