//! Custom commands: `commands/**/*.md` in Claude Code's directories.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use swarm_config::{ActivePlugin, Environment};
use swarm_permissions::{ReadFilter, SkillFile};
use swarm_protocol::split_frontmatter;
use swarm_ui::PaneInput;

use super::person_shell::ShellLines;

/// Maximum depth of directories below `commands`.
const DEPTH: usize = 4;

/// Maximum size of a file that a command includes, in bytes; the model reads longer files itself.
const LONGEST_FILE: u64 = 100_000;

/// Custom commands of a project and a user.
pub(super) struct PromptCommands {
    env: Environment,
    lines: Arc<ShellLines>,
    /// Command directories by precedence.
    directories: Vec<CommandDirectory>,
    cwd: PathBuf,
    /// Deny rules for files that the lead must not read.
    unreadable: ReadFilter,
}

/// A directory of command files, or one file that the manifest of a plugin names.
struct CommandDirectory {
    path: PathBuf,
    /// Why its commands may not run programs, if so.
    refused: Option<&'static str>,
    /// The plugin that contains it: its name with a colon, and its directory.
    plugin: Option<(String, PathBuf)>,
}

impl CommandDirectory {
    /// Returns the command files by name.
    fn files(&self) -> Vec<(String, PathBuf)> {
        let prefix = self.plugin.as_ref().map_or("", |(prefix, _)| prefix);
        let mut found = Vec::new();
        if let Some(name) = command_name(&self.path)
            && self.path.is_file()
        {
            found.push((format!("{prefix}{name}"), self.path.clone()));
        }
        collect(&self.path, prefix, DEPTH, &mut found);
        found.sort();
        found
    }

    /// Replaces the placeholder for the directory of its plugin.
    fn filled_in(&self, text: String) -> String {
        match &self.plugin {
            Some((_, root)) => text.replace("${CLAUDE_PLUGIN_ROOT}", &root.to_string_lossy()),
            None => text,
        }
    }
}

impl PromptCommands {
    /// Returns the commands of the project at `top`, of the user in the config directory `root`, and of
    /// `plugins`.
    pub(super) fn new(
        (env, lines): (&Environment, &Arc<ShellLines>),
        (root, top): (&Path, &Path),
        is_trusted: bool,
        plugins: &[&ActivePlugin],
        unreadable: ReadFilter,
    ) -> Self {
        let own = |path: PathBuf, refused| CommandDirectory {
            path,
            refused,
            plugin: None,
        };
        let untrusted = (!is_trusted).then_some("the repository is not trusted");
        let mut directories = vec![
            own(top.join(".claude").join("commands"), untrusted),
            own(root.join("commands"), None),
        ];
        for plugin in plugins {
            let paths = plugin.locations("commands").into_iter();
            // Its `!` lines would run outside of the sandbox.
            let of_repository = "only the repository enables the plugin";
            directories.extend(paths.map(|path| CommandDirectory {
                path,
                refused: plugin.is_of_repository().then_some(of_repository),
                plugin: Some((format!("{}:", plugin.name()), plugin.directory().to_owned())),
            }));
        }
        Self {
            env: env.clone(),
            lines: Arc::clone(lines),
            directories,
            cwd: env.cwd.clone(),
            unreadable,
        }
    }

    pub(super) fn names(&self) -> Vec<String> {
        let found = self.directories.iter().flat_map(CommandDirectory::files);
        let names: BTreeMap<String, PathBuf> = found.collect();
        names.into_keys().collect()
    }

    /// Returns the prompt of a command; `None` if the command does not exist. Its `!` lines run,
    /// and the tools that it names are allowed, if its directory may run programs and only a person
    /// can type here at present.
    pub(super) fn expand(
        &self,
        name: &str,
        arguments: &str,
        is_person: bool,
    ) -> Option<Result<PaneInput, String>> {
        let (directory, file) = self.directories.iter().find_map(|directory| {
            let found = directory.files();
            let last = |full: &str| full.rsplit(':').next() == Some(name);
            let file = found.iter().find(|(full, _)| full == name);
            let file = file.or_else(|| found.iter().find(|(full, _)| last(full)))?;
            Some((directory, file.1.clone()))
        })?;
        let agents_type = (!is_person).then_some("agents can type here");
        let refused = directory.refused.or(agents_type);
        let Some(text) = self.content(&file) else {
            return Some(Err(format!("{} cannot be read", file.display())));
        };
        let text = directory.filled_in(text);
        let allowed = if refused.is_none() {
            SkillFile::parse(&text, name).skill.allowed_tools
        } else {
            Vec::new()
        };
        let body = split_frontmatter(&text).map_or(text, |(_, body)| body);
        Some(Ok(PaneInput::Prompt {
            text: self.filled_in(&body, arguments, refused),
            allowed,
            origin: format!("command {name}"),
        }))
    }

