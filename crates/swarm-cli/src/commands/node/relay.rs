//! Commands that run on the node of a member: the order, and what it printed there.

use std::time::Duration;

use serde_json::{Value, json};
use swarm_protocol::{ErrorKind, MemberName, NodeName, Order, OrderOutcome, TeamName};
use swarm_store::{BlockOn as _, NodeView, Orders, Team};
use swarm_supervisor::{NodeError, OrderWait, SpawnCommand, choose_node, order, order_spawn};
use tokio_util::sync::CancellationToken;

use super::elsewhere::Elsewhere;
use crate::app::App;
use crate::commands::{run_cancellable, runtime};
use crate::failure::{Failure, Result};
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

/// Lets a node with this name or label spawn a member in the repository of the current directory.
pub(in crate::commands) fn spawn_on_node(
    app: &App,
    team: &TeamName,
    wanted: &str,
    command: SpawnCommand,
    done: Duration,
) -> Result<Relayed> {
    let files = app.store.team(team);
    let no_hub = || NodeError::NoHub(team.clone());
    let orders = files.orders().ok_or_else(no_hub)?;
    let mut nodes = orders.nodes().nodes().block_on()?;
    // It leaves its slot to the new member.
    if let Some(replaced) = command.replaced(team) {
        for node in &mut nodes {
            node.report.members.retain(|member| *member != replaced);
        }
    }
    let node = choose_node(&nodes, wanted)?;
    tell_waiting(app, node);
    let cancel = CancellationToken::new();
    let wait = OrderWait::of(done, cancel.clone());
    let worktrees = worktrees(app);
    let at = (&worktrees, app.env.cwd.as_path());
    let given = order_spawn((&*files, &orders, node), at, command, &wait);
    Ok(Relayed {
        node: node.name.clone(),
        outcome: run_cancellable(runtime()?, cancel, given)?,
    })
}

/// A command for the node of a member.
#[derive(Debug)]
pub(in crate::commands) struct RelayedCommand {
    orders: Orders,
    node: NodeView,
    order: Order,
}

/// Prints what a command prints on the machine of a member. Without a node there, the error says
/// what to run on that machine.
pub(in crate::commands) fn show_from_node(
    app: &App,
    (team, name): (&dyn Team, &MemberName),
    elsewhere: &Elsewhere,
    words: &[&str],
) -> Result<()> {
    let command = RelayedCommand::new(app, team, elsewhere, words);
    let command = command.ok_or_else(|| elsewhere.refusal(team.name(), name, words))?;
    let cancel = CancellationToken::new();
    let relayed = run_cancellable(runtime()?, cancel.clone(), command.carry_out(app, cancel));
    relayed?.show(app, "")
}

impl RelayedCommand {
    /// Returns a command for the node of a member that is not on this machine; `None` if it has none.
    pub(in crate::commands) fn new(
        app: &App,
        team: &dyn Team,
        elsewhere: &Elsewhere,
        words: &[&str],
    ) -> Option<Self> {
        let json = app.out.json.then_some(&"--json");
        let words = words.iter().chain(json).copied();
        // A node does not pass orders on.
        let node = elsewhere.node.clone().filter(|_| !is_ordered())?;
        Some(Self {
            node,
            order: Order::new(words.map(str::to_owned).collect()),
            orders: team.orders()?,
        })
    }

    /// Waits until the node has carried it out. A command that failed there is not an error.
    pub(in crate::commands) async fn carry_out(
        self,
        app: &App,
        cancel: CancellationToken,
    ) -> Result<Relayed> {
        let node = self.node;
        tell_waiting(app, &node);
        let wait = OrderWait::of(QUICK, cancel);
        let outcome = Box::pin(order(&self.orders, &node, self.order, &wait)).await;
        Ok(Relayed {
            outcome: outcome.map_err(|error| not_carried_out(error, &node.report.host))?,
            node: node.name,
        })
    }
}

/// The hints of the errors of nodes are for a spawn.
fn not_carried_out(error: NodeError, host: &str) -> Failure {
    let is_of_node = matches!(
        error,
        NodeError::LostBefore(_)
            | NodeError::LostDuring(_)
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

impl Relayed {
    /// Returns the JSON that the command printed, with the node, or the error of the command.
    pub(in crate::commands) fn json(&self) -> Result<Value> {
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
    pub(in crate::commands) fn show(&self, app: &App, mark: &str) -> Result<()> {
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
    fn require_success(&self) -> Result<()> {
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
        let lost = NodeError::LostBefore(node.clone());
        let hint = not_carried_out(lost, "build").hint.unwrap();
        assert_eq!(hint, "run it on build, or wait until the node is back");
        let interrupted = NodeError::Interrupted(node);
        assert_eq!(not_carried_out(interrupted, "build").hint, None);
    }
}
