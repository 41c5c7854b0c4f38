//! What a definition gives an agent besides its prompt: preloaded skills and a memory. Teammates
//! and sub-agents share this code.

use std::path::{Path, PathBuf};

use swarm_os::{read_beginning, repository_top};
use swarm_permissions::{AgentDefinition, MemoryScope, RuleSet};
use swarm_protocol::Skill;
use swarm_tools::skill_text;

use crate::ProgramDocs;
use crate::rights::may_edit;

/// Most lines and bytes of a memory's index that are shown, as in Claude Code.
const MEMORY_LINES: usize = 200;
const MEMORY_BYTES: usize = 25_000;

/// Bytes of the index to read: enough to detect that it exceeds the limits.
const MEMORY_READ: u64 = 64 * 1024;

/// A skill that a definition names cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[error("the agent type {agent_type} names the skill `{}`: {why}", .skill.escape_debug())]
pub struct SkillError {
    /// Name of the agent type.
    pub agent_type: String,
    /// Name of the skill.
    pub skill: String,
    /// Reason for the failure.
    pub why: String,
}

/// What a definition adds to an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadedDefinition {
    /// Blocks for the system prompt.
    pub instructions: Vec<String>,
    /// Directory of the agent's memory; `None` if the definition has no memory.
    pub memory: Option<PathBuf>,
    /// The definition's permission rules, and an allow rule for file tools on the memory directory.
    /// Deny rules still apply.
    pub rules: RuleSet,
}

impl LoadedDefinition {
    /// Loads what a definition names. Skills come from `skills`; the memory is below `root` or in
    /// the repository around `cwd`. The type that explains the program gets `docs`.
    ///
    /// # Errors
    /// [`SkillError`] for a skill that does not exist or cannot be read.
    pub fn of(
        definition: &AgentDefinition,
        skills: &[Skill],
        cwd: &Path,
        root: &Path,
        docs: ProgramDocs,
    ) -> Result<Self, SkillError> {
        let mut loaded = Self {
            rules: definition.call_rules(),
            ..Self::default()
        };
        for name in &definition.skills {
            let text = skill(name, skills).map_err(|why| SkillError {
                agent_type: definition.name.clone(),
                skill: name.clone(),
                why,
            })?;
            let text = format!("# Skill: {name}\n{text}");
            loaded.instructions.push(text);
        }
        if let Some(scope) = definition.memory {
            let parent = match scope {
                // The user's symbolic links are followed here. In a repository, where an agent
                // could create them, they are not.
                MemoryScope::User => root.canonicalize().unwrap_or_else(|_| root.to_owned()),
                MemoryScope::Project | MemoryScope::Local => repository_top(cwd).join(".claude"),
            };
            let directory = parent.join(memory_directory(scope, &definition.name));
            loaded.instructions.push(memory(&parent, &directory));
            let origin = format!("memory of {}", definition.name);
            loaded.rules.extend(may_edit(&directory, &origin));
            loaded.memory = Some(directory);
        }
        loaded.instructions.extend(docs.for_agent(definition, root));
        Ok(loaded)
    }
}

fn skill(name: &str, skills: &[Skill]) -> Result<String, String> {
    let found = skills.iter().find(|skill| skill.name == name);
    let found = found.ok_or_else(|| {
        "no directory with this name and a SKILL.md exists in the repository's .claude/skills or the config directory's skills"
            .to_owned()
    })?;
    skill_text(found, "").map_err(|error| format!("{}: {error}", found.path.display()))
}

/// Returns the memory directory of an agent type, relative to the user's or the repository's
/// directory. The colon between a plugin's name and the type is replaced, because directories
/// should not contain it.
fn memory_directory(scope: MemoryScope, agent_type: &str) -> PathBuf {
    let kind = match scope {
        MemoryScope::User | MemoryScope::Project => "agent-memory",
        MemoryScope::Local => "agent-memory-local",
    };
    Path::new(kind).join(agent_type.replace(':', "-"))
}

