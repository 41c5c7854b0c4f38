//! The state of a runtime on disk: the program's own session, and whether a turn was cut off.
//!
//! It is written before a prompt, so that a later process does not give the same messages to the
//! program again without saying so.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use swarm_agent::AgentError;
use swarm_os::{OsError, ensure_private_dir, fingerprint, read_optional, replace_alone};

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

    /// Records that the program gets these messages now. Returns the text that must precede them if
    /// a turn was cut off.
    pub(crate) fn give(&mut self, messages: &[String]) -> Result<Option<&'static str>, AgentError> {
        let given = format!("{:016x}", fingerprint(messages.join("\0").as_bytes()));
        let note = match &self.given {
            None => None,
            Some(before) if *before == given => Some(REPEATED),
            Some(_) => Some(CUT_OFF),
        };
        self.given = Some(given);
        self.save()?;
        Ok(note)
    }

    /// Records that the turn has ended.
    pub(crate) fn end(&mut self) -> Result<(), AgentError> {
        self.given = None;
        self.save()
    }

    fn save(&self) -> Result<(), AgentError> {
        // Strings always serialize.
        let bytes = serde_json::to_vec(self).unwrap_or_default();
        let directory = self.path.parent().unwrap_or(&self.path);
        let saved = ensure_private_dir(directory).and_then(|()| replace_alone(&self.path, &bytes));
        saved.map_err(|source| unusable(&self.path, source))
    }
}

fn unusable(path: &Path, source: OsError) -> AgentError {
    AgentError::Transcript {
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_that_has_not_ended_is_marked_when_it_is_given_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a/runtime.json");
        let mails = ["one".to_owned()];
        let mut state = CutTurn::load(&path, "acp:x").unwrap();
        assert_eq!(state.give(&mails).unwrap(), None);
        state.set_session("s1").unwrap();
        let mut again = CutTurn::load(&path, "acp:x").unwrap();
        assert_eq!(again.session(), Some("s1"));
        assert_eq!(again.give(&mails).unwrap(), Some(REPEATED));
        assert_eq!(again.give(&["two".to_owned()]).unwrap(), Some(CUT_OFF));
        again.end().unwrap();
        assert_eq!(again.give(&mails).unwrap(), None);
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
