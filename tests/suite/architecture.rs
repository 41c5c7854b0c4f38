//! The architecture rules, applied to the whole project.

use std::path::{Path, PathBuf};

use swarm_tests::architecture::{self, ArchitecturePage, RustFile};

fn read(path: impl AsRef<Path>) -> String {
    let path = architecture::root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn map() -> ArchitecturePage {
    ArchitecturePage::parse(&read("docs/architecture.md")).unwrap()
}

fn rust_files() -> Vec<RustFile> {
    let root = architecture::root();
    let below = |directory: &str| architecture::rust_files(&root, directory).unwrap();
    [below("crates"), below("tests")].concat()
}

#[track_caller]
fn assert_none(found: &[String]) {
    assert!(found.is_empty(), "\n  {}\n", found.join("\n  "));
}

#[test]
fn every_dependency_is_listed() {
    let packages = architecture::packages().unwrap();
    assert!(
        packages.len() > 10,
        "cargo named only {} packages",
        packages.len()
    );
    assert_none(&architecture::check_dependencies(&packages, &map()));
}

#[test]
fn the_map_gives_each_crate_its_own_first_sentence() {
    assert_none(&architecture::check_sentences(&architecture::root(), &map()).unwrap());
}

#[test]
fn the_types_of_a_journey_are_in_the_files_of_their_step() {
    assert_none(&architecture::check_journeys(
        &read("docs/architecture.md"),
        &rust_files(),
    ));
}

#[test]
fn no_file_is_above_the_ceiling() {
    assert_none(&architecture::check_size(&rust_files()));
}

#[test]
fn crate_roots_only_re_export() {
    assert_none(&architecture::check_roots(&rust_files()));
}

#[test]
fn no_name_is_exported_by_two_crates() {
    assert_none(&architecture::check_exports(&rust_files()));
}

#[test]
fn no_files_of_one_crate_import_each_other_in_a_loop() {
    assert_none(&architecture::check_cycles(&rust_files()));
}

#[test]
fn only_swarm_os_reads_what_the_kernel_says_about_processes() {
    assert_none(&architecture::check_process_files(&rust_files()));
}

#[test]
fn the_settings_know_all_variables_of_the_program() {
    assert_none(&architecture::check_variables(&rust_files()));
}

#[test]
fn no_module_has_a_name_that_attracts_everything() {
    assert_none(&architecture::check_names(&rust_files()));
}

#[test]
fn libraries_neither_print_nor_read_the_environment() {
    assert_none(&architecture::check_silence(&rust_files()));
}

#[test]
fn every_test_is_run() {
    assert_none(&architecture::check_ignored(&rust_files()));
}

#[test]
fn the_top_directory_contains_only_listed_entries() {
    let names = architecture::names_in(&architecture::root()).unwrap();
    assert_none(&architecture::check_top(&names));
}

/// README and everything in `docs/` that is prose, relative to the root.
fn pages() -> Vec<PathBuf> {
    let names = architecture::names_in(&architecture::root().join("docs")).unwrap();
    let docs = names
        .iter()
        .filter(|name| Path::new(name).extension().is_some_and(|end| end == "md"));
    let docs = docs.map(|name| Path::new("docs").join(name));
    docs.chain([PathBuf::from("README.md"), PathBuf::from("CHANGELOG.md")])
        .collect()
}

#[test]
fn scripts_that_pages_show_exist() {
    for page in pages() {
        let text = read(&page);
        assert_none(&architecture::check_scripts(&architecture::root(), &text));
    }
}

#[test]
fn links_between_pages_lead_somewhere() {
    for page in pages() {
        assert_none(&architecture::check_links(&architecture::root(), &page).unwrap());
    }
}
