//! Keeps the names of a program apart from those of the generated text.
//!
//! Handles, constants and types have the names that they have in C++, and are in one module. So our own text
//! names everything else by a whole path (`::core::option::Option`), its own items begin with `__`, which C++
//! reserves, and it binds no name: Rust refuses a `let` or a parameter with the name of a `static`, of a
//! constant or of a tuple struct. This file brings bindgen's text into that form, and gives each handle a
//! name of its own.

use std::collections::BTreeSet;

use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Fields, FnArg, ForeignItem, ImplItem, ImplItemFn, Item, ItemImpl, Pat, Path, TypeParamBound};

use crate::Error;
use crate::compiler::declared::Declared;
use crate::compiler::prototype::is_kernel;

/// The words that bindgen and this library write with a `_` behind them.
const WORDS: &str = " abstract alignof as async await become box break const continue crate do dyn else enum \
                     extern false final fn for gen if impl in let loop macro match mod move mut offsetof \
                     override priv proc pub pure ref return Self self sizeof static struct super trait true \
                     try type typeof unsafe unsized use virtual where while yield str bool f32 f64 usize \
                     isize u128 i128 u64 i64 u32 i32 u16 i16 u8 i8 _ ";

/// Returns a C++ name as bindgen writes it: one that is a word of Rust has a `_` behind it.
pub(crate) fn rust_name(name: &str) -> String {
    if WORDS.contains(&format!(" {name} ")) { format!("{name}_") } else { name.to_owned() }
}

