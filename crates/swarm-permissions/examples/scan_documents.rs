//! Scans documents like texts from other agents, and counts the warnings.
//! `scripts/scan-documents` passes it the documents of the dependencies.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, Write as _};

use swarm_permissions::{HandoffScan, scan_handoff};

/// Reads paths from standard input, one on each line.
fn main() -> io::Result<()> {
    let (mut documents, mut warned, mut withheld) = (0, 0, 0);
    let mut kinds: BTreeMap<String, u32> = BTreeMap::new();
    let mut out = io::stdout().lock();
    for path in io::stdin().lock().lines() {
        let path = path?;
        // Files in other encodings are not documents that an agent could report.
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        documents += 1;
        let risks = scan_handoff(&text);
        if risks.is_empty() {
            continue;
        }
        warned += 1;
        let checked = HandoffScan::default().checked(&text);
        withheld += u32::from(checked.len() < text.len() / 2);
        for risk in &risks {
            *kinds.entry(risk.to_string()).or_default() += 1;
        }
        writeln!(out, "{path}: {risks:?}")?;
    }
    writeln!(
        out,
        "{documents} documents, {warned} with a warning, {withheld} withheld"
    )?;
    for (kind, count) in kinds {
        writeln!(out, "  {kind}: {count}")?;
    }
    Ok(())
}
