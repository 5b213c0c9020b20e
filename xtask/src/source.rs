//! Rust files as syntax trees, and what is measured in them: long functions, tuples as parameters.

use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

/// A parsed file.
pub(crate) struct Source {
    pub(crate) syntax: syn::File,
}

/// A function and how long it is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// Lines from `fn` to the closing brace.
    pub(crate) lines: usize,
    /// How many of its parameters are destructured tuples.
    pub(crate) tuples: usize,
}

impl Source {
    /// Parses a file; one that is no Rust is empty, since the compiler complains of it.
    pub(crate) fn of(text: &str) -> Self {
        let empty = syn::File { shebang: None, attrs: Vec::new(), items: Vec::new() };
        Self { syntax: syn::parse_file(text).unwrap_or(empty) }
    }

    /// The functions of the file, without those of its tests.
    pub(crate) fn functions(&self) -> Vec<Function> {
        let mut reader = Functions::default();
        reader.visit_file(&self.syntax);
        reader.found
    }
}

/// Whether an item stands under `#[cfg(test)]`, or under a `cfg` that says so among other things.
pub(crate) fn is_test_code(item: &syn::Item) -> bool {
    let attributes = match item {
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        _ => return false,
    };
    attributes.iter().any(|attribute| {
        let syn::Meta::List(list) = &attribute.meta else { return false };
        let words = list.tokens.to_string();
        list.path.is_ident("cfg")
            && words.split(|c: char| !c.is_alphanumeric()).any(|word| word == "test")
            && !words.starts_with("not")
    })
}

#[derive(Default)]
struct Functions {
    found: Vec<Function>,
}

impl Functions {
    fn note(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let from = signature.fn_token.span().start().line;
        let to = block.brace_token.span.close().end().line;
        let is_tuple = |input: &&syn::FnArg| match input {
            syn::FnArg::Typed(typed) => matches!(*typed.pat, syn::Pat::Tuple(_)),
            syn::FnArg::Receiver(_) => false,
        };
        self.found.push(Function {
            name: signature.ident.to_string(),
            lines: to + 1 - from,
            tuples: signature.inputs.iter().filter(is_tuple).count(),
        });
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !is_test_code(item) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.note(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.note(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.note(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_measured_and_those_of_tests_are_not() {
        let text = "impl A {\n  /// Doc.\n  fn long((a, b): (u8, u8), c: u8) {\n  a;\n  }\n}\n\
                    #[cfg(test)]\nmod tests { fn other((a, b): (u8, u8)) {} }\n\
                    #[cfg(all(test, unix))]\nfn third() {}\n";
        let long = Function { name: "long".to_owned(), lines: 3, tuples: 1 };
        assert_eq!(Source::of(text).functions(), [long]);
    }
}
