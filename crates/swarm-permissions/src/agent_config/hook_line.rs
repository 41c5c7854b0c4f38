//! Whether the command line of a hook may run files of the project.

use std::path::{Component, Path, PathBuf};

use swarm_protocol::word_list;

use crate::shell::SHELLS;

/// Programs besides [`SHELLS`] that run the script which is their first argument.
const INTERPRETERS: [&str; 17] = word_list(
    ". source csh tcsh pwsh python pypy node nodejs ts-node tsx ruby perl php lua awk osascript",
);

/// Programs that run what the files in the working directory say.
const RUNNERS: [&str; 59] = word_list(
    "npm npx pnpm pnpx yarn bun bunx deno make gmake cmake ninja bazel just task rake bundle rspec
    rubocop composer phpunit gradle mvn ant sbt dotnet mix cargo go swift zig tox nox pytest
    py.test mypy pylint flake8 pip poetry pdm hatch pipenv uv uvx direnv nix nix-shell pre-commit
    lefthook lint-staged eslint prettier stylelint jest vitest mocha gulp grunt",
);

/// What a line can use to name a file of the project without its path.
const EXPANSIONS: [&str; 4] = ["$(", "`", "PWD", "CLAUDE_PROJECT_DIR"];

/// The paths with which a hook's command line is compared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectPaths {
    /// Absolute paths of the directories whose files agents change.
    pub checkouts: Vec<PathBuf>,
    /// The home directory, if known.
    pub home: Option<PathBuf>,
}

impl ProjectPaths {
    /// Returns whether a command line may run files of the project: it names one, may name one, or
    /// runs a program that reads what to run from the working directory.
    pub(super) fn may_be_run_by(&self, line: &str) -> bool {
        if EXPANSIONS.iter().any(|text| line.contains(text)) {
            return true;
        }
        let line = line.replace(['"', '\'', '\\'], "");
        let mut commands = line.split([';', '|', '&', '(', ')', '\n']);
        commands.any(|command| {
            let words = command.split(|c: char| c.is_whitespace() || "<>=".contains(c));
            let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
            (words.iter().enumerate()).any(|(at, word)| {
                self.may_contain(word)
                    || is_one_of(&RUNNERS, word)
                    || (is_one_of(&SHELLS, word) || is_one_of(&INTERPRETERS, word))
                        && (words.get(at + 1)).is_none_or(|script| !is_anchored(script))
            })
        })
    }

    /// Returns whether a word may be a path, or a list of paths, into the project.
    fn may_contain(&self, word: &str) -> bool {
        let is_url = word.split_once("://").is_some_and(|(scheme, _)| {
            !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric())
        });
        let mut paths = word.split(':').filter(|path| path.contains('/'));
        !is_url && paths.any(|path| self.may_contain_path(path))
    }

    fn may_contain_path(&self, path: &str) -> bool {
        let path = match (below_home(path), &self.home) {
            (Some(rest), Some(home)) if !rest.starts_with('/') => home.join(rest),
            (None, _) => PathBuf::from(path),
            _ => return true,
        };
        let is_below = |top: &PathBuf| path.starts_with(top);
        let is_plain = !path.to_string_lossy().contains(['$', '*', '?', '[', '{'])
            && path.components().all(|part| part != Component::ParentDir);
        !is_plain || !path.is_absolute() || self.checkouts.iter().any(is_below)
    }
}

/// Returns the rest of a path that begins with the home directory.
fn below_home(path: &str) -> Option<&str> {
    let homes = ["~/", "$HOME/", "${HOME}/"];
    homes.iter().find_map(|home| path.strip_prefix(home))
}

/// Returns whether a path does not depend on the working directory.
fn is_anchored(path: &str) -> bool {
    below_home(path).is_some() || Path::new(path).is_absolute()
}

/// Returns whether a word names one of some programs, perhaps with a path and a version.
fn is_one_of(programs: &[&str], word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || "-.".contains(c));
    programs.contains(&name) || programs.contains(&bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_may_run_files_of_the_project_are_recognized() {
        let paths = ProjectPaths {
            checkouts: vec![PathBuf::from("/home/ann/repo")],
            home: Some(PathBuf::from("/home/ann")),
        };
        for (line, expected) in [
            ("notify-send done", false),
            ("~/.claude/hooks/log.sh", false),
            ("/usr/local/bin/check --all", false),
            ("$HOME/bin/check", false),
            ("\"${HOME}/bin/check\"", false),
            ("/home/ann/repository/check", false),
            ("curl -s https://example.com/hook", false),
            ("jq -r .tool_name >> /tmp/log", false),
            (
                "jq -r .member | { read -r who; notify-send \"$who died\"; }",
                false,
            ),
            ("bash ~/.claude/hooks/log.sh", false),
            ("python3.12 /opt/check.py < /dev/null", false),
            ("./scripts/check.sh", true),
            ("scripts/check.sh", true),
            ("sh lint.sh", true),
            ("bash -c 'sh lint.sh'", true),
            (". lint.sh", true),
            ("cat lint.sh | sh", true),
            ("$(git rev-parse --show-toplevel)/lint.sh", true),
            ("`git rev-parse --show-toplevel`/lint.sh", true),
            ("$PWD/lint.sh", true),
            ("sh \"$CLAUDE_PROJECT_DIR\"/check.sh", true),
            ("bash \"${CLAUDE_PROJECT_DIR}/check.sh\"", true),
            ("\"$top\"/lint.sh", true),
            ("/home/ann/repo/lint.sh", true),
            ("~/repo/lint.sh", true),
            ("~/bin/../repo/lint.sh", true),
            ("/home/ann/rep?/lint.sh", true),
            ("~+/lint.sh", true),
            ("PATH=/usr/bin:/home/ann/repo/bin lint", true),
            ("sh $HOME/repo/lint.sh", true),
            ("python -m x", true),
            ("python3.12 x.py", true),
            ("node x.js", true),
            ("pytest", true),
            ("cd x && npm run lint", true),
            ("/usr/bin/make -s", true),
            ("FORCE=1 npx prettier", true),
        ] {
            assert_eq!(paths.may_be_run_by(line), expected, "{line}");
        }
    }

    #[test]
    fn without_a_home_directory_paths_below_it_may_be_of_the_project() {
        assert!(ProjectPaths::default().may_be_run_by("~/bin/check"));
    }
}
