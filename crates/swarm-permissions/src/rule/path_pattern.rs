//! What stands between the brackets of a file rule: a pattern in the manner of gitignore.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::{Anchors, Behavior};

/// Where a path pattern starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Anchor {
    /// `//etc/**`: the root of the file system.
    Root,
    /// `~/notes/**`: the user's home directory.
    Home,
    /// `/src/**`: the working directory. A denial or question also holds for the absolute path of that spelling, since
    /// that is what many of its writers mean.
    Top,
    /// `src/**`, `./src/**`, or `*.env` at any depth: the working directory.
    Directory,
}

/// A gitignore-like pattern for paths. A directory that fits takes everything under it along.
#[derive(Debug, Clone)]
pub(crate) struct PathPattern {
    anchor: Anchor,
    relative: String,
    globs: GlobSet,
}

/// The directories that relative patterns start from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bases<'a> {
    pub(crate) cwd: &'a Path,
    pub(crate) anchors: &'a Anchors,
    pub(crate) home: Option<&'a Path>,
}

impl<'a> Bases<'a> {
    /// Where a relative pattern starts in a rule of the list `behavior`.
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
    /// Reads the content of a file rule, or says what is wrong with it.
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
            return Err("negated patterns are not known; write a rule in the other list".into());
        }
        let anchored = anchor != Anchor::Directory || rest.trim_end_matches('/').contains('/');
        let rest = rest
            .strip_prefix("./")
            .unwrap_or(rest)
            .trim_end_matches('/');
        if rest.split('/').any(|part| part == "..") {
            return Err("`..` is not known in a pattern; write `//` and the absolute path".into());
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

    /// Whether an absolute path without `.` and `..` fits, for a rule of the list `behavior`.
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

    /// Whether this name is one of its components, letter by letter.
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
    fn patterns_match_as_gitignore_does() {
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
    fn a_denial_with_one_slash_holds_in_both_readings() {
        assert!(matches("/etc/**", "/etc/passwd", Behavior::Deny));
        assert!(matches("/etc/**", "/work/etc/x", Behavior::Deny));
        assert!(!matches("/etc/**", "/etc/passwd", Behavior::Allow));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for pattern in ["!src/**", "../other/**", "a/../b", "a[", "{a"] {
            assert!(PathPattern::parse(pattern).is_err(), "{pattern}");
        }
    }
}
