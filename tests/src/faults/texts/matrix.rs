//! Every input for a text, and the texts in it.

use super::super::workers::Programs;
use super::scene::Scene;
use super::{mates, names, said};

/// An input for a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// Name and description of a team.
    Team,
    /// Name of a member.
    Member,
    /// Type and other fields of a definition.
    AgentType,
    /// Colour of a definition, and roster fields of other programs.
    Color,
    /// Name of a worktree.
    WorkTree,
    /// Base branch of a worktree.
    Branch,
    /// Working directory of a member.
    Directory,
    /// Model of a member.
    Model,
    /// Environment variable of a member.
    Variable,
    /// Prompt of a member.
    Prompt,
    /// Text of a task.
    Task,
    /// A message, its summary, and the output of its receiver's model.
    Message,
    /// A permission request, a question, and the answers.
    Question,
}

impl Slot {
    /// All inputs.
    pub const ALL: [Self; 13] = [
        Self::Team,
        Self::Member,
        Self::AgentType,
        Self::Color,
        Self::WorkTree,
        Self::Branch,
        Self::Directory,
        Self::Model,
        Self::Variable,
        Self::Prompt,
        Self::Task,
        Self::Message,
        Self::Question,
    ];
}

/// Amount of trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// Every n-th text, different ones for each input, and each error in one of its formats.
    Every(usize),
    /// Every text in every input.
    Whole,
}

/// Uses texts in each of these inputs; asserts that each is rejected or only displayed. Returns
/// their number.
///
/// # Panics
/// If one is interpreted.
pub fn try_texts(programs: &Programs, slots: &[Slot], effort: Effort) -> usize {
    let scene = Scene::new(programs, effort);
    let step = match effort {
        Effort::Every(step) => step,
        Effort::Whole => 1,
    };
    let mut tried = 0;
    for (place, slot) in slots.iter().enumerate() {
        let numbers = (place + 1) % step..scene.texts.len();
        let numbers: Vec<usize> = numbers.step_by(step).collect();
        tried += numbers.len();
        let text_of = |number: &usize| scene.texts[*number].as_str();
        let each = |with: fn(&Scene, &str)| {
            for number in &numbers {
                with(&scene, text_of(number));
            }
        };
        match slot {
            Slot::Team => each(names::team),
            Slot::Member => numbers
                .iter()
                .for_each(|number| names::member(&scene, *number)),
            Slot::AgentType => names::agent_types(&scene, &numbers),
            Slot::Color => names::colors(&scene, &numbers),
            Slot::WorkTree => each(mates::work_tree),
            Slot::Branch => each(mates::branch),
            Slot::Directory => numbers
                .iter()
                .for_each(|number| mates::directory(&scene, *number)),
            Slot::Model => each(mates::model),
            Slot::Variable => numbers
                .iter()
                .for_each(|number| mates::variable(&scene, *number)),
            Slot::Prompt => each(mates::prompt),
            Slot::Task => each(said::task),
            Slot::Message => said::messages(&scene, &numbers),
            Slot::Question => said::questions(&scene, &numbers),
        }
        scene.assert_nothing_ran();
    }
    scene.end();
    tried
}
