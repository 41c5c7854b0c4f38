//! Exported names are unique: one name in two crates suggests one item but denotes two.

use std::collections::BTreeMap;
use std::path::Path;

use super::files::{RustFile, statements};
use super::source::{Source, without_attributes};

/// Returns names that several crate roots export, with the crates.
pub fn check_exports(files: &[RustFile]) -> Vec<String> {
    let mut crates: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for file in files {
        if let Some(krate) = root_of(&file.path) {
            for name in exported(&file.text) {
                crates.entry(name).or_default().push(krate);
            }
        }
    }
    let several = crates.into_iter().filter(|(_, crates)| crates.len() > 1);
    several
        .map(|(name, crates)| format!("`{name}` is exported by {}", crates.join(" and ")))
        .collect()
}

/// Returns the crate whose root is a file.
fn root_of(path: &Path) -> Option<&str> {
    let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    match parts.as_slice() {
        ["crates", krate, "src", "lib.rs"] => Some(krate),
        _ => None,
    }
}

/// Returns the names in `pub use` statements.
fn exported(root: &str) -> Vec<String> {
    let bare = without_attributes(&Source::new(root).code());
    statements(&bare)
        .filter_map(|statement| statement.strip_prefix("pub use ").map(str::to_owned))
        .flat_map(|paths| {
            let names = paths.split(['{', '}', ',']).filter_map(|path| {
                let name = path.rsplit([':', ' ']).find(|name| !name.is_empty());
                name.filter(|_| !path.ends_with("::")).map(str::to_owned)
            });
            names.collect::<Vec<_>>()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn a_name_that_two_crates_export_is_found() {
        let file = |path: &str, text: &str| RustFile {
            path: PathBuf::from(path),
            text: text.to_owned(),
        };
        let files = [
            file(
                "crates/a/src/lib.rs",
                "mod x;\npub use x::{One, y::Two,\n Four as Three};\npub use x::z::Five;\n",
            ),
            file(
                "crates/b/src/lib.rs",
                "pub(crate) use x::One;\npub use x::{Three, Four};\nuse x::Five; // pub use x::Two;\n",
            ),
            file("crates/c/src/x/lib.rs", "pub use x::Two;"),
        ];
        assert_eq!(check_exports(&files), ["`Three` is exported by a and b"]);
        assert_eq!(exported(&files[0].text), ["One", "Two", "Three", "Five"]);
    }
}
