//! Rules about files: maximum length, contents of crate roots, module names, and forbidden actions
//! of libraries.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::source::{Source, without_attributes};

/// Maximum number of lines before the tests.
const CEILING: usize = 800;

/// Module names that attract unrelated code.
const FORBIDDEN: [&str; 8] = [
    "utils", "util", "helpers", "helper", "common", "manager", "misc", "shared",
];

/// Forbidden actions of libraries, with the reason in the message.
const NOISE: [(&str, &str); 9] = [
    ("env::var", "reads the environment"),
    ("env::args", "reads the command line"),
    ("env::home_dir", "looks up a home directory"),
    ("env::temp_dir", "reads the environment"),
    ("println!", "prints"),
    ("eprintln!", "prints"),
    ("print!", "prints"),
    ("eprint!", "prints"),
    ("dbg!", "prints"),
];

/// A Rust file of the project.
#[derive(Debug, Clone)]
pub struct RustFile {
    /// Path relative to the repository root.
    pub path: PathBuf,
    /// Text of the file.
    pub text: String,
}

/// Returns every Rust file below a directory of the project, sorted by path.
pub fn rust_files(root: &Path, below: &str) -> Result<Vec<RustFile>> {
    let mut files = Vec::new();
    let mut directories = vec![root.join(below)];
    while let Some(directory) = directories.pop() {
        let entries = std::fs::read_dir(&directory)
            .with_context(|| format!("{} cannot be read", directory.display()))?;
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path)
                    .with_context(|| format!("{} cannot be read", path.display()))?;
                let path = path.strip_prefix(root).unwrap_or(&path).to_owned();
                files.push(RustFile { path, text });
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// Returns files that are too long.
pub fn check_size(files: &[RustFile]) -> Vec<String> {
    files
        .iter()
        .map(|file| (file, Source::new(&file.text).lines_before_tests()))
        .filter(|(_, lines)| *lines > CEILING)
        .map(|(file, lines)| {
            let path = file.path.display();
            format!("{path} has {lines} lines before its tests, more than {CEILING}: split it by subject")
        })
        .collect()
}

/// Returns crate roots and `mod.rs` files that contain more than modules and re-exports.
pub fn check_roots(files: &[RustFile]) -> Vec<String> {
    let roots = files.iter().filter(|file| {
        let name = file.path.file_name().unwrap_or_default();
        name == "mod.rs"
            || (name == "lib.rs" && file.path.parent().is_some_and(|f| f.ends_with("src")))
    });
    roots
        .filter_map(|file| {
            let bare = without_attributes(&Source::new(&file.text).code());
            let stray = statements(&bare).find(|statement| !is_re_export(statement))?;
            let path = file.path.display();
            Some(format!(
                "{path} contains more than modules and re-exports: `{stray}`"
            ))
        })
        .collect()
}

/// Returns the pieces that end in `;`, and the rest after the last one.
pub(super) fn statements(code: &str) -> impl Iterator<Item = String> {
    code.split(';')
        .map(|piece| piece.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|piece| !piece.is_empty())
}

fn is_re_export(statement: &str) -> bool {
    let item = match statement.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(')').map_or(rest, |(_, item)| item),
        Some(rest) => rest,
        None => statement,
    };
    let item = item.trim_start();
    item.starts_with("use ") || (item.starts_with("mod ") && !item.contains('{'))
}

/// Returns modules with a meaningless name.
pub fn check_names(files: &[RustFile]) -> Vec<String> {
    files
        .iter()
        .filter_map(|file| {
            let bad = file.path.components().find_map(|part| {
                let name = Path::new(part.as_os_str()).file_stem()?.to_str()?;
                is_forbidden(name).then(|| name.to_owned())
            });
            let path = file.path.display();
            Some(format!(
                "{path}: the module name `{}` is not specific",
                bad?
            ))
        })
        .collect()
}

fn is_forbidden(name: &str) -> bool {
    FORBIDDEN.contains(&name)
        || ["_utils", "_helpers", "_manager"]
            .iter()
            .any(|end| name.ends_with(end))
}

/// Returns libraries that print or read the environment.
pub fn check_silence(files: &[RustFile]) -> Vec<String> {
    let mut found = Vec::new();
    for file in files.iter().filter(|file| is_silent_library(&file.path)) {
        let code = Source::new(&file.text).code();
        for (number, line) in code.lines().enumerate() {
            let noise = NOISE.iter().find(|(word, _)| contains_word(line, word));
            if let Some((word, what)) = noise {
                let (path, line) = (file.path.display(), number + 1);
                found.push(format!("{path}:{line}: a library {what} (`{word}`)"));
            }
        }
    }
    found
}

