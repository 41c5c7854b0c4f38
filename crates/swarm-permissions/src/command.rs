//! Permission rules for shell commands.

use swarm_protocol::ToolKind;

use crate::files;
use crate::question::Question;
use crate::rule::{CommandPattern, Content};
use crate::shell::{self, CommandAnalysis, Part, Reach};
use crate::{Behavior, Rule, RuleSet, SourcedRule};

/// A rule that matches a command line, and the matching part of the command line.
#[derive(Debug)]
pub(crate) struct MatchedRule<'r> {
    pub(crate) rule: &'r SourcedRule,
    pub(crate) part: String,
}

/// Returns the first rule of the list `behavior` that matches any part of the command line or a
/// path in it.
pub(crate) fn restriction<'r>(
    rules: &'r RuleSet,
    behavior: Behavior,
    question: &Question<'_>,
    command: &str,
    analysis: &CommandAnalysis,
) -> Option<MatchedRule<'r>> {
    let by_text = rules.list(behavior).iter().find_map(|rule| {
        if !rule.rule.names("Bash", ToolKind::Execute, behavior) {
            return None;
        }
        let part = match rule.rule.content() {
            Content::Any => command,
            Content::Command(pattern) if pattern.matches(command.trim()) => command,
            Content::Command(pattern) => {
                analysis.forms.iter().find(|form| pattern.matches(form))?
            }
            _ => return None,
        };
        Some(MatchedRule {
            rule,
            part: part.to_owned(),
        })
    });
    by_text.or_else(|| {
        let reads = analysis.reads.iter().map(|path| (path, ToolKind::Read));
        let writes = analysis.writes.iter().map(|path| (path, ToolKind::Edit));
        reads.chain(writes).find_map(|(word, kind)| {
            let path = shell::spelled(word, question.starts_in, question.home);
            // As spelled and with links resolved: a rule about either name applies to the file.
            let mut places = question.files.leads_to(&path, false).unwrap_or_default();
            places.insert(0, path);
            places.iter().find_map(|path| {
                let rule = files::rule_for_path(rules, behavior, kind, path, question.bases())?;
                Some(MatchedRule {
                    rule,
                    part: word.clone(),
                })
            })
        })
    })
}

/// Returns a deny or ask rule about certain commands, if there is one: then unparsable commands
/// require approval.
pub(crate) fn any_restriction(rules: &RuleSet) -> Option<&SourcedRule> {
    let of_commands = |rule: &&SourcedRule| matches!(rule.rule.content(), Content::Command(_));
    rules.deny.iter().chain(&rules.ask).find(of_commands)
}

/// The result of looking for allow rules for a command line.
#[derive(Debug)]
pub(crate) enum Grant<'r> {
    /// The command only reads.
    ReadOnly,
    /// These rules allow it, in the order of the parts.
    Rules(Vec<&'r SourcedRule>),
    /// Some parts are not allowed.
    Missing(UnmatchedParts),
}

/// The parts of a command line without an allow rule.
#[derive(Debug, Default)]
pub(crate) struct UnmatchedParts {
    /// As written. Empty if the command line does not consist of simple commands.
    pub(crate) parts: Vec<String>,
    /// Why the first of them, a reading git command, does not count as reading.
    pub(crate) git_doubt: Option<&'static str>,
}

/// Returns whether every part of a command line only reads, regardless of allow rules.
pub(crate) fn only_reads(rules: &RuleSet, question: &Question<'_>, command: &str) -> bool {
    simple_parts(command).is_some_and(|parts| {
        let reading = ReadAnalysis::of(rules, question, &parts);
        parts.iter().all(|part| reading.only_reads(part))
    })
}

/// The facts that determine which parts of a command line only read.
struct ReadAnalysis<'a> {
    reach: Reach<'a>,
    watched: bool,
    git_doubt: Option<&'static str>,
}

impl<'a> ReadAnalysis<'a> {
    fn of(rules: &RuleSet, question: &'a Question<'_>, parts: &[Part]) -> Self {
        let watched = files::restricts_reading(rules);
        let runs_git = parts.iter().any(shell::runs_git);
        let git_doubt = if shell::moves_and_runs_git(parts) {
            Some("the command line also changes the directory")
        } else if runs_git {
            question.files.git_doubt(question.starts_in)
        } else {
            None
        };
        Self {
            reach: Reach::of(
                parts,
                question.starts_in,
                question.home,
                question.files,
                watched,
            ),
            watched,
            git_doubt,
        }
    }

    fn only_reads(&self, part: &Part) -> bool {
        self.would_only_read(part) && (self.git_doubt.is_none() || !shell::runs_git(part))
    }

    /// Returns whether the part only reads, provided that git can be trusted.
    fn would_only_read(&self, part: &Part) -> bool {
        shell::part_is_read_only(part, &self.reach)
            && !(self.watched && shell::names_files_vaguely(part))
    }
}

/// Finds the allow rules for a command line.
pub(crate) fn grant<'r>(rules: &'r RuleSet, question: &Question<'_>, command: &str) -> Grant<'r> {
    let commands = || rules.allow.iter().filter(|rule| rule.rule.tool() == "Bash");
    let whole = commands().find(|rule| match rule.rule.content() {
        Content::Any => true,
        Content::Command(pattern) => pattern.exact() == Some(command.trim()),
        _ => false,
    });
    if let Some(rule) = whole {
        return Grant::Rules(vec![rule]);
    }
    let Some(parts) = simple_parts(command) else {
        return Grant::Missing(UnmatchedParts::default());
    };
    let reading = ReadAnalysis::of(rules, question, &parts);
    let mut granted = Vec::new();
    let mut missing = UnmatchedParts::default();
    for part in &parts {
        let rule = commands().find(|rule| match rule.rule.content() {
            Content::Command(pattern) => part_matches(pattern, part),
            _ => false,
        });
        match rule {
            _ if reading.only_reads(part) => {}
            Some(rule) => granted.push(rule),
            None => {
                if missing.parts.is_empty() && reading.would_only_read(part) {
                    missing.git_doubt = reading.git_doubt;
                }
                missing.parts.push(part.raw());
            }
        }
    }
    match (missing.parts.is_empty(), granted.is_empty()) {
        (true, true) => Grant::ReadOnly,
        (true, false) => Grant::Rules(granted),
        (false, _) => Grant::Missing(missing),
    }
}

/// Returns whether every part of a command line matches one of these rules. Unlike [`grant`],
/// reading is not sufficient.
pub(crate) fn is_within(rules: &[Rule], command: &str) -> bool {
    let patterns = || {
        rules.iter().filter_map(|rule| match rule.content() {
            Content::Command(pattern) => Some(pattern),
            _ => None,
        })
    };
    let fits = |part: &Part| patterns().any(|pattern| part_matches(pattern, part));
    patterns().any(|pattern| pattern.exact() == Some(command.trim()))
        || simple_parts(command).is_some_and(|parts| parts.iter().all(fits))
}

fn part_matches(pattern: &CommandPattern, part: &Part) -> bool {
    shell::allow_forms(part)
        .iter()
        .any(|form| pattern.matches(form))
}

/// Returns the simple commands of a command line that consists of nothing else: no groups,
/// substitutions, here-documents or output redirections. The last three are part of a command that
/// is not plain.
fn simple_parts(command: &str) -> Option<Vec<Part>> {
    let script = shell::read(command);
    let simple = !script.broken
        && !script.grouped
        && !script.parts.is_empty()
        && script.parts.iter().all(Part::is_plain);
    simple.then_some(script.parts)
}
