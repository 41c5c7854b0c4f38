//! Questions to a person, with options.

mod asked;
mod tool;

pub use asked::{AskedQuestion, answered, given_answers, questions};
pub use tool::AskUserQuestion;
