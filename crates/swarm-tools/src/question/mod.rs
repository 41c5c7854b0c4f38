//! Questions to a person, with options.

mod asked;
mod tool;

pub use asked::{AskedQuestion, answered, questions};
pub use tool::AskUserQuestion;
