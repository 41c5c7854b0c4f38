//! Commands that run on the node of a member: the order, and what it printed there.

use std::time::Duration;

use serde_json::{Value, json};
use swarm_protocol::{ErrorKind, NodeName, OrderOutcome, TeamName};
use swarm_store::{BlockOn as _, NodeView, Orders, Team};
use swarm_supervisor::{NewOrder, NodeError, OrderWait, choose_node, order, order_in_repository};
use tokio_util::sync::CancellationToken;

use super::elsewhere::Elsewhere;
use crate::app::App;
use crate::commands::{called_off_by_signals, runtime};
use crate::failure::Failure;
use crate::ordered::is_ordered;
use crate::output::plain;
use crate::spawn_context::worktrees;

/// How long `kill`, `peek` and `logs` may take on a node.
const QUICK: Duration = Duration::from_secs(30);

/// What a command printed on a node.
pub(in crate::commands) struct Relayed {
    pub(in crate::commands) node: NodeName,
    outcome: OrderOutcome,
}

/// Lets a node with this name or label carry out a command in the repository of the current directory;
/// `command` gets whether there is one.
pub(in crate::commands) fn on_node(
    app: &App,
    team: &TeamName,
    wanted: &str,
    command: impl FnOnce(bool) -> NewOrder + Send,
    done: Duration,
) -> Result<Relayed, Failure> {
    let files = app.store.team(team);
    let no_hub = || NodeError::NoHub { team: team.clone() };
    let orders = files.orders().ok_or_else(no_hub)?;
    let nodes = orders.nodes().nodes().block_on()?;
    let node = choose_node(&nodes, wanted)?;
    wait_for(app, node, done, async |wait| {
        let (worktrees, cwd) = (worktrees(app), &app.env.cwd);
        let (on, at) = ((&*files, &orders, node), (&worktrees, cwd.as_path()));
        order_in_repository(on, at, command, wait).await
    })
}

/// A command for the node of a member.
#[derive(Debug)]
pub(in crate::commands) struct RelayedCommand {
    orders: Orders,
    node: NodeView,
    new: NewOrder,
}

/// Lets the node of a member carry out a command.
pub(in crate::commands) fn relayed(app: &App, command: RelayedCommand) -> Result<Relayed, Failure> {
    let cancel = CancellationToken::new();
    let runtime = runtime()?;
    let given = Box::pin(command.carry_out(app, cancel.clone()));
    let relayed = runtime.block_on(called_off_by_signals(cancel, given));
    runtime.shutdown_background();
    relayed
}

impl RelayedCommand {
    /// Returns a command for the node of a member that is not on this machine; `None` if it has none.
    pub(in crate::commands) fn new<'a>(
        app: &App,
        team: &dyn Team,
        elsewhere: &Elsewhere,
        words: impl IntoIterator<Item = &'a str>,
    ) -> Option<Self> {
        let mut words: Vec<String> = words.into_iter().map(str::to_owned).collect();
        if app.out.json {
            words.push("--json".to_owned());
        }
        // A node does not pass orders on.
        let node = elsewhere.node.clone().filter(|_| !is_ordered())?;
        Some(Self {
            node,
            new: NewOrder { words, input: None },
            orders: team.orders()?,
        })
    }

    /// Waits until the node has carried it out.
    ///
    /// # Errors
    /// If it has not. A command that failed there is not an error.
    pub(in crate::commands) async fn carry_out(
        self,
        app: &App,
        cancel: CancellationToken,
    ) -> Result<Relayed, Failure> {
        let Self { orders, node, new } = self;
        tell_waiting(app, &node);
        let wait = OrderWait::of(QUICK, cancel);
        match Box::pin(order(&orders, &node, new, &wait)).await {
            Ok(outcome) => Ok(Relayed {
                node: node.name,
                outcome,
            }),
            Err(error) => Err(not_carried_out(error, &node.report.host)),
        }
    }
}

/// The hints of the errors of nodes are for a spawn.
fn not_carried_out(error: NodeError, host: &str) -> Failure {
    let is_of_node = matches!(
        error,
        NodeError::LostBefore { .. }
            | NodeError::LostDuring { .. }
            | NodeError::NotTaken { .. }
            | NodeError::NotFinished { .. }
    );
    let failure = Failure::from(error);
    if is_of_node {
        let hint = format!("run it on {host}, or wait until the node is back");
        return failure.with_hint(hint);
    }
    failure
}

fn tell_waiting(app: &App, node: &NodeView) {
    app.out.say(&format!("waiting for node {}", node.name));
}

/// Waits until a node has carried out a command. Ctrl-C cancels it.
fn wait_for(
    app: &App,
    node: &NodeView,
    done: Duration,
    give: impl AsyncFnOnce(&OrderWait) -> Result<OrderOutcome, NodeError>,
) -> Result<Relayed, Failure> {
    tell_waiting(app, node);
    let cancel = CancellationToken::new();
    let wait = OrderWait::of(done, cancel.clone());
    let runtime = runtime()?;
    let given = Box::pin(give(&wait));
    let outcome = runtime.block_on(called_off_by_signals(cancel, given));
    runtime.shutdown_background();
    Ok(Relayed {
        node: node.name.clone(),
        outcome: outcome?,
    })
}

impl Relayed {
    /// Returns the JSON that the command printed, with the node.
    ///
    /// # Errors
    /// That of the command.
    pub(in crate::commands) fn json(&self) -> Result<Value, Failure> {
        self.require_success()?;
        let mut value: Value = serde_json::from_str(&self.outcome.stdout).map_err(|_| {
            let message = format!("node {} did not answer with JSON", self.node);
            Failure::new(ErrorKind::Damaged, message)
        })?;
        if let Some(record) = value.as_object_mut() {
            record.insert("node".to_owned(), json!(self.node));
        }
        Ok(value)
    }

    /// Prints what the command printed. `mark` is added to the first line.
    ///
    /// # Errors
    /// That of the command.
    pub(in crate::commands) fn show(&self, app: &App, mark: &str) -> Result<(), Failure> {
        if app.out.json {
            return app.out.json(&self.json()?);
        }
        self.require_success()?;
        let text = self.outcome.stdout.trim_end();
        if !text.is_empty() {
            let (first, rest) = text
                .split_once('\n')
                .map_or((text, ""), |(first, _)| (first, &text[first.len()..]));
            app.out.data(&format!("{first}{mark}{rest}"))?;
        }
        for line in self.outcome.stderr.lines() {
            app.out.say(&plain(&format!("on {}: {line}", self.node)));
        }
        Ok(())
    }

    /// Returns the failure of the command, with the node.
    fn require_success(&self) -> Result<(), Failure> {
        if self.outcome.code == 0 {
            return Ok(());
        }
        let said = self.outcome.stderr.trim();
        let message = self.outcome.error_field("message").unwrap_or_else(|| {
            said.strip_prefix("swarm: ")
                .unwrap_or(said)
                .replace("\n  ", "\n")
        });
        let kind = ErrorKind::of_exit_code(self.outcome.code);
        let failure = Failure::new(kind, format!("on {}: {message}", self.node));
        Err(match self.outcome.error_field("hint") {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_whose_node_is_lost_can_be_run_there() {
        let node: NodeName = "box".parse().unwrap();
        let lost = NodeError::LostBefore { node: node.clone() };
        let hint = not_carried_out(lost, "build").hint.unwrap();
        assert_eq!(hint, "run it on build, or wait until the node is back");
        let interrupted = NodeError::Interrupted { node };
        assert_eq!(not_carried_out(interrupted, "build").hint, None);
    }
}
