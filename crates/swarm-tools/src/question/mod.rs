//! Multiple-choice questions to the user.

mod asked;
mod tool;

pub use asked::{AskedQuestion, answered, given_answers, questions};
pub use tool::AskUserQuestion;
