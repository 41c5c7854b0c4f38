//! A rule about environment variables: the settings know all of ours, so that none is taken for a
//! misspelled setting.

use std::collections::BTreeSet;
use std::path::Path;

use super::files::RustFile;
use super::processes::is_source;
use super::source::Source;

/// The file with the variables that are not settings.
const OTHERS: &str = "crates/swarm-config/src/settings/variables.rs";

/// The file with the keys of the settings.
const KEYS: &str = "crates/swarm-config/src/settings/keys.rs";

/// Returns the variables in sources that are neither settings nor in the list of the others.
pub fn check_variables(files: &[RustFile]) -> Vec<String> {
    let strings = |path: &str| -> BTreeSet<String> {
        let named = files.iter().filter(|file| file.path == Path::new(path));
        let named = named.flat_map(|file| Source::new(&file.text).strings().collect::<Vec<_>>());
        named.collect()
    };
    let mut known = strings(OTHERS);
    let settings = strings(KEYS);
    known.extend(settings.iter().map(|key| variable_of(key)));
    let mut found = Vec::new();
    for file in files.iter().filter(|file| is_source(&file.path)) {
        let source = Source::new(&file.text);
        let unknown = source.strings().filter(|name| is_ours(name));
        let unknown = unknown.filter(|name| !known.contains(name));
        found.extend(
            unknown
                .map(|name| format!("{} names {name}: list it in {OTHERS}", file.path.display())),
        );
    }
    found
}

fn variable_of(key: &str) -> String {
    format!("SWARM_{}", key.replace('.', "_").to_uppercase())
}

fn is_ours(name: &str) -> bool {
    let rest = name.strip_prefix("SWARM_").unwrap_or_default();
    !rest.is_empty() && rest.chars().all(|c| c.is_ascii_uppercase() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_that_the_settings_do_not_know_is_found() {
        let file = |path: &str, text: &str| RustFile {
            path: path.into(),
            text: text.to_owned(),
        };
        let files = [
            file(OTHERS, "const OTHERS: [&str; 1] = [\"SWARM_TEAM\"];"),
            file(KEYS, "const KEY: &str = \"tmux.place\";"),
            file(
                "crates/swarm-os/src/a.rs",
                "fn a() { [\"SWARM_TEAM\", \"SWARM_TMUX_PLACE\", \"SWARM_\", \"SWARM_TEAM=a\"]; }",
            ),
            file("crates/swarm-os/src/b.rs", "const B: &str = \"SWARM_B\";"),
            file("crates/swarm-os/tests/c.rs", "const C: &str = \"SWARM_C\";"),
        ];
        let found = check_variables(&files);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("SWARM_B"), "{found:?}");
    }
}
