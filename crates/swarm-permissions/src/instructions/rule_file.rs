//! Files below `.claude/rules`: instructions whose frontmatter may limit them to certain files.

use std::path::Path;

use ignore::gitignore::GitignoreBuilder;
use swarm_protocol::split_frontmatter;

use crate::split::split_outside;

/// The parsed parts of a rule file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleFile {
    /// Patterns of the files that the rule applies to, in gitignore(5) format; empty if it always
    /// applies.
    pub paths: Vec<String>,
    /// The instructions.
    pub body: String,
}

impl RuleFile {
    /// Parses a file. `paths:` may be a list or a string separated by commas. It is not parsed as
    /// YAML, because common values such as `paths: **/*.ts` are not valid YAML.
    pub fn parse(text: &str) -> Self {
        let Some((yaml, body)) = split_frontmatter(text) else {
            return Self {
                paths: Vec::new(),
                body: text.trim().to_owned(),
            };
        };
        let mut lines = yaml.lines();
        let first = lines
            .by_ref()
            .find_map(|line| line.strip_prefix("paths:"))
            .unwrap_or_default();
        let items = lines.map_while(|line| line.trim_start().strip_prefix('-'));
        let first = first.trim().trim_start_matches('[').trim_end_matches(']');
        let paths = split_outside(['{', '}'], first, |c| c == ',')
            .chain(items)
            .map(|item| item.trim().trim_matches(['"', '\'']).to_owned())
            .filter(|item| !item.is_empty())
            .collect();
        Self { paths, body }
    }

    /// Returns whether the rule applies to a file, given its path relative to the directory that
    /// contains `.claude`.
    pub fn applies_to(paths: &[String], file: &Path) -> bool {
        let mut patterns = GitignoreBuilder::new("");
        let valid = paths
            .iter()
            .all(|path| patterns.add_line(None, path).is_ok());
        let patterns = patterns.build();
        valid
            && patterns.is_ok_and(|patterns| {
                patterns
                    .matched_path_or_any_parents(file, false)
                    .is_ignore()
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_parsed_in_every_format() {
        for (text, paths) in [
            ("Always.", &[][..]),
            ("---\ndescription: x\n---\nAlways.", &[]),
            ("---\npaths: **/*.ts\n---\nA", &["**/*.ts"]),
            (
                "---\npaths: \"src/**/*.{ts,tsx}\", lib/*\n---\nA",
                &["src/**/*.{ts,tsx}", "lib/*"],
            ),
            (
                "---\npaths:\n  - \"a/**\"\n  - b.rs\nother: x\n---\nA",
                &["a/**", "b.rs"],
            ),
            ("---\npaths: [a, 'b']\n---\nA", &["a", "b"]),
        ] {
            assert_eq!(RuleFile::parse(text).paths, paths, "{text}");
        }
        assert_eq!(RuleFile::parse("---\npaths: a\n---\n\nBody\n").body, "Body");
    }

    #[test]
    fn a_rule_applies_to_the_files_that_its_patterns_match() {
        let applies = |pattern: &str, file: &str| {
            RuleFile::applies_to(&[pattern.to_owned()], Path::new(file))
        };
        assert!(applies("**/*.ts", "src/a/b.ts"));
        assert!(applies("src/**/*.{ts,tsx}", "src/a/b.tsx"));
        assert!(applies("src/api", "src/api/a.rs"));
        assert!(applies("*.md", "docs/a.md"));
        assert!(!applies("src/**", "lib/a.ts"));
        assert!(!applies("**/*.ts", "src/a.rs"));
    }
}
