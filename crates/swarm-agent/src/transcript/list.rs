//! Lists the conversations of leads in a directory.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Deserialize;
use serde_json::Value;
use swarm_protocol::{LEAD_NAME, SessionId};

use super::line::{COORDINATOR, MODE};
use super::path::{project_dir, transcript_path};

/// Most lines of a transcript that are searched for its first prompt.
const SEARCHED_LINES: usize = 50;

/// Beginnings of texts that the program or another member has added.
const NOT_TYPED: [&str; 2] = ["<system-reminder>", "<teammate-message "];

/// Most transcripts that are searched for conversations of leads in all directories.
const NEWEST: usize = 500;

/// A conversation of a lead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeadSession {
    /// Session id of the conversation.
    pub id: SessionId,
    /// Time of the last write.
    pub modified: SystemTime,
    /// First prompt in one line; empty if there is none.
    pub first_prompt: String,
    /// Directory in which the lead worked; empty if the transcript does not name one.
    pub cwd: PathBuf,
}

/// The fields of a line that identify the conversation.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    agent_name: Option<String>,
    #[serde(default)]
    cwd: PathBuf,
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    message: Value,
    #[serde(default)]
    mode: String,
}

/// Returns the conversations of leads that worked in `cwd`, newest first. Unreadable files are
/// skipped.
pub fn lead_sessions(root: &Path, cwd: &Path) -> Vec<LeadSession> {
    sessions_of(transcripts_in(&project_dir(root, cwd)), usize::MAX)
}

/// Returns the conversations of leads in all directories, newest first: those among the newest
/// transcripts. Unreadable files are skipped.
pub fn all_lead_sessions(root: &Path) -> Vec<LeadSession> {
    let projects = std::fs::read_dir(root.join("projects"));
    let projects = projects.into_iter().flatten().flatten();
    let files = projects.flat_map(|project| transcripts_in(&project.path()));
    sessions_of(files.collect(), NEWEST)
}

/// A transcript and the time of its last write.
type Transcript = (PathBuf, SessionId, SystemTime);

fn transcripts_in(project: &Path) -> Vec<Transcript> {
    let files = std::fs::read_dir(project);
    let files = files.into_iter().flatten().flatten();
    let found = files.filter_map(|file| {
        let name = file.file_name().into_string().ok()?;
        let id: SessionId = name.strip_suffix(".jsonl")?.parse().ok()?;
        let modified = file.metadata().ok()?.modified().ok()?;
        Some((file.path(), id, modified))
    });
    found.collect()
}

/// Returns the conversations of leads among the newest transcripts.
fn sessions_of(mut files: Vec<Transcript>, most: usize) -> Vec<LeadSession> {
    files.sort_by_key(|(_, _, modified)| std::cmp::Reverse(*modified));
    let newest = files.into_iter().take(most);
    let found = newest.filter_map(|(path, id, modified)| {
        let (first_prompt, cwd) = beginning(&path)?;
        Some(LeadSession {
            id,
            modified,
            first_prompt,
            cwd,
        })
    });
    found.collect()
}

/// Returns whether the conversation of a lead that worked in `cwd` is a coordinator's. The mode is
/// recorded before the first message.
pub fn is_coordinator_session(root: &Path, cwd: &Path, session: SessionId) -> bool {
    let Ok(file) = File::open(transcript_path(root, cwd, session)) else {
        return false;
    };
    let is_mark = |line: Line| line.kind == MODE && line.mode == COORDINATOR;
    let lines = BufReader::new(file).lines().take(SEARCHED_LINES);
    let mut lines = lines.map_while(Result::ok);
    lines.any(|line| serde_json::from_str(&line).is_ok_and(is_mark))
}

