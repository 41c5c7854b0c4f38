//! The dialog of a request: its choices, or a form for its questions.

use swarm_protocol::{Color, MemberName, RequestKind, RequestRecord, TeamName};
use swarm_store::Team;
use swarm_tools::AskedQuestion;
use swarm_ui::{Choice, Dialog, FormAnswer, FormQuestion};

use crate::commands::requests::{details, granted, questions, what};

/// Maximum number of options with a key; one key remains for refusal.
const MOST_OPTIONS: usize = 8;

/// Where requests are answered.
pub(super) trait QuestionHost: Send + Sync {
    fn team(&self) -> Option<TeamName>;

    /// Whether a request of the team is shown here.
    fn shows(&self, _request: &RequestRecord) -> bool {
        true
    }

    /// Answers a request, and shows the outcome. `why` is the reason of a denial, or empty.
    fn answer(&self, request: &RequestRecord, answer: KeyAnswer, why: &str);

    /// Shows a request instead of the one before; `None` removes that one. Returns whether the request
    /// is shown; otherwise it is offered again at the next change.
    fn ask(&self, request: Option<&DialogRequest>) -> bool;

    /// Whether a call can be changed in the person's editor here.
    fn can_edit(&self) -> bool {
        false
    }

    /// Whether dialogs are on a screen: text can be typed after a key, and questions are a form.
    fn has_screen(&self) -> bool {
        true
    }

    /// Why no key is accepted here at this moment; `None` if keys answer requests.
    fn refusal(&self) -> Option<String> {
        None
    }

    /// Whether a request whose answer was refused is shown again; otherwise it is postponed.
    fn asks_again(&self) -> bool {
        true
    }

    /// Says that the requests of the team cannot be read yet, because its hub does not answer.
    fn unanswered(&self, _team: &dyn Team) {}

    fn color(&self, _member: &MemberName) -> Option<Color> {
        None
    }

    /// Whether the team has teammates, for which a rule would hold too.
    fn has_teammates(&self) -> bool {
        true
    }

    /// The numbers of open requests, and of postponed ones among them.
    fn waiting(&self, open: usize, postponed: usize);
}

#[derive(Debug)]
pub(super) struct DialogRequest {
    pub(super) request: RequestRecord,
    pub(super) dialog: Dialog,
    /// The answer of each choice.
    pub(super) answers: Vec<KeyAnswer>,
}

impl DialogRequest {
    pub(super) fn new(request: RequestRecord, host: &dyn QuestionHost) -> Self {
        let (dialog, answers) = dialog(&request, host);
        Self {
            request,
            dialog,
            answers,
        }
    }

    pub(super) fn form_answer(&self, answers: &[FormAnswer]) -> KeyAnswer {
        let questions = self.dialog.form.iter().zip(answers);
        KeyAnswer::Answers(
            questions
                .map(|(question, answer)| words(question, answer))
                .collect(),
        )
    }
}

/// Returns an answer in the words of `--answer`: free text, since a label may look like a number.
fn words(question: &FormQuestion, answer: &FormAnswer) -> String {
    let chosen = answer.options.iter();
    let labels = chosen.filter_map(|at| question.options.get(*at));
    let mut words: Vec<_> = labels.map(|(label, _)| label.as_str()).collect();
    words.extend(Some(answer.text.as_str()).filter(|text| !text.is_empty()));
    format!("other: {}", words.join(", "))
}

/// What a key, or a form, answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeyAnswer {
    /// Allows the call, once.
    Approve,
    /// Also grants what allows similar calls.
    ApproveAlways,
    /// Answers the questions of a call, one after the other, in the words of `--answer`.
    Answers(Vec<String>),
    Deny,
    /// Opens the call or the plan in the person's editor, and allows the result.
    Edit,
}

impl KeyAnswer {
    /// Returns the name of the command that gives this answer.
    pub(super) fn verb(&self) -> &'static str {
        match self {
            Self::Approve | Self::ApproveAlways | Self::Answers(_) | Self::Edit => "approve",
            Self::Deny => "deny",
        }
    }

    /// Returns the command, without `swarm`. `why` is the reason of a denial, or empty.
    pub(super) fn command(&self, request: &RequestRecord, why: &str) -> String {
        let (verb, id) = (self.verb(), &request.id);
        match self {
            Self::Deny if !why.trim().is_empty() => {
                format!("{verb} {id}{}", option("why", why.trim()))
            }
            Self::Approve | Self::Deny => format!("{verb} {id}"),
            Self::ApproveAlways => format!("{verb} {id} --always"),
            Self::Answers(answers) => {
                let answers: String = answers
                    .iter()
                    .map(|words| option("answer", words))
                    .collect();
                format!("{verb} {id}{answers}")
            }
            Self::Edit => format!("{verb} {id} --edit"),
        }
    }
}