    /// Substitutes arguments, command outputs and files. Substituted text is not expanded again.
    /// `refused` says why commands do not run, if so.
    fn filled_in(&self, text: &str, arguments: &str, refused: Option<&str>) -> String {
        let words = shlex::split(arguments).unwrap_or_else(|| vec![arguments.to_owned()]);
        let with_arguments = |text: &str| substitute(text, arguments, &words);
        let mut out = String::new();
        let mut files = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find("!`") {
            let Some(length) = rest[at + 2..].find('`') else {
                break;
            };
            self.note_files(&rest[..at], &mut files);
            out.push_str(&with_arguments(&rest[..at]));
            let line = &rest[at + 2..at + 2 + length];
            if let Some(why) = refused {
                out.extend(["[not run, because ", why, ": ", line, "]"]);
            } else {
                let line = with_arguments(line);
                out.push_str(&self.lines.run(&self.env, &self.cwd, &line).text);
            }
            rest = &rest[at + 3 + length..];
        }
        self.note_files(rest, &mut files);
        out.push_str(&with_arguments(rest));
        let takes_arguments = text.contains("$ARGUMENTS") || text.contains("$1");
        if !arguments.is_empty() && !takes_arguments {
            out = format!("{}\n\nARGUMENTS: {arguments}", out.trim_end());
        }
        for (name, content) in files {
            out = format!("{}\n\nContents of {name}:\n{content}", out.trim_end());
        }
        out.trim().to_owned()
    }

    fn note_files(&self, text: &str, files: &mut Vec<(String, String)>) {
        for word in text.split_whitespace() {
            let Some(name) = word.strip_prefix('@') else {
                continue;
            };
            let name = name.trim_end_matches(['.', ',', ';', ':', ')', '`']);
            if let Some(content) = self.content(&self.cwd.join(name)) {
                files.push((name.to_owned(), content));
            }
        }
    }

    /// Returns the text of a short file unless a deny rule covers it, also after resolving links.
    fn content(&self, path: &Path) -> Option<String> {
        let path = path.canonicalize().ok()?;
        let meta = path.metadata().ok()?;
        if !meta.is_file() || meta.len() > LONGEST_FILE || self.unreadable.hides(&path) {
            return None;
        }
        std::fs::read_to_string(&path).ok()
    }
}

/// Substitutes `$ARGUMENTS` and `$1` to `$9`.
fn substitute(text: &str, arguments: &str, words: &[String]) -> String {
    let mut parts = text.split('$');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        if let Some(rest) = part.strip_prefix("ARGUMENTS") {
            out.push_str(arguments);
            out.push_str(rest);
            continue;
        }
        let digit = part.chars().next().and_then(|digit| digit.to_digit(10));
        if let Some(number @ 1..) = digit {
            let word = words.get(number as usize - 1);
            out.push_str(word.map_or("", String::as_str));
            out.push_str(&part[1..]);
        } else {
            out.push('$');
            out.push_str(part);
        }
    }
    out
}

/// Collects the command files below a directory by name: `dir/name.md` is `dir:name`.
fn collect(directory: &Path, prefix: &str, depth: usize, found: &mut Vec<(String, PathBuf)>) {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return;
    };
    for entry in entries.filter_map(Result::ok) {
        let (path, name) = (entry.path(), entry.file_name());
        let Some(name) = name.to_str() else { continue };
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_dir && depth > 0 {
            collect(&path, &format!("{prefix}{name}:"), depth - 1, found);
        } else if let Some(name) = command_name(&path) {
            found.push((format!("{prefix}{name}"), path));
        }
    }
}

fn command_name(file: &Path) -> Option<&str> {
    file.file_name()?.to_str()?.strip_suffix(".md")
}

#[cfg(test)]
mod tests {
    use swarm_config::ClaudeSettings;
    use swarm_permissions::{Behavior, Rule, RuleSet};

    use super::*;

