//! The shell that runs a command line.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// Returns bash from the `PATH` of the hook's environment or its usual location, otherwise
/// `/bin/sh`.
pub(crate) fn shell(env: &BTreeMap<String, String>) -> PathBuf {
    let path = env.get("PATH").map_or("", String::as_str);
    let named = path
        .split(':')
        .filter(|directory| directory.starts_with('/'));
    named
        .chain(["/bin", "/usr/bin", "/usr/local/bin"])
        .map(|directory| PathBuf::from(directory).join("bash"))
        .find(|bash| bash.is_file())
        .unwrap_or_else(|| "/bin/sh".into())
}
