//! Command line arguments of a benchmark.

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};

/// What to measure, how often, and with which programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Order {
    /// Directory of `swarm` and `swarm-teammate`.
    pub(crate) programs: PathBuf,
    /// Rows by name; empty selects the default ones.
    pub(crate) rows: Vec<String>,
    /// Number of runs in percent of the default.
    pub(crate) effort: usize,
    /// Duration of a soak.
    pub(crate) minutes: u64,
    /// Number of members of a soak.
    pub(crate) members: usize,
    /// Whether to print JSON instead of a table.
    pub(crate) json: bool,
}

impl Order {
    /// Parses arguments.
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
                        "unknown option {word}; the options are --effort N, --minutes N, --members N and --json"
                    )
                }
                _ => order.rows.push(word),
            }
        }
        // Each writes to a neighbour.
        ensure!(order.members >= 2, "--members needs 2 or more");
        Ok(order)
    }

    /// Scales a number of runs by the effort; at least two.
    pub(crate) fn runs(&self, usual: usize) -> usize {
        (usual * self.effort / 100).max(2)
    }

    /// Returns one of the programs.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }
}

/// Parses the value of an option.
fn number<T: FromStr>(option: &str, given: &str) -> Result<T> {
    let number = given.parse().ok();
    number.with_context(|| format!("{option} needs a number, not `{given}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Result<Order> {
        Order::parse(words.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn parses_rows_and_options() {
        let order = parse("--programs /p soak --minutes 3 send --effort 10 --json").unwrap();
        assert!(order.json && !parse("soak").unwrap().json);
        assert_eq!(
            (order.rows.join(" "), order.minutes),
            ("soak send".to_owned(), 3)
        );
        assert_eq!((order.runs(200), order.runs(3)), (20, 2));
        assert!(parse("--minutes").is_err());
        for (words, expected) in [
            ("--what", "--effort N"),
            ("--minutes soon", "`soon`"),
            ("soak --members 1", "2 or more"),
        ] {
            let error = parse(words).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