/// Returns an option of a command with its value, after a space.
fn option(name: &str, value: &str) -> String {
    let option = format!("--{name}={}", value.replace('\0', " "));
    // Only a NUL character cannot be quoted.
    format!(" {}", shlex::try_quote(&option).unwrap_or_default())
}

fn dialog(request: &RequestRecord, host: &dyn QuestionHost) -> (Dialog, Vec<KeyAnswer>) {
    if let Some(why) = host.refusal() {
        return (without_keys(request, host, &why), Vec::new());
    }
    let id = request.short();
    let asked = questions(request);
    let mut details = details(request);
    let mut what = what(request);
    // Label and answer of each key.
    let mut answers: Vec<(String, KeyAnswer)> = Vec::new();
    let mut keys = '1'..='9';
    let mut form = Vec::new();
    match asked.as_deref() {
        Some(asked) if host.has_screen() => {
            details.clear();
            what = match asked {
                [only] => only.question.clone(),
                _ => format!("{} questions", asked.len()),
            };
            form.extend(asked.iter().map(form_question));
            // The numbers are those of options.
            keys = '0'..='9';
        }
        Some([asked]) if !asked.several => {
            what.clone_from(&asked.question);
            details = vec![format!("  in your own words: /approve {id} --answer TEXT")];
            let options = asked.options.iter().take(MOST_OPTIONS).enumerate();
            answers.extend(options.map(|(at, (label, about))| {
                let label = match about.as_str() {
                    "" => label.clone(),
                    about => format!("{label}: {about}"),
                };
                (label, KeyAnswer::Answers(vec![(at + 1).to_string()]))
            }));
        }
        Some(asked) => {
            let each = " --answer TEXT".repeat(asked.len());
            // First, because a long list of options is cut.
            details.insert(0, format!("  answer: /approve {id}{each}"));
            // The number of an option must not deny the request.
            keys = '0'..='9';
        }
        None => {
            let yes = match &request.request {
                RequestKind::Sandbox { .. } => "yes, until it exits",
                RequestKind::Plan { .. } => "yes, carry it out",
                RequestKind::Permission { .. } => "yes, this once",
            };
            answers.push((yes.to_owned(), KeyAnswer::Approve));
            answers.extend(granted(request, host.has_teammates()).map(|granted| {
                let label = format!("yes, and {granted}");
                (label, KeyAnswer::ApproveAlways)
            }));
        }
    }
    let no = if host.has_screen() {
        "no; you can type a reason".to_owned()
    } else {
        format!("no; with a reason: /deny {id} --why TEXT")
    };
    answers.push((no, KeyAnswer::Deny));
    let is_host = matches!(request.request, RequestKind::Sandbox { .. });
    if asked.is_none() && !is_host && host.can_edit() {
        let edit = "change it in your editor, then allow it".to_owned();
        answers.push((edit, KeyAnswer::Edit));
    }
    let (labels, answers): (Vec<_>, Vec<_>) = answers.into_iter().unzip();
    let choices = labels.into_iter().zip(keys.clone());
    let deny = answers.iter().position(|answer| *answer == KeyAnswer::Deny);
    let dialog = Dialog {
        reason: deny
            .filter(|_| host.has_screen())
            .and_then(|at| keys.clone().nth(at)),
        id: request.id.to_string(),
        asker: Some((request.from.to_string(), host.color(&request.from))),
        question: if form.len() > 1 {
            format!("{} asks {what}", request.from)
        } else {
            format!("{} asks: {what}", request.from)
        },
        details,
        choices: choices.map(|(label, key)| Choice { key, label }).collect(),
        form,
    };
    (dialog, answers)
}

