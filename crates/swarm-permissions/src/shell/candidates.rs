//! The forms of a command that rules are matched against.

use std::collections::BTreeSet;

use swarm_protocol::word_list;

use super::lexer;
use super::quoting::substitutions;
use super::reach::path_texts;
use super::read_only::{runs_git, takes_files};
use super::script::{Part, Script, Word, join_raw, join_text};
use super::wrappers::{KEYWORDS, RUN_OTHERS, SHELLS, skip, unwrap_harmless};

/// Maximum depth of nested commands.
const MAX_DEPTH: usize = 8;
/// Maximum number of forms of one command line.
const MAX_FORMS: usize = 4_000;
/// Maximum length of a command line in bytes.
const MAX_BYTES: usize = 64 * 1024;

/// Returns the forms of a plain simple command that an allow rule may match: as written, and
/// without harmless wrappers.
pub(crate) fn allow_forms(part: &Part) -> Vec<String> {
    let mut forms = vec![part.raw()];
    let mut words = part.words.as_slice();
    while let Some(inner) = unwrap_harmless(words) {
        words = inner;
        forms.push(join_raw(words));
    }
    forms
}

/// Every command that a deny rule may refer to, anywhere in the command line, and every path it
/// names.
///
/// This is a best-effort check: a program can do more than its command line shows.
#[derive(Debug, Default)]
pub(crate) struct CommandAnalysis {
    /// Simple commands in several spellings.
    pub(crate) forms: BTreeSet<String>,
    /// Words that may be paths read by the command.
    pub(crate) reads: BTreeSet<String>,
    /// Files written by redirections.
    pub(crate) writes: BTreeSet<String>,
    /// Some command in it cannot be known from the text.
    pub(crate) unreadable: bool,
}

impl CommandAnalysis {
    /// Analyzes a whole command line.
    pub(crate) fn of(command: &str) -> Self {
        let mut all = Self::default();
        all.text(command, 0);
        all
    }

    fn text(&mut self, text: &str, depth: usize) {
        if depth > MAX_DEPTH || text.len() > MAX_BYTES {
            self.unreadable = true;
            return;
        }
        self.script(&lexer::read(text), depth);
    }

    fn script(&mut self, script: &Script, depth: usize) {
        self.unreadable |= script.broken;
        for part in &script.parts {
            self.part(part, depth);
        }
        let is_shell = |word: &Word| SHELLS.contains(&base_name(&word.text));
        let mut parts = script.parts.iter();
        let feeds_shell = parts.any(|part| part.words.iter().any(is_shell));
        for document in &script.here_documents {
            for inside in substitutions(document) {
                self.text(&inside, depth + 1);
            }
            if feeds_shell {
                self.text(document, depth + 1);
            }
        }
    }

    fn part(&mut self, part: &Part, depth: usize) {
        self.command(&part.words, depth);
        let takes_files = |word: &Word| takes_files(base_name(&word.text));
        let takes_files = part.words.iter().any(takes_files);
        let git = runs_git(part);
        for word in &part.words {
            let named = path_texts(word).filter(|text| takes_files || text.contains(['/', '.']));
            let in_commit = in_commit(&word.text).filter(|_| git);
            self.reads.extend(named.chain(in_commit).map(str::to_owned));
        }
        for redirect in part.files() {
            let list = if redirect.writes {
                &mut self.writes
            } else {
                &mut self.reads
            };
            list.insert(redirect.target.text.clone());
        }
        for inside in &part.nested {
            self.text(inside, depth + 1);
        }
    }

    fn command(&mut self, words: &[Word], depth: usize) {
        // The index where a command begins, and whether it certainly does.
        let mut begins = vec![(0, true)];
        let mut seen = BTreeSet::new();
        while let Some((at, sure)) = begins.pop() {
            let Some((first, rest)) = words.get(at..).and_then(<[Word]>::split_first) else {
                continue;
            };
            if self.forms.len() > MAX_FORMS {
                self.unreadable = true;
                return;
            }
            if !seen.insert((at, sure)) {
                continue;
            }
            self.forms.insert(join_raw(&words[at..]));
            self.forms.insert(join_text(&words[at..]));
            if first.is_assignment() || KEYWORDS.contains(&first.text.as_str()) {
                begins.push((at + 1, sure));
                continue;
            }
            self.unreadable |= sure && !first.is_literal();
            let name = base_name(&first.text);
            if name != first.text {
                self.forms.insert(with_rest(name, rest));
            }
            match name {
                "function" => begins.push((at + 2, sure)),
                "git" => {
                    self.forms
                        .insert(with_rest(name, without_git_options(rest)));
                }
                "eval" => self.evaluated(rest, depth),
                "trap" => self.evaluated(rest.get(..1).unwrap_or_default(), depth),
                "find" | "fd" => begins.extend(after_exec(rest).map(|i| (at + 1 + i, true))),
                name if SHELLS.contains(&name) => self.shell(rest, depth),
                name if RUN_OTHERS.contains(&name) => {
                    let surely = rest.iter().position(is_command_word);
                    begins.extend((0..rest.len()).map(|i| (at + 1 + i, Some(i) == surely)));
                    for word in rest
                        .iter()
                        .filter(|word| word.text.contains([' ', ';', '\n']))
                    {
                        self.text(&word.text, depth + 1);
                    }
                }
                _ => {}
            }
        }
    }

