//! What an agent brings along by its definition: skills in its first context, and a memory. The same for teammates and
//! sub-agents.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use swarm_os::{read_beginning, repository_top};
use swarm_permissions::{AgentDefinition, Behavior, MemoryScope, Rule, RuleSet};
use swarm_protocol::Skill;
use swarm_tools::skill_text;

use crate::ProgramDocs;

/// Of the index of a memory, as Claude Code reads it.
const MEMORY_LINES: usize = 200;
const MEMORY_BYTES: usize = 25_000;

/// Enough of the file to see that it does not fit.
const MEMORY_READ: u64 = 64 * 1024;

/// A skill that a definition names cannot be had.
#[derive(Debug, thiserror::Error)]
#[error("the agent type {agent_type} names the skill `{}`: {why}", .skill.escape_debug())]
pub struct SkillError {
    /// The type.
    pub agent_type: String,
    /// The skill.
    pub skill: String,
    /// What is wrong with it.
    pub why: String,
}

/// What a definition adds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadedDefinition {
    /// Blocks for the system prompt.
    pub instructions: Vec<String>,
    /// The directory of its memory.
    pub memory: Option<PathBuf>,
    /// What the definition says of single calls, and what lets file tools write into the memory, whatever the mode asks
    /// about; denials hold all the same.
    pub rules: RuleSet,
}

impl LoadedDefinition {
    /// Reads what a definition names: its skills are among `skills`, its memory is below `root` or that of the repository
    /// around `cwd`. A type that explains the program gets `docs`.
    ///
    /// # Errors
    /// [`SkillError`] for a skill that is not there or cannot be read.
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
            let home = match scope {
                // Links of the user's own towards it are followed here. In a repository, where an agent may make them,
                // nobody follows one.
                MemoryScope::User => root.canonicalize().unwrap_or_else(|_| root.to_owned()),
                MemoryScope::Project | MemoryScope::Local => repository_top(cwd).join(".claude"),
            };
            let directory = home.join(memory_directory(scope, &definition.name));
            loaded.instructions.push(memory(&home, &directory));
            loaded
                .rules
                .extend(memory_rules(&directory, &definition.name));
            loaded.memory = Some(directory);
        }
        loaded.instructions.extend(docs.for_agent(definition, root));
        Ok(loaded)
    }
}

fn memory_rules(directory: &Path, agent_type: &str) -> RuleSet {
    let mut rules = RuleSet::default();
    // Two slashes begin an absolute path in a rule.
    match Rule::parse(&format!("Edit(/{}/**)", directory.display())) {
        Ok(rule) => rules.add(Behavior::Allow, rule, format!("memory of {agent_type}")),
        Err(error) => tracing::warn!(%error, "the memory is asked about at each change"),
    }
    rules
}

fn skill(name: &str, skills: &[Skill]) -> Result<String, String> {
    let found = skills.iter().find(|skill| skill.name == name);
    let found = found.ok_or_else(|| {
        "there is no such directory with a SKILL.md in .claude/skills of the repository or in skills below the config directory"
            .to_owned()
    })?;
    skill_text(found, "").map_err(|error| format!("{}: {error}", found.path.display()))
}

/// Where below the user's or the repository's directory an agent of a type keeps what it learns. A plugin's name is parted
/// from the type's by a colon, which a directory should not have.
fn memory_directory(scope: MemoryScope, agent_type: &str) -> PathBuf {
    let kind = match scope {
        MemoryScope::User | MemoryScope::Project => "agent-memory",
        MemoryScope::Local => "agent-memory-local",
    };
    Path::new(kind).join(agent_type.replace(':', "-"))
}

fn memory(home: &Path, directory: &Path) -> String {
    let mut text = format!(
        "# Memory\nYou keep what you learn in {}, across conversations. You may read and write files there with Read, \
         Write and Edit. MEMORY.md in it is shown to you at each start, its first {MEMORY_LINES} lines: keep it short, \
         correct what is wrong in it, and move details into files of their own beside it. Note what will help next \
         time, not what you did.\n\n## MEMORY.md\n",
        directory.display()
    );
    match index(home, directory) {
        Ok(Some(bytes)) => text.push_str(&beginning(&String::from_utf8_lossy(&bytes))),
        Ok(None) => text.push_str("(it is empty yet)"),
        // Into a String, which takes everything.
        Err(why) => _ = write!(text, "(it is not shown: {why})"),
    }
    text
}

/// What stands in the index, if it is a file that lies where it says: a repository may bring a link along, and an agent
/// may leave one, to what its rules keep from it.
fn index(home: &Path, directory: &Path) -> Result<Option<Vec<u8>>, String> {
    let (Ok(home), Ok(real)) = (home.canonicalize(), directory.canonicalize()) else {
        return Ok(None);
    };
    if !real.starts_with(&home) {
        return Err(format!(
            "{} leads out of {}",
            directory.display(),
            home.display()
        ));
    }
    read_beginning(&real.join("MEMORY.md"), MEMORY_READ).map_err(|error| error.to_string())
}

/// The lines that fit.
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
        kept.push_str("(the rest does not fit: shorten it)");
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
    fn a_memory_stays_in_its_directory() {
        let directory = memory_directory(MemoryScope::User, "kit:a");
        assert_eq!(directory, Path::new("agent-memory/kit-a"));
        let directory = memory_directory(MemoryScope::Local, "a");
        assert_eq!(directory, Path::new("agent-memory-local/a"));
    }

    #[test]
    fn a_memory_shows_nothing_that_lies_elsewhere() {
        let base = tempfile::tempdir().unwrap();
        let (home, elsewhere) = (base.path().join("home"), base.path().join("elsewhere"));
        let directory = home.join("agent-memory/a");
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::create_dir_all(&elsewhere).unwrap();
        swarm_os::replace_alone(&elsewhere.join("MEMORY.md"), b"the secret is 7").unwrap();
        assert!(memory(&home, &directory).ends_with("(it is empty yet)"));
        symlink(elsewhere.join("MEMORY.md"), directory.join("MEMORY.md")).unwrap();
        symlink(&elsewhere, home.join("agent-memory/b")).unwrap();
        for directory in [&directory, &home.join("agent-memory/b")] {
            let shown = memory(&home, directory);
            assert!(shown.contains("(it is not shown: "), "{shown}");
            assert!(!shown.contains("the secret"), "{shown}");
        }
    }

    #[test]
    fn a_pipe_in_the_place_of_a_memory_holds_nobody_up() {
        let home = tempfile::tempdir().unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(home.path().join("MEMORY.md"))
            .status();
        assert!(made.unwrap().success());
        let shown = memory(home.path(), home.path());
        assert!(shown.contains("not a regular file"), "{shown}");
    }
}
