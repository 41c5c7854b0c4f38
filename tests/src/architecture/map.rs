//! Parses the tables of `docs/architecture.md`: permitted dependencies between crates and permitted
//! uses of external packages. The page is the only definition of both.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};

/// Heading of the table of crates.
const CRATES: &str = "## Crates";
/// Heading of the table of external packages.
const PACKAGES: &str = "## Dependencies";

/// Row of a crate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrateRow {
    /// Directory below `crates/`, or `tests`.
    pub directory: String,
    /// First sentence of its documentation.
    pub sentence: String,
    /// Workspace crates that it may use.
    pub uses: Uses,
}

/// Workspace crates that a crate may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Uses {
    /// All crates.
    All,
    /// These crates, by package name.
    Some(BTreeSet<String>),
}

/// Permitted uses of an external package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedUse {
    /// Permitted in every crate.
    pub anywhere: bool,
    /// Permitted in tests: dev-dependencies of every crate, and the tests package.
    pub tests: bool,
    /// Permitted in these crates, by package name.
    pub crates: BTreeSet<String>,
}

/// The two tables of the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchitecturePage {
    /// Crates by package name.
    pub crates: BTreeMap<String, CrateRow>,
    /// External packages by name.
    pub packages: BTreeMap<String, AllowedUse>,
}

impl ArchitecturePage {
    /// Parses the page.
    ///
    /// # Errors
    /// If a table is missing or a row is malformed.
    pub fn parse(page: &str) -> Result<Self> {
        let mut crates = BTreeMap::new();
        for row in table(page, CRATES)? {
            let [name, directory, sentence, uses] = row.as_slice() else {
                bail!(
                    "a row under `{CRATES}` has {} cells, not 4: {row:?}",
                    row.len()
                );
            };
            let row = CrateRow {
                directory: plain(directory),
                sentence: sentence.clone(),
                uses: parse_uses(uses),
            };
            crates.insert(plain(name), row);
        }
        let mut packages = BTreeMap::new();
        for row in table(page, PACKAGES)? {
            let [names, places, _why] = row.as_slice() else {
                bail!(
                    "a row under `{PACKAGES}` has {} cells, not 3: {row:?}",
                    row.len()
                );
            };
            for name in list(names) {
                packages.insert(name, parse_allowed_use(places));
            }
        }
        Ok(Self { crates, packages })
    }
}

fn parse_uses(cell: &str) -> Uses {
    match cell {
        "all" => Uses::All,
        "–" => Uses::Some(BTreeSet::new()),
        _ => Uses::Some(list(cell).map(|word| package_name(&word)).collect()),
    }
}

fn parse_allowed_use(cell: &str) -> AllowedUse {
    let mut allowed = AllowedUse {
        anywhere: false,
        tests: false,
        crates: BTreeSet::new(),
    };
    for word in list(cell) {
        match word.as_str() {
            "anywhere" => allowed.anywhere = true,
            "tests" => allowed.tests = true,
            _ => {
                allowed.crates.insert(package_name(&word));
            }
        }
    }
    allowed
}

/// Adds the prefix `swarm-` that tables omit; the package of the command line is `swarm` itself.
fn package_name(short: &str) -> String {
    match short {
        "cli" => "swarm".to_owned(),
        _ => format!("swarm-{short}"),
    }
}

fn plain(cell: &str) -> String {
    cell.trim_matches('`').to_owned()
}

fn list(cell: &str) -> impl Iterator<Item = String> {
    cell.split(',').map(|word| plain(word.trim()))
}

/// Returns the rows of the first table under a heading, without its header.
fn table(page: &str, heading: &str) -> Result<Vec<Vec<String>>> {
    let (_, section) = page
        .split_once(&format!("{heading}\n"))
        .with_context(|| format!("docs/architecture.md has no heading `{heading}`"))?;
    let section = section.split("\n## ").next().unwrap_or(section);
    let rows: Vec<Vec<String>> = section
        .lines()
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'))
        .skip(2)
        .map(cells)
        .collect();
    if rows.is_empty() {
        bail!("docs/architecture.md has no table under `{heading}`");
    }
    Ok(rows)
}

/// Returns the cells of a table row.
pub(super) fn cells(line: &str) -> Vec<String> {
    let inner = line.trim().trim_start_matches('|').trim_end_matches('|');
    inner
        .split('|')
        .map(|cell| cell.trim().to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Architecture\n\n## Crates\n\nText.\n\n| crate | directory | sentence | uses |\n|---|---|---|---|\n\
        | `swarm-os` | `crates/swarm-os` | The disk. | – |\n\
        | `swarm-store` | `crates/swarm-store` | The store. | os, protocol |\n\
        | `swarm` | `crates/swarm-cli` | The commands. | all |\n\n\
        ## Dependencies\n\n| package | used in | why |\n|---|---|---|\n\
        | `serde`, `serde_json` | anywhere | JSON. |\n| `tempfile` | os, tests | Names. |\n\n## More\n";

    #[test]
    fn both_tables_are_parsed() {
        let map = ArchitecturePage::parse(PAGE).unwrap();
        assert_eq!(map.crates["swarm"].uses, Uses::All);
        assert_eq!(map.crates["swarm-os"].uses, Uses::Some(BTreeSet::new()));
        let expected = BTreeSet::from(["swarm-os".to_owned(), "swarm-protocol".to_owned()]);
        assert_eq!(map.crates["swarm-store"].uses, Uses::Some(expected));
        assert_eq!(map.crates["swarm-store"].directory, "crates/swarm-store");
        assert!(map.packages["serde_json"].anywhere);
        let tempfile = &map.packages["tempfile"];
        assert!(tempfile.tests && !tempfile.anywhere && tempfile.crates.contains("swarm-os"));
    }

    #[test]
    fn a_page_without_its_tables_is_rejected() {
        assert!(ArchitecturePage::parse("# Architecture\n").is_err());
        assert!(ArchitecturePage::parse(&PAGE.replace("| os, protocol |", "|")).is_err());
    }
}
