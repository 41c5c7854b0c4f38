//! Parsing of the options of a git command.

use swarm_protocol::word_list;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ParsedOption<'a> {
    Short(char, Option<&'a str>),
    Long(&'a str, Option<&'a str>),
}

/// The parsed arguments of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Options<'a> {
    given: Vec<ParsedOption<'a>>,
    /// Arguments that are neither options nor their values.
    words: Vec<&'a str>,
    /// Number of these before `--`, if present.
    before_end: Option<usize>,
}

/// The options of a command that take a value, see its manual page. The value of a short option is
/// the rest of its word or the next word.
struct WithValue {
    letters: &'static str,
    /// Short options with an optional value in the same word.
    attached: &'static str,
    long: &'static [&'static str],
    /// Long options shared by several commands.
    shared: &'static [&'static str],
}

impl WithValue {
    fn knows(&self, long: &str) -> bool {
        let mut known = self.long.iter().chain(self.shared);
        known.any(|known| known.starts_with(long))
    }
}

/// Options of commands that show differences.
const DIFFERENCES: &[&str] = &["pathspec-from-file", "unified", "inter-hunk-context"];

/// Options of commands that list refs.
const REFS: &[&str] =
    &word_list::<7>("contains no-contains merged no-merged points-at sort format");

fn with_value(command: &str) -> WithValue {
    let of = |letters, attached, long, shared| WithValue {
        letters,
        attached,
        long,
        shared,
    };
    match command {
        "clean" => of("e", "", &["exclude"], &[]),
        "restore" => of("sU", "", &["source", "conflict"], DIFFERENCES),
        "checkout" => of("bBU", "t", &["conflict", "orphan"], DIFFERENCES),
        "reset" => of("U", "", &[], DIFFERENCES),
        "rm" => of("", "", &["pathspec-from-file"], &[]),
        "read-tree" => of(
            "",
            "",
            &["prefix", "index-output", "exclude-per-directory"],
            &[],
        ),
        "checkout-index" => of("", "", &["prefix", "stage"], &[]),
        "branch" => of("u", "", &["set-upstream-to"], REFS),
        "tag" => of(
            "mFu",
            "n",
            &["message", "file", "local-user", "cleanup", "trailer"],
            REFS,
        ),
        _ => of("", "", &[], &[]),
    }
}

impl<'a> Options<'a> {
    /// Parses the arguments of a command.
    pub(super) fn of(command: &str, rest: &'a [String]) -> Self {
        let table = with_value(command);
        let mut found = Self::default();
        let mut rest = rest.iter().map(String::as_str);
        while let Some(word) = rest.next() {
            if word == "--" {
                found.before_end = Some(found.words.len());
                found.words.extend(rest.by_ref());
            } else if let Some(long) = word.strip_prefix("--") {
                let (name, value) = match long.split_once('=') {
                    Some((name, value)) => (name, Some(value)),
                    None if table.knows(long) => (long, rest.next()),
                    None => (long, None),
                };
                found.given.push(ParsedOption::Long(name, value));
            } else if let Some(letters) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) {
                found.take_letters(letters, &table, &mut rest);
            } else {
                found.words.push(word);
            }
        }
        found
    }

    /// Parses combined short options; one with a value ends the word.
    fn take_letters(
        &mut self,
        letters: &'a str,
        table: &WithValue,
        rest: &mut impl Iterator<Item = &'a str>,
    ) {
        let mut letters = letters.chars();
        while let Some(letter) = letters.next() {
            let attached = Some(letters.as_str()).filter(|value| !value.is_empty());
            let value = if table.letters.contains(letter) {
                attached.or_else(|| rest.next())
            } else if table.attached.contains(letter) {
                attached
            } else {
                self.given.push(ParsedOption::Short(letter, None));
                continue;
            };
            self.given.push(ParsedOption::Short(letter, value));
            return;
        }
    }

    /// Returns whether an option, such as `-p` or `--patch`, is in effect: a later `--no-patch`
    /// cancels it.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.holds(names, |given, name| given == name)
    }

    /// Like [`Self::has`], with abbreviated long options, which git accepts.
    pub(super) fn may_have(&self, names: &[&str]) -> bool {
        self.holds(names, |given, name| name.starts_with(given))
    }

    fn holds(&self, names: &[&str], is_it: fn(&str, &str) -> bool) -> bool {
        let mut holds = false;
        for given in &self.given {
            for name in names {
                match (given, name.strip_prefix("--")) {
                    (ParsedOption::Short(letter, _), None) => {
                        holds |= name.strip_prefix('-').is_some_and(|name| {
                            let mut letters = name.chars();
                            letters.next() == Some(*letter) && letters.next().is_none()
                        });
                    }
                    (ParsedOption::Long(given, _), Some(name)) if is_it(given, name) => {
                        holds = true;
                    }
                    (ParsedOption::Long(given, _), Some(name)) => {
                        holds &= given.strip_prefix("no-") != Some(name);
                    }
                    _ => {}
                }
            }
        }
        holds
    }

    /// Returns the arguments that are not options.
    pub(super) fn words(&self) -> &[&'a str] {
        &self.words
    }

    /// Returns the arguments before `--`; all without it.
    pub(super) fn before_end(&self) -> &[&'a str] {
        &self.words[..self.before_end.unwrap_or(self.words.len())]
    }

    /// Returns the arguments after `--`; `None` without it.
    pub(super) fn after_end(&self) -> Option<&[&'a str]> {
        self.before_end.map(|end| &self.words[end..])
    }

    /// Returns the arguments without these options, with each option as a separate word.
    pub(super) fn without(&self, names: &[&str]) -> Vec<String> {
        let mut left = Vec::new();
        for given in &self.given {
            let alone = Self {
                given: vec![*given],
                ..Self::default()
            };
            let word = match given {
                _ if alone.may_have(names) => continue,
                ParsedOption::Short(letter, value) => {
                    format!("-{letter}{}", value.unwrap_or_default())
                }
                ParsedOption::Long(name, Some(value)) => format!("--{name}={value}"),
                ParsedOption::Long(name, None) => {
                    let taken_back =
                        |known: &&str| known.strip_prefix("--") == name.strip_prefix("no-");
                    if names.iter().any(taken_back) {
                        continue;
                    }
                    format!("--{name}")
                }
            };
            left.push(word);
        }
        left.push("--".to_owned());
        left.extend(self.words.iter().map(|word| (*word).to_owned()));
        left
    }
}
