//! `swarm man`: manual pages, generated from the argument definitions.

use std::io;
use std::path::{Path, PathBuf};

use clap::Command;
use clap_mangen::Man;
use swarm_config::Environment;

use crate::failure::{Failure, Result};
use crate::output::Output;
use crate::own_process::VERSION;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  swarm man | man -l -                              read swarm's page
  swarm man task create | man -l -                  read a command's page
  swarm man --dir ~/.local/share/man/man1           install all pages")]
pub(crate) struct ManArgs {
    /// Command, such as `task create` [default: `swarm`].
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
    /// Write all pages to this directory.
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    pub(crate) dir: Option<PathBuf>,
}

/// Prints one page, or writes all pages to a directory.
pub(super) fn run(env: &Environment, out: Output, args: &ManArgs, swarm: Command) -> Result<()> {
    let mut swarm = without_help_commands(swarm);
    swarm.build();
    let Some(dir) = &args.dir else {
        return out.piece(&page(find(&swarm, &args.command)?)?);
    };
    let dir = env.cwd.join(dir);
    let failed = |error: io::Error| {
        let message = format!("cannot write pages to {}: {error}", dir.display());
        Failure::environment(message).with_hint("choose a writable directory")
    };
    std::fs::create_dir_all(&dir).map_err(failed)?;
    let mut names = Vec::new();
    for command in all(&swarm) {
        let name = format!("{}.1", full_name(command));
        write(&dir.join(&name), &page(command)?).map_err(failed)?;
        names.push(name);
    }
    if out.json {
        return out.json(&names);
    }
    out.say(&format!("{} pages are in {}", names.len(), dir.display()));
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "pages are for everybody to read, which files of teams are not"
)]
fn write(path: &Path, page: &str) -> io::Result<()> {
    std::fs::write(path, page)
}

/// Pages of `help` would only repeat the others.
fn without_help_commands(command: Command) -> Command {
    command
        .disable_help_subcommand(true)
        .mut_subcommands(without_help_commands)
}

fn find<'a>(swarm: &'a Command, words: &[String]) -> Result<&'a Command> {
    words.iter().try_fold(swarm, |command, word| {
        let found = command.find_subcommand(word);
        found.filter(|found| !found.is_hide_set()).ok_or_else(|| {
            let message = format!(
                "command `swarm {}` not found",
                words.join(" ").escape_debug()
            );
            Failure::not_found(message).with_hint("`swarm help` lists the commands")
        })
    })
}

fn all(command: &Command) -> Vec<&Command> {
    let inner = command
        .get_subcommands()
        .filter(|inner| !inner.is_hide_set());
    std::iter::once(command)
        .chain(inner.flat_map(all))
        .collect()
}

/// Returns the name of a page, such as `swarm-task-create`.
fn full_name(command: &Command) -> &str {
    command
        .get_display_name()
        .unwrap_or_else(|| command.get_name())
}

fn page(command: &Command) -> io::Result<String> {
    let mut text = Vec::new();
    let after = command.get_after_help().map(ToString::to_string);
    // The text after the options is added verbatim, because the renderer would reflow it.
    let command = command.clone().after_help(None::<&str>);
    let man = Man::new(command.clone())
        .title(full_name(&command).to_uppercase())
        .source(format!("swarm {VERSION}"))
        .manual("swarm");
    man.render(&mut text)?;
    let mut text = String::from_utf8_lossy(&text).into_owned();
    let after = after.unwrap_or_default();
    let (notes, examples) = after.split_once("Examples:\n").unwrap_or((&after, ""));
    for (heading, lines) in [("NOTES", notes.trim()), ("EXAMPLES", examples.trim_end())] {
        if !lines.is_empty() {
            text.push_str(&verbatim(heading, lines));
        }
    }
    Ok(text)
}

/// Formats a section with unchanged line breaks.
fn verbatim(heading: &str, text: &str) -> String {
    let mut section = format!(".SH {heading}\n.nf\n");
    for line in text.lines() {
        // A leading dot or apostrophe would be a roff request.
        if line.starts_with(['.', '\'']) {
            section.push_str("\\&");
        }
        section.push_str(&line.replace('\\', "\\e").replace('-', "\\-"));
        section.push('\n');
    }
    section.push_str(".fi\n");
    section
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::commands::Args;

    #[test]
    fn every_command_has_a_page_and_text_is_not_parsed_as_roff() {
        let mut swarm = without_help_commands(Args::command());
        swarm.build();
        let commands = all(&swarm);
        let names: Vec<_> = commands.iter().map(|command| full_name(command)).collect();
        assert!(
            names.contains(&"swarm") && names.contains(&"swarm-task-create"),
            "{names:?}"
        );
        for command in commands {
            let page = page(command).unwrap();
            assert!(page.contains(".SH NAME"), "{page}");
        }
        assert_eq!(verbatim("X", ".a\n-\\"), ".SH X\n.nf\n\\&.a\n\\-\\e\n.fi\n");
    }
}
