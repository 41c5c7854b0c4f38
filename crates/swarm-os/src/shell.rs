//! The shell that runs a command line.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// Returns bash from the `PATH` of an environment, otherwise from the usual directories, otherwise
/// `/bin/sh`.
pub fn find_shell(env: &BTreeMap<String, String>) -> PathBuf {
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
