//! The printed table.

use std::io::Write;

use serde_json::{Value, json};

use super::figure::Figure;

/// Target of a measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Aim {
    /// No target; for information.
    None,
    /// At most this multiple of the other figure.
    Ratio(f64),
    /// At least this multiple of the other figure.
    AtLeast(f64),
    /// At most this value, in the unit of the figure.
    AtMost(f64),
    /// The same for the 99th percentile.
    SlowestAtMost(f64),
}

/// A comparison.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) what: String,
    pub(crate) ours: Figure,
    pub(crate) against: Option<(String, Figure)>,
    pub(crate) aim: Aim,
}

impl Line {
    /// Creates a row with a single figure.
    pub(crate) fn alone(what: impl Into<String>, ours: Figure, aim: Aim) -> Self {
        Self {
            what: what.into(),
            ours,
            against: None,
            aim,
        }
    }

    /// Creates a comparison of two figures of the same run.
    pub(crate) fn against(
        what: impl Into<String>,
        ours: Figure,
        other: impl Into<String>,
        theirs: Figure,
        aim: Aim,
    ) -> Self {
        Self {
            what: what.into(),
            ours,
            against: Some((other.into(), theirs)),
            aim,
        }
    }

    fn ratio(&self) -> Option<f64> {
        let (_, theirs) = self.against.as_ref()?;
        Some(self.ours.median() / theirs.median())
    }

    /// Returns whether the target is met; `None` without one.
    fn is_met(&self) -> Option<bool> {
        match self.aim {
            Aim::None => None,
            Aim::Ratio(most) => self.ratio().map(|ratio| ratio <= most),
            Aim::AtLeast(least) => self.ratio().map(|ratio| ratio >= least),
            Aim::AtMost(most) => Some(self.ours.median() <= most),
            Aim::SlowestAtMost(most) => Some(self.ours.percentile(99) <= most),
        }
    }

    fn aim(&self) -> String {
        match self.aim {
            Aim::None => String::new(),
            Aim::Ratio(most) => format!("<= {}", times(most)),
            Aim::AtLeast(least) => format!(">= {}", times(least)),
            Aim::AtMost(most) => format!("<= {}", self.ours.show(most)),
            Aim::SlowestAtMost(most) => format!("p99 <= {}", self.ours.show(most)),
        }
    }

    /// Returns the row as a record: times in seconds, sizes in bytes.
    pub(crate) fn json(&self) -> Value {
        let aim = match self.aim {
            Aim::None => Value::Null,
            Aim::Ratio(most) => json!({"ratio": most}),
            Aim::AtLeast(least) => json!({"least_ratio": least}),
            Aim::AtMost(most) => json!({"median": most}),
            Aim::SlowestAtMost(most) => json!({"p99": most}),
        };
        let mut record =
            json!({"what": self.what, "aim": aim, "met": self.is_met(), "ratio": self.ratio()});
        record["ours"] = self.ours.json();
        if let Some((what, theirs)) = &self.against {
            record["against"] = theirs.json();
            record["against"]["what"] = json!(what);
        }
        record
    }

    fn cells(&self) -> [String; 9] {
        let (other, theirs) = match &self.against {
            Some((name, figure)) => (name.clone(), figure.show(figure.median())),
            None => (String::new(), String::new()),
        };
        let verdict = match self.is_met() {
            None => "",
            Some(true) => "met",
            Some(false) => "MISSED",
        };
        [
            self.what.clone(),
            self.ours.show(self.ours.median()),
            self.ours.show(self.ours.percentile(99)),
            self.ours.runs().to_string(),
            other,
            theirs,
            self.ratio().map_or_else(String::new, times),
            self.aim(),
            verdict.to_owned(),
        ]
    }
}

fn times(ratio: f64) -> String {
    if ratio < 0.1 {
        format!("{ratio:.4}x")
    } else {
        format!("{ratio:.2}x")
    }
}

const HEAD: [&str; 9] = [
    "what", "median", "p99", "runs", "against", "median", "ratio", "aim", "",
];

/// Prints lines below a header, in Markdown that is also readable as text.
pub(crate) fn print(lines: &[Line], to: &mut impl Write) -> std::io::Result<()> {
    let rows: Vec<[String; 9]> = std::iter::once(HEAD.map(str::to_owned))
        .chain(lines.iter().map(Line::cells))
        .collect();
    let widths: Vec<usize> = (0..HEAD.len())
        .map(|at| rows.iter().map(|row| row[at].chars().count()).max())
        .map(Option::unwrap_or_default)
        .collect();
    for (number, row) in rows.iter().enumerate() {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:<width$}"));
        writeln!(to, "| {} |", cells.collect::<Vec<_>>().join(" | "))?;
        if number == 0 {
            let rule = widths.iter().map(|width| "-".repeat(*width));
            writeln!(to, "|-{}-|", rule.collect::<Vec<_>>().join("-|-"))?;
        }
    }
    to.flush()
}

#[cfg(test)]
mod tests {
    use super::super::figure::Unit;
    use super::*;

    #[test]
    fn a_rate_below_the_minimum_ratio_is_missed() {
        let rate = |rate: f64| Figure::of(Unit::Rate, [rate]);
        for (ours, word) in [(81.0, "met"), (79.0, "MISSED")] {
            let line = Line::against("send", rate(ours), "floor", rate(100.0), Aim::AtLeast(0.8));
            assert_eq!(line.cells()[7..], [">= 0.80x", word]);
        }
    }

    #[test]
    fn a_row_has_both_figures_their_ratio_and_the_result() {
        let ours = Figure::of(Unit::Time, [0.003]);
        let floor = Figure::of(Unit::Time, [0.001]);
        let lines = [
            Line::against("send", ours.clone(), "floor", floor, Aim::Ratio(1.5)),
            Line::alone("status", ours, Aim::AtMost(0.01)),
        ];
        let mut text = Vec::new();
        print(&lines, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let rows: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.split('|').map(str::trim).collect())
            .collect();
        assert_eq!(
            rows[2][1..],
            [
                "send", "3.00 ms", "3.00 ms", "1", "floor", "1.00 ms", "3.00x", "<= 1.50x",
                "MISSED", ""
            ]
        );
        assert_eq!(rows[3][7..], ["", "<= 10.00 ms", "met", ""]);
        let records = lines.map(|line| line.json());
        assert_eq!(
            records[0]["ours"],
            json!({"unit": "seconds", "median": 0.003, "p99": 0.003, "runs": 1})
        );
        assert_eq!(records[0]["against"]["what"], "floor");
        assert_eq!(
            (&records[0]["met"], &records[0]["aim"]),
            (&json!(false), &json!({"ratio": 1.5}))
        );
        assert_eq!(
            (&records[1]["met"], &records[1]["against"]),
            (&json!(true), &Value::Null)
        );
    }
}