/// Returns whether a file is a source of a library crate: all except the command line's and files
/// that contain only tests or examples.
fn is_silent_library(path: &Path) -> bool {
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    matches!(parts.as_slice(), ["crates", krate, "src", ..] if *krate != "swarm-cli")
        && !is_test_file(name)
        && !parts.contains(&"tests")
}

fn is_test_file(name: &str) -> bool {
    name == "tests.rs" || name.ends_with("_tests.rs")
}

/// Returns whether a line contains a word that is not the end of a longer one: `print!` is not in
/// `eprint!`.
fn contains_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

/// Returns ignored tests that are never run. A test that plays another process is run by its own
/// file, which passes `--ignored` to its own test program, or by `swarm_testkit::Child`.
pub fn check_ignored(files: &[RustFile]) -> Vec<String> {
    files
        .iter()
        .filter(|file| Source::new(&file.text).has_ignored_test())
        .filter(|file| {
            let runs = ["\"--ignored\"", "swarm_testkit::play_child()"];
            !runs.iter().any(|run| file.text.contains(run))
        })
        .map(|file| {
            format!(
                "{} has an ignored test that is never run",
                file.path.display()
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> [RustFile; 1] {
        [RustFile {
            path: PathBuf::from(path),
            text: text.to_owned(),
        }]
    }

    #[test]
    fn a_long_file_is_found_and_its_tests_do_not_count() {
        let long = "fn a() {}\n".repeat(801);
        assert_eq!(check_size(&file("crates/a/src/b.rs", &long)).len(), 1);
        let tests = format!(
            "fn a() {{}}\n#[cfg(test)]\nmod tests {{\n{}}}\n",
            "fn t() {}\n".repeat(900)
        );
        assert_eq!(
            check_size(&file("crates/a/src/b.rs", &tests)),
            Vec::<String>::new()
        );
    }

    #[test]
    fn code_in_a_crate_root_is_found() {
        let good = "//! Doc.\n#![allow(a, reason = \"fn\")]\nmod a;\npub(crate) mod b;\npub use a::{B, C};\n\
            #[cfg(test)]\nmod tests {\n fn t() {}\n}\n";
        assert_eq!(
            check_roots(&file("crates/a/src/lib.rs", good)),
            Vec::<String>::new()
        );
        for bad in [
            "fn a() {}",
            "mod a { fn b() {} }",
            "pub use a::B;\nconst X: u8 = 1;",
        ] {
            assert_eq!(
                check_roots(&file("crates/a/src/lib.rs", bad)).len(),
                1,
                "{bad}"
            );
            assert_eq!(
                check_roots(&file("crates/a/src/x/mod.rs", bad)).len(),
                1,
                "{bad}"
            );
            assert_eq!(
                check_roots(&file("crates/a/src/x.rs", bad)).len(),
                0,
                "{bad}"
            );
        }
    }

    #[test]
    fn a_meaningless_name_is_found() {
        for bad in [
            "crates/a/src/utils.rs",
            "crates/a/src/common/b.rs",
            "crates/a/src/pane_helpers.rs",
        ] {
            assert_eq!(check_names(&file(bad, "")).len(), 1, "{bad}");
        }
        assert_eq!(
            check_names(&file("crates/a/src/commonplace.rs", "")).len(),
            0
        );
    }

    #[test]
    fn a_library_that_prints_is_found() {
        for bad in [
            "std::env::var(\"HOME\")",
            "println!(\"x\")",
            "eprint!(\"x\")",
            "env::vars_os()",
        ] {
            let text = format!("fn a() {{ {bad}; }}");
            assert_eq!(
                check_silence(&file("crates/swarm-os/src/a.rs", &text)).len(),
                1,
                "{bad}"
            );
            for fine in [
                "crates/swarm-cli/src/a.rs",
                "crates/swarm-os/src/a_tests.rs",
                "crates/swarm-os/tests/a.rs",
            ] {
                assert_eq!(check_silence(&file(fine, &text)).len(), 0, "{fine}");
            }
        }
        let quiet = "fn a() { my_println!(); } // println!\n#[cfg(test)]\nmod tests { fn t() { println!(); } }";
        assert_eq!(
            check_silence(&file("crates/swarm-os/src/a.rs", quiet)),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_test_that_is_never_run_is_found() {
        let ignored = "#[cfg(test)]\nmod tests {\n #[test]\n #[ignore = \"slow\"]\n fn t() {}\n}";
        assert_eq!(check_ignored(&file("crates/a/src/b.rs", ignored)).len(), 1);
        assert_eq!(
            check_ignored(&file("crates/a/src/b.rs", "// #[ignore]")).len(),
            0
        );
    }
}
