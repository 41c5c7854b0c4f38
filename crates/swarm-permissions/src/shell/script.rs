//! A shell command taken apart: simple commands, their words and redirections.

/// A command line, or the inside of a substitution.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Script {
    /// The simple commands between `;`, `&&`, `||`, `|`, `&`, brackets and line ends, in order.
    pub(crate) parts: Vec<Part>,
    /// The texts of here-documents.
    pub(crate) here_documents: Vec<String>,
    /// There are brackets around or between commands.
    pub(crate) grouped: bool,
    /// It could not be read to its end: a quote or bracket stays open.
    pub(crate) broken: bool,
}

/// One simple command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Part {
    /// Its words, assignments included, redirections not.
    pub(crate) words: Vec<Word>,
    /// Its redirections.
    pub(crate) redirects: Vec<Redirect>,
    /// The inside of command and process substitutions in words and redirections.
    pub(crate) nested: Vec<String>,
}

/// One word.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Word {
    /// As it was written.
    pub(crate) raw: String,
    /// With quotes and backslashes taken away. Expansions stand in it as they were written.
    pub(crate) text: String,
    /// A variable is put in.
    pub(crate) variable: bool,
    /// A file name pattern or braces outside of quotes: the shell makes other words of it.
    pub(crate) pattern: bool,
    /// Something is computed in it: a substitution, arithmetic, or an expansion with an operator.
    pub(crate) computed: bool,
}

/// One redirection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Redirect {
    /// Whether it may write.
    pub(crate) writes: bool,
    /// A here-document or here-string.
    pub(crate) here: bool,
    /// It copies or closes a descriptor: `2>&1`.
    pub(crate) descriptor: bool,
    /// The file, or the descriptor.
    pub(crate) target: Word,
}

impl Word {
    /// Whether the program gets exactly `text`.
    pub(crate) fn is_literal(&self) -> bool {
        !(self.variable || self.pattern || self.computed)
    }

    /// Whether it sets a variable when it stands before the command: `NAME=value`.
    pub(crate) fn is_assignment(&self) -> bool {
        self.assigned_name().is_some()
    }

    /// The variable's name in `NAME=value`, `NAME+=value` or `NAME[i]=value`.
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
    /// Whether it neither writes a file nor feeds text of the command itself to the program.
    pub(crate) fn is_harmless(&self) -> bool {
        if self.here || !self.target.is_literal() {
            return false;
        }
        // bash makes network connections of files under these names.
        let network = ["/dev/tcp", "/dev/udp"]
            .iter()
            .any(|dev| self.target.text.contains(dev));
        self.descriptor || self.target.text == "/dev/null" || !(self.writes || network)
    }
}

impl Part {
    /// Whether words and redirections are all there is: no substitution, and nothing written.
    pub(crate) fn is_plain(&self) -> bool {
        self.words.iter().all(|word| !word.computed)
            && self.redirects.iter().all(Redirect::is_harmless)
    }

    /// The words as written, joined by single blanks.
    pub(crate) fn raw(&self) -> String {
        join_raw(&self.words)
    }
}

/// Words as written, joined by single blanks.
pub(crate) fn join_raw(words: &[Word]) -> String {
    words
        .iter()
        .map(|word| word.raw.as_str())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Words as the program gets them, joined by single blanks.
pub(crate) fn join_text(words: &[Word]) -> String {
    words
        .iter()
        .map(|word| word.text.as_str())
        .collect::<Vec<_>>()
        .join(" ")
}
