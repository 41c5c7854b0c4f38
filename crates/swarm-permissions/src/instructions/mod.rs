//! The content of instruction files: which files are read, what they import, and to which files a
//! rule applies.

mod imports;
mod rule_file;
mod settings;

pub use imports::imports;
pub use rule_file::RuleFile;
pub use settings::InstructionSettings;
