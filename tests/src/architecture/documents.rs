//! Rules about prose: everything that pages mention must exist, and the repository root stays
//! small.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};

use super::map::ArchitecturePage;

/// Permitted entries of the repository root, in addition to dot-files.
const TOP: [&str; 13] = [
    "Cargo.toml",
    "Cargo.lock",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "LICENSE-MIT",
    "LICENSE-APACHE",
    "config",
    "crates",
    "docs",
    "scripts",
    "tests",
];

/// Returns unexpected entries of the repository root. The build directory is ignored by git.
pub fn check_top(names: &[String]) -> Vec<String> {
    names
        .iter()
        .filter(|name| !name.starts_with('.') && *name != "target" && !TOP.contains(&name.as_str()))
        .map(|name| format!("{name} does not belong in the repository root"))
        .collect()
}

/// Returns the names in a directory.
pub fn names_in(directory: &Path) -> Result<Vec<String>> {
    let entries = std::fs::read_dir(directory)
        .with_context(|| format!("{} cannot be read", directory.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    Ok(names)
}

/// Returns the crates whose documentation does not begin with the sentence in the map.
pub fn check_sentences(root: &Path, map: &ArchitecturePage) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for (name, row) in &map.crates {
        let path = root.join(&row.directory).join("src/lib.rs");
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("{} cannot be read", path.display()))?;
        found.extend(sentence_differs(name, &text, &row.sentence));
    }
    Ok(found)
}

fn sentence_differs(name: &str, text: &str, wanted: &str) -> Option<String> {
    let found = first_sentence(text);
    (found != wanted)
        .then(|| format!("{name}: docs/architecture.md says `{wanted}`, the crate says `{found}`"))
}

/// Returns the first sentence of a crate's documentation, including the part after a colon.
fn first_sentence(text: &str) -> String {
    let doc: Vec<&str> = text
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
        .map(str::trim)
        .collect();
    let doc = doc.join(" ");
    match doc.split_once(". ") {
        Some((sentence, _)) => format!("{sentence}."),
        None => doc,
    }
}

/// Returns the commands on a page: scripts, and `swarm` with its first argument.
pub fn shown_commands(page: &str) -> BTreeSet<String> {
    let mut fenced = false;
    let mut commands = BTreeSet::new();
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if fenced {
            commands.extend(command(line));
        } else {
            commands.extend(line.split('`').skip(1).step_by(2).filter_map(command));
        }
    }
    commands
}

fn command(line: &str) -> Option<String> {
    let line = line.trim().trim_start_matches("$ ");
    let mut words = line.split_whitespace();
    let program = words.next()?;
    if program.starts_with("scripts/") {
        return Some(program.to_owned());
    }
    let is_verb = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    match words.next() {
        Some(verb) if program == "swarm" && is_verb(&verb) && !verb.starts_with('-') => {
            Some(format!("swarm {verb}"))
        }
        _ => None,
    }
}

/// Returns the links of a page to missing files of the project.
pub fn check_links(root: &Path, page: &Path) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(root.join(page))
        .with_context(|| format!("{} cannot be read", page.display()))?;
    let directory = root.join(page.parent().unwrap_or(page));
    let found = links(&text)
        .filter(|link| !directory.join(link).exists())
        .map(|link| format!("{} links to {link}, which does not exist", page.display()));
    Ok(found.collect())
}

/// Returns the link targets within the project, without fragments.
fn links(page: &str) -> impl Iterator<Item = &str> {
    let targets = page
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next());
    targets
        .filter(|target| !target.contains("://"))
        .filter_map(|target| target.split('#').next())
        .filter(|target| !target.is_empty())
}

/// Returns the scripts on a page that cannot be run.
pub fn check_scripts(root: &Path, page: &str) -> Vec<String> {
    use std::os::unix::fs::PermissionsExt as _;
    shown_commands(page)
        .into_iter()
        .filter(|command| command.starts_with("scripts/"))
        .filter(|script| {
            let runnable = std::fs::metadata(root.join(script))
                .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0);
            !runnable
        })
        .map(|script| format!("{script} is mentioned but does not exist"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unexpected_file_in_the_repository_root_is_found() {
        let names = ["Cargo.toml", ".ci", "target", "notes.txt"].map(str::to_owned);
        assert_eq!(
            check_top(&names),
            ["notes.txt does not belong in the repository root"]
        );
    }

    #[test]
    fn a_crate_with_another_first_sentence_is_found() {
        let text = "//! The disk: locks,\n//! names. More.\n\nmod a;";
        assert_eq!(sentence_differs("a", text, "The disk: locks, names."), None);
        assert!(sentence_differs("a", text, "The tape.").is_some());
        assert_eq!(
            first_sentence("//! Only this\n//! one.\nmod a;"),
            "Only this one."
        );
    }

    #[test]
    fn commands_are_taken_from_blocks_and_spans() {
        let page = "Run `scripts/demo` or `swarm team create x`.\n```sh\n$ swarm run \"hi\"\nscripts/test x\nswarm --version\n```\n\
            A swarm of bees, `swarm NAME`.";
        let expected =
            ["scripts/demo", "scripts/test", "swarm run", "swarm team"].map(str::to_owned);
        assert_eq!(shown_commands(page), BTreeSet::from(expected));
    }

    #[test]
    fn links_into_the_project_are_found() {
        let page = "[a](docs/a.md#part), ![b](../b.svg), [c](https://example.org/c), [d](#here)";
        assert_eq!(links(page).collect::<Vec<_>>(), ["docs/a.md", "../b.svg"]);
    }

    #[test]
    fn a_script_that_does_not_exist_is_found() {
        let found = check_scripts(
            &super::super::workspace::root(),
            "`scripts/test` and `scripts/tset`",
        );
        assert_eq!(found, ["scripts/tset is mentioned but does not exist"]);
    }
}
