//! The loop of a member, lead or teammate: mail, turns, and the waits between them.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use swarm_agent::{AgentError, Injected, TurnOutcome};
use swarm_permissions::HookEvent;
use swarm_protocol::{Event, MemberState};
use swarm_team::{Incoming, MemberContext};
use swarm_tools::{ChangedFile, Restoration};
use tokio_util::sync::CancellationToken;

use crate::person::Change;
use crate::role::{Compacted, MemberLoop, Recovery, Role, Trouble};

/// The shortest and the longest wait after an error.
const RETRY_WAIT: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// Timeout of `SessionEnd` hooks.
pub(crate) const END_HOOKS: Duration = Duration::from_secs(10);

/// Text for a member whose conversation continues in a new process.
const RESUMED: &str =
    "Your process was restarted, and your conversation continues. Current state of your team:";

/// Returns the full name of a model requested as `asked` whose provider calls it `name`: with the
/// requested provider, or else that of `before`.
fn of_same_provider(before: &str, asked: &str, name: &str) -> String {
    let full = if asked.contains('/') { asked } else { before };
    match full.split_once('/') {
        Some((provider, _)) => format!("{provider}/{name}"),
        None => name.to_owned(),
    }
}

/// Returns the note about files that a person restored without the conversation.
fn restored_note(files: &[ChangedFile]) -> Option<Injected> {
    let restored = files.iter().filter_map(|file| match file.restoration {
        Restoration::Replace => Some(file.path.display().to_string()),
        Restoration::Remove => Some(format!("{} (removed)", file.path.display())),
        Restoration::Keep(_) => None,
    });
    let restored = restored.collect::<Vec<_>>().join(", ");
    (!restored.is_empty()).then(|| {
        Injected::prompt(format!(
            "[The user undid your changes of these files, which have their earlier contents: {restored}]"
        ))
    })
}

impl<R: Role> MemberLoop<R> {
    /// Runs until the member ends.
    ///
    /// # Errors
    /// An error that the role does not recover from.
    pub(crate) async fn run(&mut self) -> Result<R::End, R::Error> {
        loop {
            match self.step().await {
                Ok(Some(end)) => return Ok(end),
                Ok(None) => self.trouble = None,
                Err(error) => match R::recovery(&error) {
                    Recovery::Fail => return Err(error),
                    Recovery::End(end) => return Ok(end),
                    Recovery::Retry => self.back_off(&error.to_string()).await,
                },
            }
        }
    }

    pub(crate) fn context(&self) -> &Arc<MemberContext> {
        &self.mail.context
    }

    /// Reads mail, and takes one turn or waits once.
    async fn step(&mut self) -> Result<Option<R::End>, R::Error> {
        if let Some(end) = R::begin_step(self).await? {
            return Ok(Some(end));
        }
        self.receive_from_sub_agents()?;
        let mut messages = self.take_mail().await?;
        if let Some(end) = R::mail_taken(self).await? {
            return Ok(Some(end));
        }
        // Messages taken from the inbox are still unread and are delivered again.
        if self.compact_if_asked().await? {
            return Ok(None);
        }
        if self.change_as_asked()? {
            return Ok(None);
        }
        messages.extend(self.mail.take_direct());
        let is_asked = !messages.is_empty();
        self.receive(messages).await?;
        let may_turn = is_asked || !self.role.is_suspended();
        let takes_turn = may_turn && self.session.needs_turn();
        if !takes_turn {
            // A turn begins with its request; these follow it.
            self.mail.begin_writes();
        }
        if let Some(end) = R::mail_read(self).await? {
            return Ok(Some(end));
        }
        if takes_turn {
            self.turn().await
        } else {
            R::idle(self).await
        }
    }

    /// Reads mail that has arrived since the step began. Returns whether there is something new to
    /// do.
    pub(crate) async fn receive_again(&mut self) -> Result<bool, R::Error> {
        let has_ended = self.receive_from_sub_agents()?;
        let mut messages = self.take_mail().await?;
        messages.extend(self.mail.take_direct());
        let is_new = self.receive(messages).await?;
        self.mail.begin_writes();
        Ok(has_ended
            || is_new
            || self.mail.compaction().is_some()
            || !self.person.changes.is_empty())
    }

