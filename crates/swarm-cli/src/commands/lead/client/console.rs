//! Connects a lead with its client: prompts, requests and the plan.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use swarm_agent::{TranscriptReplay, find_transcript};
use swarm_member::LeadParts;
use swarm_os::DirectoryWatcher;
use swarm_protocol::{PermissionMode, RequestKind, RequestRecord, TeamName};
use swarm_store::{BlockOn as _, Changes, StoreError, Topic};
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::sync::mpsc::unbounded_channel;

use super::session::{ClientSession, SessionLead};
use super::sink::ClientSink;
use super::updates::{plan, tool_kind};
use crate::app::App;
use crate::commands::lead::person_shell::ShellLines;
use crate::commands::lead::questions::{Questions, attentive};
use crate::commands::lead::request_dialog::{DialogRequest, KeyAnswer, QuestionHost};
use crate::commands::lead::slash::TerminalCommands;
use crate::commands::lead::terminal::LeadTerminal;
use crate::commands::lead::typist::{status_line, wait_for_answers};
use crate::failure::Result;

/// Connects a lead that is about to run with the client of `session`, and responds to the request
/// that opened the session.
pub(in crate::commands::lead) fn attach(
    session: &Arc<ClientSession>,
    app: &App,
    parts: &mut LeadParts,
    lines: &Arc<ShellLines>,
) -> Result<()> {
    parts.stops = session.stops.clone();
    let sink = Arc::new(ClientSink::new(Arc::clone(session), parts.session));
    let terminal = LeadTerminal::begin(None, "")?;
    let status = Arc::new(status_line(app, parts, &terminal)?);
    parts.events = status.following(Arc::clone(&sink) as _);
    let (input, person) = unbounded_channel();
    let commands = TerminalCommands::new(app, parts, &terminal, status, lines, input)?;
    let commands = Arc::new(commands);
    parts.person = Some(person);
    wait_for_answers(app, parts);
    let look = Arc::<Notify>::default();
    let watcher = Arc::clone(&parts.spawn_context.watcher);
    let host = Arc::new(ClientHost {
        session: Arc::clone(session),
        commands: Arc::clone(&commands),
        questions: Mutex::default(),
        runtime: Handle::current(),
    });
    let questions = Questions::new(&app.store, &watcher, Arc::clone(&host) as _);
    *host.questions.lock() = Some(questions.clone());
    let shows_dialogs = commands.actor.shows_dialogs();
    let requests = shows_dialogs.then(|| Arc::clone(&questions.look));
    parts.events = attentive(Arc::clone(&parts.events), requests, Arc::clone(&look));
    let tasks = PlanSource {
        watcher,
        commands: Arc::clone(&commands),
        sink: Arc::clone(&sink),
    };
    if session.is_loaded {
        let path = find_transcript(&app.root, &parts.spawn_context.workspace.cwd, parts.session);
        let replay = TranscriptReplay::open(&path).map_err(StoreError::from)?;
        sink.replay((0..replay.count()).flat_map(|line| replay.events(line)));
    }
    let modes = PermissionMode::ALL.into_iter();
    let permitted =
        |mode: &PermissionMode| app.settings.permit("permissions.mode", mode.name()).is_ok();
    let modes: Vec<_> = modes.filter(permitted).collect();
    let lead = SessionLead {
        commands,
        questions: questions.clone(),
    };
    session.opened(lead, parts.spawn_context.permissions.mode, &modes);
    tokio::spawn(tasks.follow(look));
    if shows_dialogs {
        tokio::spawn(questions.follow());
    }
    Ok(())
}

/// Asks the client about requests.
struct ClientHost {
    session: Arc<ClientSession>,
    commands: Arc<TerminalCommands>,
    /// Where answers go.
    questions: Mutex<Option<Questions>>,
    runtime: Handle,
}

impl QuestionHost for ClientHost {
    fn team(&self) -> Option<TeamName> {
        self.commands.team()
    }

