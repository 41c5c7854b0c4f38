//! What the text of instruction files says: which files count, what they import, and to which files a rule applies.

mod imports;
mod rule_file;
mod settings;

pub use imports::imports;
pub use rule_file::RuleFile;
pub use settings::InstructionSettings;