/// Returns the first prompt of a lead and its directory; `None` for transcripts of other agents.
fn beginning(path: &Path) -> Option<(String, PathBuf)> {
    let lines = BufReader::new(File::open(path).ok()?).lines();
    let (mut is_lead, mut cwd) = (false, PathBuf::new());
    for line in lines.take(SEARCHED_LINES) {
        let Ok(line) = serde_json::from_str::<Line>(&line.ok()?) else {
            continue;
        };
        if line.agent_name? != LEAD_NAME {
            return None;
        }
        if line.kind == MODE {
            // The mode line precedes the first message.
            continue;
        }
        is_lead = true;
        if cwd.as_os_str().is_empty() {
            cwd = line.cwd;
        }
        if line.kind == "user"
            && let Some(text) = prompt_of(&line.message)
        {
            return Some((text, cwd));
        }
    }
    is_lead.then_some((String::new(), cwd))
}

/// The first text of a message that a person typed, in one line.
fn prompt_of(message: &Value) -> Option<String> {
    let content = &message["content"];
    let blocks = content.as_array().into_iter().flatten();
    let texts = content
        .as_str()
        .into_iter()
        .chain(blocks.filter_map(|block| block["text"].as_str()));
    let mut texts = texts.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
    let is_of_person = |text: &String| !NOT_TYPED.iter().any(|tag| text.starts_with(tag));
    let text = texts.find(|text| !text.is_empty() && is_of_person(text))?;
    Some(shell_line(&text).unwrap_or(text))
}

/// A command that the person ran in their shell, as typed. Claude Code uses the same tag.
fn shell_line(text: &str) -> Option<String> {
    let (line, _) = text
        .strip_prefix("<bash-input>")?
        .split_once("</bash-input>")?;
    Some(format!("!{line}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn write(root: &Path, cwd: &Path, lines: &[Value]) -> SessionId {
        let id = SessionId::random();
        let path = transcript_path(root, cwd, id);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        #[expect(
            clippy::disallowed_methods,
            reason = "a transcript as another process left it"
        )]
        std::fs::write(path, lines.join("\n")).unwrap();
        id
    }

    fn said(agent: &str, text: &str) -> Value {
        let content = json!([{"type": "text", "text": text}]);
        json!({"agentName": agent, "type": "user", "message": {"role": "user", "content": content}})
    }

    #[test]
    fn conversations_of_leads_are_listed_with_their_first_prompt_and_no_others() {
        let root = tempfile::tempdir().unwrap();
        let (root, cwd) = (root.path(), Path::new("/some/project"));
        assert_eq!(lead_sessions(root, cwd), []);
        let first = write(
            root,
            cwd,
            &[
                said("team-lead", "<system-reminder>rules</system-reminder>"),
                said(
                    "team-lead",
                    "<teammate-message teammate_id=\"system\">\nthe team\n</teammate-message>",
                ),
                said("team-lead", "Find\nthe bug"),
            ],
        );
        write(root, cwd, &[said("bob", "help")]);
        write(root, cwd, &[json!({"type": "user"})]);
        let found = lead_sessions(root, cwd);
        let found: Vec<_> = found
            .iter()
            .map(|one| (one.id, &*one.first_prompt))
            .collect();
        assert_eq!(found, [(first, "Find the bug")]);
        assert_eq!(lead_sessions(root, Path::new("/some/other")), []);
    }

    #[test]
    fn conversations_of_all_directories_are_listed_with_their_directory() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        assert_eq!(all_lead_sessions(root), []);
        let mut here = said("team-lead", "here");
        here["cwd"] = json!("/here");
        write(root, Path::new("/here"), &[here]);
        write(root, Path::new("/there"), &[said("team-lead", "there")]);
        write(root, Path::new("/there"), &[said("bob", "help")]);
        let found = all_lead_sessions(root);
        let mut found: Vec<_> = found
            .iter()
            .map(|one| (&*one.first_prompt, one.cwd.to_str().unwrap()))
            .collect();
        found.sort_unstable();
        assert_eq!(found, [("here", "/here"), ("there", "")]);
    }

    #[test]
    fn a_first_prompt_that_is_a_shell_command_is_listed_as_typed() {
        let root = tempfile::tempdir().unwrap();
        let (root, cwd) = (root.path(), Path::new("/some/project"));
        let ran = "<bash-input>ls -l</bash-input>\n<bash-stdout>a\n</bash-stdout>";
        write(root, cwd, &[said("team-lead", ran)]);
        assert_eq!(lead_sessions(root, cwd)[0].first_prompt, "!ls -l");
    }
}