    fn prompt(expanded: Option<Result<PaneInput, String>>) -> (String, Vec<String>) {
        match expanded.unwrap().unwrap() {
            PaneInput::Prompt { text, allowed, .. } => (text, allowed),
            other => panic!("{other:?}"),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "a file that only this test sees")]
    fn write(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn commands(directory: &Path, is_trusted: bool) -> PromptCommands {
        let mut rules = RuleSet::default();
        rules.add(Behavior::Deny, Rule::parse("Read(secret)").unwrap(), "test");
        let env = Environment::new([("SHELL", "sh")], directory);
        let unreadable = ReadFilter::denials(&rules, directory, None);
        let root = directory.join("root");
        PromptCommands::new(
            (&env, &Arc::default()),
            (&root, directory),
            is_trusted,
            &[],
            unreadable,
        )
    }

    #[test]
    fn custom_command_expands_arguments_outputs_and_files() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path().canonicalize().unwrap();
        let own = directory.join(".claude/commands");
        write(
            &own.join("git/fix.md"),
            "---\nallowed-tools: Bash(git add:*), Read\n---\nFix $1 of $ARGUMENTS.\n!`echo on $2`\nSee @notes.txt, @secret\n",
        );
        write(&directory.join("root/commands/fix.md"), "mine");
        write(&directory.join("root/commands/say.md"), "Say it.");
        write(&directory.join("notes.txt"), "note $1");
        write(&directory.join("secret"), "hidden");
        let trusted = commands(&directory, true);
        assert_eq!(trusted.names(), ["fix", "git:fix", "say"]);
        assert_eq!(
            prompt(trusted.expand("git:fix", "a 'b c'", true)),
            (
                "Fix a of a 'b c'.\non b c\nSee @notes.txt, @secret\n\nContents of notes.txt:\nnote $1"
                    .to_owned(),
                vec!["Bash(git add:*)".to_owned(), "Read".to_owned()]
            )
        );
        assert_eq!(
            prompt(trusted.expand("say", "now", true)),
            ("Say it.\n\nARGUMENTS: now".to_owned(), Vec::new())
        );
        assert!(trusted.expand("none", "", true).is_none());
        let untrusted = commands(&directory, false);
        let (text, allowed) = prompt(untrusted.expand("fix", "a b", true));
        assert!(
            text.contains("[not run, because the repository is not trusted: echo on $2]")
                && allowed.is_empty(),
            "{text}"
        );
        let (text, allowed) = prompt(trusted.expand("git:fix", "a b", false));
        assert!(
            text.contains("[not run, because agents can type here: echo on $2]")
                && allowed.is_empty(),
            "{text}"
        );
    }

    /// Returns the commands of a plugin that is enabled in the settings file at `path`.
    fn of_plugin(directory: &Path, path: &str, trusted: bool) -> PromptCommands {
        let root = directory.join("root");
        let plugin = plugin(directory);
        let text = "Read ${CLAUDE_PLUGIN_ROOT}/rules.\n!`echo on`";
        write(&plugin.join("commands/git/fix.md"), text);
        write(&plugin.join("extra/hi.md"), "Hi.");
        let manifest = r#"{"commands": ["./extra/hi.md"]}"#;
        write(&plugin.join(".claude-plugin/plugin.json"), manifest);
        let enabled = r#"{"enabledPlugins": {"kit@m": true}}"#;
        write(&directory.join(path), enabled);
        let settings = ClaudeSettings::load(&root, directory, None).unwrap();
        let env = Environment::new([("SHELL", "sh")], directory);
        PromptCommands::new(
            (&env, &Arc::default()),
            (&root, directory),
            trusted,
            &settings.active_plugins(trusted),
            ReadFilter::denials(&RuleSet::default(), directory, None),
        )
    }

    fn plugin(directory: &Path) -> PathBuf {
        directory.join("root/plugins/cache/m/kit/1.0")
    }

    #[test]
    fn commands_of_plugins_have_the_name_of_the_plugin_and_know_its_directory() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path().canonicalize().unwrap();
        let commands = of_plugin(&directory, "root/settings.json", false);
        assert_eq!(commands.names(), ["kit:git:fix", "kit:hi"]);
        let (text, _) = prompt(commands.expand("kit:git:fix", "", true));
        let root = plugin(&directory).display().to_string();
        assert_eq!(text, format!("Read {root}/rules.\non"));
        assert_eq!(prompt(commands.expand("kit:hi", "", true)).0, "Hi.");
    }

    #[test]
    fn commands_of_a_plugin_that_only_a_repository_enables_run_no_lines() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path().canonicalize().unwrap();
        let commands = of_plugin(&directory, ".claude/settings.json", true);
        let (text, _) = prompt(commands.expand("kit:git:fix", "", true));
        let note = "[not run, because only the repository enables the plugin: echo on]";
        assert!(text.ends_with(note), "{text}");
    }
}