    /// Compacts the conversation if a person has asked for that and turns may be taken. Returns
    /// whether it was tried.
    async fn compact_if_asked(&mut self) -> Result<bool, R::Error> {
        if self.role.is_suspended() {
            return Ok(false);
        }
        let Some(ask) = self.mail.compaction() else {
            return Ok(false);
        };
        self.reported = None;
        let compacted = self.run_compaction(ask.instructions.as_deref()).await;
        match compacted {
            Compacted::Done => {}
            // It runs once the member continues.
            Compacted::Suspended => return Ok(true),
            Compacted::Failed(reason) => {
                self.reporter.notice(reason.as_str());
                let member = self.mail.context.name.clone();
                self.journal(Event::CompactionFailed { member, reason })
                    .await;
            }
        }
        self.mail.compaction_done(&ask).await?;
        Ok(true)
    }

    /// Applies the changes requested at the terminal. Returns whether there were any.
    fn change_as_asked(&mut self) -> Result<bool, R::Error> {
        let mut has_changed = false;
        while let Some(change) = self.person.changes.pop_front() {
            has_changed = true;
            self.reported = None;
            match change {
                Change::Context(text) => self.context.push(Injected::prompt(text)),
                Change::Clear => self.session.clear()?,
                Change::Rewind(line, scope) => match self.session.rewind(&line, scope) {
                    Err(error @ AgentError::NotRewound(_)) => {
                        self.reporter.notice(error.to_string());
                    }
                    rewound => {
                        let files = rewound?;
                        if !scope.has_conversation() {
                            self.context.extend(restored_note(&files));
                        }
                    }
                },
                Change::Model(name) => match self.models.model(&name) {
                    Ok(model) => {
                        self.person.commands.model.clone_from(&model.name);
                        self.model = of_same_provider(&self.model, &name, &model.name);
                        self.reporter.notice(format!("model: {}", model.name));
                        self.sub_agents.use_model(&model);
                        self.session.use_model(model);
                    }
                    Err(why) => self.reporter.notice(why),
                },
            }
        }
        Ok(has_changed)
    }

    async fn take_mail(&mut self) -> Result<Vec<Incoming>, R::Error> {
        self.person.post_all().await;
        self.inbox.follow(self.mail.context.team());
        let mut messages = self.mail.take().await?;
        messages.retain(|message| self.role.reads_now(&self.mail, message));
        Ok(messages)
    }

    /// Adds the results of sub-agents to the transcript. They wait while no turn is taken.
    fn receive_from_sub_agents(&mut self) -> Result<bool, R::Error> {
        if self.role.is_suspended() || !self.sub_agents.deliver_to(&mut self.session)? {
            return Ok(false);
        }
        self.reported = None;
        Ok(true)
    }

    /// Adds messages to the transcript and marks them as read once they are on disk; the model may
    /// be asked before that. Returns whether any of them is new to the conversation.
    async fn receive(&mut self, messages: Vec<Incoming>) -> Result<bool, R::Error> {
        // Earlier lines count as delivered, so they must be on disk.
        self.session.flush()?;
        let (known, fresh): (Vec<_>, Vec<_>) = messages
            .into_iter()
            .partition(|message| message.id().is_some_and(|id| self.session.has_message(id)));
        let known = known.iter().filter_map(|message| message.id().cloned());
        let mut ids: Vec<_> = known.collect();
        if !fresh.is_empty() {
            self.mail.mark_notified(&fresh);
            let initial = self.initial_prompt.clone().map(Injected::prompt);
            let notes = self.mail.notes().await;
            let messages = self.mail.inject(&fresh);
            let delivery = if self.role.mail_fires_prompt_hooks() {
                self.context.extend(notes);
                let context = self.context.clone();
                let prompts = initial.into_iter().chain(messages).collect();
                let submitted = self.session.submit(context, prompts, &self.stop).await?;
                self.context.clear();
                self.mail.tell_senders(&fresh, &submitted.withheld).await;
                submitted.delivery
            } else {
                let prompts = initial.into_iter().chain(notes).chain(messages);
                self.session.deliver(prompts.collect())?
            };
            self.initial_prompt = None;
            ids.extend(delivery.added);
            ids.extend(delivery.known);
            self.reported = None;
            self.reporter.state_later(MemberState::Working, None);
        }
        if !ids.is_empty() {
            // Before the mail is marked as read, so that this member never appears idle without
            // work.
            let reporter = Arc::clone(&self.reporter);
            self.mail.write_later(move || reporter.catch_up());
        }
        self.mail.mark_delivered(ids, self.session.sync_handle());
        Ok(!fresh.is_empty())
    }

