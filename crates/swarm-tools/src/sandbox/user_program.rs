//! Whether a program that the user configures runs what agents can write. Hooks, MCP servers and the
//! status line share this rule.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use swarm_protocol::word_list;

use super::plan::writable_by_agents;
use crate::ToolContext;
use crate::files::resolve_where;

const SHELLS: [&str; 7] = word_list("ash bash dash fish ksh sh zsh");

/// Programs besides [`SHELLS`] that run the script which is their first argument.
const INTERPRETERS: [&str; 17] = word_list(
    ". source csh tcsh pwsh python pypy node nodejs ts-node tsx ruby perl php lua awk osascript",
);

/// Programs that run what files in the working directory or in their caches say.
const RUNNERS: [&str; 62] = word_list(
    "npm npx pnpm pnpx yarn bun bunx deno make gmake cmake ninja bazel just task rake bundle rspec
    rubocop composer phpunit gradle mvn ant sbt dotnet mix cargo go swift zig tox nox pytest
    py.test mypy pylint flake8 pip poetry pdm hatch pipenv uv uvx direnv nix nix-shell pre-commit
    lefthook lint-staged eslint prettier stylelint jest vitest mocha gulp grunt compose
    docker-compose Rscript",
);

/// Subcommands of git that run no hooks of the repository, which may be in the project
/// (`core.hooksPath`). Those that refresh the index, such as `status`, run `post-index-change`.
const GIT_READERS: [&str; 13] = word_list(
    "blame cat-file for-each-ref log ls-files ls-tree merge-base rev-list rev-parse shortlog show
    version --version",
);

/// What separates paths in lists, assignments and other notations of arguments.
const SEPARATORS: [char; 8] = [':', '=', ',', ';', '@', '"', '\'', '|'];

/// What a line can use to name a file of the project without its path.
const EXPANSIONS: [&str; 4] = ["$(", "`", "PWD", "CLAUDE_PROJECT_DIR"];

/// A program that the user configures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserProgram {
    /// What runs.
    pub command: UserCommand,
    /// The directory in which it runs, absolute.
    pub cwd: PathBuf,
    /// Its environment variables.
    pub env: BTreeMap<String, String>,
    /// Values of those variables that its configuration sets.
    pub configured_values: Vec<String>,
}

/// What a configured program consists of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserCommand {
    /// A command line for a shell.
    Line(String),
    /// A program and its arguments.
    Words(Vec<String>),
}

/// Where such a program runs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ProgramPlace {
    /// In the sandbox of the agent, because agents can write what it runs.
    Sandbox,
    /// Outside.
    Outside {
        /// Its search path without the directories that agents can write; `None` leaves it as it is.
        search_path: Option<String>,
    },
}

/// Returns where a program runs for this agent. It runs outside if the agent's commands are not
/// confined.
///
/// # Errors
/// Fails if a sandbox is required and does not work.
pub(crate) fn place(ctx: &ToolContext, program: &UserProgram) -> Result<ProgramPlace, String> {
    let Some(directories) = writable_by_agents(ctx, &program.cwd)? else {
        return Ok(ProgramPlace::Outside { search_path: None });
    };
    let search_path = program.env.get("PATH");
    let writable = Writable {
        directories: &directories,
        home: program.env.get("HOME").map(Path::new),
        cwd: &program.cwd,
        search_path: search_path.map_or("", String::as_str),
    };
    let values = &program.configured_values;
    Ok(if writable.contains_program(&program.command, values) {
        ProgramPlace::Sandbox
    } else {
        ProgramPlace::Outside {
            search_path: search_path.map(|_| writable.remaining_search_path()),
        }
    })
}

/// What agents can write, as a program sees it.
#[derive(Debug, Clone, Copy)]
struct Writable<'a> {
    /// Without symbolic links.
    directories: &'a [PathBuf],
    /// What a shell puts in the place of `~` and `$HOME`; `None` without a shell.
    home: Option<&'a Path>,
    cwd: &'a Path,
    search_path: &'a str,
}