fn memory(parent: &Path, directory: &Path) -> String {
    let index = match index(parent, directory) {
        Ok(Some(bytes)) => beginning(&String::from_utf8_lossy(&bytes)),
        Ok(None) => "(empty)".to_owned(),
        Err(why) => format!("(not shown: {why})"),
    };
    format!(
        "# Memory\nYour memory is in {}. It persists across conversations; read and write files there with Read, Write and \
         Edit. The first {MEMORY_LINES} lines of its MEMORY.md are shown at each start: keep it short, correct \
         mistakes in it, and move details into separate files in the same directory. Note what will help next \
         time, not what you did.\n\n## MEMORY.md\n{index}",
        directory.display()
    )
}

/// Returns the content of the index, if it is a regular file inside `parent`: a repository may
/// contain a symbolic link, and an agent may create one, to a file that its rules hide from it.
fn index(parent: &Path, directory: &Path) -> Result<Option<Vec<u8>>, String> {
    let (Ok(parent), Ok(real)) = (parent.canonicalize(), directory.canonicalize()) else {
        return Ok(None);
    };
    if !real.starts_with(&parent) {
        return Err(format!(
            "{} is outside {}",
            directory.display(),
            parent.display()
        ));
    }
    read_beginning(&real.join("MEMORY.md"), MEMORY_READ).map_err(|error| error.to_string())
}

/// Returns the lines within the limits.
fn beginning(text: &str) -> String {
    let mut kept = String::new();
    for line in text.lines().take(MEMORY_LINES) {
        if kept.len() + line.len() + 1 > MEMORY_BYTES {
            break;
        }
        kept.push_str(line);
        kept.push('\n');
    }
    if kept.len() < text.trim_end().len() {
        kept.push_str("(the rest is not shown: shorten this file)");
    }
    kept
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_long_memory_is_cut_at_lines_and_bytes() {
        let many = "x\n".repeat(300);
        assert_eq!(beginning(&many).lines().count(), MEMORY_LINES + 1);
        let wide = format!("{}\n", "y".repeat(999)).repeat(40);
        assert_eq!(beginning(&wide).lines().count(), 25 + 1);
        assert_eq!(beginning("a\nb\n"), "a\nb\n");
    }

    #[test]
    fn memory_directories_depend_on_scope_and_type() {
        let directory = memory_directory(MemoryScope::User, "kit:a");
        assert_eq!(directory, Path::new("agent-memory/kit-a"));
        let directory = memory_directory(MemoryScope::Local, "a");
        assert_eq!(directory, Path::new("agent-memory-local/a"));
    }

    #[test]
    fn a_memory_never_shows_files_outside_its_directory() {
        let base = tempfile::tempdir().unwrap();
        let (parent, elsewhere) = (base.path().join("parent"), base.path().join("elsewhere"));
        let directory = parent.join("agent-memory/a");
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::create_dir_all(&elsewhere).unwrap();
        swarm_os::replace_alone(&elsewhere.join("MEMORY.md"), b"the secret is 7").unwrap();
        assert!(memory(&parent, &directory).ends_with("(empty)"));
        symlink(elsewhere.join("MEMORY.md"), directory.join("MEMORY.md")).unwrap();
        symlink(&elsewhere, parent.join("agent-memory/b")).unwrap();
        for directory in [&directory, &parent.join("agent-memory/b")] {
            let shown = memory(&parent, directory);
            assert!(shown.contains("(not shown: "), "{shown}");
            assert!(!shown.contains("the secret"), "{shown}");
        }
    }

    #[test]
    fn a_named_pipe_as_memory_does_not_block() {
        let parent = tempfile::tempdir().unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(parent.path().join("MEMORY.md"))
            .status();
        assert!(made.unwrap().success());
        let shown = memory(parent.path(), parent.path());
        assert!(shown.contains("not a regular file"), "{shown}");
    }
}
