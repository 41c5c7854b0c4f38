//! The mode and rules in force for an agent, shared with whoever may change them during a turn.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use parking_lot::RwLock;
use swarm_permissions::{
    Anchors, Behavior, Decision, Question, ReadFilter, Rule, RuleSet, Suggestion, decide,
};
use swarm_protocol::PermissionMode;
use swarm_tools::{ModeSwitch, ProtectedPaths};

/// Where granted rules say that they come from.
const GRANTED: &str = "session";

/// What an agent may do. The mode never rises above the ceiling it was made with.
pub struct Rights {
    /// Whose rights bound these at every moment.
    parent: Option<Arc<Rights>>,
    /// Where the rules were written.
    anchors: Anchors,
    inner: RwLock<Inner>,
    changed: Option<Box<ChangedFn>>,
}

type ChangedFn = dyn Fn(&Rights) + Send + Sync;

impl fmt::Debug for Rights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rights")
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Clone)]
struct Inner {
    ceiling: PermissionMode,
    mode: PermissionMode,
    /// The mode that plan mode was entered from.
    before_plan: Option<PermissionMode>,
    rules: RuleSet,
    /// Where rules come from that hold until the turn ends.
    lent: Vec<String>,
}

impl Inner {
    fn switch(&mut self, mode: PermissionMode) {
        if self.mode != PermissionMode::Plan {
            self.before_plan = (mode == PermissionMode::Plan).then_some(self.mode);
        }
        self.mode = mode;
    }
}

impl ModeSwitch for Rights {
    fn mode(&self) -> PermissionMode {
        Rights::mode(self)
    }

    fn enter_plan(&self) {
        self.set_mode(PermissionMode::Plan);
    }

    fn after_plan(&self) -> Option<PermissionMode> {
        let before = self.read(|inner| inner.before_plan).unwrap_or_default();
        let ceiling = self.ceiling();
        let mode = if ceiling.covers(before) {
            before
        } else {
            ceiling
        };
        (mode != PermissionMode::Plan).then_some(mode)
    }

    fn leave_plan(&self) -> Option<PermissionMode> {
        let mode = self.after_plan()?;
        self.set_mode(mode).then_some(mode)
    }

    fn grant_for_turn(&self, rules: &[String], origin: &str) {
        let rules = allowed(rules, origin);
        self.write(|inner| {
            inner.lent.push(origin.to_owned());
            inner.rules.extend(rules);
        });
    }
}

/// The rules that allow these calls. One that does not parse allows nothing.
pub(crate) fn allowed(rules: &[String], origin: &str) -> RuleSet {
    let mut allowed = RuleSet::default();
    for rule in rules {
        match Rule::parse(rule) {
            Ok(rule) => allowed.add(Behavior::Allow, rule, origin),
            Err(error) => tracing::warn!(%error, origin, "a rule grants nothing"),
        }
    }
    allowed
}

impl Rights {
    /// Rights with a mode and rules; a mode above the ceiling becomes the ceiling.
    pub fn new(mode: PermissionMode, rules: RuleSet, ceiling: PermissionMode) -> Self {
        let mode = if ceiling.covers(mode) { mode } else { ceiling };
        Self {
            parent: None,
            anchors: Anchors::default(),
            inner: RwLock::new(Inner {
                ceiling,
                mode,
                before_plan: None,
                rules,
                lent: Vec::new(),
            }),
            changed: None,
        }
    }

    /// The same for an agent that begins in plan mode and goes on in this mode once its plan is approved.
    #[must_use]
    pub fn after_approval(self, mode: PermissionMode) -> Self {
        self.inner.write().before_plan = Some(mode);
        self
    }

    /// The same where relative rules start elsewhere too.
    #[must_use]
    pub fn anchored(self, anchors: Anchors) -> Self {
        Self { anchors, ..self }
    }

    /// The rights of a sub-agent: those of its parent at every moment, in a mode of its own if that is stricter. What
    /// the parent loses it loses too; what is granted to it is its own alone. `anchors` say where the parent's relative
    /// rules start, `own` are rules that it has beside them.
    pub fn under(
        parent: Arc<Self>,
        mode: Option<PermissionMode>,
        anchors: Anchors,
        own: RuleSet,
    ) -> Self {
        let ceiling = parent.ceiling();
        Self {
            parent: Some(parent),
            anchors,
            inner: RwLock::new(Inner {
                ceiling,
                mode: mode.unwrap_or(PermissionMode::BypassPermissions),
                before_plan: None,
                rules: own,
                lent: Vec::new(),
            }),
            changed: None,
        }
    }

