//! The Skill tool.

mod text;
mod tool;

pub use text::skill_text;
pub use tool::SkillTool;
