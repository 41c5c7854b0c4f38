//! Agent definitions in their source formats: a Markdown file with YAML frontmatter, or JSON on the
//! command line.

mod apply;
mod json;
mod loose;
mod problem;
mod read;
mod values;
mod yaml;

pub use json::read_json;
pub use problem::DefinitionProblem;
pub(crate) use read::frontmatter_fields;
pub use read::{ReadDefinition, read_file};
pub(crate) use values::is_true;

#[cfg(test)]
mod tests;
