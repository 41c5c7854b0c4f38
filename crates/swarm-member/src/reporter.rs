//! Reporting of a member's events: to its view, its state report, and the team's journal. What the
//! end of a turn shows.

use std::io::Write;
use std::sync::Arc;

use futures::FutureExt as _;
use parking_lot::Mutex;
use swarm_agent::{EventSink, TurnOutcome, TurnStop};
use swarm_protocol::{AgentEvent, Clock, LEAD_NAME, MemberName, MemberState, Usage, partial_debug};
use swarm_store::Team;
use swarm_team::{MemberContext, StateKeeper, TeamNews};
use swarm_ui::PaneView;
use tokio_util::task::TaskTracker;

pub(crate) struct ReporterParts {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) name: MemberName,
    /// The current team; a lead may have none yet.
    pub(crate) team: Box<dyn Fn() -> Option<Arc<dyn Team>> + Send + Sync>,
    pub(crate) keeper: StateKeeper,
    /// The view: a pane, or the terminal of a run.
    pub(crate) view: Arc<dyn EventSink>,
}

/// Shows events and keeps the member's state report up to date.
pub(crate) struct Reporter {
    parts: ReporterParts,
    sums: Mutex<Sums>,
    /// Work that waits for the store.
    posting: TaskTracker,
}

/// Totals over events.
#[derive(Debug, Default)]
struct Sums {
    mail: TurnMail,
    of_sub_agents: Usage,
}

partial_debug!(Reporter: name = parts.name, keeper = parts.keeper);

impl Reporter {
    pub(crate) fn new(parts: ReporterParts) -> Self {
        Self {
            parts,
            sums: Mutex::default(),
            posting: TaskTracker::new(),
        }
    }

    pub(crate) fn state(&self, state: MemberState, detail: Option<String>) {
        self.emit(AgentEvent::State { state, detail });
    }

    /// Shows a state and writes the report with the next event, or when [`Self::catch_up`] is
    /// called.
    pub(crate) fn state_later(&self, state: MemberState, detail: Option<String>) {
        let event = AgentEvent::State { state, detail };
        self.show(&event);
        self.parts
            .keeper
            .follow_later(&event, self.parts.clock.now());
    }

    /// Writes the report of a state that [`Self::state_later`] has only shown.
    pub(crate) fn catch_up(&self) {
        if let Some(team) = (self.parts.team)() {
            self.parts.keeper.catch_up(&team);
        }
    }

    /// Writes something to the store. Work that has to wait for the store continues in the background, because it must
    /// not delay the agent.
    pub(crate) fn post(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut work = work.boxed();
        if (&mut work).now_or_never().is_none() {
            self.posting.spawn(work);
        }
    }

    /// Waits until everything is written that was posted so far.
    pub(crate) async fn posted(&self) {
        self.posting.close();
        self.posting.wait().await;
    }

    /// Waits until the reported state and the news of events are written.
    pub(crate) async fn written(&self) {
        self.posted().await;
        let keeper = self.parts.keeper.clone();
        let finished = tokio::task::spawn_blocking(move || keeper.finish());
        // It fails only if the runtime shuts down.
        drop(finished.await);
    }

    fn show(&self, event: &AgentEvent) {
        let mut sums = self.sums.lock();
        sums.mail.follow(event);
        if let AgentEvent::SubAgentEnded { usage, .. } = event {
            sums.of_sub_agents += *usage;
        }
        drop(sums);
        self.parts.view.emit(event.clone());
    }

    /// Adds a detail to the current state.
    pub(crate) fn detail(&self, detail: String) {
        let state = self.parts.keeper.report().state;
        self.state(state, Some(detail));
    }

    pub(crate) fn current_state(&self) -> MemberState {
        self.parts.keeper.report().state
    }

    pub(crate) fn notice(&self, line: impl Into<String>) {
        self.emit(AgentEvent::Notice { line: line.into() });
    }