impl Writable<'_> {
    fn contains_program(&self, command: &UserCommand, values: &[String]) -> bool {
        let without_shell = Self {
            home: None,
            ..*self
        };
        let is_value_of_agents = |value: &String| without_shell.contains_value(value);
        if values.iter().any(is_value_of_agents) {
            return true;
        }
        match command {
            UserCommand::Line(line) => self.contains_part_of(line),
            UserCommand::Words(words) => match &words[..] {
                [shell, option, line, rest @ ..] if option == "-c" && is_one_of(&SHELLS, shell) => {
                    self.may_contain(shell, true)
                        || self.contains_part_of(line)
                        || rest.iter().any(is_value_of_agents)
                }
                words => {
                    let words: Vec<&str> = words.iter().map(String::as_str).collect();
                    without_shell.contains_one_of(&words, false)
                }
            },
        }
    }

    /// Returns whether the value of a variable or parameter may be a program with its arguments, or
    /// name a file, that agents can write.
    fn contains_value(&self, value: &str) -> bool {
        let words: Vec<&str> = value.split_whitespace().collect();
        self.contains_one_of(&words, false)
            || self.contains_absolute(value)
            || self.names_file(value)
    }

    /// Returns whether a command line may run what agents can write: it names such a file, may name
    /// one, or runs a program that reads what to run from the working directory.
    fn contains_part_of(&self, line: &str) -> bool {
        if EXPANSIONS.iter().any(|text| line.contains(text)) {
            return true;
        }
        let line = line.replace("\\\n", " ").replace(['"', '\'', '\\'], "");
        let mut commands = line.split([';', '|', '&', '(', ')', '\n']);
        commands.any(|command| {
            let words = command.split(|c: char| c.is_whitespace() || "<>=".contains(c));
            let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
            self.contains_one_of(&words, true)
        })
    }

    fn contains_one_of(&self, words: &[&str], in_shell: bool) -> bool {
        words.iter().enumerate().any(|(at, word)| {
            let runs_next = is_one_of(&SHELLS, word) || is_one_of(&INTERPRETERS, word);
            let next = words.get(at + 1);
            is_one_of(&RUNNERS, word)
                || (runs_next && next.is_none_or(|script| !is_anchored(script)))
                || (is_one_of(&["git"], word) && next.is_some_and(|sub| !GIT_READERS.contains(sub)))
                || self.may_contain(word, in_shell)
                // The first word is looked up in the search path.
                || (at > 0 && self.names_file(word))
        })
    }

    /// Returns whether a word may be a program, a path or a list of paths that agents can write.
    fn may_contain(&self, word: &str, in_shell: bool) -> bool {
        let is_of_agents = |part: &str| {
            if part.contains('/') {
                self.contains_absolute(part) || self.may_contain_path(part, in_shell)
            } else {
                self.contains_found(part)
            }
        };
        self.contains_absolute(word) || parts(word).any(is_of_agents)
    }

    /// Returns whether a word or a part of it is the name of a file in the working directory.
    fn names_file(&self, word: &str) -> bool {
        let is_file = |name: &str| {
            let is_relative = !name.is_empty() && Path::new(name).is_relative();
            is_relative && self.cwd.join(name).exists()
        };
        is_file(word)
            || parts(word).any(|part| is_file(part) || attached(part).is_some_and(is_file))
    }

    /// Returns whether a text has, from its first slash, an absolute path that agents can write. It
    /// may be attached to an option.
    fn contains_absolute(&self, text: &str) -> bool {
        let path = text.find('/').map(|at| text.split_at(at).1);
        below_home(text).is_none() && path.is_some_and(|path| self.contains(Path::new(path)))
    }

    fn may_contain_path(&self, path: &str, in_shell: bool) -> bool {
        let path = match (below_home(path), self.home) {
            (Some(rest), Some(home)) if !rest.starts_with('/') => home.join(rest),
            (None, _) => PathBuf::from(path),
            _ => return true,
        };
        let is_plain = !path.to_string_lossy().contains(['$', '*', '?', '[', '{'])
            && path.components().all(|part| part != Component::ParentDir);
        if !is_plain || path.starts_with(".") {
            return true;
        }
        if path.is_relative() {
            // An argument of a server is often another name with a slash, such as that of an image.
            return in_shell || self.cwd.join(path).exists();
        }
        self.contains(&path)
    }

    /// Returns whether agents can write the program that a name without a slash finds.
    fn contains_found(&self, name: &str) -> bool {
        let is_program = |file: &PathBuf| {
            file.metadata()
                .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
        };
        let directories = self.search_path.split(':');
        let mut files = directories.map(|directory| self.cwd.join(directory).join(name));
        let found = files.find(is_program);
        found.is_some_and(|file| self.contains(&file))
    }

    /// Returns whether agents can write an absolute path, what it leads to, or a link on the way.
    fn contains(&self, path: &Path) -> bool {
        let is_below = |path: &Path| self.directories.iter().any(|top| path.starts_with(top));
        resolve_where(path, |link| !is_below(link)).is_none_or(|real| is_below(&real))
    }

    fn remaining_search_path(&self) -> String {
        let directories = self.search_path.split(':').filter(|directory| {
            let directory = Path::new(directory);
            directory.is_absolute() && !self.contains(directory)
        });
        directories.collect::<Vec<_>>().join(":")
    }
}

/// Returns what may be a path, or the name of a program or file, in a word; of a URL nothing.
fn parts(word: &str) -> impl Iterator<Item = &str> {
    let texts = word.split_whitespace().filter(|text| !is_url(text));
    let parts = texts.flat_map(|text| text.split([':', '=']).chain(text.split(SEPARATORS)));
    parts.filter(|part| !part.is_empty())
}

/// Returns what follows an option of one letter in the same word.
fn attached(word: &str) -> Option<&str> {
    let option = word.strip_prefix('-')?;
    let mut rest = option.chars();
    rest.next().filter(|letter| *letter != '-')?;
    Some(rest.as_str())
}

/// Returns whether a word is a URL, but not that of a file.
fn is_url(word: &str) -> bool {
    word.split_once("://").is_some_and(|(scheme, _)| {
        let is_scheme = !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric());
        is_scheme && !scheme.eq_ignore_ascii_case("file")
    })
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
#[path = "user_program_tests.rs"]
mod tests;
