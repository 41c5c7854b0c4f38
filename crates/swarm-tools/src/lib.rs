//! The [`Tool`] trait and the built-in tools. Names, parameters and behaviour match Claude Code,
//! which models know.

mod bash;
mod blocking;
mod builtin;
mod call_host;
mod context;
mod detail;
mod edit;
mod files;
mod limits;
mod notebook;
mod one_line;
mod parameters;
mod picture;
mod plan;
mod question;
mod read;
pub mod sandbox;
mod search;
mod skill;
mod structured_output;
mod todo;
mod tool;
mod typed_tool;
mod web;
mod whole_call;
mod write;

pub use bash::{
    AgentShell, BackgroundCommand, BackgroundCommands, Bash, CheckedCommand, CommandState,
    ProgramLaunch, run_check,
};
pub use builtin::builtin;
pub use call_host::{BackgroundAgents, CallHost, MemberCall, ModeSwitch, PersonAnswer};
pub use context::{Caller, ToolContext};
pub use edit::{Edit, NotebookEdit};
pub use files::{
    ChangedFile, Checkout, Confinement, FileHistory, FileState, ProtectedPaths, Restoration,
    leads_to,
};
pub use limits::ToolLimits;
pub use one_line::one_line;
pub use parameters::{NoParameters, parse, schema};
pub use picture::Picture;
pub use plan::{EnterPlanMode, ExitPlanMode, changed_plan};
pub use question::{AskUserQuestion, AskedQuestion, answered, given_answers, questions};
pub use read::{Read, read_picture};
pub use search::{Glob, Grep};
pub use skill::{SkillTool, skill_text};
pub use structured_output::{OutputSchemaError, RequiredOutput, StructuredOutput};
pub use todo::TodoWrite;
pub use tool::{Attachment, Tool, ToolOutput, Workplace};
pub use typed_tool::TypedTool;
pub use web::{WebAccess, WebFetch, WebRequest, WebSearch};
pub use whole_call::whole_call;
pub use write::{Write, assume_read};
