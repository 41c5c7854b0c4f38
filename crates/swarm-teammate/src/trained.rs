//! What a teammate brings along by its definition: text for its system prompt, and a memory.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use swarm_policy::{AgentDefinition, Behavior, MemoryScope, Rule, RuleSet};
use swarm_protocol::DefinitionReport;
use swarm_team::SpawnOrder;

use crate::TeammateError;

/// Of the index of a memory, as Claude Code reads it.
const MEMORY_LINES: usize = 200;
const MEMORY_BYTES: usize = 25_000;
/// Of one skill.
const SKILL_BYTES: u64 = 256 * 1024;

/// What a definition adds.
#[derive(Debug, Default)]
pub(crate) struct Trained {
    /// Blocks for the system prompt.
    pub(crate) instructions: Vec<String>,
    /// The folder of its memory.
    pub(crate) memory: Option<PathBuf>,
}

impl Trained {
    /// Reads what the order's definition names.
    ///
    /// # Errors
    /// [`TeammateError::Skill`] for a skill that is not there.
    pub(crate) fn of(order: &SpawnOrder, root: &Path) -> Result<Self, TeammateError> {
        let mut trained = Self::default();
        let Some(definition) = &order.definition else {
            return Ok(trained);
        };
        if !definition.prompt.trim().is_empty() {
            let text = format!("# What you are: {}\n{}", definition.name, definition.prompt);
            trained.instructions.push(text);
        }
        for name in &definition.skills {
            let text = skill(definition, name, order, root)?;
            trained
                .instructions
                .push(format!("# Skill: {name}\n{text}"));
        }
        if let Some(scope) = definition.memory {
            let folder = memory_folder(scope, &definition.name, &order.cwd, root);
            trained.instructions.push(memory(&folder));
            trained.memory = Some(folder);
        }
        Ok(trained)
    }

    /// Lets file tools write into the memory, whatever the mode asks about; denials hold all the same.
    pub(crate) fn allow(&self, order: &SpawnOrder, rules: &mut RuleSet) {
        let (Some(folder), Some(definition)) = (&self.memory, &order.definition) else {
            return;
        };
        // Two slashes begin an absolute path in a rule.
        match Rule::parse(&format!("Edit(/{}/**)", folder.display())) {
            Ok(rule) => {
                let origin = format!("memory of {}", definition.name);
                rules.add(Behavior::Allow, rule, origin);
            }
            Err(error) => tracing::warn!(%error, "the memory is asked about at each change"),
        }
    }

    /// What is in force, for hello.
    pub(crate) fn report(
        &self,
        order: &SpawnOrder,
        limits: &swarm_engine::EngineLimits,
    ) -> Option<DefinitionReport> {
        let definition = order.definition.as_ref()?;
        Some(DefinitionReport {
            agent_type: definition.name.clone(),
            model_source: order.model_source.map(|source| source.to_string()),
            max_turns: limits.max_turns,
            effort: limits.effort,
            skills: definition.skills.clone(),
            memory: self.memory.clone(),
            initial_prompt: definition.initial_prompt.is_some(),
        })
    }
}

/// Folders of the repository from the working folder to its top.
fn folders(cwd: &Path) -> impl Iterator<Item = &Path> {
    let top = top(cwd);
    cwd.ancestors()
        .take_while(move |folder| folder.starts_with(top))
}

fn top(cwd: &Path) -> &Path {
    let top = cwd.ancestors().find(|folder| folder.join(".git").exists());
    top.unwrap_or(cwd)
}

/// The text of a skill: of the repository, nearest first, else of the user.
fn skill(
    definition: &AgentDefinition,
    name: &str,
    order: &SpawnOrder,
    root: &Path,
) -> Result<String, TeammateError> {
    let safe = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let missing = |looked: String| TeammateError::Skill {
        agent_type: definition.name.clone(),
        skill: name.to_owned(),
        looked,
    };
    if !name.chars().all(safe) || name.contains("..") {
        return Err(missing("its name is no name of a folder".to_owned()));
    }
    let own = root.join("skills");
    let project = folders(&order.cwd).map(|folder| folder.join(".claude").join("skills"));
    for folder in project.chain([own.clone()]) {
        let Ok(file) = std::fs::File::open(folder.join(name).join("SKILL.md")) else {
            continue;
        };
        let mut text = String::new();
        if file.take(SKILL_BYTES).read_to_string(&mut text).is_ok() {
            return Ok(body(&text).to_owned());
        }
    }
    Err(missing(format!(
        "there is no {name}/SKILL.md in .claude/skills of the repository or in {}",
        own.display()
    )))
}

/// A Markdown file without its frontmatter.
fn body(text: &str) -> &str {
    let inner = text.strip_prefix("---").and_then(|rest| {
        let (_, body) = rest.split_once("\n---")?;
        Some(body.split_once('\n').map_or("", |(_, body)| body))
    });
    inner.unwrap_or(text).trim()
}

/// Where an agent of a type keeps what it learns. A plugin's name is parted from the type's by a colon, which a folder
/// should not have.
fn memory_folder(scope: MemoryScope, agent_type: &str, cwd: &Path, root: &Path) -> PathBuf {
    let name = agent_type.replace(':', "-");
    match scope {
        MemoryScope::User => root.join("agent-memory").join(name),
        MemoryScope::Project => top(cwd).join(".claude").join("agent-memory").join(name),
        MemoryScope::Local => top(cwd)
            .join(".claude")
            .join("agent-memory-local")
            .join(name),
    }
}

fn memory(folder: &Path) -> String {
    let index = folder.join("MEMORY.md");
    let mut text = format!(
        "# Memory\nYou keep what you learn in {}, across conversations. You may read and write files there with Read, \
         Write and Edit. MEMORY.md in it is shown to you at each start, its first {MEMORY_LINES} lines: keep it short, \
         correct what is wrong in it, and move details into files of their own beside it. Note what will help next \
         time, not what you did.\n\n## MEMORY.md\n",
        folder.display()
    );
    match std::fs::read(&index) {
        Ok(bytes) => text.push_str(&beginning(&String::from_utf8_lossy(&bytes))),
        Err(_) => text.push_str("(it is empty yet)"),
    }
    text
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
    fn a_memory_stays_in_its_folder() {
        let folder = memory_folder(MemoryScope::User, "kit:a", Path::new("/w"), Path::new("/r"));
        assert_eq!(folder, Path::new("/r/agent-memory/kit-a"));
        let folder = memory_folder(MemoryScope::Local, "a", Path::new("/w"), Path::new("/r"));
        assert_eq!(folder, Path::new("/w/.claude/agent-memory-local/a"));
    }

    #[test]
    fn the_text_of_a_skill_is_its_body() {
        assert_eq!(body("---\nname: a\n---\n\nDo it.\n"), "Do it.");
        assert_eq!(body("Do it.\n"), "Do it.");
    }
}
