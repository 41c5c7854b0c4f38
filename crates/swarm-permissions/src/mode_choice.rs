//! The choice of an agent's permission mode.

use swarm_protocol::{PermissionMode, named_enum};

/// An agent's mode, its source, and requested modes above the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChosenMode {
    /// The effective mode.
    pub mode: PermissionMode,
    /// The source of the mode.
    pub source: ModeSource,
    /// The mode requested by the call, if it is more permissive than the effective one. The caller
    /// rejects such a spawn instead of starting an agent that cannot do its task.
    pub call_lowered: Option<PermissionMode>,
    /// The mode requested by the definition, if it is more permissive than the effective one.
    pub definition_lowered: Option<PermissionMode>,
}

named_enum! {
    /// The source of a mode.
    pub enum ModeSource {
        /// The spawn call.
        Call = "call",
        /// The definition.
        Definition = "definition",
        /// The parent, because no stricter mode was requested.
        Parent = "parent",
    }
}

/// Returns the strictest of the parent's mode, the definition's and the call's.
///
/// `parent` is the parent's current mode, so that a parent in plan mode cannot delegate changes.
pub fn choose_mode(
    parent: PermissionMode,
    definition: Option<PermissionMode>,
    call: Option<PermissionMode>,
) -> ChosenMode {
    let asked = [
        (definition, ModeSource::Definition),
        (call, ModeSource::Call),
    ];
    let (mode, source) = asked.into_iter().fold(
        (parent, ModeSource::Parent),
        |(mode, source), (asked, by)| {
            match asked {
                // If modes are equal, the explicit request is the source.
                Some(asked) if mode.covers(asked) => (asked, by),
                _ => (mode, source),
            }
        },
    );
    let lowered = |asked: Option<PermissionMode>| asked.filter(|asked| !mode.covers(*asked));
    ChosenMode {
        mode,
        source,
        call_lowered: lowered(call),
        definition_lowered: lowered(definition),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use PermissionMode::{AcceptEdits, BypassPermissions, Default, DontAsk, Plan};

    #[test]
    fn p5_the_strictest_of_the_three_modes_wins() {
        for (parent, definition, call, mode, source) in [
            (Default, None, None, Default, ModeSource::Parent),
            (
                Default,
                Some(AcceptEdits),
                None,
                Default,
                ModeSource::Parent,
            ),
            (
                Plan,
                Some(BypassPermissions),
                Some(BypassPermissions),
                Plan,
                ModeSource::Parent,
            ),
            (
                BypassPermissions,
                Some(Plan),
                None,
                Plan,
                ModeSource::Definition,
            ),
            (
                BypassPermissions,
                Some(Plan),
                Some(AcceptEdits),
                Plan,
                ModeSource::Definition,
            ),
            (
                BypassPermissions,
                Some(AcceptEdits),
                Some(DontAsk),
                DontAsk,
                ModeSource::Call,
            ),
            (
                AcceptEdits,
                None,
                Some(AcceptEdits),
                AcceptEdits,
                ModeSource::Call,
            ),
        ] {
            let chosen = choose_mode(parent, definition, call);
            let got = (chosen.mode, chosen.source);
            assert_eq!(got, (mode, source), "{parent} {definition:?} {call:?}");
        }
    }

    #[test]
    fn modes_that_were_lowered_are_reported() {
        let chosen = choose_mode(Default, Some(BypassPermissions), Some(AcceptEdits));
        assert_eq!(chosen.definition_lowered, Some(BypassPermissions));
        assert_eq!(chosen.call_lowered, Some(AcceptEdits));
        assert_eq!(
            choose_mode(Default, Some(Plan), Some(Plan)).call_lowered,
            None
        );
    }
}