/// Returns bindgen's items without names that others could take, and the names of the handles of these
/// variables.
pub(crate) fn separate(items: Vec<Item>, variables: &[Declared]) -> Result<(Vec<Item>, Vec<String>), Error> {
    let (helpers, mut items): (Vec<Item>, Vec<Item>) = items.into_iter().partition(is_helper);
    let mut values = values(&items, variables)?;
    for item in &mut items {
        let Item::ForeignMod(block) = item else { continue };
        for function in &mut block.items {
            if let ForeignItem::Fn(function) = function
                && is_kernel(function)
            {
                let ident = &mut function.sig.ident;
                *ident = Ident::new(&take(&ident.to_string(), &mut values), ident.span());
            }
        }
    }
    let names = variables.iter().map(|variable| take(&rust_name(&variable.name), &mut values)).collect();
    for item in &mut items {
        if let Item::Impl(item) = item {
            implementation(item, &values);
        }
    }
    if !helpers.is_empty() {
        let own = quote! { mod __bindgen { #(#helpers)* } pub use __bindgen::*; };
        let own: syn::File = syn::parse2(own).map_err(|error| Error::Header(error.to_string()))?;
        items.splice(0..0, own.items);
    }
    Ok((items, names))
}

/// Returns whether an item is bindgen's own, which no file declares.
fn is_helper(item: &Item) -> bool {
    let name = match item {
        Item::Struct(item) => item.ident.to_string(),
        Item::Impl(item) => match &*item.self_ty {
            syn::Type::Path(path) => {
                path.path.segments.last().map(|it| it.ident.to_string()).unwrap_or_default()
            }
            _ => return false,
        },
        _ => return false,
    };
    name.starts_with("__Bindgen") || name.starts_with("__Incomplete")
}

/// Returns the names of constants and of tuple structs. An error if the files have two items of one name.
fn values(items: &[Item], variables: &[Declared]) -> Result<BTreeSet<String>, Error> {
    let (mut types, mut values) = (BTreeSet::new(), BTreeSet::new());
    let is_variable = |name: &str| variables.iter().any(|variable| rust_name(&variable.name) == name);
    for item in items {
        let (is_type, is_value, name) = match item {
            Item::Struct(item) => (true, !matches!(item.fields, Fields::Named(_)), &item.ident),
            Item::Union(item) => (true, false, &item.ident),
            Item::Type(item) => (true, false, &item.ident),
            Item::Const(item) => (false, item.ident != "_", &item.ident),
            _ => continue,
        };
        let name = name.to_string();
        let is_value = is_value && !is_variable(&name);
        if (is_type && !types.insert(name.clone())) || (is_value && !values.insert(name.clone())) {
            return Err(Error::Name(format!(
                "two types or constants of these files have the name `{name}` in Rust, where namespaces and \
                 classes come in front with a `_`, and a keyword has a `_` at its end: rename one of them"
            )));
        }
    }
    Ok(values)
}

/// Returns the name that a handle gets, and takes it.
fn take(wanted: &str, values: &mut BTreeSet<String>) -> String {
    let mut name = wanted.to_owned();
    while !values.insert(name.clone()) {
        name.push('_');
    }
    name
}

/// Has an implementation name traits by their paths, and bind no name of a value.
fn implementation(item: &mut ItemImpl, values: &BTreeSet<String>) {
    if let Some((path, _)) = &mut item.trait_ {
        whole(path);
    }
    // A bit field may be named as the setter of another one.
    let mut known = BTreeSet::new();
    item.items.retain(|it| !matches!(it, ImplItem::Fn(it) if !known.insert(it.sig.ident.to_string())));
    let bounds = item.generics.where_clause.iter_mut().flat_map(|clause| &mut clause.predicates);
    for predicate in bounds {
        let syn::WherePredicate::Type(predicate) = predicate else { continue };
        for bound in &mut predicate.bounds {
            if let TypeParamBound::Trait(bound) = bound {
                whole(&mut bound.path);
            }
        }
    }
    for item in &mut item.items {
        if let ImplItem::Fn(function) = item {
            function_without(function, values);
        }
    }
}

/// Makes the name of a trait of the prelude a whole path.
fn whole(path: &mut Path) {
    const TRAITS: [(&str, &str); 4] =
        [("Default", "default"), ("PartialEq", "cmp"), ("Copy", "marker"), ("Clone", "clone")];
    let found = TRAITS.iter().find(|(name, _)| path.is_ident(name));
    if let Some(whole) =
        found.and_then(|(name, module)| syn::parse_str(&format!("::core::{module}::{name}")).ok())
    {
        *path = whole;
    }
}

/// Gives parameters and variables of a function names that are those of no value.
fn function_without(function: &mut ImplItemFn, values: &BTreeSet<String>) {
    let mut bound = BTreeSet::new();
    let is_taken = |name: &Ident| values.contains(&name.to_string());
    for input in &mut function.sig.inputs {
        let FnArg::Typed(input) = input else { continue };
        if let Pat::Ident(pattern) = &mut *input.pat
            && is_taken(&pattern.ident)
        {
            bound.insert(pattern.ident.to_string());
            pattern.ident = free(&pattern.ident);
        }
    }
    let body = function.block.to_token_stream();
    let_bindings(&body, &mut |name| {
        if is_taken(name) {
            bound.insert(name.to_string());
        }
    });
    if let Ok(block) = syn::parse2(renamed(body, &bound)) {
        function.block = block;
    }
}

/// Returns a name that C++ reserves.
fn free(name: &Ident) -> Ident {
    Ident::new(&format!("__{name}"), name.span())
}

/// Finds the names after `let` and `let mut`.
fn let_bindings(tokens: &TokenStream, found: &mut impl FnMut(&Ident)) {
    let mut is_bound = false;
    for token in tokens.clone() {
        match token {
            TokenTree::Group(group) => let_bindings(&group.stream(), found),
            TokenTree::Ident(word) if word == "let" => is_bound = true,
            TokenTree::Ident(word) if word == "mut" => {}
            TokenTree::Ident(word) => {
                if is_bound {
                    found(&word);
                }
                is_bound = false;
            }
            _ => is_bound = false,
        }
    }
}

/// Returns the tokens with other names for these variables, and with the whole path of `Default`. A name
/// after a `.` or a `::` is none of them.
fn renamed(tokens: TokenStream, bound: &BTreeSet<String>) -> TokenStream {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let sign = |at: Option<usize>| match at.and_then(|at| tokens.get(at)) {
        Some(TokenTree::Punct(sign)) => Some(sign.as_char()),
        _ => None,
    };
    let is_path = |at: usize| sign(Some(at + 1)) == Some(':') && sign(Some(at + 2)) == Some(':');
    let rename = |(at, token): (usize, &TokenTree)| match token {
        TokenTree::Group(group) => {
            TokenTree::Group(Group::new(group.delimiter(), renamed(group.stream(), bound))).into()
        }
        TokenTree::Ident(word) if !matches!(sign(at.checked_sub(1)), Some('.' | ':')) => {
            if word == "Default" && is_path(at) {
                quote! { ::core::default::Default }
            } else if bound.contains(&word.to_string()) {
                free(word).to_token_stream()
            } else {
                word.to_token_stream()
            }
        }
        other => other.to_token_stream(),
    };
    tokens.iter().enumerate().map(rename).collect()
}