    /// Tells `changed` of these rights, at once and whenever they have changed.
    #[must_use]
    pub fn on_change(mut self, changed: impl Fn(&Self) + Send + Sync + 'static) -> Self {
        changed(&self);
        self.changed = Some(Box::new(changed));
        self
    }

    /// The mode that the mode in force never rises above.
    pub fn ceiling(&self) -> PermissionMode {
        self.read(|inner| inner.ceiling)
    }

    /// Where relative rules start besides the working directory `cwd`; of an agent that has moved to a copy of it, besides
    /// that one.
    pub(crate) fn anchors(&self, cwd: &Path, moved: Option<&Path>) -> Anchors {
        match moved {
            Some(copy) => self.anchors.below(cwd, Some(copy)),
            None => self.anchors.clone(),
        }
    }

    /// These paths and what no search in the directory `cwd` may show.
    pub(crate) fn hiding(
        &self,
        protected: &ProtectedPaths,
        cwd: &Path,
        anchors: Anchors,
        home: Option<&Path>,
    ) -> Arc<ProtectedPaths> {
        let unreadable = ReadFilter::denials(&self.rules(), cwd, home).anchored(anchors);
        Arc::new(without_unreadable(protected.clone(), unreadable))
    }

    /// The mode in force.
    pub fn mode(&self) -> PermissionMode {
        let own = self.read(|inner| inner.mode);
        match self.parent.as_ref().map(|parent| parent.mode()) {
            Some(bound) if !bound.covers(own) => bound,
            _ => own,
        }
    }

    /// The rules in force.
    pub fn rules(&self) -> RuleSet {
        let own = self.read(|inner| inner.rules.clone());
        let Some(parent) = &self.parent else {
            return own;
        };
        let mut rules = parent.rules();
        rules.extend(own);
        rules
    }

    /// Changes the mode. False, and nothing changed, when it is above the ceiling.
    pub fn set_mode(&self, mode: PermissionMode) -> bool {
        let bound = self
            .parent
            .as_ref()
            .map_or_else(|| self.ceiling(), |parent| parent.mode());
        let covered = bound.covers(mode);
        if covered {
            self.write(|inner| inner.switch(mode));
        }
        covered
    }

    /// Changes the mode, and the ceiling with it where that is lower. Only a person may ask for it.
    pub fn raise(&self, mode: PermissionMode) {
        self.write(|inner| {
            if !inner.ceiling.covers(mode) {
                inner.ceiling = mode;
            }
            inner.switch(mode);
        });
    }

    /// Applies a granted change. False, and nothing changed, when it does not parse or is above the ceiling.
    pub fn grant(&self, change: &Suggestion) -> bool {
        match change {
            Suggestion::SetMode { mode, .. } => self.set_mode(*mode),
            _ => self.write(|inner| inner.rules.apply(change, GRANTED).is_ok()),
        }
    }

    /// Takes back what was lent for a turn.
    pub(crate) fn take_back(&self) {
        if self.read(|inner| inner.lent.is_empty()) {
            return;
        }
        self.write(|inner| {
            let lent = std::mem::take(&mut inner.lent);
            let allowed = &mut inner.rules.allow;
            allowed.retain(|sourced| !lent.contains(&sourced.origin));
        });
    }

    /// Decides about one call.
    pub(crate) fn decide(&self, question: &Question<'_>) -> Decision {
        match &self.parent {
            None => self.read(|inner| decide(inner.mode, &inner.rules, question)),
            Some(_) => decide(self.mode(), &self.rules(), question),
        }
    }

    /// Whether no rule speaks against a call: whatever asks about it is the mode.
    pub(crate) fn is_left_to_mode(&self, question: &Question<'_>) -> bool {
        let widest = PermissionMode::BypassPermissions;
        decide(widest, &self.rules(), question).is_allow()
    }

    // No code that could panic runs under the lock but the decision itself, which only reads: a poisoned lock
    // holds sound rights.
    fn read<T>(&self, f: impl FnOnce(&Inner) -> T) -> T {
        f(&self.inner.read())
    }

    fn write<T>(&self, f: impl FnOnce(&mut Inner) -> T) -> T {
        let result = f(&mut self.inner.write());
        if let Some(changed) = &self.changed {
            changed(self);
        }
        result
    }
}

