//! Every place for a text, and the texts in it.

use super::super::workers::Programs;
use super::scene::Scene;
use super::{mates, names, said};

/// A place where somebody writes a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// The name and the description of a team.
    Team,
    /// The name of a member.
    Member,
    /// The type of a definition, and what else stands in one.
    AgentType,
    /// The colour of a definition, and what other programs enter into a roster.
    Color,
    /// The name of a worktree.
    WorkTree,
    /// The branch from which a worktree is made.
    Branch,
    /// The directory of a member.
    Directory,
    /// The model of a member.
    Model,
    /// A variable of a member.
    Variable,
    /// The first message of a member.
    Prompt,
    /// The words of a task.
    Task,
    /// A message, its summary, and what the model of its receiver says.
    Message,
    /// A call that waits for an answer, a question, and the answers.
    Question,
}

impl Slot {
    /// All of them.
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

/// How much is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// Every so many texts, others in the next place, and each refusal in one of its forms.
    Every(usize),
    /// Every text in every place.
    Whole,
}

/// Puts texts into each of these places; asserts that each is refused or is only a text. Gives how many there were.
///
/// # Panics
/// When one is more than a text.
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
