//! The scan of texts from other agents warns about few ordinary documents.
#![allow(clippy::unwrap_used, reason = "a test ends with a panic")]

use std::path::{Path, PathBuf};

use swarm_permissions::{HandoffScan, scan_handoff};

/// Documents of this repository that quote tags or attacks.
const QUOTING: [&str; 9] = [
    "config/prompts/agent-program.md",
    "config/prompts/coordinator.md",
    "config/prompts/lead.md",
    "config/prompts/teammate.md",
    "config/prompts/tools/Agent-coordinator.md",
    "config/prompts/tools/SendMessage-coordinator.md",
    "docs/formats.md",
    "docs/guide.md",
    "docs/scenarios.md",
];

fn collect(directory: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, into);
        } else {
            into.push(path);
        }
    }
}

#[test]
fn ordinary_documents_pass_unchanged() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let top = top.canonicalize().unwrap();
    let mut documents = Vec::new();
    for directory in [
        "crates/swarm-permissions/tests/documents",
        "docs",
        "config/prompts",
    ] {
        collect(&top.join(directory), &mut documents);
    }
    let mut warned = Vec::new();
    for path in &documents {
        // Pictures among the documents are not texts.
        let Ok(text) = std::fs::read_to_string(path) else {
            continue;
        };
        if scan_handoff(&text).is_empty() {
            assert_eq!(HandoffScan::Withhold.checked(&text), text);
        } else {
            let checked = HandoffScan::On.checked(&text);
            assert!(checked.lines().count() > text.lines().count(), "{checked}");
            warned.push(path.strip_prefix(&top).unwrap().display().to_string());
        }
    }
    warned.sort_unstable();
    assert_eq!(warned, QUOTING);
    assert!(documents.len() > 40, "{}", documents.len());
}
