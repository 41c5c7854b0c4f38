//! Permission requests on a lead's console: one dialog at a time, oldest request first.

use std::collections::HashSet;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use swarm_agent::EventSink;
use swarm_os::DirectoryWatcher;
use swarm_protocol::{AgentEvent, MemberState, RequestId, RequestRecord, TeamName};
use swarm_store::{BlockOn as _, Changes, StoreError, TeamStore, Topic};
use swarm_ui::{Choice, Dialog};
use tokio::sync::Notify;

use crate::commands::requests::{details, granted, is_open, questions, what};

/// Key presses this soon after a dialog appears are ignored, because they were not meant for it.
pub(super) const UNARMED: Duration = Duration::from_millis(500);

/// Maximum number of options with a key; one key remains for refusal.
const MOST_OPTIONS: usize = 8;

/// Pending requests of a lead's team, shown on its console.
#[derive(Clone)]
pub(super) struct Questions {
    pub(super) store: Arc<dyn TeamStore>,
    pub(super) watcher: Arc<DirectoryWatcher>,
    pub(super) host: Arc<dyn QuestionHost>,
    /// Notified when there may be a new request.
    pub(super) look: Arc<Notify>,
    /// Dismissed requests. They stay in the queue.
    pub(super) put_off: Arc<Mutex<HashSet<RequestId>>>,
    pub(super) shown: Arc<Mutex<Option<ShownRequest>>>,
}

/// Where requests are answered.
pub(super) trait QuestionHost: Send + Sync {
    /// Returns the team, if there is one yet.
    fn team(&self) -> Option<TeamName>;

    /// Runs the command that answers a request, and shows its output.
    fn run(&self, command: &str);

    /// Shows a request instead of the one before; `None` removes that one.
    fn ask(&self, request: Option<DialogRequest>);

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
    /// The command of each key, starting at 1.
    pub(super) commands: Vec<String>,
}

/// The request in the dialog.
#[derive(Debug)]
pub(super) struct ShownRequest {
    id: RequestId,
    /// The command of each key, starting at 1.
    commands: Vec<String>,
}

impl Questions {
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
            let first = match requests.as_ref().map(|(team, _)| self.first(team)) {
                Some(Ok(first)) => first,
                Some(Err(error)) => {
                    tracing::warn!(%error, "requests not read");
                    continue;
                }
                None => None,
            };
            self.show(first);
        }
    }

    /// Shows a request unless it is already shown; `None` closes the dialog.
    fn show(&self, request: Option<RequestRecord>) {
        let mut shown = self.shown.lock();
        if shown.as_ref().map(|shown| &shown.id) == request.as_ref().map(|request| &request.id) {
            return;
        }
        let asked = request.map(|request| {
            let (dialog, commands) = dialog(&request);
            DialogRequest {
                request,
                dialog,
                commands,
            }
        });
        *shown = asked.as_ref().map(|asked| ShownRequest {
            id: asked.request.id.clone(),
            commands: asked.commands.clone(),
        });
        drop(shown);
        self.host.ask(asked);
    }

    /// Returns the oldest pending request that was not dismissed.
    fn first(&self, team: &TeamName) -> Result<Option<RequestRecord>, StoreError> {
        let put_off = self.put_off.lock();
        let mut open = self.store.team(team).requests().block_on()?.requests;
        open.retain(is_open);
        let all = open.len();
        open.retain(|request| !put_off.contains(&request.id));
        self.host.waiting(all, all - open.len());
        Ok(open.into_iter().min_by_key(|request| request.asked_at))
    }

    /// Shows the postponed requests again.
    pub(super) fn show_postponed(&self) {
        self.put_off.lock().clear();
        self.look.notify_one();
    }

    /// Answers the request with this id according to the pressed key.
    pub(super) fn answer(&self, id: &str, key: char) {
        let at = key.to_digit(10).and_then(|key| key.checked_sub(1));
        let command = at.and_then(|at| {
            let shown = self.shown.lock();
            let shown = shown.as_ref().filter(|shown| shown.id.as_str() == id)?;
            shown.commands.get(at as usize).cloned()
        });
        match command {
            Some(command) => {
                self.host.run(&command);
                if self.host.asks_again() {
                    // The dialog is closed, but the answer may have been refused.
                    let mut shown = self.shown.lock();
                    *shown = shown.take().filter(|shown| shown.id.as_str() != id);
                } else {
                    self.put_off.lock().insert(RequestId::new(id));
                }
            }
            None => {
                self.put_off.lock().insert(RequestId::new(id));
            }
        }
        self.look.notify_one();
    }
}

