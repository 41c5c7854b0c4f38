//! The state of a runtime on disk: the program's own session, the messages that it has not received,
//! and whether a turn was cut off.
//!
//! It is written before a prompt, so that a later process does not give the same messages to the
//! program again without saying so.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use swarm_agent::AgentError;
use swarm_os::{OsError, fingerprint, read_optional, replace_in_private_dir};

/// Text before messages that the program already got, in a turn that was cut off.
const REPEATED: &str = "[Your turn on the following messages was cut off: your process or your session ended. You may have done a part of the work already. Check what is done before you repeat anything.]";

/// Text after a turn that was cut off.
const CUT_OFF: &str =
    "[Your previous turn was cut off before its end. Check what is done before you rely on it.]";

/// `runtime.json` next to a transcript.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CutTurn {
    /// The program to which `session` belongs.
    program: String,
    /// Id of the program's session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// Ids of the modes of that session, which the program names only when it starts one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    modes: Vec<String>,
    /// Fingerprint of the messages of a turn that has not ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    given: Option<String>,
    /// Messages that no program is known to have received, oldest first. For the team they are
    /// delivered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unsent: Vec<String>,
    #[serde(skip)]
    path: PathBuf,
}

impl CutTurn {
    /// Reads the state of `program`; another program starts a new session.
    pub(crate) fn load(path: &Path, program: &str) -> Result<Self, AgentError> {
        let bytes = read_optional(path).map_err(|source| unusable(path, source))?;
        let stored: Self = bytes
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default();
        let is_same = stored.program == program;
        let modes = if is_same { stored.modes } else { Vec::new() };
        Ok(Self {
            program: program.to_owned(),
            session: stored.session.filter(|_| is_same),
            modes,
            given: stored.given,
            unsent: stored.unsent,
            path: path.to_owned(),
        })
    }

    /// Returns the id of the program's session.
    pub(crate) fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Stores the id of the program's session.
    pub(crate) fn set_session(&mut self, session: &str) -> Result<(), AgentError> {
        self.session = Some(session.to_owned());
        self.save()
    }

    /// Returns the ids of the modes of the program's session.
    pub(crate) fn modes(&self) -> &[String] {
        &self.modes
    }

    /// Stores the ids of the modes of the program's session.
    pub(crate) fn set_modes(&mut self, modes: &[String]) -> Result<(), AgentError> {
        modes.clone_into(&mut self.modes);
        self.save()
    }

    /// Adds the messages of a turn to those that the program must receive. A turn that begins again
    /// has messages that are already among them.
    pub(crate) fn offer(&mut self, messages: &[String]) -> Result<(), AgentError> {
        let is_known = |count: &usize| self.unsent.ends_with(&messages[..*count]);
        let known = (0..=messages.len()).rev().find(is_known).unwrap_or(0);
        self.unsent.extend_from_slice(&messages[known..]);
        self.save()
    }

    /// Records that the program gets the offered messages now. Returns them, after a text that says
    /// so if a turn was cut off.
    pub(crate) fn give(&mut self) -> Result<Vec<String>, AgentError> {
        let given = format!("{:016x}", fingerprint(self.unsent.join("\0").as_bytes()));
        let note = match &self.given {
            None => None,
            Some(before) if *before == given => Some(REPEATED),
            Some(_) => Some(CUT_OFF),
        };
        self.given = Some(given);
        self.save()?;
        let note = note.map(str::to_owned).into_iter();
        Ok(note.chain(self.unsent.iter().cloned()).collect())
    }

    /// Records that the program has received the messages: it works on them.
    pub(crate) fn received(&mut self) -> Result<(), AgentError> {
        if self.unsent.is_empty() {
            return Ok(());
        }
        self.unsent.clear();
        self.save()
    }

    /// Records that the turn has ended.
    pub(crate) fn end(&mut self) -> Result<(), AgentError> {
        self.given = None;
        self.unsent.clear();
        self.save()
    }

    fn save(&self) -> Result<(), AgentError> {
        // Strings always serialize.
        let bytes = serde_json::to_vec(self).unwrap_or_default();
        let saved = replace_in_private_dir(&self.path, &bytes);
        saved.map_err(|source| unusable(&self.path, source))
    }
}

fn unusable(path: &Path, source: OsError) -> AgentError {
    AgentError::Transcript {
        path: path.to_owned(),
        source,
    }
}

/// Returns the messages of a turn as blocks of content.
pub(crate) fn text_blocks(texts: &[String]) -> Vec<Value> {
    let blocks = texts.iter();
    blocks
        .map(|text| json!({"type": "text", "text": text}))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_that_has_not_ended_is_marked_when_it_is_given_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a/runtime.json");
        let one = ["one".to_owned()];
        let mut state = CutTurn::load(&path, "acp:x").unwrap();
        state.offer(&one).unwrap();
        assert_eq!(state.give().unwrap(), one);
        state.set_session("s1").unwrap();
        let mut again = CutTurn::load(&path, "acp:x").unwrap();
        assert_eq!(again.session(), Some("s1"));
        again.offer(&one).unwrap();
        assert_eq!(again.give().unwrap(), [REPEATED, "one"]);
        again.received().unwrap();
        again.offer(&["two".to_owned()]).unwrap();
        assert_eq!(again.give().unwrap(), [CUT_OFF, "two"]);
        again.end().unwrap();
        again.offer(&one).unwrap();
        assert_eq!(again.give().unwrap(), one);
    }

    #[test]
    fn messages_that_no_program_received_precede_those_of_the_next_turn() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("runtime.json");
        let texts = ["one", "two", "three"].map(str::to_owned);
        let mut held = CutTurn::load(&path, "acp:x").unwrap();
        held.offer(&texts[..1]).unwrap();
        // The turn begins again in another process, with new mail.
        let mut next = CutTurn::load(&path, "acp:x").unwrap();
        next.offer(&texts[..2]).unwrap();
        next.offer(&texts[2..]).unwrap();
        assert_eq!(next.give().unwrap(), texts);
        next.received().unwrap();
        let mut last = CutTurn::load(&path, "acp:x").unwrap();
        last.offer(&[]).unwrap();
        assert_eq!(last.give().unwrap(), [CUT_OFF]);
    }

    #[test]
    fn another_program_does_not_continue_the_session() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("runtime.json");
        let mut state = CutTurn::load(&path, "acp:x").unwrap();
        state.set_session("s1").unwrap();
        state.set_modes(&["plan".to_owned()]).unwrap();
        let other = CutTurn::load(&path, "acp:y").unwrap();
        assert_eq!(other.session(), None);
        assert!(other.modes().is_empty());
        assert_eq!(CutTurn::load(&path, "acp:x").unwrap().modes(), ["plan"]);
    }
}
