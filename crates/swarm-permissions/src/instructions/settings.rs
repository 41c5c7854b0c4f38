//! Settings of instruction files.

use std::path::{Path, PathBuf};

use globset::GlobBuilder;
use serde::{Deserialize, Serialize};

/// The settings `instructions.*` and the trusted repository.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InstructionSettings {
    /// File names to look for in each directory, in order of preference: only the first existing
    /// one is read.
    pub files: Vec<String>,
    /// Globs of absolute paths that are never read.
    pub exclude: Vec<String>,
    /// The top of the trusted repository. Only its files may import files from outside of it.
    pub trusted: Option<PathBuf>,
}

impl InstructionSettings {
    /// Returns whether a file is excluded. An invalid glob excludes nothing; see
    /// [`Self::problems`].
    pub fn excludes(&self, path: &Path) -> bool {
        let globs = self.exclude.iter().filter_map(|glob| parse(glob).ok());
        globs
            .map(|glob| glob.compile_matcher())
            .any(|glob| glob.is_match(path))
    }

    /// Returns messages about invalid settings.
    pub fn problems(&self) -> Vec<String> {
        let errors = self.exclude.iter().filter_map(|glob| parse(glob).err());
        errors
            .map(|error| format!("instructions.exclude: {error}"))
            .collect()
    }
}

fn parse(glob: &str) -> Result<globset::Glob, globset::Error> {
    GlobBuilder::new(glob).literal_separator(true).build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_excludes_paths_and_a_bad_one_is_reported() {
        let settings = InstructionSettings {
            exclude: vec!["/repo/vendor/**".to_owned(), "/repo/[".to_owned()],
            ..InstructionSettings::default()
        };
        assert!(settings.excludes(Path::new("/repo/vendor/a/CLAUDE.md")));
        assert!(!settings.excludes(Path::new("/repo/CLAUDE.md")));
        assert_eq!(settings.problems().len(), 1);
    }
}
