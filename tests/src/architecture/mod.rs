//! The architecture rules as functions that return violations. Each is tested here on small samples
//! and applied to the whole project by the suite.

mod dependencies;
mod documents;
mod exports;
mod files;
mod map;
mod source;
mod workspace;

pub use dependencies::check_dependencies;
pub use documents::{
    check_links, check_scripts, check_sentences, check_top, names_in, shown_commands,
};
pub use exports::check_exports;
pub use files::{
    RustFile, check_ignored, check_names, check_roots, check_silence, check_size, rust_files,
};
pub use map::{AllowedUse, ArchitecturePage, CrateRow, Uses};
pub use source::Source;
pub use workspace::{Dependency, DependencyKind, Package, packages, root};
