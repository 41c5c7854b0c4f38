//! What is asked of a bench, on its command line.

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};

/// What to measure, how often, and with which programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Order {
    /// The directory of `swarm` and `swarm-teammate`.
    pub(crate) programs: PathBuf,
    /// Rows by name; none stands for the usual ones.
    pub(crate) rows: Vec<String>,
    /// How many runs a row makes in hundredths of what it makes by itself.
    pub(crate) effort: usize,
    /// How long a soak takes.
    pub(crate) minutes: u64,
    /// How many members a soak has.
    pub(crate) members: usize,
    /// Whether the results are printed as JSON instead of a table.
    pub(crate) json: bool,
}

impl Order {
    /// Reads arguments.
    ///
    /// # Errors
    /// When one is not understood.
    pub(crate) fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Self> {
        let mut order = Self {
            programs: PathBuf::new(),
            rows: Vec::new(),
            effort: 100,
            minutes: 20,
            members: 32,
            json: false,
        };
        let mut arguments = arguments.into_iter();
        while let Some(word) = arguments.next() {
            let mut value = || {
                let given = arguments.next();
                given.with_context(|| format!("{word} needs a value"))
            };
            match word.as_str() {
                "--programs" => order.programs = value()?.into(),
                "--effort" => order.effort = number(&word, &value()?)?,
                "--minutes" => order.minutes = number(&word, &value()?)?,
                "--members" => order.members = number(&word, &value()?)?,
                "--json" => order.json = true,
                _ if word.starts_with('-') => {
                    bail!(
                        "there is no option {word}; there are --effort N, --minutes N, --members N and --json"
                    )
                }
                _ => order.rows.push(word),
            }
        }
        // Each writes to a neighbour.
        ensure!(order.members >= 2, "--members needs 2 or more");
        Ok(order)
    }

    /// So many runs, more or fewer by the effort that was asked for; at least two.
    pub(crate) fn runs(&self, usual: usize) -> usize {
        (usual * self.effort / 100).max(2)
    }

    /// One of the programs.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }
}

/// The number behind an option.
fn number<T: FromStr>(option: &str, given: &str) -> Result<T> {
    let number = given.parse().ok();
    number.with_context(|| format!("{option} needs a number, and `{given}` is none"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Result<Order> {
        Order::parse(words.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn rows_and_options_are_told_apart() {
        let order = parse("--programs /p soak --minutes 3 send --effort 10 --json").unwrap();
        assert!(order.json && !parse("soak").unwrap().json);
        assert_eq!(
            (order.rows.join(" "), order.minutes),
            ("soak send".to_owned(), 3)
        );
        assert_eq!((order.runs(200), order.runs(3)), (20, 2));
        assert!(parse("--minutes").is_err());
        for (words, told) in [
            ("--what", "--effort N"),
            ("--minutes soon", "`soon`"),
            ("soak --members 1", "2 or more"),
        ] {
            let error = parse(words).unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
    }
}
