//! The content of a file rule: a gitignore-like pattern.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::behavior::Behavior;
use crate::Anchors;

/// The base of a path pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Anchor {
    /// `//etc/**`: the root of the file system.
    Root,
    /// `~/notes/**`: the user's home directory.
    Home,
    /// `/src/**`: the working directory. Deny and ask rules also apply to the absolute path with
    /// this spelling, because users often mean that.
    Top,
    /// `src/**`, `./src/**`, or `*.env` at any depth: the working directory.
    Directory,
}

/// A gitignore-like path pattern. A matching directory includes everything below it.
#[derive(Debug, Clone)]
pub(crate) struct PathPattern {
    anchor: Anchor,
    relative: String,
    globs: GlobSet,
}

/// The base directories of relative patterns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bases<'a> {
    pub(crate) cwd: &'a Path,
    pub(crate) anchors: &'a Anchors,
    pub(crate) home: Option<&'a Path>,
}

impl<'a> Bases<'a> {
    /// Returns the base directories of a relative pattern in a rule of the list `behavior`.
    fn directories(self, behavior: Behavior) -> impl Iterator<Item = &'a Path> {
        let Anchors { above, grants } = self.anchors;
        let grants = grants.as_deref();
        let restricts = behavior != Behavior::Allow;
        let own = Some(self.cwd).filter(|_| restricts || grants.is_none());
        let above = above.iter().filter(move |_| restricts);
        own.into_iter()
            .chain(grants)
            .chain(above.map(std::path::PathBuf::as_path))
    }
}

impl PathPattern {
    /// Parses the content of a file rule. The error says what is wrong.
    pub(crate) fn parse(content: &str) -> Result<Self, String> {
        let content = content.trim();
        let (anchor, rest) = if let Some(rest) = content.strip_prefix("//") {
            (Anchor::Root, rest)
        } else if let Some(rest) = content.strip_prefix("~/") {
            (Anchor::Home, rest)
        } else if let Some(rest) = content.strip_prefix('/') {
            (Anchor::Top, rest)
        } else {
            (Anchor::Directory, content)
        };
        if rest.starts_with('!') {
            return Err("negated patterns are not supported; use a rule in the other list".into());
        }
        let anchored = anchor != Anchor::Directory || rest.trim_end_matches('/').contains('/');
        let rest = rest
            .strip_prefix("./")
            .unwrap_or(rest)
            .trim_end_matches('/');
        if rest.split('/').any(|part| part == "..") {
            return Err(
                "`..` is not supported in a pattern; use `//` and the absolute path".into(),
            );
        }
        let relative = match (rest, anchored) {
            ("" | "." | "**", _) => "**".to_owned(),
            (rest, true) => rest.to_owned(),
            (rest, false) => format!("**/{rest}"),
        };
        let globs = compile(&relative).map_err(|error| error.to_string())?;
        Ok(Self {
            anchor,
            relative,
            globs,
        })
    }

    /// Returns whether an absolute path without `.` and `..` matches, for a rule of the list
    /// `behavior`.
    pub(crate) fn matches(&self, path: &Path, bases: Bases<'_>, behavior: Behavior) -> bool {
        let under = |base: &Path| {
            path.strip_prefix(base)
                .is_ok_and(|rest| self.globs.is_match(rest))
        };
        match self.anchor {
            Anchor::Root => under(Path::new("/")),
            Anchor::Home => bases.home.is_some_and(under),
            Anchor::Directory => bases.directories(behavior).any(under),
            Anchor::Top => {
                let restricts = behavior != Behavior::Allow;
                bases.directories(behavior).any(under) || (restricts && under(Path::new("/")))
            }
        }
    }

    /// Returns whether the pattern contains exactly this name as a component.
    pub(crate) fn spells(&self, name: &str) -> bool {
        self.relative.split('/').any(|component| component == name)
    }
}

fn compile(relative: &str) -> Result<GlobSet, globset::Error> {
    let mut set = GlobSetBuilder::new();
    for pattern in [relative.to_owned(), format!("{relative}/**")] {
        set.add(
            GlobBuilder::new(&pattern)
                .literal_separator(true)
                .backslash_escape(true)
                .build()?,
        );
    }
    set.build()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, path: &str, behavior: Behavior) -> bool {
        let bases = Bases {
            cwd: Path::new("/work"),
            anchors: Anchors::NONE,
            home: Some(Path::new("/home/dev")),
        };
        PathPattern::parse(pattern)
            .unwrap()
            .matches(Path::new(path), bases, behavior)
    }

    #[test]
    fn patterns_match_like_gitignore() {
        for (pattern, path, fits) in [
            ("src/**", "/work/src/a/b.rs", true),
            ("src/**", "/work/lib/src/a.rs", false),
            ("src/**", "/elsewhere/src/a.rs", false),
            ("./src/**", "/work/src/a.rs", true),
            ("/src/**", "/work/src/a.rs", true),
            ("/src/**", "/src/a.rs", false),
            ("*.env", "/work/a/b/prod.env", true),
            ("*.env", "/prod.env", false),
            (".env", "/work/deep/.env", true),
            ("secrets", "/work/x/secrets/key.pem", true),
            ("secrets/", "/work/x/secrets/key.pem", true),
            ("src/*.rs", "/work/src/a.rs", true),
            ("src/*.rs", "/work/src/deep/a.rs", false),
            ("src/**/*.rs", "/work/src/deep/er/a.rs", true),
            ("src/**/*.rs", "/work/src/a.rs", true),
            ("//etc/**", "/etc/passwd", true),
            ("//etc/passwd", "/etc/passwd", true),
            ("~/notes/**", "/home/dev/notes/a", true),
            ("~/notes/**", "/home/other/notes/a", false),
            ("**", "/work/a/b", true),
            (".", "/work/a/b", true),
            ("**", "/etc/passwd", false),
        ] {
            assert_eq!(
                matches(pattern, path, Behavior::Allow),
                fits,
                "{pattern} on {path}"
            );
        }
    }

    #[test]
    fn a_deny_rule_with_one_slash_applies_in_both_interpretations() {
        assert!(matches("/etc/**", "/etc/passwd", Behavior::Deny));
        assert!(matches("/etc/**", "/work/etc/x", Behavior::Deny));
        assert!(!matches("/etc/**", "/etc/passwd", Behavior::Allow));
    }

    #[test]
    fn invalid_patterns_are_rejected() {
        for pattern in ["!src/**", "../other/**", "a/../b", "a[", "{a"] {
            assert!(PathPattern::parse(pattern).is_err(), "{pattern}");
        }
    }
}
