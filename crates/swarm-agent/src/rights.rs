//! The permission mode and rules of an agent, which can change during a turn.

use std::path::Path;
use std::sync::Arc;

use parking_lot::RwLock;
use swarm_permissions::{
    Anchors, Behavior, Decision, Question, ReadFilter, Rule, RuleSet, Suggestion, decide,
};
use swarm_protocol::{PermissionMode, partial_debug};
use swarm_tools::{ModeSwitch, ProtectedPaths};
use tokio::sync::watch;

/// Origin of granted rules.
const GRANTED: &str = "session";

/// The permissions of an agent. The mode never exceeds the ceiling.
pub struct Rights {
    /// Upper bound of these rights at any time.
    parent: Option<Arc<Rights>>,
    /// Directories to which relative rules refer.
    anchors: Anchors,
    inner: RwLock<Inner>,
    changed: Option<Box<ChangedFn>>,
    /// Wakes requests that a change may decide. Shared with parent and sub-agents, whose rights
    /// depend on each other.
    changes: Arc<watch::Sender<()>>,
}

type ChangedFn = dyn Fn(&Rights) + Send + Sync;

partial_debug!(Rights: inner);

#[derive(Debug, Clone)]
struct Inner {
    ceiling: PermissionMode,
    mode: PermissionMode,
    before_plan: Option<PermissionMode>,
    rules: RuleSet,
    /// Origins of rules that apply until the turn ends.
    temporary: Vec<String>,
}

impl Inner {
    fn locked(ceiling: PermissionMode, mode: PermissionMode, rules: RuleSet) -> RwLock<Self> {
        RwLock::new(Self {
            ceiling,
            mode,
            before_plan: None,
            rules,
            temporary: Vec::new(),
        })
    }

    fn switch(&mut self, mode: PermissionMode) {
        if self.mode != PermissionMode::Plan {
            self.before_plan = (mode == PermissionMode::Plan).then_some(self.mode);
        }
        self.mode = mode;
    }

    fn revoke(&mut self, rules: &[Rule], origin: &str) {
        self.rules.allow.retain(|known| {
            let is_granted = known.origin == GRANTED || known.origin == origin;
            !(is_granted && rules.contains(&known.rule))
        });
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
            inner.temporary.push(origin.to_owned());
            inner.rules.extend(rules);
        });
    }
}

/// Returns allow rules for these calls. Rules that cannot be parsed are ignored.
pub(crate) fn allowed(rules: &[String], origin: &str) -> RuleSet {
    let mut allowed = RuleSet::default();
    for rule in rules {
        match Rule::parse(rule) {
            Ok(rule) => allowed.add(Behavior::Allow, rule, origin),
            Err(error) => tracing::warn!(%error, origin, "ignoring an invalid rule"),
        }
    }
    allowed
}

/// Returns a rule that allows file tools to write below a directory.
pub(crate) fn may_edit(directory: &Path, origin: &str) -> RuleSet {
    // Two slashes start an absolute path in a rule.
    allowed(&[format!("Edit(/{}/**)", directory.display())], origin)
}

impl Rights {
    /// Creates rights; a mode above the ceiling becomes the ceiling.
    pub fn new(mode: PermissionMode, rules: RuleSet, ceiling: PermissionMode) -> Self {
        let mode = if ceiling.covers(mode) { mode } else { ceiling };
        Self {
            parent: None,
            anchors: Anchors::default(),
            inner: Inner::locked(ceiling, mode, rules),
            changed: None,
            changes: Arc::new(watch::Sender::new(())),
        }
    }

    /// Sets the mode after plan mode, for an agent that begins in plan mode.
    #[must_use]
    pub fn after_approval(self, mode: PermissionMode) -> Self {
        self.inner.write().before_plan = Some(mode);
        self
    }

    /// Adds directories to which relative rules refer.
    #[must_use]
    pub fn anchored(self, anchors: Anchors) -> Self {
        Self { anchors, ..self }
    }

