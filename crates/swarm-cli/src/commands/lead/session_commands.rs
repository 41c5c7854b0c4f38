//! Commands of a lead's terminal about its session: `/agents`, `/diff`, `/export`, `/hooks`, `/mcp`,
//! `/memory`, `/permissions`, `/plan`, `/review`, `/skills` and `/tasks`.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use swarm_agent::find_transcript;
use swarm_protocol::PermissionMode;
use swarm_ui::{Document as _, Picker, PickerItem, Theme};

use super::configured::{DIFF, MEMORY, REVIEW, hooks, rules, servers, skills};
use super::slash::{TerminalCommands, Typed, is_plan};
use super::terminal::LeadTerminal;
use super::transcript_document::TranscriptDocument;
use crate::agent_config;
use crate::commands::editor::edit_file;
use crate::output::{failure_text, terminal_width};

/// Reply to `/plan` with another `/plan` as its task.
const NESTED_PLAN: &str = "`/plan` takes a task, not another `/plan`";

/// Reply to `/permissions` while the lead starts, for example its MCP servers.
const RULES_NOT_KNOWN: &str = "the lead is still starting, and its rules are not complete; use `/permissions` again in a moment";

impl TerminalCommands {
    /// Runs a command of this module. `None` for other commands.
    pub(super) fn session_command(&self, name: &str, rest: &str) -> Option<Typed> {
        match (name, rest) {
            ("agents", "") => self.show_run("agents list"),
            ("permissions", "") => self.show_permissions(),
            ("diff", "") => self.show_long("/diff", &self.diff()),
            ("export", file) => self.show(self.export(file)),
            ("hooks", "") => {
                let text = hooks(&self.agent_config, self.table_width());
                self.show_long("/hooks", &text);
            }
            ("mcp", "") => {
                let text = servers(&self.agent_config, self.table_width());
                self.show_long("/mcp", &text);
            }
            ("skills", "") => {
                let text = skills(&self.agent_config, self.table_width());
                self.show_long("/skills", &text);
            }
            ("memory", "") => self.pick_memory(),
            // Each level would use the stack, and a paste has room for many.
            ("plan", task) if is_plan(task) && !self.has_prompt_file(name) => {
                self.show(NESTED_PLAN.to_owned());
            }
            ("plan", task) if !self.has_prompt_file(name) => {
                // A stopped lead no longer receives.
                self.lead
                    .send(self.mode_input(Some(PermissionMode::Plan)))
                    .ok();
                if !task.is_empty() {
                    return Some(self.take(task.to_owned()));
                }
            }
            ("tasks", "") => {
                if let Some(console) = self.console_for(name) {
                    console.open_team(true);
                }
            }
            ("review", what) if !self.has_prompt_file(name) => {
                let what = match what {
                    "" => REVIEW.to_owned(),
                    what => format!("{REVIEW}\n\nIn particular: {what}"),
                };
                return Some(Typed::Prompt(what));
            }
            _ => return None,
        }
        Some(Typed::Done)
    }

    /// Returns the width of tables on the screen. Without a screen nothing is left out.
    fn table_width(&self) -> Option<usize> {
        let _screen = self.console.as_ref()?;
        terminal_width(io::stderr())
    }

    /// Returns whether a prompt file has this name, which takes precedence.
    fn has_prompt_file(&self, name: &str) -> bool {
        self.prompts.names().iter().any(|known| known == name)
    }

    fn show_permissions(&self) {
        self.show_mode();
        match &*self.rules.read() {
            Some(known) => self.show_long("/permissions", &rules(known, self.table_width())),
            // "no permission rules" would not be true.
            None => self.show(RULES_NOT_KNOWN.to_owned()),
        }
    }

    /// Returns the changes. Refused like `!` lines, because git may run the repository's filters.
    fn diff(&self) -> String {
        if let Some(why) = self.why_no_shell() {
            return format!("`/diff` was not run: {why}");
        }
        let ran = self.lines.run(&self.env, &self.env.cwd, DIFF).text;
        match ran.trim() {
            "" => "no changes since the last commit".to_owned(),
            _ => ran,
        }
    }

    /// Writes the conversation as text to a new file. Returns what to show.
    fn export(&self, file: &str) -> String {
        // An agent that can type here could otherwise create files outside of its directories.
        if !file.is_empty() && !self.may_answer() {
            return "only people can choose the file of /export".to_owned();
        }
        let session = self.session.to_string();
        let name = match file {
            "" => format!("conversation-{}.txt", &session[..8]),
            file => file.to_owned(),
        };
        let path = self.env.cwd.join(&name);
        if path.exists() {
            return format!("{name} already exists: choose another file with `/export FILE`");
        }
        match self.write_conversation(&path) {
            Ok(()) => format!("the conversation was written to {name}"),
            Err(error) => format!("the conversation was not written to {name}: {error}"),
        }
    }

    fn write_conversation(&self, path: &Path) -> anyhow::Result<()> {
        let transcript = find_transcript(&self.app.root, &self.env.cwd, self.session);
        let document = TranscriptDocument::open(&transcript, &self.env.cwd, self.env.home())?;
        let blocks = 0..document.blocks();
        let rows: Vec<_> = blocks
            .flat_map(|block| document.rows(block, Theme::PLAIN))
            .collect();
        anyhow::ensure!(!rows.is_empty(), "nothing has been said yet");
        let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
        for row in rows {
            writeln!(file, "{}", row.trim_end())?;
        }
        Ok(())
    }

    /// Shows the instruction files, to edit one.
    fn pick_memory(&self) {
        let (Some(console), true) = (&self.console, self.may_answer()) else {
            return self.show_run("instructions");
        };
        let mut files = self.instruction_files();
        for usual in [
            self.env.cwd.join("CLAUDE.md"),
            self.app.root.join("CLAUDE.md"),
        ] {
            if !files.contains(&usual) {
                files.push(usual);
            }
        }
        let items = files.iter().map(|file| PickerItem {
            id: file.display().to_string(),
            title: file
                .strip_prefix(&self.env.cwd)
                .unwrap_or(file)
                .display()
                .to_string(),
            note: if file.exists() {
                String::new()
            } else {
                "new".to_owned()
            },
        });
        console.pick(Picker::new(
            MEMORY,
            "Edit an instruction file",
            items.collect(),
        ));
    }

    fn instruction_files(&self) -> Vec<PathBuf> {
        let loaded = agent_config::instructions(&self.env, &self.app.settings, &self.env.cwd);
        let files = loaded.map(|loaded| [loaded.files, loaded.conditional].concat());
        let files = files.unwrap_or_default().into_iter();
        files.map(|file| file.path).collect()
    }

    /// Opens a file in the person's editor.
    pub(super) fn edit_memory(&self, terminal: &LeadTerminal, file: &str) {
        match terminal.lend(|| edit_file(&self.env, Path::new(file))) {
            Ok(()) => self.show(format!("edited {file}; new conversations read it")),
            Err(failure) => self.show(failure_text(&failure)),
        }
    }
}
