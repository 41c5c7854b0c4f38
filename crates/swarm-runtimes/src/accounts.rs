//! What an agent program uses of its model, in the accounts of the team.

use std::sync::Arc;

use swarm_agent::{Turn, TurnStop};
use swarm_model::RequestMeter;
use swarm_protocol::{AgentEvent, MemberState, Usage};

/// The accounts of a member whose agent program asks its model itself.
#[derive(Debug, Clone)]
pub struct ProgramAccounts {
    /// Records what the program reports.
    pub meter: Arc<dyn RequestMeter>,
    /// Name of the model in the records if the program names none.
    pub model: String,
}

impl ProgramAccounts {
    /// Waits while a budget is used up, and shows that, unless the turn is to end meanwhile.
    pub(crate) async fn admitted(&self, turn: &Turn<'_>) -> Result<(), TurnStop> {
        let mut told = None;
        loop {
            // Before the look, so that no change is missed.
            let changed = Arc::clone(&self.meter).changed().await;
            let reason = Arc::clone(&self.meter).used_up().await;
            let Some(line) = reason else { break };
            if told.as_ref() != Some(&line) {
                turn.emit(AgentEvent::Notice { line: line.clone() });
                turn.emit(AgentEvent::State {
                    state: MemberState::OverBudget,
                    detail: Some(line.clone()),
                });
                told = Some(line);
            }
            let signals = turn.signals();
            tokio::select! {
                () = changed => {}
                () = signals.cancel.cancelled() => return Err(TurnStop::Interrupted),
                () = signals.suspend.cancelled() => return Err(TurnStop::Suspended),
            }
        }
        if told.is_some() {
            turn.emit(AgentEvent::State {
                state: MemberState::Working,
                detail: None,
            });
        }
        Ok(())
    }

    /// Returns why a budget in money has no effect.
    pub(crate) async fn unpriced(&self) -> Option<String> {
        Arc::clone(&self.meter).unpriced(&self.model).await
    }

    /// Records what a prompt has used.
    pub(crate) async fn record(&self, turn: &Turn<'_>, model: Option<&str>, usage: Usage) {
        let model = model.unwrap_or(&self.model);
        let agent = &turn.parts().name;
        Arc::clone(&self.meter).record(model, agent, usage).await;
    }
}