    /// Creates the rights of a sub-agent: always those of its parent, with a stricter mode if
    /// given. It loses whatever the parent loses; grants to it do not extend to the parent. The
    /// parent's relative rules refer to `anchors`; `own` are additional rules.
    pub fn under(
        parent: Arc<Self>,
        mode: Option<PermissionMode>,
        anchors: Anchors,
        own: RuleSet,
    ) -> Self {
        let mode = mode.unwrap_or(PermissionMode::BypassPermissions);
        Self {
            inner: Inner::locked(parent.ceiling(), mode, own),
            changes: Arc::clone(&parent.changes),
            parent: Some(parent),
            anchors,
            changed: None,
        }
    }

    /// Calls `changed` immediately and after every change.
    #[must_use]
    pub fn on_change(mut self, changed: impl Fn(&Self) + Send + Sync + 'static) -> Self {
        changed(&self);
        self.changed = Some(Box::new(changed));
        self
    }

    /// Returns a receiver that wakes after changes of these rights or those of related agents.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Returns the most permissive mode that can be set.
    pub fn ceiling(&self) -> PermissionMode {
        self.read(|inner| inner.ceiling)
    }

    /// Returns the most permissive mode that can be set now: for a sub-agent the parent's mode.
    pub(crate) fn highest_mode(&self) -> PermissionMode {
        let parent = self.parent.as_ref();
        parent.map_or_else(|| self.ceiling(), |parent| parent.mode())
    }

    /// Returns the directories, besides the working directory `cwd`, to which relative rules refer.
    /// For an agent that has moved to a copy of `cwd`, they are mapped to the copy.
    pub(crate) fn anchors(&self, cwd: &Path, moved: Option<&Path>) -> Anchors {
        match moved {
            Some(copy) => self.anchors.below(cwd, Some(copy)),
            None => self.anchors.clone(),
        }
    }

    /// Returns the protected paths with the files that searches in `cwd` must not show.
    pub(crate) fn with_hidden(
        &self,
        protected: &ProtectedPaths,
        cwd: &Path,
        anchors: Anchors,
        home: Option<&Path>,
    ) -> Arc<ProtectedPaths> {
        let unreadable = ReadFilter::denials(&self.rules(), cwd, home).anchored(anchors);
        Arc::new(without_unreadable(protected.clone(), unreadable))
    }

    /// Returns the current mode.
    pub fn mode(&self) -> PermissionMode {
        let own = self.read(|inner| inner.mode);
        match self.parent.as_ref().map(|parent| parent.mode()) {
            Some(bound) if !bound.covers(own) => bound,
            _ => own,
        }
    }

    /// Returns the current rules.
    pub fn rules(&self) -> RuleSet {
        let own = self.read(|inner| inner.rules.clone());
        let Some(parent) = &self.parent else {
            return own;
        };
        let mut rules = parent.rules();
        rules.extend(own);
        rules
    }

    /// Changes the mode. Returns `false` without a change if it exceeds the ceiling.
    pub fn set_mode(&self, mode: PermissionMode) -> bool {
        let covered = self.highest_mode().covers(mode);
        if covered {
            self.write(|inner| inner.switch(mode));
        }
        covered
    }

    /// Changes the mode and raises the ceiling to it if necessary. Only for requests of a person.
    pub fn raise(&self, mode: PermissionMode) {
        self.write(|inner| {
            if !inner.ceiling.covers(mode) {
                inner.ceiling = mode;
            }
            inner.switch(mode);
        });
    }

    /// Applies a granted change. Returns `false` without a change if it cannot be parsed or exceeds
    /// the ceiling.
    pub fn grant(&self, change: &Suggestion) -> bool {
        match change {
            Suggestion::SetMode { mode, .. } => self.set_mode(*mode),
            _ => self.write(|inner| inner.rules.apply(change, GRANTED).is_ok()),
        }
    }

    /// Adds allow rules with this origin. It replaces the origin of those that were granted in this
    /// session.
    pub fn allow(&self, rules: &[Rule], origin: &str) {
        self.write(|inner| {
            inner.revoke(rules, origin);
            for rule in rules {
                inner.rules.add(Behavior::Allow, rule.clone(), origin);
            }
        });
    }

    /// Revokes granted allow rules, whether granted in this session or with this origin.
    pub fn revoke(&self, rules: &[Rule], origin: &str) {
        self.write(|inner| inner.revoke(rules, origin));
    }

