//! A rule about files of one crate: none may import each other in a loop.
//!
//! A module is a file. Crate roots and `mod.rs` files only re-export, so a name that is imported through one of them counts
//! as imported from the file that defines it. Methods are not followed, only paths.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::files::RustFile;
use super::imports::{Imports, Segments};

/// How many re-exports a name may pass before its search ends.
const LONGEST_SEARCH: usize = 16;

/// Groups of files that import each other in a loop, each with the names that tie its files.
pub fn check_cycles(files: &[RustFile]) -> Vec<String> {
    let roots = files.iter().filter(|file| is_root(&file.path));
    // Crates of tests may have cycles.
    let roots = roots.filter(|root| root.path.starts_with("crates"));
    roots.flat_map(|root| check_crate(root, files)).collect()
}

fn check_crate(root: &RustFile, files: &[RustFile]) -> Vec<String> {
    let imports = ModuleTree::read(root, files).imports();
    let cycles = cycles(&imports).into_iter();
    cycles.map(|cycle| describe(&cycle, &imports)).collect()
}

/// Whether a file is the root of a library.
fn is_root(path: &Path) -> bool {
    path.ends_with("src/lib.rs")
}

/// The names that one file imports from another, by both paths.
type FileImports<'a> = BTreeMap<&'a Path, BTreeMap<&'a Path, BTreeSet<String>>>;

/// The modules of a crate by their paths from its root, without those that only tests have.
struct ModuleTree<'a> {
    modules: BTreeMap<Segments, Module<'a>>,
}

struct Module<'a> {
    path: &'a Path,
    imports: Imports,
}

impl<'a> ModuleTree<'a> {
    fn read(root: &'a RustFile, files: &'a [RustFile]) -> Self {
        let by_path: BTreeMap<&Path, &RustFile> = files
            .iter()
            .map(|file| (file.path.as_path(), file))
            .collect();
        let mut modules = BTreeMap::new();
        let mut open = vec![(Segments::new(), root)];
        while let Some((name, file)) = open.pop() {
            let imports = Imports::read(&file.text);
            for child in &imports.modules {
                let candidates = module_files(&file.path, child);
                let found = candidates
                    .iter()
                    .find_map(|path| by_path.get(path.as_path()));
                if let Some(found) = found {
                    open.push((
                        [name.as_slice(), std::slice::from_ref(child)].concat(),
                        *found,
                    ));
                }
            }
            let path = file.path.as_path();
            modules.insert(name, Module { path, imports });
        }
        Self { modules }
    }

