//! A rule about `/proc`: one crate reads it, so that there is one reader of each of its files.

use std::path::Path;

use super::files::RustFile;
use super::source::Source;

/// The crate that reads `/proc`.
const READER: &str = "crates/swarm-os";

/// Files that name `/proc` without reading it, with the reason.
const EXCEPTIONS: [(&str, &str); 4] = [
    (
        "crates/swarm-permissions/src/shell/read_only.rs",
        "commands that name it are asked about",
    ),
    (
        "crates/swarm-permissions/src/shell/reach.rs",
        "it is not part of a checkout",
    ),
    (
        "crates/swarm-tools/src/files/protected.rs",
        "some of its files are refused to tools",
    ),
    (
        "crates/swarm-tools/src/files/resolve.rs",
        "its links are not followed",
    ),
];

/// Sources outside the one crate that name `/proc`, and exceptions without use.
pub fn check_process_files(files: &[RustFile]) -> Vec<String> {
    let others = |path: &Path| is_source(path) && !path.starts_with(READER);
    let sources = files.iter().filter(|file| others(&file.path));
    let naming: Vec<&Path> = sources
        .filter(|file| names_proc(&file.text))
        .map(|file| file.path.as_path())
        .collect();
    let is_exception = |path: &Path| EXCEPTIONS.iter().any(|(file, _)| path == Path::new(file));
    let strays = naming
        .iter()
        .filter(|path| !is_exception(path))
        .map(|path| format!("{} names /proc: ask swarm_os::process", path.display()));
    let is_there = |path: &str| files.iter().any(|file| file.path == Path::new(path));
    let unused = EXCEPTIONS
        .iter()
        .filter(|(path, _)| is_there(path) && !naming.contains(&Path::new(path)))
        .map(|(path, _)| format!("{path} does not name /proc, and need not be an exception"));
    strays.chain(unused).collect()
}

/// Whether a file is source of a crate, and no test.
pub(super) fn is_source(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let is_test = name.is_some_and(|name| name == "tests.rs" || name.ends_with("_tests.rs"));
    let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    matches!(parts.as_slice(), ["crates", _, "src", ..]) && !is_test && !parts.contains(&"tests")
}

/// Whether a string in the code, not in a comment or a test, is `/proc` or a path below it.
fn names_proc(text: &str) -> bool {
    Source::new(text).strings().any(|string| {
        string
            .split(|c: char| !(c.is_alphanumeric() || "/_.-{}".contains(c)))
            .any(|word| word == "/proc" || word.starts_with("/proc/"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        check_process_files(&[RustFile {
            path: path.into(),
            text: text.to_owned(),
        }])
    }

    #[test]
    fn a_reader_of_proc_outside_the_one_crate_is_found() {
        let reads = "fn a() { fs::read(format!(\"/proc/{pid}/stat\")); }";
        assert_eq!(found("crates/swarm-panes/src/a.rs", reads).len(), 1);
        assert_eq!(
            found("crates/swarm-panes/src/a.rs", "fn a() { read(\"/proc\") }").len(),
            1
        );
        assert_eq!(
            found("crates/swarm-os/src/a.rs", reads),
            Vec::<String>::new()
        );
        assert_eq!(
            found("crates/swarm-panes/tests/a.rs", reads),
            Vec::<String>::new()
        );
    }

    #[test]
    fn comments_tests_and_other_paths_do_not_count() {
        let text = "// \"/proc\"\nfn a() { \"/process\" }\n#[cfg(test)]\nmod tests { fn b() { \"/proc/1\" } }";
        assert_eq!(
            found("crates/swarm-panes/src/a.rs", text),
            Vec::<String>::new()
        );
    }

    #[test]
    fn an_exception_without_use_is_found() {
        assert_eq!(found(EXCEPTIONS[0].0, "fn a() {}").len(), 1);
        assert_eq!(
            found(EXCEPTIONS[0].0, "fn a() { \"/proc\" }"),
            Vec::<String>::new()
        );
    }
}
