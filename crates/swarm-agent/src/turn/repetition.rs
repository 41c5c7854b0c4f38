//! Notices an agent that makes the same call over and over.

use swarm_protocol::AgentEvent;

use super::step::{Call, CallInput};
use crate::Session;

/// Number of identical calls in a row that is reported.
const REPORTED: u32 = 5;

/// Most characters of the input in the report.
const SHOWN: usize = 300;

/// The last call and how often it was made in a row.
#[derive(Debug, Default)]
pub(crate) struct Repetition {
    call: String,
    times: u32,
}

impl Repetition {
    /// Counts a call. Returns whether it is to be reported.
    fn count(&mut self, call: String) -> bool {
        if self.call == call {
            self.times += 1;
        } else {
            *self = Self { call, times: 1 };
        }
        self.times == REPORTED
    }
}

impl Session {
    /// Counts a call, and reports it if it was made several times in a row.
    pub(super) fn note_repetition(&mut self, call: &Call) {
        let input = match &call.input {
            CallInput::Object(input) => input.to_string(),
            CallInput::Unreadable(raw) => raw.clone(),
            CallInput::CutOff => return,
        };
        let tool = self.tool_name(call).to_owned();
        if self.repetition.count(format!("{tool} {input}")) {
            let input = input.chars().take(SHOWN).collect();
            self.emit(AgentEvent::CallRepeated {
                tool,
                input,
                times: REPORTED,
            });
        }
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