    /// Analyzes `bash -c '…'`, or a shell that reads its commands from elsewhere.
    fn shell(&mut self, arguments: &[Word], depth: usize) {
        let takes_text = arguments.iter().any(|word| {
            word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains('c')
        });
        let is_operand = |word: &&Word| !word.text.starts_with(['-', '+']);
        let operands = || arguments.iter().filter(is_operand);
        self.unreadable |= operands().next().is_none_or(|script| !script.is_literal());
        for word in operands().filter(|_| takes_text) {
            // The first operand may be the value of an option.
            self.unreadable |= !word.is_literal();
            self.text(&word.text, depth + 1);
        }
    }

    fn evaluated(&mut self, words: &[Word], depth: usize) {
        self.unreadable |= words.iter().any(|word| !word.is_literal());
        self.text(&join_text(words), depth + 1);
    }
}

/// Returns the path in `COMMIT:PATH`, `:PATH` or `:(MAGIC)PATH`.
fn in_commit(text: &str) -> Option<&str> {
    let (_, path) = text.rsplit_once(':')?;
    match path.split_once(')') {
        Some((magic, path)) if magic.starts_with('(') => Some(path),
        _ => Some(path),
    }
}

fn with_rest(name: &str, rest: &[Word]) -> String {
    if rest.is_empty() {
        name.to_owned()
    } else {
        format!("{name} {}", join_text(rest))
    }
}

/// Returns the program's name without its directories.
pub(crate) fn base_name(program: &str) -> &str {
    program
        .rsplit('/')
        .next()
        .filter(|name| !name.is_empty())
        .unwrap_or(program)
}

/// Returns whether a word after a program such as `sudo` or `timeout` can be the command, that is,
/// not an option, variable or number.
fn is_command_word(word: &Word) -> bool {
    !word.text.starts_with(['-', '+'])
        && !word.is_assignment()
        && !word.text.starts_with(|c: char| c.is_ascii_digit())
}

/// Returns the arguments of `git` from the subcommand on.
fn without_git_options(arguments: &[Word]) -> &[Word] {
    const WITH_VALUE: [&str; 7] =
        word_list("-C -c --git-dir --work-tree --namespace --exec-path --config-env");
    skip(arguments, |option| option.starts_with('-'), &WITH_VALUE)
}