    fn imports(&self) -> FileImports<'a> {
        let mut found = FileImports::new();
        for (name, module) in &self.modules {
            if is_facade(module.path) {
                continue;
            }
            let uses = module.imports.uses.iter().map(|used| &used.path);
            for path in uses.chain(&module.imports.paths) {
                let Some((to, item)) = self.definition(name, path, 0) else {
                    continue;
                };
                if to != module.path && !is_facade(to) {
                    let names = found.entry(module.path).or_default().entry(to).or_default();
                    names.insert(item);
                }
            }
        }
        found
    }

    /// The file that defines what a path in a module names, and the name. `None` for other crates and for modules.
    fn definition(
        &self,
        from: &[String],
        path: &[String],
        depth: usize,
    ) -> Option<(&'a Path, String)> {
        let (mut at, mut rest) = self.start(from, path, depth)?;
        loop {
            let module = self.modules.get(&at)?;
            let (first, others) = rest.split_first()?;
            let child = [at.as_slice(), std::slice::from_ref(first)].concat();
            if self.modules.contains_key(&child) {
                (at, rest) = (child, others.to_vec());
                continue;
            }
            if depth < LONGEST_SEARCH
                && let Some(found) = self.re_exported(&at, module, first, others, depth)
            {
                return Some(found);
            }
            return Some((module.path, first.clone()));
        }
    }

    fn re_exported(
        &self,
        at: &[String],
        module: &Module<'a>,
        name: &str,
        others: &[String],
        depth: usize,
    ) -> Option<(&'a Path, String)> {
        let named = module.imports.uses.iter().find(|used| used.name == name);
        if let Some(used) = named {
            let path = [used.path.as_slice(), others].concat();
            return self.definition(at, &path, depth + 1);
        }
        let mut globs = module.imports.uses.iter().filter(|used| used.name == "*");
        globs.find_map(|used| {
            let (_, outer) = used.path.split_last()?;
            let path = [outer, &[name.to_owned()]].concat();
            let (file, item) = self.definition(at, &path, depth + 1)?;
            let holder = self.modules.values().find(|module| module.path == file)?;
            holder.imports.items.contains(&item).then_some((file, item))
        })
    }

    /// The module at which a path begins, and what is left of the path.
    fn start(
        &self,
        from: &[String],
        path: &[String],
        depth: usize,
    ) -> Option<(Segments, Segments)> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => Some((Segments::new(), rest.to_vec())),
            "self" => Some((from.to_vec(), rest.to_vec())),
            "super" => {
                let mut at = from.to_vec();
                at.pop()?;
                let mut rest = rest;
                while let Some(("super", more)) =
                    rest.split_first().map(|(s, more)| (s.as_str(), more))
                {
                    at.pop()?;
                    rest = more;
                }
                Some((at, rest.to_vec()))
            }
            name => {
                let child = [from, &[name.to_owned()]].concat();
                if self.modules.contains_key(&child) {
                    return Some((child, rest.to_vec()));
                }
                // A module that a `use` has brought into scope.
                let module = self.modules.get(from)?;
                let used = module.imports.uses.iter().find(|used| used.name == name)?;
                if depth >= LONGEST_SEARCH || used.path.first() == Some(first) {
                    return None;
                }
                let whole = [used.path.as_slice(), rest].concat();
                self.start(from, &whole, depth + 1)
            }
        }
    }
}

/// Whether a file only re-exports.
fn is_facade(path: &Path) -> bool {
    path.ends_with("mod.rs") || is_root(path)
}

/// Where the file of a submodule may be.
fn module_files(parent: &Path, child: &str) -> [PathBuf; 2] {
    let directory = if is_facade(parent) {
        parent.parent().unwrap_or(parent).to_owned()
    } else {
        parent.with_extension("")
    };
    [
        directory.join(format!("{child}.rs")),
        directory.join(child).join("mod.rs"),
    ]
}

/// The groups of files of which each reaches each other one.
fn cycles<'a>(imports: &FileImports<'a>) -> Vec<BTreeSet<&'a Path>> {
    let reached: BTreeMap<&Path, BTreeSet<&Path>> = imports
        .keys()
        .map(|file| (*file, reachable(file, imports)))
        .collect();
    let mut found: Vec<BTreeSet<&Path>> = Vec::new();
    for (file, others) in &reached {
        if !others.contains(file) || found.iter().any(|cycle| cycle.contains(file)) {
            continue;
        }
        let is_mutual =
            |other: &&&Path| reached.get(**other).is_some_and(|back| back.contains(file));
        found.push(others.iter().filter(is_mutual).copied().collect());
    }
    found.sort_by_key(|cycle| std::cmp::Reverse(cycle.len()));
    found
}

fn reachable<'a>(from: &Path, imports: &FileImports<'a>) -> BTreeSet<&'a Path> {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(file) = open.pop() {
        for next in imports.get(file).into_iter().flat_map(BTreeMap::keys) {
            if seen.insert(*next) {
                open.push(next);
            }
        }
    }
    seen
}