    fn answer(&self, request: &RequestRecord, answer: KeyAnswer, why: &str) {
        let line = self.commands.run(&answer.command(request, why), false);
        self.commands.notice(line);
    }

    fn ask(&self, asked: Option<&DialogRequest>) -> bool {
        let (Some(asked), Some(questions)) = (asked, self.questions.lock().clone()) else {
            return false;
        };
        let (link, id) = (Arc::clone(&self.session.link), asked.dialog.id.clone());
        let mut params = permission_request(asked);
        params["sessionId"] = json!(self.session.id());
        self.runtime.spawn(async move {
            let answer = link.request("session/request_permission", &params).await;
            let key = answer.as_ref().and_then(|answer| {
                let option = &answer["outcome"]["optionId"];
                option.as_str()?.chars().next()
            });
            // Without an answer it stays in the queue. The command that answers blocks.
            let key = key.unwrap_or(NO_ANSWER);
            tokio::task::spawn_blocking(move || questions.answer(&id, key, ""));
        });
        true
    }

    fn has_screen(&self) -> bool {
        false
    }

    /// A client that answers automatically would repeat a refused answer endlessly.
    fn asks_again(&self) -> bool {
        false
    }

    fn waiting(&self, _open: usize, _postponed: usize) {}
}

/// A key of no answer: Esc.
const NO_ANSWER: char = '\u{1b}';

fn permission_request(asked: &DialogRequest) -> Value {
    let request = &asked.request;
    let options = asked.dialog.choices.iter().zip(&asked.answers);
    let options = options.map(|(choice, answer)| {
        let kind = match answer {
            KeyAnswer::Approve | KeyAnswer::Answers(_) | KeyAnswer::Edit => "allow_once",
            KeyAnswer::ApproveAlways => "allow_always",
            KeyAnswer::Deny => "reject_once",
        };
        json!({"optionId": choice.key.to_string(), "name": choice.label, "kind": kind})
    });
    let details: Vec<_> = asked
        .dialog
        .details
        .iter()
        .map(|line| line.trim_start())
        .collect();
    json!({
        "toolCall": {
            "toolCallId": call_id(request),
            "title": asked.dialog.question,
            "kind": tool_kind(request.request.tool()),
            "status": "pending",
            "content": [{"type": "content", "content": {"type": "text", "text": details.join("\n")}}],
        },
        "options": options.collect::<Vec<_>>(),
    })
}

/// Returns the id of the call: of the lead's own call, which the client knows, or of a member's.
fn call_id(request: &RequestRecord) -> String {
    match &request.request {
        RequestKind::Permission { tool_use_id, .. } if request.from.is_lead() => {
            tool_use_id.clone()
        }
        _ => request.id.to_string(),
    }
}

/// The team's tasks as the plan of the session.
struct PlanSource {
    watcher: Arc<DirectoryWatcher>,
    commands: Arc<TerminalCommands>,
    sink: Arc<ClientSink>,
}

impl PlanSource {
    /// Sends the plan after each change. `look` is notified when the lead may have created a team.
    async fn follow(self, look: Arc<Notify>) {
        let mut tasks: Option<(TeamName, Changes)> = None;
        let mut sent = Value::Null;
        loop {
            let team = self.commands.team();
            if team.as_ref() != tasks.as_ref().map(|(team, _)| team) {
                tasks = team.map(|team| {
                    let handle = self.commands.app.store.team(&team);
                    (team, handle.watch(&self.watcher, &Topic::Tasks))
                });
            }
            let team = tasks
                .as_ref()
                .map(|(team, _)| self.commands.app.store.team(team));
            let list = team.and_then(|team| team.tasks().block_on().ok());
            if let Some(list) = list.filter(|list| !sent.is_null() || !list.tasks.is_empty()) {
                let plan = plan(&list);
                if plan != sent {
                    self.sink.update(&plan);
                    sent = plan;
                }
            }
            let changed = async {
                match &mut tasks {
                    Some((_, files)) => files.changed().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = look.notified() => {}
                () = changed => {}
            }
        }
    }
}