    pub(crate) fn turn_mail(&self) -> TurnMail {
        self.sums.lock().mail.clone()
    }

    /// The tokens that sub-agents have used.
    pub(crate) fn of_sub_agents(&self) -> Usage {
        self.sums.lock().of_sub_agents
    }
}

impl EventSink for Reporter {
    fn emit(&self, event: AgentEvent) {
        self.show(&event);
        let team = (self.parts.team)();
        if let (Some(team), Some(news)) = (&team, TeamNews::of(&self.parts.name, &event)) {
            let team = Arc::clone(team);
            self.post(async move { news.post(&*team).await });
        }
        self.parts
            .keeper
            .follow(&event, team.as_ref(), self.parts.clock.now());
    }
}

/// Longest part of a message to a peer in an idle notice, as in Claude Code.
const SUMMARY_CHARS: usize = 80;

/// The mail that a member sent during its current turn.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct TurnMail {
    pub(crate) last_to_peer: Option<String>,
    pub(crate) reported_to_lead: bool,
}

impl TurnMail {
    /// Follows the events of a turn. A message to the lead counts as the turn's report unless work
    /// continues after it.
    pub(crate) fn follow(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::TurnStarted => *self = Self::default(),
            AgentEvent::ToolStarted { tool, .. } if tool != "SendMessage" => {
                self.reported_to_lead = false;
            }
            // A message of a sub-agent to the lead is not the member's report.
            AgentEvent::SubAgentEnded { .. } => self.reported_to_lead = false,
            AgentEvent::MailOut { to, .. } if to == LEAD_NAME => self.reported_to_lead = true,
            AgentEvent::MailOut { to, line } => {
                let line: String = line.chars().take(SUMMARY_CHARS).collect();
                self.last_to_peer = Some(format!("[to {to}] {line}"));
            }
            _ => {}
        }
    }
}

/// Draws a member's events as a pane.
pub struct PaneSink {
    view: Mutex<PaneView<Box<dyn Write + Send>>>,
    status: Option<Arc<dyn EventSink>>,
}

partial_debug!(PaneSink);

impl PaneSink {
    /// A sink that draws into this pane.
    pub fn new(view: PaneView<Box<dyn Write + Send>>) -> Self {
        Self {
            view: Mutex::new(view),
            status: None,
        }
    }

    /// Also passes the events to a status row.
    pub(crate) fn with_status(self, status: Option<Arc<dyn EventSink>>) -> Self {
        Self { status, ..self }
    }
}

impl EventSink for PaneSink {
    fn emit(&self, event: AgentEvent) {
        self.view.lock().event(&event);
        if let Some(status) = &self.status {
            status.emit(event);
        }
    }
}

/// Describes why a turn failed or a hook stopped it, in one line, with the resulting state.
pub(crate) fn failure(outcome: &TurnOutcome) -> Option<(MemberState, String)> {
    let state = match &outcome.end {
        Err(TurnStop::Failed(error)) if error.is_out_of_room() => MemberState::Exhausted,
        Err(TurnStop::Failed(_) | TurnStop::Halted(_)) => MemberState::Failed,
        _ => return None,
    };
    let line = outcome.trouble()?.lines().next()?.to_owned();
    Some((state, line))
}

/// Describes the questions of peers that are read and not answered: `unanswered: bob`.
pub(crate) async fn unanswered_detail(context: &MemberContext) -> Option<String> {
    let open = context.unanswered().await;
    let names: Vec<&str> = open.iter().map(MemberName::as_str).collect();
    (!names.is_empty()).then(|| format!("unanswered: {}", names.join(", ")))
}

/// Shows them at the end of a turn, each question once.
pub(crate) async fn show_unanswered(context: &MemberContext, reporter: &Reporter) {
    for (name, question) in context.take_unanswered().await {
        reporter.notice(format!(
            "this turn did not answer {name}, who asked: {question}"
        ));
    }
}
