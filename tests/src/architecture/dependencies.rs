//! Dependencies between the workspace crates, and permitted uses of external packages.

use super::map::{ArchitecturePage, Uses};
use super::workspace::{Dependency, DependencyKind, Package};

/// The package of this harness, which may use everything that tests may use.
const TESTS: &str = "swarm-tests";
/// The test support that the tests of every crate may use.
const TEST_KITS: [&str; 2] = ["swarm-testkit", "swarm-hubkit"];

/// Returns every dependency that the map does not allow, and every unused row of the map.
pub fn check_dependencies(packages: &[Package], map: &ArchitecturePage) -> Vec<String> {
    let mut found = Vec::new();
    for package in packages {
        match map.crates.get(&package.name) {
            None => found.push(format!(
                "{} is not in the table of crates in docs/architecture.md",
                package.name
            )),
            Some(row) if !package.directory.ends_with(&row.directory) => found.push(format!(
                "{} lives in {}, and docs/architecture.md says {}",
                package.name,
                package.directory.display(),
                row.directory
            )),
            Some(row) => found.extend(
                package
                    .dependencies
                    .iter()
                    .filter_map(|dependency| complaint(package, dependency, &row.uses, map)),
            ),
        }
    }
    found.extend(rows_without_use(packages, map));
    found
}

fn complaint(
    package: &Package,
    dependency: &Dependency,
    uses: &Uses,
    map: &ArchitecturePage,
) -> Option<String> {
    let (from, to) = (&package.name, &dependency.package);
    if map.crates.contains_key(to) {
        let allowed = match uses {
            _ if TEST_KITS.contains(&to.as_str()) => {
                dependency.kind == DependencyKind::Dev || from == TESTS
            }
            Uses::All => true,
            Uses::Some(names) => names.contains(to),
        };
        return (!allowed)
            .then(|| format!("{from} may not use {to}: docs/architecture.md does not list it"));
    }
    let Some(allowed) = map.packages.get(to) else {
        return Some(format!(
            "{from} uses {to}, which the table of packages in docs/architecture.md does not explain"
        ));
    };
    let is_test = dependency.kind == DependencyKind::Dev || from == TESTS;
    let inside = allowed.anywhere || allowed.crates.contains(from) || (allowed.tests && is_test);
    (!inside).then(|| {
        format!(
            "{from} may not use {to}: it belongs in {:?}",
            allowed.crates
        )
    })
}

fn rows_without_use(packages: &[Package], map: &ArchitecturePage) -> Vec<String> {
    let crates = map
        .crates
        .keys()
        .filter(|name| !packages.iter().any(|package| &package.name == *name))
        .map(|name| format!("docs/architecture.md names the crate {name}, which does not exist"));
    let used = |name: &String| {
        packages
            .iter()
            .flat_map(|package| &package.dependencies)
            .any(|dependency| &dependency.package == name)
    };
    let unused = map
        .packages
        .keys()
        .filter(|name| !used(name))
        .map(|name| format!("docs/architecture.md explains {name}, which no crate uses"));
    crates.chain(unused).collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    const PAGE: &str = "## Crates\n| a | b | c | d |\n|--|--|--|--|\n\
        | `swarm-os` | `crates/swarm-os` | Disk. | – |\n\
        | `swarm-store` | `crates/swarm-store` | Store. | os |\n\
        ## Dependencies\n| a | b | c |\n|--|--|--|\n\
        | `serde` | anywhere | JSON. |\n| `fd-lock` | os | Locks. |\n| `tempfile` | os, tests | Names. |\n";

    fn violations(store_uses: &[(&str, DependencyKind)], fs_uses: &[&str]) -> Vec<String> {
        let package = |name: &str, uses: Vec<(&str, DependencyKind)>| Package {
            name: name.to_owned(),
            directory: PathBuf::from(format!("/x/crates/{name}")),
            dependencies: uses
                .into_iter()
                .map(|(package, kind)| Dependency {
                    package: package.to_owned(),
                    kind,
                })
                .collect(),
        };
        let fs = ["serde", "fd-lock", "tempfile"]
            .iter()
            .chain(fs_uses)
            .map(|name| (*name, DependencyKind::Normal))
            .collect();
        let packages = [
            package("swarm-os", fs),
            package("swarm-store", store_uses.to_vec()),
        ];
        check_dependencies(&packages, &ArchitecturePage::parse(PAGE).unwrap())
    }

    #[test]
    fn an_allowed_dependency_passes() {
        use DependencyKind::{Dev, Normal};
        let uses = [("swarm-os", Normal), ("serde", Normal), ("tempfile", Dev)];
        assert_eq!(violations(&uses, &[]), Vec::<String>::new());
    }

    #[test]
    fn an_unlisted_dependency_is_found_even_in_tests() {
        let found = violations(&[], &["swarm-store"]);
        assert_eq!(
            found,
            ["swarm-os may not use swarm-store: docs/architecture.md does not list it"]
        );
    }

    #[test]
    fn a_package_outside_its_listed_crates_is_found() {
        let found = violations(&[("fd-lock", DependencyKind::Normal)], &[]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("swarm-store may not use fd-lock"));
        let found = violations(&[("tempfile", DependencyKind::Normal)], &[]);
        assert_eq!(found.len(), 1, "{found:?}");
        let found = violations(&[("fd-lock", DependencyKind::Dev)], &[]);
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn crates_and_packages_missing_from_the_map_are_found() {
        let found = violations(&[("left-pad", DependencyKind::Normal)], &[]);
        assert!(found[0].contains("left-pad"), "{found:?}");
        let map = ArchitecturePage::parse(PAGE).unwrap();
        let found = check_dependencies(&[], &map);
        assert_eq!(
            found.len(),
            5,
            "two unused crates and three unused packages: {found:?}"
        );
    }
}
