//! The mode and rules in force for an agent, shared with whoever may change them during a turn.

use std::fmt;
use std::sync::{PoisonError, RwLock};

use swarm_policy::{Decision, Question, RuleSet, Suggestion, decide};
use swarm_protocol::PermissionMode;

/// Where granted rules say that they come from.
const GRANTED: &str = "session";

/// What an agent may do. The mode never rises above the ceiling it was made with.
pub struct Rights {
    ceiling: PermissionMode,
    inner: RwLock<Inner>,
    changed: Option<Box<ChangedFn>>,
}

type ChangedFn = dyn Fn(&Rights) + Send + Sync;

impl fmt::Debug for Rights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rights")
            .field("ceiling", &self.ceiling)
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Clone)]
struct Inner {
    mode: PermissionMode,
    rules: RuleSet,
}

impl Rights {
    /// Rights with a mode and rules; a mode above the ceiling becomes the ceiling.
    pub fn new(mode: PermissionMode, rules: RuleSet, ceiling: PermissionMode) -> Self {
        let mode = if ceiling.covers(mode) { mode } else { ceiling };
        Self {
            ceiling,
            inner: RwLock::new(Inner { mode, rules }),
            changed: None,
        }
    }

    /// Tells `changed` of these rights, at once and whenever they have changed.
    #[must_use]
    pub fn told_to(mut self, changed: impl Fn(&Self) + Send + Sync + 'static) -> Self {
        changed(&self);
        self.changed = Some(Box::new(changed));
        self
    }

    /// The mode that the mode in force never rises above.
    pub fn ceiling(&self) -> PermissionMode {
        self.ceiling
    }

    /// The mode in force.
    pub fn mode(&self) -> PermissionMode {
        self.read(|inner| inner.mode)
    }

    /// The rules in force.
    pub fn rules(&self) -> RuleSet {
        self.read(|inner| inner.rules.clone())
    }

    /// Changes the mode. False, and nothing changed, when it is above the ceiling.
    pub fn set_mode(&self, mode: PermissionMode) -> bool {
        let covered = self.ceiling.covers(mode);
        if covered {
            self.write(|inner| inner.mode = mode);
        }
        covered
    }

    /// Applies a granted change. False, and nothing changed, when it does not parse or is above the ceiling.
    pub fn grant(&self, change: &Suggestion) -> bool {
        match change {
            Suggestion::SetMode { mode, .. } => self.set_mode(*mode),
            _ => self.write(|inner| inner.rules.apply(change, GRANTED).is_ok()),
        }
    }

    /// Decides about one call.
    pub(crate) fn decide(&self, question: &Question<'_>) -> Decision {
        self.read(|inner| decide(inner.mode, &inner.rules, question))
    }

    // No code that could panic runs under the lock but the decision itself, which only reads: a poisoned lock
    // holds sound rights.
    fn read<T>(&self, f: impl FnOnce(&Inner) -> T) -> T {
        f(&self.inner.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, f: impl FnOnce(&mut Inner) -> T) -> T {
        let result = f(&mut self.inner.write().unwrap_or_else(PoisonError::into_inner));
        if let Some(changed) = &self.changed {
            changed(self);
        }
        result
    }
}
