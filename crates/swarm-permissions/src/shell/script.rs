//! A parsed shell command: simple commands with their words and redirections.

/// A parsed command line or substitution.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Script {
    /// The simple commands between `;`, `&&`, `||`, `|`, `&`, parentheses and line breaks, in order.
    pub(crate) parts: Vec<Part>,
    pub(crate) here_documents: Vec<String>,
    /// Whether there are parentheses around or between commands.
    pub(crate) grouped: bool,
    /// Whether parsing failed because of an unterminated quote or bracket.
    pub(crate) broken: bool,
}

/// One simple command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Part {
    /// The words, including assignments, without redirections.
    pub(crate) words: Vec<Word>,
    pub(crate) redirects: Vec<Redirect>,
    /// The contents of command and process substitutions in words and redirections.
    pub(crate) nested: Vec<String>,
    /// Whether it is behind `&&` or `||`, or in a pipeline that is.
    pub(crate) conditional: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Word {
    /// The word as written.
    pub(crate) raw: String,
    /// The word with quotes and backslashes removed. Expansions remain as written.
    pub(crate) text: String,
    pub(crate) variable: bool,
    /// Whether it contains an unquoted file name pattern or braces, which the shell expands.
    pub(crate) pattern: bool,
    /// Whether it contains a substitution, arithmetic, or an expansion with an operator.
    pub(crate) computed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Redirect {
    pub(crate) writes: bool,
    /// Whether it is a here-document or here-string.
    pub(crate) here: bool,
    /// Whether it copies or closes a descriptor, as in `2>&1`.
    pub(crate) descriptor: bool,
    /// The file or descriptor.
    pub(crate) target: Word,
}

impl Word {
    /// Returns whether the program receives exactly `text`.
    pub(crate) fn is_literal(&self) -> bool {
        !(self.variable || self.pattern || self.computed)
    }

    /// Returns whether it sets a variable if placed before the command: `NAME=value`.
    pub(crate) fn is_assignment(&self) -> bool {
        self.assigned_name().is_some()
    }

    /// Returns the variable's name in `NAME=value`, `NAME+=value` or `NAME[i]=value`.
    pub(crate) fn assigned_name(&self) -> Option<&str> {
        let (name, _) = self.raw.split_once('=')?;
        let name = name.strip_suffix('+').unwrap_or(name);
        let name = name.split_once('[').map_or(name, |(name, _)| name);
        let mut chars = name.chars();
        let first = chars.next()?;
        let valid = (first.is_ascii_alphabetic() || first == '_')
            && chars.all(|c| c.is_ascii_alphanumeric() || c == '_');
        valid.then_some(name)
    }
}

impl Redirect {
    /// Returns whether it neither writes a file nor passes text of the command line to the program.
    pub(crate) fn is_harmless(&self) -> bool {
        if self.here || !self.target.is_literal() {
            return false;
        }
        // bash opens network connections for these paths.
        let network = ["/dev/tcp", "/dev/udp"]
            .iter()
            .any(|dev| self.target.text.contains(dev));
        self.descriptor || self.target.text == "/dev/null" || !(self.writes || network)
    }
}

impl Part {
    /// Returns whether the command has no substitutions and writes no files.
    pub(crate) fn is_plain(&self) -> bool {
        self.words.iter().all(|word| !word.computed)
            && self.redirects.iter().all(Redirect::is_harmless)
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &Redirect> {
        let redirects = self.redirects.iter();
        redirects.filter(|redirect| !redirect.descriptor)
    }

    /// Returns the words as written, joined by single spaces.
    pub(crate) fn raw(&self) -> String {
        join_raw(&self.words)
    }
}

/// Joins words as written with single spaces.
pub(crate) fn join_raw(words: &[Word]) -> String {
    let words: Vec<&str> = words.iter().map(|word| word.raw.as_str()).collect();
    words.join(" ")
}

/// Joins words as the program receives them with single spaces.
pub(crate) fn join_text(words: &[Word]) -> String {
    let words: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    words.join(" ")
}

/// Returns whether an argument is one of these options, possibly abbreviated, combined with others
/// or with its value.
pub(super) fn is_option(text: &str, options: &[&str]) -> bool {
    let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
        return false;
    };
    if letters.starts_with('-') {
        let name = text.split('=').next().unwrap_or(text);
        // `--` alone ends the options; longer prefixes may be accepted as abbreviations.
        return name.len() > 2 && options.iter().any(|option| option.starts_with(name));
    }
    options
        .iter()
        .filter(|option| !option.starts_with("--"))
        .any(|option| {
            option
                .strip_prefix('-')
                .is_some_and(|letter| letters.contains(letter))
        })
}
