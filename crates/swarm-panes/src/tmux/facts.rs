//! What is asked about a window before its borders are touched: the options that it has of its own, and how the border of
//! the lead's pane is worded.

use swarm_protocol::{PaneId, SpawnId};
use tmux_interface::{DisplayMessage, ShowOptions, TmuxCommand};

use super::batch::Batch;
use super::server::Server;
use super::snapshot::PaneRow;
use crate::PaneError;

/// The option that words a border.
pub(crate) const FORMAT: &str = "pane-border-format";

/// What is to be found out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Questions {
    /// A target in the window whose own options are asked for.
    pub(crate) options_at: Option<String>,
    /// The lead's pane, whose border's wording is asked for.
    pub(crate) wording_of: Option<PaneId>,
}

/// What was found out; none of what was not asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    /// The window's own options, a line each.
    pub(crate) options: Option<String>,
    /// How the border of the lead's pane is worded.
    pub(crate) wording: Option<String>,
}

impl Questions {
    /// What must be known of a window with these panes before members' titles are shown there. A window on which swarm
    /// has set its options, and a lead's pane that it has signed, are left as they are.
    pub(crate) fn about(panes: &[&PaneRow], lead: Option<&PaneId>) -> Self {
        let unframed = panes.first().filter(|first| first.options_set.is_empty());
        let lead = panes.iter().find(|row| lead == Some(&row.id));
        let unsigned = lead.filter(|lead| lead.tag.is_none() && lead.signed.is_empty());
        Self {
            options_at: unframed.map(|first| first.id.to_string()),
            wording_of: unsigned.map(|lead| lead.id.clone()),
        }
    }

    /// Those that can be asked of this pane of the window. If the pane is there, none of them fails.
    pub(crate) fn asked_at(self, pane: &PaneId) -> Self {
        Self {
            options_at: self.options_at.map(|_| pane.to_string()),
            wording_of: self.wording_of.filter(|lead| lead == pane),
        }
    }

    /// Whether these answers leave nothing open.
    pub(crate) fn are_answered_by(&self, facts: &Facts) -> bool {
        (self.options_at.is_none() || facts.options.is_some())
            && (self.wording_of.is_none() || facts.wording.is_some())
    }

    /// The commands that ask, with a line of `mark` before, between and behind the answers. Nobody else knows the mark,
    /// so no answer can look like one.
    pub(crate) fn commands(&self, mark: &SpawnId) -> Batch {
        let line = || {
            DisplayMessage::new()
                .print()
                .message(mark.to_string())
                .build()
        };
        let options = self.options_at.as_ref().map(|target| options_of(target));
        let wording = self.wording_of.as_ref().map(wording_of);
        Batch::new()
            .then(&line())
            .then_all(options)
            .then(&line())
            .then_all(wording)
            .then(&line())
    }

    /// Reads an output: what stood before the answers, the answers, and what follows.
    ///
    /// # Errors
    /// [`PaneError::Unreadable`] when the marks are not there.
    pub(crate) fn read<'o>(
        &self,
        mark: &SpawnId,
        output: &'o str,
    ) -> Result<(&'o str, Facts, &'o str), PaneError> {
        let line = format!("{mark}\n");
        let mut parts = output.splitn(4, &line);
        let (Some(before), Some(options), Some(wording), Some(rest)) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(PaneError::Unreadable {
                what: "what is known of a window",
                line: output.to_owned(),
            });
        };
        let facts = Facts {
            options: self.options_at.as_ref().map(|_| options.to_owned()),
            wording: self.wording_of.as_ref().map(|_| wording.to_owned()),
        };
        Ok((before, facts, rest))
    }

    /// Asks in a call of its own.
    ///
    /// # Errors
    /// [`PaneError`] when the server does not answer.
    pub(crate) async fn ask(&self, server: &Server) -> Result<Facts, PaneError> {
        let mark = SpawnId::random();
        let output = server.run(&self.commands(&mark)).await?;
        self.read(&mark, &output).map(|(_, facts, _)| facts)
    }
}

fn options_of(target: &str) -> TmuxCommand<'static> {
    ShowOptions::new()
        .window()
        .target_pane(target.to_owned())
        .build()
}

fn wording_of(lead: &PaneId) -> TmuxCommand<'static> {
    DisplayMessage::new()
        .print()
        .target_pane(lead.as_str().to_owned())
        .message(format!("#{{{FORMAT}}}"))
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_whatever_they_hold() {
        let mark = SpawnId::random();
        let questions = Questions {
            options_at: Some("%1".to_owned()),
            wording_of: None,
        };
        let output = format!("%7\n{mark}\nmode-keys vi\n%9\n{mark}\n{mark}\n%1\t@1\n");
        let (before, facts, rest) = questions.read(&mark, &output).unwrap();
        assert_eq!((before, rest), ("%7\n", "%1\t@1\n"));
        assert_eq!(facts.options.as_deref(), Some("mode-keys vi\n%9\n"));
        assert_eq!(facts.wording, None);
        assert!(questions.are_answered_by(&facts));
        assert!(!questions.are_answered_by(&Facts::default()));
        assert!(questions.read(&SpawnId::random(), &output).is_err());
    }
}
