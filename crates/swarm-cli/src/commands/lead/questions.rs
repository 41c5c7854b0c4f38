//! Permission requests on a lead's console: one dialog at a time, oldest request first.

use std::collections::HashSet;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use swarm_agent::EventSink;
use swarm_os::DirectoryWatcher;
use swarm_protocol::{AgentEvent, MemberState, RequestId, RequestKind, RequestRecord, TeamName};
use swarm_store::{Changes, StoreError, TeamStore, Topic};
use swarm_ui::{Choice, Dialog};
use tokio::sync::Notify;

use crate::commands::requests::{details, granted, is_open, questions, what};
use crate::event_tap::tapped;

/// Key presses this soon after a dialog appears are ignored, because they were not meant for it.
pub(super) const UNARMED: Duration = Duration::from_millis(500);

/// Maximum number of options with a key; one key remains for refusal.
const MOST_OPTIONS: usize = 8;

/// Pending requests of a lead's team, shown on its console.
#[derive(Clone)]
pub(super) struct Questions {
    store: Arc<dyn TeamStore>,
    watcher: Arc<DirectoryWatcher>,
    host: Arc<dyn QuestionHost>,
    /// Notified when there may be a new request.
    pub(super) look: Arc<Notify>,
    /// Dismissed requests. They stay in the queue.
    put_off: Arc<Mutex<HashSet<RequestId>>>,
    pub(super) shown: Arc<Mutex<Option<Arc<DialogRequest>>>>,
}

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

    /// What separates the name of a command that a person types from its purpose.
    fn command_prefix(&self) -> &'static str {
        ": /"
    }

    /// Whether a call can be changed in the person's editor here.
    fn can_edit(&self) -> bool {
        false
    }

    /// Whether a reason can be typed after the key that denies a request.
    fn takes_reasons(&self) -> bool {
        true
    }

    /// Whether a request whose answer was refused is shown again; otherwise it is postponed.
    fn asks_again(&self) -> bool {
        true
    }

    /// The numbers of open requests, and of postponed ones among them.
    fn waiting(&self, open: usize, postponed: usize);
}

/// A request with the dialog that answers it.
#[derive(Debug)]
pub(super) struct DialogRequest {
    pub(super) request: RequestRecord,
    pub(super) dialog: Dialog,
    /// The answer of each choice.
    pub(super) answers: Vec<KeyAnswer>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyAnswer {
    /// Allows the call, once.
    Approve,
    /// Also grants what allows similar calls.
    ApproveAlways,
    /// Answers a question with an option, numbered from 1.
    Option(usize),
    Deny,
    /// Opens the call or the plan in the person's editor, and allows the result.
    Edit,
}

impl KeyAnswer {
    /// Returns the name of the command that gives this answer.
    pub(super) fn verb(self) -> &'static str {
        match self {
            Self::Approve | Self::ApproveAlways | Self::Option(_) | Self::Edit => "approve",
            Self::Deny => "deny",
        }
    }

    /// Returns the command, without `swarm`. `why` is the reason of a denial, or empty.
    pub(super) fn command(self, request: &RequestRecord, why: &str) -> String {
        let (verb, id) = (self.verb(), &request.id);
        match self {
            Self::Deny if !why.trim().is_empty() => {
                let why = format!("--why={}", why.trim().replace('\0', " "));
                // Only a NUL character cannot be quoted.
                let why = shlex::try_quote(&why).unwrap_or_default();
                format!("{verb} {id} {why}")
            }
            Self::Approve | Self::Deny => format!("{verb} {id}"),
            Self::ApproveAlways => format!("{verb} {id} --always"),
            Self::Option(number) => format!("{verb} {id} --answer {number}"),
            Self::Edit => format!("{verb} {id} --edit"),
        }
    }
}

impl Questions {
    /// Creates the questions of a host, none of which is shown yet.
    pub(super) fn new(
        store: &Arc<dyn TeamStore>,
        watcher: &Arc<DirectoryWatcher>,
        host: Arc<dyn QuestionHost>,
    ) -> Self {
        Self {
            store: Arc::clone(store),
            watcher: Arc::clone(watcher),
            host,
            look: Arc::default(),
            put_off: Arc::default(),
            shown: Arc::default(),
        }
    }