/// Returns where the commands of `find … -exec COMMAND` begin.
fn after_exec(arguments: &[Word]) -> impl Iterator<Item = usize> + '_ {
    const EXEC: [&str; 8] = word_list("-exec -execdir -ok -okdir -x -X --exec --exec-batch");
    let is_exec = |(i, word): (usize, &Word)| EXEC.contains(&word.text.as_str()).then_some(i + 1);
    arguments.iter().enumerate().filter_map(is_exec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nested_command_is_found_in_every_position() {
        for command in [
            "rm -rf /x",
            "rm   -rf /x",
            "a; rm -rf /x",
            "a | rm -rf /x",
            "a &\nrm -rf /x",
            "(rm -rf /x)",
            "{ rm -rf /x; }",
            "if a; then rm -rf /x; fi",
            "for f in a; do rm -rf /x; done",
            "! rm -rf /x",
            "f() { rm -rf /x; }",
            "function f { rm -rf /x; }",
            "case a in a) rm -rf /x;; esac",
            "A=1 B=2 rm -rf /x",
            "A+=1 B[0]=2 rm -rf /x",
            "/bin/rm -rf /x",
            "r''m -rf /x",
            "\\rm -rf /x",
            "$'\\x72m' -rf /x",
            "rm \\\n -rf /x",
            "rm -rf /x > log 2>&1",
            ">log rm -rf /x",
            "echo $(rm -rf /x)",
            "echo \"`rm -rf /x`\"",
            "echo ${a:-$(rm -rf /x)}",
            "echo $[1 + $(rm -rf /x)]",
            "echo \"${a:-'}\"; rm -rf /x; echo \"${b:-'}\"",
            "cat <(rm -rf /x)",
            "cat <<E\n$(rm -rf /x)\nE",
            "bash <<'E'\nrm -rf /x\nE",
            "bash -c 'rm -rf /x'",
            "sh -ec 'a; rm -rf /x'",
            "eval 'rm -rf /x'",
            "eval rm -rf /x",
            "trap 'rm -rf /x' EXIT",
            "sudo -u bob rm -rf /x",
            "sudo --user bob rm -rf /x",
            "env -i A=1 rm -rf /x",
            "timeout -k 3 5 rm -rf /x",
            "xargs -n 1 rm -rf /x",
            "nohup nice -n 5 rm -rf /x",
            "ssh host 'a; rm -rf /x'",
            "find . -exec rm -rf /x {} \\;",
            "exec /usr/bin/env rm -rf /x",
        ] {
            let all = CommandAnalysis::of(command);
            assert!(
                all.forms.iter().any(|form| form.starts_with("rm -rf /x")),
                "{command}: {all:?}"
            );
        }
    }

    #[test]
    fn a_git_subcommand_is_found_after_global_options() {
        for command in [
            "git -C /x push",
            "git -c a=b --no-pager push",
            "/usr/bin/git --git-dir=/x push",
        ] {
            assert!(
                CommandAnalysis::of(command).forms.contains("git push"),
                "{command}"
            );
        }
    }

    #[test]
    fn commands_that_cannot_be_analyzed_are_marked_unreadable() {
        let deep = (0..12).fold("rm".to_owned(), |inner, _| format!("a $({inner})"));
        let long = "a ".repeat(MAX_BYTES);
        let many: Vec<_> = (0..=MAX_FORMS).map(|i| format!("a{i}")).collect();
        let many = format!("{}; rm", many.join(";"));
        for command in [
            "$X -rf",
            "r? x",
            "{rm,-rf,x}",
            "a 'b",
            "bash",
            "bash +x",
            "a | sh -s",
            "bash -c \"$X\"",
            "bash -o pipefail -c \"echo $X\"",
            "eval $X",
            "sudo $X",
            "timeout 5 $X",
            "env A=1 $X",
            "sudo A=1 -n $X",
            "sudo env $X",
            "$@ -rf",
            "$(a) b",
            deep.as_str(),
            long.as_str(),
            many.as_str(),
        ] {
            assert!(CommandAnalysis::of(command).unreadable, "{command}");
        }
        for command in [
            "ls *.rs",
            "echo $X",
            "timeout 5 ls *.rs",
            "bash run.sh",
            "A=$X b",
            "[ -f x ]",
        ] {
            assert!(!CommandAnalysis::of(command).unreadable, "{command}");
        }
    }

    #[test]
    fn text_that_is_not_run_is_no_command() {
        for (command, is_run) in [
            ("bash -ec run", true),
            ("bash --norc run", false),
            ("cat <<E\n$(run)\nE", true),
            ("cat <<E\n\\$(run)\nE", false),
        ] {
            let forms = CommandAnalysis::of(command).forms;
            assert_eq!(forms.contains("run"), is_run, "{command}");
        }
    }

    #[test]
    fn only_harmless_wrappers_are_removed_for_allow_rules() {
        let forms = |command: &str| allow_forms(&lexer::read(command).parts[0]);
        assert_eq!(forms("npm test 2>&1"), ["npm test"]);
        assert_eq!(
            forms("CI=1 timeout -k 1 30s nice -n 5 npm test"),
            [
                "CI=1 timeout -k 1 30s nice -n 5 npm test",
                "timeout -k 1 30s nice -n 5 npm test",
                "nice -n 5 npm test",
                "npm test"
            ]
        );
        for command in [
            "LD_PRELOAD=x npm test",
            "env npm test",
            "CI=$X npm test",
            "timeout x npm test",
            "sudo npm test",
            "nice --adjustment=5x npm test",
            "nice --adjustment= npm test",
        ] {
            assert_eq!(forms(command).len(), 1, "{command}");
        }
    }
}
