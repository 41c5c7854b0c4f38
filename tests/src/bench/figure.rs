//! Measurements from several runs.

use std::time::Duration;

use serde_json::{Value, json};

/// Unit of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Seconds.
    Time,
    /// Per second.
    Rate,
    Bytes,
    Count,
}

/// The measurements of several runs.
#[derive(Debug, Clone)]
pub(crate) struct Figure {
    unit: Unit,
    sorted: Vec<f64>,
}

impl Figure {
    /// Creates a figure from values in any order.
    pub(crate) fn of(unit: Unit, samples: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = samples.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        Self { unit, sorted }
    }

    /// Durations.
    pub(crate) fn times(samples: impl IntoIterator<Item = Duration>) -> Self {
        Self::of(
            Unit::Time,
            samples.into_iter().map(|time| time.as_secs_f64()),
        )
    }

    /// Returns the number of runs.
    pub(crate) fn runs(&self) -> usize {
        self.sorted.len()
    }

    /// Returns the median.
    pub(crate) fn median(&self) -> f64 {
        self.percentile(50)
    }

    /// Returns the given percentile. Zero without runs.
    pub(crate) fn percentile(&self, hundredths: usize) -> f64 {
        let rank = (self.sorted.len() * hundredths).div_ceil(100).max(1);
        self.sorted.get(rank - 1).copied().unwrap_or_default()
    }

    /// Returns unit, median, 99th percentile and number of runs.
    pub(crate) fn json(&self) -> Value {
        let unit = match self.unit {
            Unit::Time => "seconds",
            Unit::Rate => "per second",
            Unit::Bytes => "bytes",
            Unit::Count => "count",
        };
        json!({"unit": unit, "median": self.median(), "p99": self.percentile(99), "runs": self.runs()})
    }

    /// Formats a value of this unit.
    pub(crate) fn show(&self, number: f64) -> String {
        match self.unit {
            Unit::Time if number < 1e-3 => format!("{:.0} µs", number * 1e6),
            Unit::Time if number < 0.1 => format!("{:.2} ms", number * 1e3),
            Unit::Time if number < 1.0 => format!("{:.0} ms", number * 1e3),
            Unit::Time => format!("{number:.2} s"),
            Unit::Rate => format!("{number:.0} /s"),
            Unit::Bytes => format!("{:.1} MB", number / 1e6),
            Unit::Count if number.fract() == 0.0 => format!("{number:.0}"),
            Unit::Count => format!("{number:.2}"),
        }
    }
}

/// Converts a count to a value.
pub(crate) fn number(count: u64) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_measured_values() {
        let hundred = Figure::of(Unit::Count, (1..=100).rev().map(f64::from));
        let found = [50, 95, 99, 100].map(|share| hundred.percentile(share));
        assert_eq!(
            found.map(|number| number.to_string()),
            ["50", "95", "99", "100"]
        );
        let one = Figure::times([Duration::from_micros(1500)]);
        assert_eq!(one.show(one.percentile(99)), "1.50 ms");
        let none = Figure::of(Unit::Rate, []);
        assert_eq!(none.show(none.median()), "0 /s");
    }
}
