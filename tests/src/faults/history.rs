//! Checks whether the operations on a task are linearizable.
//!
//! A task is a register: free, held by a spawn, or done. Each operation has a start and a return
//! time, and takes effect at some moment in between. The history is valid if there is an order of
//! all operations that agrees with those times and in which each operation has its reported effect
//! (search of Wing and Gong).

use std::collections::{BTreeMap, HashSet};

/// Reported effect of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    /// The spawn claimed the free task.
    Claim(u64),
    /// The spawn, which held the task, completed it.
    Complete(u64),
    /// The task was released because the spawn had died.
    Release(u64),
}

/// An operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// Its effect.
    pub effect: Effect,
    /// Start time in nanoseconds.
    pub began: u64,
    /// Return time; `u64::MAX` if its caller was killed meanwhile.
    pub returned: u64,
    /// Whether it may have had no effect because its caller was killed.
    pub perhaps: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum State {
    Free,
    Held(u64),
    Done,
}

impl State {
    fn after(self, effect: Effect) -> Option<Self> {
        match (self, effect) {
            (Self::Free, Effect::Claim(spawn)) => Some(Self::Held(spawn)),
            (Self::Held(holder), Effect::Complete(spawn)) if holder == spawn => Some(Self::Done),
            (Self::Held(holder), Effect::Release(spawn)) if holder == spawn => Some(Self::Free),
            _ => None,
        }
    }
}

/// Operations by task.
#[derive(Debug, Clone, Default)]
pub struct History(pub BTreeMap<u64, Vec<Call>>);

impl History {
    /// Adds an operation.
    pub fn enter(&mut self, task: u64, call: Call) {
        self.0.entry(task).or_default().push(call);
    }

    /// Returns the tasks whose operations are not linearizable.
    pub fn unsound(&self) -> Vec<u64> {
        let unsound = self.0.iter().filter(|(_, calls)| !is_sound(calls));
        unsound.map(|(task, _)| *task).collect()
    }

    /// Returns whether a task was claimed before its blocker was completed: the claim returned
    /// before the completion started.
    pub fn begun_too_early(&self, task: u64, blocker: u64) -> bool {
        let calls = |task| self.0.get(&task).map_or(&[][..], Vec::as_slice);
        let completions = calls(blocker)
            .iter()
            .filter(|call| matches!(call.effect, Effect::Complete(_)));
        let first = completions.map(|call| call.began).min().unwrap_or(u64::MAX);
        let mut claims = calls(task)
            .iter()
            .filter(|call| matches!(call.effect, Effect::Claim(_)));
        claims.any(|claim| claim.returned < first)
    }
}

fn is_sound(calls: &[Call]) -> bool {
    let mut dead_ends = HashSet::new();
    search(calls, 0, State::Free, &mut dead_ends)
}

/// Returns whether the remaining operations can follow.
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
    // An operation cannot precede one that returned before it started.
    let must = left.iter().filter(|at| !calls[**at].perhaps);
    let horizon = must.map(|at| calls[*at].returned).min().unwrap_or(u64::MAX);
    left.iter().any(|at| {
        let call = calls[*at];
        call.began <= horizon
            && state
                .after(call.effect)
                .is_some_and(|next| search(calls, made | (1 << at), next, dead_ends))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(effect: Effect, began: u64, returned: u64) -> Call {
        Call {
            effect,
            began,
            returned,
            perhaps: false,
        }
    }

    #[test]
    fn only_overlapping_operations_may_be_reordered() {
        let claim = call(Effect::Claim(1), 0, 10);
        let complete = call(Effect::Complete(1), 5, 20);
        assert!(is_sound(&[complete, claim]));
        let early = call(Effect::Complete(1), 0, 5);
        let late = call(Effect::Claim(1), 6, 10);
        assert!(!is_sound(&[early, late]));
    }

    #[test]
    fn two_claims_need_a_release_in_between() {
        let two = [call(Effect::Claim(1), 0, 10), call(Effect::Claim(2), 0, 10)];
        assert!(!is_sound(&two));
        let between = call(Effect::Release(1), 3, 8);
        assert!(is_sound(&[two[0], two[1], between]));
    }

    #[test]
    fn a_task_is_completed_once() {
        let calls = [
            call(Effect::Claim(1), 0, 1),
            call(Effect::Complete(1), 2, 3),
            call(Effect::Complete(1), 4, 5),
        ];
        assert!(is_sound(&calls[..2]));
        assert!(!is_sound(&calls));
    }

    #[test]
    fn an_interrupted_operation_may_or_may_not_have_taken_effect() {
        let claim = call(Effect::Claim(1), 0, 1);
        let cut = Call {
            perhaps: true,
            ..call(Effect::Complete(1), 2, u64::MAX)
        };
        let released = call(Effect::Release(1), 5, 6);
        assert!(is_sound(&[claim, cut]));
        assert!(is_sound(&[claim, cut, released]));
        assert!(!is_sound(&[claim, released, released]));
    }

    #[test]
    fn a_claim_before_the_completion_of_its_blocker_is_too_early() {
        let mut history = History::default();
        history.enter(1, call(Effect::Claim(1), 0, 1));
        history.enter(1, call(Effect::Complete(1), 10, 20));
        history.enter(2, call(Effect::Claim(2), 5, 15));
        assert!(!history.begun_too_early(2, 1));
        history.enter(2, call(Effect::Claim(3), 5, 9));
        assert!(history.begun_too_early(2, 1));
    }
}
