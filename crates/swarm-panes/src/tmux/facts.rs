//! Reads the state of a window before its borders are changed: its own options, and the border text
//! of the lead's pane.

use swarm_protocol::{PaneId, SpawnId};
use tmux_interface::{DisplayMessage, ShowOptions, TmuxCommand};

use super::batch::Batch;
use super::server::Server;
use super::snapshot::PaneRow;
use crate::PaneError;

/// The option with the border text.
pub(crate) const FORMAT: &str = "pane-border-format";

/// A query for facts about a window.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct WindowQuery {
    /// Target in the window whose options are requested.
    pub(crate) options_at: Option<String>,
    /// The lead's pane if its border text is requested.
    pub(crate) wording_of: Option<PaneId>,
}

/// Result of a query; `None` for facts that were not requested.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct WindowFacts {
    /// The window's own options, one per line.
    pub(crate) options: Option<String>,
    /// Border text of the lead's pane.
    pub(crate) wording: Option<String>,
}

impl WindowQuery {
    /// Returns the facts that are needed before members' titles are shown in a window with these
    /// panes. A window on which swarm has set its options and a labelled lead's pane need no query.
    pub(crate) fn about(panes: &[&PaneRow], lead: Option<&PaneId>) -> Self {
        let unframed = panes.first().filter(|first| first.options_set.is_empty());
        let lead = panes.iter().find(|row| lead == Some(&row.id));
        let unsigned = lead.filter(|lead| lead.tag.is_none() && lead.signed.is_empty());
        Self {
            options_at: unframed.map(|first| first.id.to_string()),
            wording_of: unsigned.map(|lead| lead.id.clone()),
        }
    }

    /// Limits the query to facts that can be read from this pane of the window. It cannot fail if
    /// the pane exists.
    pub(crate) fn limited_to(self, pane: &PaneId) -> Self {
        Self {
            options_at: self.options_at.map(|_| pane.to_string()),
            wording_of: self.wording_of.filter(|lead| lead == pane),
        }
    }

    /// Returns whether these facts answer the whole query.
    pub(crate) fn is_answered_by(&self, facts: &WindowFacts) -> bool {
        (self.options_at.is_none() || facts.options.is_some())
            && (self.wording_of.is_none() || facts.wording.is_some())
    }

    /// Returns the commands of the query, which print a `mark` line before, between and after the
    /// answers. The mark is secret, so no answer can imitate it.
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

    /// Parses an output into the text before the answers, the answers, and the text after them.
    ///
    /// # Errors
    /// [`PaneError::Unreadable`] if the marks are missing.
    pub(crate) fn read<'o>(
        &self,
        mark: &SpawnId,
        output: &'o str,
    ) -> Result<(&'o str, WindowFacts, &'o str), PaneError> {
        let line = format!("{mark}\n");
        let mut parts = output.splitn(4, &line);
        let (Some(before), Some(options), Some(wording), Some(rest)) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(PaneError::Unreadable {
                what: "the facts about a window",
                line: output.to_owned(),
            });
        };
        let facts = WindowFacts {
            options: self.options_at.as_ref().map(|_| options.to_owned()),
            wording: self.wording_of.as_ref().map(|_| wording.to_owned()),
        };
        Ok((before, facts, rest))
    }

    /// Runs the query in a separate call.
    pub(crate) async fn ask(&self, server: &Server) -> Result<WindowFacts, PaneError> {
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
    fn answers_with_any_content_are_parsed() {
        let mark = SpawnId::random();
        let window_query = WindowQuery {
            options_at: Some("%1".to_owned()),
            wording_of: None,
        };
        let output = format!("%7\n{mark}\nmode-keys vi\n%9\n{mark}\n{mark}\n%1\t@1\n");
        let (before, facts, rest) = window_query.read(&mark, &output).unwrap();
        assert_eq!((before, rest), ("%7\n", "%1\t@1\n"));
        assert_eq!(facts.options.as_deref(), Some("mode-keys vi\n%9\n"));
        assert_eq!(facts.wording, None);
        assert!(window_query.is_answered_by(&facts));
        assert!(!window_query.is_answered_by(&WindowFacts::default()));
        assert!(window_query.read(&SpawnId::random(), &output).is_err());
    }
}
