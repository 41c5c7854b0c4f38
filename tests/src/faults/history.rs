//! Whether what happened to a task could have happened one step after the other.
//!
//! A task is a register: free, held by a spawn, or done. Each call has a time at which it began and one at which it returned; it
//! took effect at some moment between. The history is sound if there is an order of all calls that agrees with those times and in
//! which each call does what it reported (linearizability, by the search of Wing and Gong).

use std::collections::{BTreeMap, HashSet};

/// What a call reported to have done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Deed {
    /// The spawn took the free task.
    Claim(u64),
    /// The spawn, which held the task, completed it.
    Complete(u64),
    /// The task was taken from the spawn, which had died.
    Release(u64),
}

/// A call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// What it did.
    pub deed: Deed,
    /// When it began, in nanoseconds.
    pub began: u64,
    /// When it returned; `u64::MAX` if its caller was killed meanwhile.
    pub returned: u64,
    /// Whether it may not have happened at all: its caller was killed.
    pub perhaps: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum State {
    Free,
    Held(u64),
    Done,
}

impl State {
    fn after(self, deed: Deed) -> Option<Self> {
        match (self, deed) {
            (Self::Free, Deed::Claim(spawn)) => Some(Self::Held(spawn)),
            (Self::Held(holder), Deed::Complete(spawn)) if holder == spawn => Some(Self::Done),
            (Self::Held(holder), Deed::Release(spawn)) if holder == spawn => Some(Self::Free),
            _ => None,
        }
    }
}

/// Calls by task.
#[derive(Debug, Clone, Default)]
pub struct History(pub BTreeMap<u64, Vec<Call>>);

impl History {
    /// Enters a call.
    pub fn enter(&mut self, task: u64, call: Call) {
        self.0.entry(task).or_default().push(call);
    }

    /// The tasks of which the calls cannot be put into an order.
    pub fn unsound(&self) -> Vec<u64> {
        let unsound = self.0.iter().filter(|(_, calls)| !is_sound(calls));
        unsound.map(|(task, _)| *task).collect()
    }

    /// Whether some work on a task began although one that it waits for was not done: the claim had returned before the
    /// completion began.
    pub fn begun_too_early(&self, task: u64, blocker: u64) -> bool {
        let calls = |task| self.0.get(&task).map_or(&[][..], Vec::as_slice);
        let completions = calls(blocker)
            .iter()
            .filter(|call| matches!(call.deed, Deed::Complete(_)));
        let first = completions.map(|call| call.began).min().unwrap_or(u64::MAX);
        let mut claims = calls(task)
            .iter()
            .filter(|call| matches!(call.deed, Deed::Claim(_)));
        claims.any(|claim| claim.returned < first)
    }
}

fn is_sound(calls: &[Call]) -> bool {
    let mut dead_ends = HashSet::new();
    search(calls, 0, State::Free, &mut dead_ends)
}

/// Whether the calls that are not in `made` can follow.
fn search(
    calls: &[Call],
    made: u128,
    state: State,
    dead_ends: &mut HashSet<(u128, State)>,
) -> bool {
    let is_left = |at: usize| made & (1 << at) == 0;
    let left: Vec<usize> = (0..calls.len()).filter(|at| is_left(*at)).collect();
    if left.iter().all(|at| calls[*at].perhaps) {
        return true;
    }
    if !dead_ends.insert((made, state)) {
        return false;
    }
    // Nothing can come before what had returned when it began.
    let must = left.iter().filter(|at| !calls[**at].perhaps);
    let horizon = must.map(|at| calls[*at].returned).min().unwrap_or(u64::MAX);
    left.iter().any(|at| {
        let call = calls[*at];
        call.began <= horizon
            && state
                .after(call.deed)
                .is_some_and(|next| search(calls, made | (1 << at), next, dead_ends))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(deed: Deed, began: u64, returned: u64) -> Call {
        Call {
            deed,
            began,
            returned,
            perhaps: false,
        }
    }

    #[test]
    fn calls_that_overlap_may_be_put_in_any_order_and_others_may_not() {
        let claim = call(Deed::Claim(1), 0, 10);
        let complete = call(Deed::Complete(1), 5, 20);
        assert!(is_sound(&[complete, claim]));
        let early = call(Deed::Complete(1), 0, 5);
        let late = call(Deed::Claim(1), 6, 10);
        assert!(!is_sound(&[early, late]));
    }

    #[test]
    fn of_two_claims_one_must_have_been_given_back() {
        let two = [call(Deed::Claim(1), 0, 10), call(Deed::Claim(2), 0, 10)];
        assert!(!is_sound(&two));
        let between = call(Deed::Release(1), 3, 8);
        assert!(is_sound(&[two[0], two[1], between]));
    }

    #[test]
    fn a_task_is_done_once() {
        let calls = [
            call(Deed::Claim(1), 0, 1),
            call(Deed::Complete(1), 2, 3),
            call(Deed::Complete(1), 4, 5),
        ];
        assert!(is_sound(&calls[..2]));
        assert!(!is_sound(&calls));
    }

    #[test]
    fn what_was_cut_short_may_have_happened_or_not() {
        let claim = call(Deed::Claim(1), 0, 1);
        let cut = Call {
            perhaps: true,
            ..call(Deed::Complete(1), 2, u64::MAX)
        };
        let released = call(Deed::Release(1), 5, 6);
        assert!(is_sound(&[claim, cut]));
        assert!(is_sound(&[claim, cut, released]));
        assert!(!is_sound(&[claim, released, released]));
    }

    #[test]
    fn a_claim_before_its_blocker_was_begun_to_be_completed_is_too_early() {
        let mut history = History::default();
        history.enter(1, call(Deed::Claim(1), 0, 1));
        history.enter(1, call(Deed::Complete(1), 10, 20));
        history.enter(2, call(Deed::Claim(2), 5, 15));
        assert!(!history.begun_too_early(2, 1));
        history.enter(2, call(Deed::Claim(3), 5, 9));
        assert!(history.begun_too_early(2, 1));
    }
}