    /// Shows the oldest pending request while the lead is running.
    pub(super) async fn follow(self) {
        let mut requests: Option<(TeamName, Changes)> = None;
        loop {
            tokio::select! {
                () = self.look.notified() => {}
                () = changed(requests.as_mut()) => {}
            }
            let team = self.host.team();
            if team.as_ref() != requests.as_ref().map(|(team, _)| team) {
                requests = team.map(|team| {
                    let handle = self.store.team(&team);
                    (team, handle.watch(&self.watcher, &Topic::Requests))
                });
            }
            let team = requests.as_ref().map(|(team, _)| team.clone());
            let first = match &team {
                Some(team) => self.first(team).await,
                None => Ok(None),
            };
            match first {
                Ok(first) => self.show(first),
                Err(error) => tracing::warn!(%error, "requests not read"),
            }
        }
    }

    /// Shows a request unless it is already shown; `None` closes the dialog.
    pub(super) fn show(&self, request: Option<RequestRecord>) {
        let mut shown = self.shown.lock();
        let id = shown.as_ref().map(|shown| &shown.request.id);
        if id == request.as_ref().map(|request| &request.id) {
            return;
        }
        let asked = request.map(|request| {
            let (dialog, answers) = dialog(&request, &*self.host);
            Arc::new(DialogRequest {
                request,
                dialog,
                answers,
            })
        });
        shown.clone_from(&asked);
        drop(shown);
        if !self.host.ask(asked.as_deref()) {
            *self.shown.lock() = None;
        }
    }

    /// Returns the oldest pending request that was not dismissed.
    async fn first(&self, team: &TeamName) -> Result<Option<RequestRecord>, StoreError> {
        let mut open = self.store.team(team).requests().await?.requests;
        open.retain(|request| is_open(request) && self.host.shows(request));
        let mut put_off = self.put_off.lock();
        put_off.retain(|id| open.iter().any(|request| request.id == *id));
        let all = open.len();
        open.retain(|request| !put_off.contains(&request.id));
        self.host.waiting(all, all - open.len());
        Ok(open.into_iter().min_by_key(|request| request.asked_at))
    }

    /// Shows the postponed requests again. Returns whether there were any.
    pub(super) fn show_postponed(&self) -> bool {
        let postponed = std::mem::take(&mut *self.put_off.lock());
        self.look.notify_one();
        !postponed.is_empty()
    }

    /// Answers the request with this id according to the pressed key, with a reason unless that is
    /// empty.
    pub(super) fn answer(&self, id: &str, key: char, why: &str) {
        let shown = self.shown.lock().clone();
        let shown = shown.filter(|shown| shown.dialog.id == id);
        let answer = shown.and_then(|shown| {
            let mut choices = shown.dialog.choices.iter();
            let at = choices.position(|choice| choice.key == key)?;
            let answer = *shown.answers.get(at)?;
            Some((shown, answer))
        });
        if let Some((shown, answer)) = answer {
            self.host.answer(&shown.request, answer, why);
            if self.host.asks_again() {
                // The answer may have been refused.
                self.closed(id);
            } else {
                self.put_off.lock().insert(RequestId::new(id));
            }
        } else {
            self.put_off.lock().insert(RequestId::new(id));
            self.closed(id);
        }
        self.look.notify_one();
    }

    /// Records that a key has closed the dialog of a request, so that it can be shown again.
    fn closed(&self, id: &str) {
        let mut shown = self.shown.lock();
        *shown = shown.take().filter(|shown| shown.dialog.id != id);
    }
}

async fn changed(requests: Option<&mut (TeamName, Changes)>) {
    match requests {
        Some((_, requests)) => requests.changed().await,
        None => pending().await,
    }
}

/// Returns the dialog for a request at `host` and the answer of each key.
fn dialog(request: &RequestRecord, host: &dyn QuestionHost) -> (Dialog, Vec<KeyAnswer>) {
    let (id, prefix) = (request.short(), host.command_prefix());
    let asked = questions(request);
    let mut details = details(request);
    let mut what = what(request);
    // Label and answer of each key.
    let mut answers: Vec<(String, KeyAnswer)> = Vec::new();
    let mut keys = '1'..='9';
    match asked.as_deref() {
        Some([asked]) if !asked.several => {
            what.clone_from(&asked.question);
            details = vec![format!(
                "  in your own words{prefix}approve {id} --answer TEXT"
            )];
            let options = asked.options.iter().take(MOST_OPTIONS).enumerate();
            answers.extend(options.map(|(at, (label, about))| {
                let label = match about.as_str() {
                    "" => label.clone(),
                    about => format!("{label}: {about}"),
                };
                (label, KeyAnswer::Option(at + 1))
            }));
        }
        Some(asked) => {
            let each = " --answer TEXT".repeat(asked.len());
            // First, because a long list of options is cut.
            details.insert(0, format!("  answer{prefix}approve {id}{each}"));
            // The number of an option must not deny the request.
            keys = '0'..='9';
        }
        None => {
            let yes = match &request.request {
                RequestKind::Sandbox { .. } => "yes, until it exits",
                _ => "yes, this once",
            };
            answers.push((yes.to_owned(), KeyAnswer::Approve));
            answers.extend(granted(request).map(|granted| {
                let label = format!("yes, and {granted}");
                (label, KeyAnswer::ApproveAlways)
            }));
        }
    }
    let no = if host.takes_reasons() {
        "no; you can type a reason".to_owned()
    } else {
        format!("no; with a reason{prefix}deny {id} --why TEXT")
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
            .filter(|_| host.takes_reasons())
            .and_then(|at| keys.clone().nth(at)),
        id: request.id.to_string(),
        question: format!("{} asks: {what}", request.from),
        details,
        choices: choices.map(|(label, key)| Choice { key, label }).collect(),
    };
    (dialog, answers)
}

