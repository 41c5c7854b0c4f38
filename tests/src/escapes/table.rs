//! The table in the guide.

use std::collections::BTreeMap;

use swarm_protocol::SandboxKind;

use super::run::EscapeReport;

/// Heading of the table in `docs/guide.md`.
const HEADING: &str = "| attempt by a command | namespaces | landlock |";

/// Returns the rows of the table: whether each backend stops the attempts.
///
/// # Panics
/// If the guide has no such table.
pub fn stated_rows(guide: &str) -> BTreeMap<String, [bool; 2]> {
    let (_, table) = guide.split_once(HEADING).expect("the table");
    let rows = table.lines().skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    let cells = rows.map(|line| line.trim_matches('|').split('|').map(str::trim));
    cells
        .map(|mut cells| {
            let mut next = || cells.next().expect("a cell");
            (
                next().to_owned(),
                [next(), next()].map(|cell| cell.starts_with("stopped")),
            )
        })
        .collect()
}

/// Returns where the results differ from the table: an attempt that got through although it is
/// stopped, or none where it is possible.
pub fn disagreements(
    stated: &BTreeMap<String, [bool; 2]>,
    backend: SandboxKind,
    report: &EscapeReport,
) -> Vec<String> {
    let column = usize::from(backend == SandboxKind::Landlock);
    let mut found = Vec::new();
    for (row, through) in &report.through {
        match stated.get(*row).map(|columns| columns[column]) {
            Some(true) if !through.is_empty() => found.push(format!("{row}: {through:?}")),
            Some(false) if through.is_empty() => found.push(format!("{row}: stopped")),
            None => found.push(format!("{row}: not in the table")),
            _ => {}
        }
    }
    found
}