/// These paths, and those that `unreadable` hides from searches.
#[must_use]
pub fn without_unreadable(protected: ProtectedPaths, unreadable: ReadFilter) -> ProtectedPaths {
    if unreadable.is_empty() {
        protected
    } else {
        protected.hide_where(move |path| unreadable.hides(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plan_mode_is_left_for_the_mode_it_was_entered_from_and_never_above_the_ceiling() {
        use PermissionMode::{AcceptEdits, BypassPermissions, Default, DontAsk, Plan};
        for (mode, ceiling, after) in [
            (AcceptEdits, BypassPermissions, Some(AcceptEdits)),
            (Default, Default, Some(Default)),
            (DontAsk, DontAsk, Some(DontAsk)),
            // Begun in plan mode.
            (Plan, BypassPermissions, Some(Default)),
            (Plan, DontAsk, Some(DontAsk)),
            (Plan, Plan, None),
        ] {
            let rights = Rights::new(mode, RuleSet::default(), ceiling);
            ModeSwitch::enter_plan(&rights);
            assert_eq!(rights.mode(), Plan, "{mode} {ceiling}");
            assert_eq!(ModeSwitch::leave_plan(&rights), after, "{mode} {ceiling}");
            assert_eq!(rights.mode(), after.unwrap_or(Plan), "{mode} {ceiling}");
        }
    }

    #[test]
    fn only_a_raise_goes_above_the_ceiling_and_moves_it() {
        use PermissionMode::{AcceptEdits, Default, Plan};
        let rights = Rights::new(Default, RuleSet::default(), Default);
        assert!(!rights.set_mode(AcceptEdits));
        rights.raise(AcceptEdits);
        assert_eq!(
            (rights.mode(), rights.ceiling()),
            (AcceptEdits, AcceptEdits)
        );
        rights.raise(Plan);
        assert_eq!((rights.mode(), rights.ceiling()), (Plan, AcceptEdits));
    }

    #[test]
    fn an_agent_that_begins_in_plan_mode_goes_on_in_the_mode_it_was_meant_for() {
        use PermissionMode::{AcceptEdits, BypassPermissions, Default, Plan};
        for (meant, ceiling, after) in [
            (AcceptEdits, BypassPermissions, AcceptEdits),
            (BypassPermissions, Default, Default),
        ] {
            let rights = Rights::new(Plan, RuleSet::default(), ceiling).after_approval(meant);
            assert_eq!(rights.mode(), Plan);
            assert_eq!(
                ModeSwitch::leave_plan(&rights),
                Some(after),
                "{meant} {ceiling}"
            );
        }
    }

    #[test]
    fn p5_what_a_parents_rule_asks_about_is_not_left_to_a_sub_agents_mode() {
        use swarm_permissions::Rule;

        let mut rules = RuleSet::default();
        let rule = Rule::parse("Bash(git push:*)").unwrap();
        rules.add(swarm_permissions::Behavior::Ask, rule, "test");
        let widest = PermissionMode::BypassPermissions;
        let parent = std::sync::Arc::new(Rights::new(widest, rules, widest));
        let child = Rights::under(parent, Some(widest), Anchors::default(), RuleSet::default());
        for (command, left) in [("git push origin", false), ("make", true)] {
            let question = Question {
                tool: "Bash",
                kind: swarm_protocol::ToolKind::Execute,
                input: &serde_json::json!({"command": command}),
                read_only: false,
                cwd: std::path::Path::new("/repo"),
                starts_in: std::path::Path::new("/repo"),
                anchors: Anchors::NONE,
                home: None,
                touches: &[],
                files: &swarm_permissions::PlainFiles,
            };
            assert_eq!(child.is_left_to_mode(&question), left, "{command}");
        }
    }

    #[test]
    fn what_is_lent_for_a_turn_is_taken_back_and_nothing_else() {
        let mut rules = RuleSet::default();
        let own = Rule::parse("Bash(make *)").unwrap();
        rules.add(Behavior::Allow, own, "settings.json");
        let mode = PermissionMode::Default;
        let rights = Rights::new(mode, rules.clone(), mode);
        let lent = [
            "Bash(make *)".to_owned(),
            "Bash(git *)".to_owned(),
            "Bash(".to_owned(),
        ];
        ModeSwitch::grant_for_turn(&rights, &lent, "skill release");
        let origins = |rights: &Rights| -> Vec<String> {
            let rules = rights.rules().allow.into_iter();
            rules.map(|sourced| sourced.origin).collect()
        };
        assert_eq!(origins(&rights), ["settings.json", "skill release"]);
        rights.take_back();
        assert_eq!(rights.rules(), rules);
    }

    #[test]
    fn a_mode_that_a_person_sets_in_between_is_not_the_one_to_go_back_to() {
        let ceiling = PermissionMode::BypassPermissions;
        let rights = Rights::new(PermissionMode::AcceptEdits, RuleSet::default(), ceiling);
        ModeSwitch::enter_plan(&rights);
        rights.set_mode(PermissionMode::Default);
        rights.set_mode(PermissionMode::Plan);
        assert_eq!(
            ModeSwitch::leave_plan(&rights),
            Some(PermissionMode::Default)
        );
    }
}
