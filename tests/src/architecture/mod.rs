//! The architecture rules as functions that return violations. Each is tested here on small samples
//! and applied to the whole project by the suite.

mod cycles;
mod dependencies;
mod documents;
mod exports;
mod files;
mod imports;
mod journeys;
mod map;
mod processes;
mod source;
mod variables;
mod workspace;

pub use cycles::check_cycles;
pub use dependencies::check_dependencies;
pub use documents::{
    check_links, check_scripts, check_sentences, check_top, names_in, shown_commands,
};
pub use exports::check_exports;
pub use files::{
    RustFile, check_ignored, check_names, check_roots, check_silence, check_size, rust_files,
};
pub use journeys::check_journeys;
pub use map::{AllowedUse, ArchitecturePage, CrateRow, Uses};
pub use processes::check_process_files;
pub use source::Source;
pub use variables::check_variables;
pub use workspace::{Dependency, DependencyKind, Package, packages, root};
