//! The documentation that is embedded in the program.

use swarm_agent::{ProgramDocs, ProgramPage};

use crate::own_process::VERSION;

macro_rules! page {
    ($name:literal, $about:literal) => {
        ProgramPage {
            name: $name,
            about: $about,
            text: include_str!(concat!("../../../docs/", $name)),
        }
    };
}

/// The pages for users.
pub(crate) const PROGRAM_DOCS: ProgramDocs = ProgramDocs {
    version: VERSION,
    pages: &[
        page!(
            "guide.md",
            "the user guide: models, teams, tasks, permissions, hooks, settings, worktrees, MCP servers, troubleshooting"
        ),
        page!(
            "formats.md",
            "reference of files, settings, agent definitions, hooks, tools and exit codes, with the differences from Claude Code"
        ),
        page!(
            "interop.md",
            "Claude Code, ACP agents and MCP clients as members and leads"
        ),
        page!("glossary.md", "terms"),
        page!("scenarios.md", "scenario files, which play a model"),
    ],
};
