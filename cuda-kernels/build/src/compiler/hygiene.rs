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
use crate::compiler::prototype::{is_kernel, link_name};
use crate::compiler::symbol::Symbol;

/// Returns bindgen's items without names that others could take, and without the functions with these
/// symbols, which are no kernels. Names the handles of the variables.
pub(crate) fn separate(
    items: Vec<Item>,
    variables: &mut [Symbol],
    host_functions: &BTreeSet<String>,
) -> Result<Vec<Item>, Error> {
    let (helpers, items): (Vec<Item>, Vec<Item>) = items.into_iter().partition(is_helper);
    let mut items = without_templates(items);
    let mut values = values(&items, variables)?;
    for item in &mut items {
        let Item::ForeignMod(block) = item else { continue };
        block.items.retain(|item| match item {
            ForeignItem::Fn(it) => {
                let symbol = link_name(&it.attrs).unwrap_or_else(|| it.sig.ident.to_string());
                !host_functions.contains(&symbol)
            }
            _ => true,
        });
        for function in &mut block.items {
            if let ForeignItem::Fn(function) = function
                && is_kernel(function)
            {
                let ident = &mut function.sig.ident;
                *ident = Ident::new(&take(&ident.to_string(), &mut values), ident.span());
            }
        }
    }
    for variable in variables {
        variable.name = take(&variable.name, &mut values);
    }
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
    Ok(items)
}

/// Leaves out templates that no other item uses: a struct stands for each instance that kernels, structs and
/// variables have.
fn without_templates(items: Vec<Item>) -> Vec<Item> {
    let parameters = |item: &Item| match item {
        Item::Struct(item) => Some((item.ident.to_string(), item.generics.params.len())),
        Item::Union(item) => Some((item.ident.to_string(), item.generics.params.len())),
        Item::Type(item) => Some((item.ident.to_string(), item.generics.params.len())),
        _ => None,
    };
    let templates: BTreeSet<String> =
        items.iter().filter_map(parameters).filter(|(_, count)| *count > 0).map(|(name, _)| name).collect();
    // Those that an item is about: its own name, or that of what it implements or asserts.
    let about = |item: &Item| match item {
        Item::Impl(item) => with_arguments(item.self_ty.to_token_stream()),
        Item::Const(item) if item.ident == "_" => with_arguments(item.to_token_stream()),
        other => parameters(other).map(|(name, _)| BTreeSet::from([name])).unwrap_or_default(),
    };
    let is_template = |item: &Item| !about(item).is_disjoint(&templates);
    let mut used = BTreeSet::new();
    let mut open: Vec<&Item> = items.iter().filter(|item| !is_template(item)).collect();
    while let Some(item) = open.pop() {
        for name in with_arguments(item.to_token_stream()).intersection(&templates) {
            if used.insert(name.clone()) {
                open.extend(items.iter().filter(|it| parameters(it).is_some_and(|(own, _)| own == *name)));
            }
        }
    }
    let unused: BTreeSet<String> = templates.difference(&used).cloned().collect();
    let keep: Vec<bool> = items.iter().map(|item| about(item).is_disjoint(&unused)).collect();
    items.into_iter().zip(keep).filter(|(_, keep)| *keep).map(|(item, _)| item).collect()
}

/// Returns the names with arguments.
fn with_arguments(tokens: TokenStream) -> BTreeSet<String> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is_open =
        |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Punct(it)) if it.as_char() == '<');
    let names = tokens.iter().enumerate().flat_map(|(at, token)| match token {
        TokenTree::Group(group) => with_arguments(group.stream()),
        TokenTree::Ident(name) if is_open(tokens.get(at + 1)) => BTreeSet::from([name.to_string()]),
        _ => BTreeSet::new(),
    });
    names.collect()
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
fn values(items: &[Item], variables: &[Symbol]) -> Result<BTreeSet<String>, Error> {
    let (mut types, mut values) = (BTreeSet::new(), BTreeSet::new());
    let is_variable = |name: &str| variables.iter().any(|variable| variable.name == name);
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