fn describe(cycle: &BTreeSet<&Path>, imports: &FileImports<'_>) -> String {
    let mut lines = vec![format!(
        "{} files import each other in a loop:",
        cycle.len()
    )];
    for from in cycle {
        for (to, names) in imports.get(from).into_iter().flatten() {
            if cycle.contains(to) {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                let (from, to) = (from.display(), to.display());
                lines.push(format!("{from} -> {to}: {}", names.join(", ")));
            }
        }
    }
    lines.join("\n    ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A crate `a` of the given files below its `src`.
    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<RustFile> = files
            .iter()
            .map(|(path, text)| RustFile {
                path: Path::new("crates/a/src").join(path),
                text: (*text).to_owned(),
            })
            .collect();
        check_cycles(&files)
    }

    #[test]
    fn two_files_in_a_loop_are_found_with_the_names_that_tie_them() {
        let cycle = found(&[
            ("lib.rs", "mod one;\nmod two;"),
            (
                "one.rs",
                "use crate::two::{Second, third};\npub struct First(Second);",
            ),
            (
                "two.rs",
                "pub struct Second;\npub fn third() -> super::one::First { todo!() }",
            ),
        ]);
        assert_eq!(
            cycle,
            ["2 files import each other in a loop:\
              \n    crates/a/src/one.rs -> crates/a/src/two.rs: Second, third\
              \n    crates/a/src/two.rs -> crates/a/src/one.rs: First"]
        );
    }

    #[test]
    fn three_files_in_a_loop_are_one_cycle() {
        let cycle = found(&[
            ("lib.rs", "mod one;\nmod two;\nmod three;\nmod leaf;"),
            ("one.rs", "use super::two::Two; use super::leaf::Leaf;"),
            ("two.rs", "use crate::three;\nfn f() { three::go() }"),
            ("three.rs", "use crate::one::One;"),
            ("leaf.rs", "pub struct Leaf;"),
        ]);
        assert_eq!(cycle.len(), 1, "{cycle:?}");
        assert!(cycle[0].starts_with("3 files"), "{cycle:?}");
        assert!(
            cycle[0].contains("two.rs -> crates/a/src/three.rs: go"),
            "{cycle:?}"
        );
        assert!(!cycle[0].contains("leaf"), "{cycle:?}");
    }

    #[test]
    fn a_name_behind_re_exports_counts_as_imported_from_its_own_file() {
        let files = [
            (
                "lib.rs",
                "mod part;\nmod user;\npub use part::{Inner as Outer, loose};",
            ),
            ("part/mod.rs", "mod inner;\npub use inner::*;"),
            (
                "part/inner.rs",
                "use crate::user::Used;\npub struct Inner;\npub fn loose() {}",
            ),
            ("user.rs", "use crate::Outer;\npub struct Used;"),
        ];
        let cycle = found(&files);
        assert_eq!(cycle.len(), 1, "{cycle:?}");
        assert!(
            cycle[0].contains("user.rs -> crates/a/src/part/inner.rs: Inner"),
            "{cycle:?}"
        );
    }

    #[test]
    fn re_exports_and_other_crates_make_no_cycle() {
        let files = [
            (
                "lib.rs",
                "mod part;\nmod user;\npub use part::Part;\npub use user::Used;",
            ),
            (
                "part/mod.rs",
                "mod inner;\nmod other;\npub use inner::Part;\nuse crate::Used;",
            ),
            (
                "part/inner.rs",
                "use super::other::Other;\npub struct Part;",
            ),
            ("part/other.rs", "use std::part::Part;\npub struct Other;"),
            ("user.rs", "use crate::part::Part;\npub struct Used;"),
        ];
        assert_eq!(found(&files), Vec::<String>::new());
    }

    #[test]
    fn imports_of_tests_make_no_cycle() {
        let files = [
            ("lib.rs", "mod one;\nmod two;\n#[cfg(test)]\nmod fake;"),
            ("one.rs", "use crate::two::Two;\npub struct One;"),
            (
                "two.rs",
                "pub struct Two;\n#[cfg(test)]\nmod tests {\n use crate::one::One;\n}\n// use crate::one::One;",
            ),
            ("fake.rs", "use crate::one::One;"),
        ];
        assert_eq!(found(&files), Vec::<String>::new());
    }
}
