//! Which permission mode an agent gets.

use std::fmt;

use serde::{Deserialize, Serialize};
use swarm_protocol::PermissionMode;

/// A mode, who chose it, and what was above the ceiling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChosenMode {
    /// The mode in force.
    pub mode: PermissionMode,
    /// Who chose it.
    pub source: ModeSource,
    /// What the call asked for, if it is more than the agent gets. Whoever spawns refuses such a call rather than
    /// starting an agent that cannot do what it is for.
    pub call_lowered: Option<PermissionMode>,
    /// What the definition asks for, if it is more than the agent gets.
    pub definition_lowered: Option<PermissionMode>,
}

/// Who chose a mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModeSource {
    /// The spawn.
    Call,
    /// The definition.
    Definition,
    /// The parent: nobody asked for another, or for a looser one only.
    Parent,
}

impl fmt::Display for ModeSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ModeSource::Call => "call",
            ModeSource::Definition => "definition",
            ModeSource::Parent => "parent",
        })
    }
}

/// The strictest of the parent's mode, the definition's and the call's: rights only shrink.
///
/// `parent` is the mode that the parent is in at this moment, so that one in plan mode cannot have the work done by
/// somebody else.
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
                // The same mode is put down to whoever named it.
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
    fn p5_the_strictest_of_the_three_counts() {
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
    fn what_was_asked_for_in_vain_is_said() {
        let chosen = choose_mode(Default, Some(BypassPermissions), Some(AcceptEdits));
        assert_eq!(chosen.definition_lowered, Some(BypassPermissions));
        assert_eq!(chosen.call_lowered, Some(AcceptEdits));
        assert_eq!(
            choose_mode(Default, Some(Plan), Some(Plan)).call_lowered,
            None
        );
    }
}
