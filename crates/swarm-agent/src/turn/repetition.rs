//! Counts the calls of an agent that makes the same call over and over.

/// Number of identical calls in a row that is reported.
pub(super) const REPORTED: u32 = 5;

/// The last call and how often it was made in a row.
#[derive(Debug, Default)]
pub(crate) struct Repetition {
    call: String,
    times: u32,
}

impl Repetition {
    /// Counts a call. Returns whether to report it.
    pub(super) fn count(&mut self, call: String) -> bool {
        if self.call == call {
            self.times += 1;
        } else {
            *self = Self { call, times: 1 };
        }
        self.times == REPORTED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_calls_in_a_row_count_and_are_reported_once() {
        let mut repetition = Repetition::default();
        let calls = ["a", "a", "a", "a", "b", "a", "a", "a", "a", "a", "a", "a"];
        let reported: Vec<usize> = (0..calls.len())
            .filter(|place| repetition.count(calls[*place].to_owned()))
            .collect();
        assert_eq!(reported, [9]);
    }
}