async fn changed(requests: Option<&mut (TeamName, Changes)>) {
    match requests {
        Some((_, requests)) => requests.changed().await,
        None => pending().await,
    }
}

/// Returns the dialog for a request and the command for each key.
fn dialog(request: &RequestRecord) -> (Dialog, Vec<String>) {
    let (id, full) = (request.short(), &request.id);
    let asked = questions(request);
    let mut details = details(request);
    let mut what = what(request);
    // Label and command of each key.
    let mut answers: Vec<(String, String)> = Vec::new();
    match asked.as_deref() {
        Some([asked]) if !asked.several => {
            what.clone_from(&asked.question);
            details = vec![format!("  in your own words: /approve {id} --answer TEXT")];
            let options = asked.options.iter().take(MOST_OPTIONS).enumerate();
            answers.extend(options.map(|(at, (label, about))| {
                let label = match about.as_str() {
                    "" => label.clone(),
                    about => format!("{label}: {about}"),
                };
                (label, format!("approve {full} --answer {}", at + 1))
            }));
        }
        Some(asked) => {
            let each = " --answer TEXT".repeat(asked.len());
            details.push(format!("  answer: /approve {id}{each}"));
        }
        None => {
            answers.push(("yes, this once".to_owned(), format!("approve {full}")));
            answers.extend(granted(request).map(|granted| {
                let label = format!("yes, and for the rest of its session: {granted}");
                (label, format!("approve {full} --always"))
            }));
        }
    }
    let no = format!("no; with a reason: /deny {id} --why TEXT");
    answers.push((no, format!("deny {full}")));
    let (labels, commands): (Vec<_>, Vec<_>) = answers.into_iter().unzip();
    let choices = labels.into_iter().zip('1'..='9');
    let dialog = Dialog {
        id: request.id.to_string(),
        question: format!("{} asks: {what}", request.from),
        details,
        choices: choices.map(|(label, key)| Choice { key, label }).collect(),
    };
    (dialog, commands)
}

/// Notifies the team watchers of new events and leaves the display of requests to dialogs.
#[derive(Debug)]
pub(super) struct AttentiveSink {
    pub(super) inner: Arc<dyn EventSink>,
    /// Notified of each request if dialogs show them.
    pub(super) questions: Option<Arc<Notify>>,
    /// Notified of each event of the lead.
    pub(super) team: Arc<Notify>,
}

impl EventSink for AttentiveSink {
    fn emit(&self, event: AgentEvent) {
        let is_request = matches!(
            event,
            AgentEvent::Asked { .. }
                | AgentEvent::State {
                    state: MemberState::WaitingPermission,
                    ..
                }
        );
        if let Some(questions) = self.questions.as_ref().filter(|_| is_request) {
            return questions.notify_one();
        }
        if matches!(
            event,
            AgentEvent::ToolFinished { .. } | AgentEvent::State { .. }
        ) {
            self.team.notify_one();
        }
        self.inner.emit(event);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use swarm_protocol::{MemberName, RequestKind, RequestState, SpawnId, UnixMs};

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
        let (shown, commands) = dialog(&request("Bash", json!({"command": "touch x"}), vec![rule]));
        assert_eq!(shown.question, "bob asks: Bash something");
        assert_eq!(
            labels(&shown),
            [
                "1 yes, this once",
                "2 yes, and for the rest of its session: Bash(touch:*)",
                "3 no; with a reason: /deny p3 --why TEXT",
            ]
        );
        assert_eq!(
            commands,
            [
                "approve perm-1-abcdefg",
                "approve perm-1-abcdefg --always",
                "deny perm-1-abcdefg",
            ]
        );
    }

    #[test]
    fn a_question_is_answered_by_the_number_of_an_option() {
        let option = |label: &str| json!({"label": label, "description": "about it"});
        let asked = json!({
            "question": "Which colour?", "header": "colour", "multiSelect": false,
            "options": [option("red"), option("blue")],
        });
        let input = json!({"questions": [asked]});
        let (shown, commands) = dialog(&request("AskUserQuestion", input, Vec::new()));
        assert_eq!(shown.question, "bob asks: Which colour?");
        assert_eq!(labels(&shown)[..2], ["1 red: about it", "2 blue: about it"]);
        assert_eq!(commands[1], "approve perm-1-abcdefg --answer 2");
        assert_eq!(commands[2], "deny perm-1-abcdefg");
    }
}
