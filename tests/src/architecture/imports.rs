//! What a Rust file brings into scope: its submodules, its `use` declarations, and the other paths in its code.

use std::collections::BTreeSet;

use super::source::{Source, without_attributes};

/// A path, as its segments.
pub(super) type Segments = Vec<String>;

/// Keywords that a name follows in the definition of an item.
const ITEMS: [&str; 9] = [
    "fn",
    "struct",
    "enum",
    "union",
    "trait",
    "type",
    "const",
    "static",
    "macro_rules",
];

/// What the code of a file names, its tests left out.
#[derive(Debug, Default)]
pub(super) struct Imports {
    /// The submodules that have a file.
    pub(super) modules: Vec<String>,
    /// The names that `use` declarations bring into scope.
    pub(super) uses: Vec<Used>,
    /// Paths of at least two segments outside of `use` declarations.
    pub(super) paths: BTreeSet<Segments>,
    /// The items that the file defines.
    pub(super) items: BTreeSet<String>,
}

/// One name of a `use` declaration.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Used {
    /// The name in scope; `*` for everything.
    pub(super) name: String,
    /// What it names.
    pub(super) path: Segments,
}

impl Imports {
    /// Reads the text of a file.
    pub(super) fn read(text: &str) -> Self {
        let code = without_attributes(&Source::new(text).code());
        let tokens = tokens(&code);
        let mut found = Self::default();
        let mut at = 0;
        while at < tokens.len() {
            at = found.take(&tokens, at);
        }
        found
    }

    /// Reads what begins at a token; returns where to go on.
    fn take(&mut self, tokens: &[&str], at: usize) -> usize {
        let next = |ahead: usize| tokens.get(at + ahead).copied().unwrap_or_default();
        match tokens[at] {
            "use" if next(1) != "<" => {
                return used(tokens, at + 1, &Segments::new(), &mut self.uses);
            }
            "mod" if next(2) == ";" => self.modules.push(next(1).to_owned()),
            "macro_rules" => {
                self.items.insert(next(2).to_owned());
            }
            keyword if ITEMS.contains(&keyword) => {
                self.items.insert(next(1).to_owned());
            }
            first if is_name(first) && next(1) == "::" => {
                let mut path = vec![first.to_owned()];
                let mut end = at + 1;
                while tokens.get(end) == Some(&"::")
                    && tokens.get(end + 1).is_some_and(|name| is_name(name))
                {
                    path.push(tokens[end + 1].to_owned());
                    end += 2;
                }
                if path.len() > 1 {
                    self.paths.insert(path);
                }
                return end;
            }
            _ => {}
        }
        at + 1
    }
}

/// Reads one tree of a `use` declaration; returns the position behind it.
fn used(tokens: &[&str], mut at: usize, outer: &Segments, found: &mut Vec<Used>) -> usize {
    let mut path = outer.clone();
    while let Some(token) = tokens.get(at) {
        match *token {
            "::" => at += 1,
            "{" => {
                at += 1;
                while tokens.get(at).is_some_and(|token| *token != "}") {
                    at = used(tokens, at, &path, found);
                    if tokens.get(at) == Some(&",") {
                        at += 1;
                    }
                }
                return at + 1;
            }
            "as" => {
                let name = tokens.get(at + 1).copied().unwrap_or_default().to_owned();
                found.push(Used { name, path });
                return at + 2;
            }
            "self" if !outer.is_empty() && path == *outer => at += 1,
            "," | "}" | ";" => break,
            segment => {
                path.push(segment.to_owned());
                at += 1;
            }
        }
    }
    if let Some(name) = path.last() {
        found.push(Used {
            name: name.clone(),
            path,
        });
    }
    at
}

/// The words and marks of code; `::` is one mark.
fn tokens(code: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let width = if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        let (token, after) = rest.split_at(width);
        found.push(token);
        rest = after.trim_start();
    }
    found
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_name(token: &str) -> bool {
    token
        .chars()
        .next()
        .is_some_and(|c| c.is_alphabetic() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_of_a_nested_use_has_its_whole_path() {
        let found = Imports::read("pub(crate) use a::{b::{C, D as E}, f::*, g::{self, H}};");
        let used: Vec<String> = found
            .uses
            .iter()
            .map(|used| format!("{}={}", used.name, used.path.join("::")))
            .collect();
        assert_eq!(
            used,
            ["C=a::b::C", "E=a::b::D", "*=a::f::*", "g=a::g", "H=a::g::H"]
        );
    }

    #[test]
    fn modules_items_and_paths_are_told_apart() {
        let found =
            Imports::read("mod a;\npub fn b() { crate::c::D::new(a::e) }\n#[cfg(test)]\nmod t;");
        assert_eq!(found.modules, ["a"]);
        assert!(found.items.contains("b"));
        let paths: Vec<String> = found.paths.iter().map(|path| path.join("::")).collect();
        assert_eq!(paths, ["a::e", "crate::c::D::new"]);
    }
}