/// Returns a dialog that only names the commands that answer elsewhere.
fn without_keys(request: &RequestRecord, host: &dyn QuestionHost, why: &str) -> Dialog {
    let answers = questions(request).map_or(0, |asked| asked.len());
    let (id, answers) = (request.short(), " --answer TEXT".repeat(answers));
    // Outside, the default is the newest team.
    let team = host.team().map(|team| format!(" --team {team}"));
    let team = team.unwrap_or_default();
    // First, because a long call is cut.
    let mut lines = vec![
        "  in a terminal outside:".to_owned(),
        format!("    swarm approve {id}{team}{answers}"),
        format!("    swarm deny {id}{team}"),
        format!("  no keys here: {why}"),
    ];
    lines.extend(details(request));
    Dialog {
        id: request.id.to_string(),
        asker: Some((request.from.to_string(), host.color(&request.from))),
        question: format!("{} asks: {}", request.from, what(request)),
        details: lines,
        ..Dialog::default()
    }
}

fn form_question(asked: &AskedQuestion) -> FormQuestion {
    FormQuestion {
        text: asked.question.clone(),
        options: asked.options.clone(),
        several: asked.several,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use swarm_protocol::{RequestId, RequestState, SpawnId, UnixMs};

    use super::*;

    fn request(tool: &str, input: Value, suggestions: Vec<Value>) -> RequestRecord {
        RequestRecord {
            id: RequestId::new("perm-1-abcdefg"),
            number: Some(3),
            from: MemberName::parse("bob").unwrap(),
            spawn_id: Some(SpawnId::random()),
            request: RequestKind::Permission {
                tool: tool.to_owned(),
                tool_use_id: "t".to_owned(),
                input,
                digest: "d".to_owned(),
                suggestions,
            },
            description: format!("{tool} something"),
            why: String::new(),
            asked_at: UnixMs(1000),
            deadline: Some(UnixMs(301_000)),
            state: RequestState::Open,
        }
    }

    /// A lead's terminal, with a screen, shared with an agent or without a screen, or a pane.
    #[derive(PartialEq)]
    enum Host {
        Lead,
        Shared,
        Plain,
        Pane,
    }

    impl QuestionHost for Host {
        fn team(&self) -> Option<TeamName> {
            TeamName::parse("web").ok()
        }

        fn answer(&self, _request: &RequestRecord, _answer: KeyAnswer, _why: &str) {}

        fn ask(&self, _request: Option<&DialogRequest>) -> bool {
            true
        }

        fn can_edit(&self) -> bool {
            *self != PANE
        }

        fn has_screen(&self) -> bool {
            *self != PLAIN
        }

        fn refusal(&self) -> Option<String> {
            (*self == Host::Shared).then(|| "bob can type too".to_owned())
        }

        fn waiting(&self, _open: usize, _postponed: usize) {}
    }

    const LEAD: Host = Host::Lead;
    const PLAIN: Host = Host::Plain;
    const PANE: Host = Host::Pane;

    fn labels(dialog: &Dialog) -> Vec<String> {
        let choices = dialog.choices.iter();
        choices
            .map(|choice| format!("{} {}", choice.key, choice.label))
            .collect()
    }

    #[test]
    fn each_key_runs_the_command_of_its_label() {
        let rule = json!({
            "type": "addRules", "behavior": "allow", "destination": "session",
            "rules": [{"toolName": "Bash", "ruleContent": "touch:*"}],
        });
        let asked = request("Bash", json!({"command": "touch x"}), vec![rule]);
        let (shown, answers) = dialog(&asked, &LEAD);
        assert_eq!(shown.question, "bob asks: Bash something");
        assert_eq!(
            labels(&shown),
            [
                "1 yes, this once",
                "2 yes, and for the whole team: Bash(touch:*)",
                "3 no; you can type a reason",
                "4 change it in your editor, then allow it",
            ]
        );
        assert_eq!(shown.reason, Some('3'));
        let why = "it's not -\nneeded";
        let denied = shlex::split(&KeyAnswer::Deny.command(&asked, why)).unwrap();
        assert_eq!(denied, ["deny", "perm-1-abcdefg", &format!("--why={why}")]);
        let commands = answers.into_iter().map(|answer| answer.command(&asked, ""));
        assert_eq!(
            commands.collect::<Vec<_>>(),
            [
                "approve perm-1-abcdefg",
                "approve perm-1-abcdefg --always",
                "deny perm-1-abcdefg",
                "approve perm-1-abcdefg --edit",
            ]
        );
    }

    #[test]
    fn an_answer_about_a_host_holds_for_the_session() {
        let mut asked = request("Bash", json!({}), Vec::new());
        asked.request = RequestKind::Sandbox {
            host: "crates.io".to_owned(),
        };
        let (shown, answers) = dialog(&asked, &LEAD);
        let labels = labels(&shown);
        assert_eq!(labels[0], "1 yes, until it exits");
        assert_eq!(answers.len(), 2, "{labels:?}");
    }

    #[test]
    fn without_keys_a_request_names_the_commands_that_answer_it_with_its_team() {
        let asked = request(
            "Bash",
            json!({"command": "touch x", "timeout": 5}),
            Vec::new(),
        );
        let (shown, answers) = dialog(&asked, &Host::Shared);
        assert!(shown.choices.is_empty() && answers.is_empty());
        assert_eq!(
            shown.details[..4],
            [
                "  in a terminal outside:",
                "    swarm approve p3 --team web",
                "    swarm deny p3 --team web",
                "  no keys here: bob can type too",
            ]
        );
        assert!(shown.details.contains(&"  timeout: 5".to_owned()));
        let (shown, _) = dialog(&asking(&[("Which?", false)]), &Host::Shared);
        let approve = "    swarm approve p3 --team web --answer TEXT";
        assert!(shown.form.is_empty() && shown.details[1] == approve);
    }

    #[test]
    fn a_plan_is_carried_out_or_not() {
        let mut asked = request("ExitPlanMode", json!({}), Vec::new());
        asked.request = RequestKind::Plan {
            plan: "# Fix it".to_owned(),
            plan_file_path: "/plan.md".to_owned(),
            mode: swarm_protocol::PermissionMode::Default,
        };
        let (shown, _) = dialog(&asked, &LEAD);
        assert_eq!(labels(&shown)[0], "1 yes, carry it out");
    }

    /// A call that asks these questions; each may have several answers.
    fn asking(questions: &[(&str, bool)]) -> RequestRecord {
        let option = |label: &str| json!({"label": label, "description": "about it"});
        let questions = questions.iter().map(|(text, several)| {
            json!({
                "question": text, "header": "colour", "multiSelect": several,
                "options": [option("red"), option("2")],
            })
        });
        let input = json!({"questions": questions.collect::<Vec<_>>()});
        request("AskUserQuestion", input, Vec::new())
    }

    #[test]
    fn a_question_is_answered_by_the_number_of_an_option_without_a_screen() {
        let asked = asking(&[("Which colour?", false)]);
        let (shown, answers) = dialog(&asked, &PLAIN);
        assert_eq!(
            shown.details,
            ["  in your own words: /approve p3 --answer TEXT"]
        );
        assert_eq!(shown.question, "bob asks: Which colour?");
        assert_eq!(labels(&shown)[..2], ["1 red: about it", "2 2: about it"]);
        let second = "approve perm-1-abcdefg '--answer=2'";
        assert_eq!(answers[1].command(&asked, ""), second);
        assert_eq!(answers[2], KeyAnswer::Deny);
    }

    #[test]
    fn the_number_of_an_option_does_not_deny_several_questions_without_a_screen() {
        for questions in [
            &[("Which colours?", true)][..],
            &[("Inside?", false), ("Outside?", false)],
        ] {
            let (shown, answers) = dialog(&asking(questions), &PLAIN);
            assert!(shown.details[0].starts_with("  answer: /approve p3 --answer TEXT"));
            assert_eq!(shown.details[2], "    1 red: about it");
            assert_eq!(answers, [KeyAnswer::Deny]);
            assert_eq!(shown.choices[0].key, '0');
        }
    }

    #[test]
    fn questions_are_a_form_whose_answers_are_free_text() {
        let asked = asking(&[("Inside?", false), ("Outside?", true)]);
        let shown = DialogRequest::new(asked.clone(), &LEAD);
        assert_eq!(shown.dialog.question, "bob asks 2 questions");
        assert_eq!(labels(&shown.dialog), ["0 no; you can type a reason"]);
        let answer = |options: &[usize], text: &str| FormAnswer {
            options: options.iter().copied().collect(),
            text: text.to_owned(),
        };
        let given = shown.form_answer(&[answer(&[1], ""), answer(&[0, 1], "it's both")]);
        let words = shlex::split(&given.command(&asked, "")).unwrap();
        let expected = ["--answer=other: 2", "--answer=other: red, 2, it's both"];
        assert_eq!(words[..2], ["approve", "perm-1-abcdefg"]);
        assert_eq!(words[2..], expected);
        let one = DialogRequest::new(asking(&[("Which?", true)]), &PANE);
        assert_eq!(one.dialog.question, "bob asks: Which?");
    }
}