    /// Revokes the rules that were granted for a turn.
    pub(crate) fn revoke_temporary(&self) {
        if self.read(|inner| inner.temporary.is_empty()) {
            return;
        }
        self.write(|inner| {
            let temporary = std::mem::take(&mut inner.temporary);
            let allowed = &mut inner.rules.allow;
            allowed.retain(|sourced| !temporary.contains(&sourced.origin));
        });
    }

    pub(crate) fn decide(&self, question: &Question<'_>) -> Decision {
        match &self.parent {
            None => self.read(|inner| decide(inner.mode, &inner.rules, question)),
            Some(_) => decide(self.mode(), &self.rules(), question),
        }
    }

    /// Returns whether no rule applies to a call, so that the mode alone decides.
    pub(crate) fn is_left_to_mode(&self, question: &Question<'_>) -> bool {
        let widest = PermissionMode::BypassPermissions;
        decide(widest, &self.rules(), question).is_allow()
    }

    fn read<T>(&self, f: impl FnOnce(&Inner) -> T) -> T {
        f(&self.inner.read())
    }

    fn write<T>(&self, f: impl FnOnce(&mut Inner) -> T) -> T {
        let result = f(&mut self.inner.write());
        if let Some(changed) = &self.changed {
            changed(self);
        }
        self.changes.send_replace(());
        result
    }
}

/// Returns the protected paths with those that `unreadable` hides from searches.
#[must_use]
pub fn without_unreadable(protected: ProtectedPaths, unreadable: ReadFilter) -> ProtectedPaths {
    if unreadable.is_empty() {
        protected
    } else {
        protected.hide_where(move |path| unreadable.hides(path))
    }
}

#[cfg(test)]
#[path = "rights_chain_tests.rs"]
mod chain_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaving_plan_mode_restores_the_previous_mode_within_the_ceiling() {
        use PermissionMode::{AcceptEdits, BypassPermissions, Default, DontAsk, Plan};
        for (mode, ceiling, after) in [
            (AcceptEdits, BypassPermissions, Some(AcceptEdits)),
            (Default, Default, Some(Default)),
            (DontAsk, DontAsk, Some(DontAsk)),
            // The agent began in plan mode.
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
    fn only_raise_exceeds_the_ceiling() {
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
    fn an_agent_that_begins_in_plan_mode_continues_in_its_intended_mode() {
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
    fn p5_ask_rules_of_the_parent_apply_to_a_sub_agent() {
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
                ceiling: widest,
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
    fn only_temporary_rules_are_revoked_after_a_turn() {
        let mut rules = RuleSet::default();
        let own = Rule::parse("Bash(make *)").unwrap();
        rules.add(Behavior::Allow, own, "settings.json");
        let mode = PermissionMode::Default;
        let rights = Rights::new(mode, rules.clone(), mode);
        let temporary = [
            "Bash(make *)".to_owned(),
            "Bash(git *)".to_owned(),
            "Bash(".to_owned(),
        ];
        ModeSwitch::grant_for_turn(&rights, &temporary, "skill release");
        let origins = |rights: &Rights| -> Vec<String> {
            let rules = rights.rules().allow.into_iter();
            rules.map(|sourced| sourced.origin).collect()
        };
        assert_eq!(origins(&rights), ["settings.json", "skill release"]);
        rights.revoke_temporary();
        assert_eq!(rights.rules(), rules);
    }

    #[test]
    fn a_rule_of_the_team_has_its_origin_also_if_it_was_granted_before() {
        let mode = PermissionMode::Default;
        let make = Rule::parse("Bash(make)").unwrap();
        let git = Rule::parse("Bash(git log:*)").unwrap();
        let mut rules = RuleSet::default();
        rules.add(Behavior::Allow, git.clone(), "settings.json");
        rules.add(Behavior::Allow, make.clone(), GRANTED);
        let rights = Rights::new(mode, rules.clone(), mode);
        rights.allow(&[git, make.clone()], "team");
        rules.allow[1].origin = "team".to_owned();
        assert_eq!(rights.rules(), rules);
        rights.revoke(&[make], "team");
        rules.allow.pop();
        assert_eq!(rights.rules(), rules);
    }

    #[test]
    fn leaving_plan_mode_restores_the_latest_mode() {
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