/// Returns a sink that also notifies `team` of events that may change the team, and `questions` of
/// requests, which are then left to dialogs.
pub(super) fn attentive(
    inner: Arc<dyn EventSink>,
    questions: Option<Arc<Notify>>,
    team: Arc<Notify>,
) -> Arc<dyn EventSink> {
    tapped(inner, move |event| {
        let is_request = matches!(
            event,
            AgentEvent::Asked { .. }
                | AgentEvent::State {
                    state: MemberState::WaitingPermission,
                    ..
                }
        );
        if let Some(questions) = questions.as_ref().filter(|_| is_request) {
            questions.notify_one();
            return false;
        }
        if matches!(
            event,
            AgentEvent::ToolFinished { .. } | AgentEvent::State { .. }
        ) {
            team.notify_one();
        }
        true
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use swarm_protocol::{MemberName, RequestState, SpawnId, UnixMs};

    use super::*;

    /// As in a pane.
    const PREFIX: &str = ", in a shell: swarm ";

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

    /// A lead's terminal, or a pane.
    struct Host {
        is_pane: bool,
    }

    impl QuestionHost for Host {
        fn team(&self) -> Option<TeamName> {
            None
        }

        fn answer(&self, _request: &RequestRecord, _answer: KeyAnswer, _why: &str) {}

        fn ask(&self, _request: Option<&DialogRequest>) -> bool {
            true
        }

        fn command_prefix(&self) -> &'static str {
            if self.is_pane { PREFIX } else { ": /" }
        }

        fn can_edit(&self) -> bool {
            !self.is_pane
        }

        fn waiting(&self, _open: usize, _postponed: usize) {}
    }

    const LEAD: Host = Host { is_pane: false };
    const PANE: Host = Host { is_pane: true };

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
    fn a_question_is_answered_by_the_number_of_an_option() {
        let option = |label: &str| json!({"label": label, "description": "about it"});
        let asked = json!({
            "question": "Which colour?", "header": "colour", "multiSelect": false,
            "options": [option("red"), option("blue")],
        });
        let input = json!({"questions": [asked]});
        let asked = request("AskUserQuestion", input, Vec::new());
        let (shown, answers) = dialog(&asked, &PANE);
        assert_eq!(
            shown.details,
            ["  in your own words, in a shell: swarm approve p3 --answer TEXT"]
        );
        assert_eq!(shown.question, "bob asks: Which colour?");
        assert_eq!(labels(&shown)[..2], ["1 red: about it", "2 blue: about it"]);
        let second = "approve perm-1-abcdefg --answer 2";
        assert_eq!(answers[1].command(&asked, ""), second);
        assert_eq!(answers[2], KeyAnswer::Deny);
    }

    #[test]
    fn the_number_of_an_option_does_not_deny_several_questions() {
        let question = |text: &str, several: bool| {
            json!({
                "question": text, "header": "colour", "multiSelect": several,
                "options": [{"label": "red", "description": ""}, {"label": "blue", "description": ""}],
            })
        };
        for questions in [
            vec![question("Which colours?", true)],
            vec![question("Inside?", false), question("Outside?", false)],
        ] {
            let input = json!({"questions": questions});
            let asked = request("AskUserQuestion", input, Vec::new());
            let (shown, answers) = dialog(&asked, &LEAD);
            assert!(shown.details[0].starts_with("  answer: /approve p3 --answer TEXT"));
            assert_eq!(shown.details[2], "    1 red");
            assert_eq!(labels(&shown), ["0 no; you can type a reason"]);
            assert_eq!(shown.reason, Some('0'));
            assert_eq!(answers, [KeyAnswer::Deny]);
        }
    }
}