    async fn turn(&mut self) -> Result<Option<R::End>, R::Error> {
        self.reported = None;
        let outcome = self.run_turn().await;
        self.mail.finish_writes().await;
        self.reporter.posted().await;
        R::turn_ended(self, outcome).await
    }

    pub(crate) async fn journal_turn(&self, outcome: &TurnOutcome) {
        self.journal(Event::TurnEnded {
            member: self.mail.context.name.clone(),
            outcome: outcome.word().to_owned(),
            usage: outcome.spent.usage,
            model: self.model.clone(),
        })
        .await;
    }

    /// Adds an event to the journal. A failure is only logged.
    pub(crate) async fn journal(&self, event: Event) {
        let context = &self.mail.context;
        let Some(team) = context.team() else {
            return;
        };
        if let Err(error) = team.journal(event).await {
            tracing::warn!(team = %team.name(), member = %context.name, %error, "event not journalled");
        }
    }

    /// Reports the state of a waiting member and waits for a change.
    pub(crate) async fn rest(&mut self) {
        let background = self.sub_agents.background();
        let state = if background.is_empty() {
            self.role.idle_state().await
        } else {
            (MemberState::Background, Some(background.join(", ")))
        };
        self.report(state);
        self.wait(None).await;
    }

    /// Reports a state, unless it was the last one reported.
    pub(crate) fn report(&mut self, state: (MemberState, Option<String>)) {
        if self.reported.as_ref() != Some(&state) {
            self.reported = Some(state.clone());
            // A lead without text waits for its teammates, not for a person.
            let context = self.context();
            if state.0 == MemberState::Idle && (!context.is_lead() || state.1.is_some()) {
                let message = format!("{} is waiting for your input", context.name);
                context.hooks().notify("idle_prompt", message);
            }
            self.reporter.state(state.0, state.1);
        }
    }

    /// Waits for mail, input, the end of a sub-agent or a change that the role watches. `when` says
    /// when a typed line will be read, where that is not immediately.
    pub(crate) async fn wait(&mut self, when: Option<&str>) {
        let takes_turns = !self.role.is_suspended();
        tokio::select! {
            input = self.person.next() => self.person.take(input, when).await,
            () = self.inbox.changed() => {}
            () = self.mail.peers.arrived() => {}
            () = self.role.changed() => {}
            // A sub-agent's question may have been answered, after which the member reports that it
            // works.
            () = self.sub_agents.changed(), if takes_turns => self.reported = None,
            () = self.stop.cancelled() => {}
        }
    }

    /// Reports an error once and waits before the next attempt. Nothing is lost: mail stays unread,
    /// and reports to the lead are kept.
    async fn back_off(&mut self, what: &str) {
        let before = self.trouble.take().filter(|before| before.what == what);
        let wait = if let Some(before) = before {
            (before.wait * 2).min(RETRY_WAIT.1)
        } else {
            self.reporter.notice(format!("not done yet: {what}"));
            self.reporter.detail(format!("not done yet: {what}"));
            self.reported = None;
            RETRY_WAIT.0
        };
        self.trouble = Some(Trouble {
            what: what.to_owned(),
            wait,
        });
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = self.role.lease_lost() => {}
            () = self.stop.cancelled() => {}
        }
    }

    /// Runs the `SessionStart` hooks. Their output precedes the first message.
    pub(crate) async fn begin_session(&mut self, is_resumed: bool) {
        let source = if is_resumed { "resume" } else { "startup" };
        let context = self.session.fire_start(source, &self.stop).await;
        self.context.extend(context);
    }

    /// Tells a model that continues in a new process the state of its team, before the first
    /// message.
    pub(crate) fn tell_team(&mut self) {
        let brief = self.session.parts().brief.as_ref();
        if let Some(brief) = brief.and_then(|brief| brief.brief()) {
            let text = format!("{RESUMED}\n\n{brief}");
            self.context.push(Injected::system(&text));
        }
    }

    /// Runs the `SessionEnd` hooks, for at most `within`.
    pub(crate) async fn end_session(
        &self,
        reason: &str,
        cancel: &CancellationToken,
        within: Duration,
    ) {
        let fields = json!({"reason": reason});
        let event = HookEvent::SessionEnd;
        let fired = self.session.fire(event, Some(reason), fields, cancel);
        if tokio::time::timeout(within, fired).await.is_err() {
            self.reporter
                .notice("hook SessionEnd: timed out and was terminated");
        }
    }
}
