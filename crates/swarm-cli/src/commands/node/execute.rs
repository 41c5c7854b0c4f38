//! Carrying out an order: the command runs as a child process, as a person on this machine would
//! run it.

use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::pin::pin;
use std::process::{Output, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use swarm_protocol::{
    AgentId, ErrorKind, MemberName, Order, OrderId, OrderOutcome, OrderState, Repository, TeamName,
};
use swarm_store::Orders;
use swarm_supervisor::{RepositoryError, receive_repository};
use swarm_worktree::ReceivedRepository;
use tokio::io::AsyncWriteExt as _;

use super::machine::Node;
use super::worktrees::until_finished;
use crate::command_line::OrderedCommand;
use crate::failure::{Failure, Result};
use crate::ordered::NODE_PID;
use crate::output::failure_text;

/// Longest output that is passed on, in bytes.
const LONGEST: usize = 4 << 20;

/// How long an order waits until the member that it spawned is reported.
const REPORTING: Duration = Duration::from_secs(5);

/// Carries out an announced order. Failures are the outcome of the order, or are printed.
pub(super) async fn execute(node: &Node<'_>, team: TeamName, id: OrderId) {
    if let Err(failure) = try_execute(node, &team, id).await {
        let text = format!("an order was not carried out: {}", failure.message);
        node.out.tell_of_team("failed", &team, &text);
    }
}

async fn try_execute(node: &Node<'_>, team: &TeamName, id: OrderId) -> Result<()> {
    join_team(node, team).await?;
    let files = node.app.store.team(team);
    let Some(orders) = files.orders() else {
        return Ok(());
    };
    // It may have been withdrawn.
    let Some(order) = orders.take(id, node.process.spawn_id).await? else {
        return Ok(());
    };
    let is_json = order.words.iter().any(|word| word == "--json");
    let outcome = match carry_out(node, team, &orders, order).await {
        Ok(outcome) => outcome,
        Err(failure) => {
            let text = format!("refused: {}", failure.message);
            node.out.tell_of_team("refused", team, &text);
            outcome_of(&failure, is_json)
        }
    };
    if !orders.finish(id, node.process.spawn_id, outcome).await? {
        node.out.tell_of_team(
            "withdrawn",
            team,
            "the command that gave the order no longer waits for it",
        );
    }
    Ok(())
}

/// Connects this machine to the team of an order. Only those who know its credentials can.
async fn join_team(node: &Node<'_>, team: &TeamName) -> Result<()> {
    let _alone = node.joining.lock().await;
    match node.app.hubs.hub_of(team)? {
        Some(known) if known.url == node.hub.url => Ok(()),
        Some(known) => {
            let message = format!("on this machine, team {team} is on the hub {}", known.url);
            Err(Failure::new(ErrorKind::Conflict, message))
        }
        None => {
            node.app.hubs.join_hub(team, node.hub.clone()).await?;
            node.out
                .tell_of_team("joined", team, "this machine has joined the team");
            Ok(())
        }
    }
}

async fn carry_out(
    node: &Node<'_>,
    team: &TeamName,
    orders: &Orders,
    order: Order,
) -> Result<OrderOutcome> {
    let command = node.app.command_line.ordered(&order.words)?;
    let slot = match &command {
        OrderedCommand::Spawn(name) => {
            let member = AgentId::new(name.clone(), team.clone());
            let slot = node.take_slot(&member)?;
            tokio::select! {
                biased;
                () = until_finished(node, &member) => {}
                () = until_cancelled(node, orders, order.id) => {
                    let name = &member.name;
                    let message = format!("{name} was not spawned: cancelled before it began");
                    return Err(Failure::interrupted(message));
                }
            }
            Some((slot, member))
        }
        OrderedCommand::Other => None,
    };
    let received = receive(node, team, order.repository.as_ref()).await?;
    let checkout = received.as_ref().map(|received| &received.checkout);
    let directory = checkout.unwrap_or(&node.app.env.cwd).clone();
    let what = &order.words[..order.words.len().min(2)];
    node.out.tell_of_team("began", team, &what.join(" "));
    let output = run(node, team, orders, order, directory).await?;
    drop(received);
    let outcome = outcome(&output)?;
    if let Some((slot, member)) = slot {
        let name = &member.name;
        let (event, text) = match outcome.code {
            0 => ("runs", format!("{name} runs")),
            code => ("failed", not_spawned(name, code, &outcome.stderr)),
        };
        node.out.tell_of_member(event, &member, &text);
        if outcome.code == 0 {
            slot.fill(&member);
            until_reported(node).await;
        } else {
            node.look_again.notify_one();
        }
    }
    Ok(outcome)
}

/// Waits a moment until the members are reported: the commands that follow find a member by the
/// report of its node.
async fn until_reported(node: &Node<'_>) {
    let mut looks = node.looks.subscribe();
    node.look_again.notify_one();
    tokio::select! {
        reported = tokio::time::timeout(REPORTING, looks.changed()) => {
            tracing::debug!(in_time = reported.is_ok(), "waited for the report of a member");
        }
        () = node.stop.cancelled() => {}
    }
}

/// Receives the repository of an order. Its checkout is for this order until the returned value is
/// dropped.
async fn receive(
    node: &Node<'_>,
    team: &TeamName,
    wanted: Option<&Repository>,
) -> Result<Option<ReceivedRepository>> {
    let Some(wanted) = wanted else {
        return Ok(None);
    };
    let (files, here) = (node.app.store.team(team), &node.app.env.cwd);
    let own = node.own_repositories();
    let received = receive_repository(&*files, &node.worktrees, &own, wanted, here);
    let received = received.await.map_err(|error| match error {
        RepositoryError::Worktree(error) => Failure::from(error),
        RepositoryError::Store(error) => Failure::from(error),
    })?;
    node.find_known_commits().await;
    Ok(Some(received))
}

/// Runs the command until it ends. It is interrupted if the order is withdrawn or the node ends.
async fn run(
    node: &Node<'_>,
    team: &TeamName,
    orders: &Orders,
    order: Order,
    directory: PathBuf,
) -> Result<Output> {
    if !node.program.exists() {
        let program = node.program.display();
        let message = format!("the program of the node is gone: {program}");
        return Err(Failure::environment(message).with_hint("restart the node"));
    }
    let mut command = std::process::Command::new(&node.program);
    command
        .args(&order.words)
        .args(["--team", team.as_str()])
        .current_dir(directory)
        .env(NODE_PID, std::process::id().to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Ctrl-C is for the node.
        .process_group(0);
    if node.app.settings.place == "auto" {
        // The pane of the node is not that of a lead, which members share a window with.
        command.env("SWARM_TMUX_PLACE", "window");
    }
    // The main thread starts it, and its signal at the end of its parent is for that thread.
    let mut child = tokio::process::Command::from(command)
        .kill_on_drop(true)
        .spawn()?;
    let pid = child
        .id()
        .and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
    let stdin = child.stdin.take();
    let input = order.input.unwrap_or_default();
    let write = async move {
        if let Some(mut stdin) = stdin {
            // A command that ends without reading it reports why.
            drop(stdin.write_all(input.as_bytes()).await);
        }
    };
    let mut running = pin!(async { tokio::join!(child.wait_with_output(), write).0 });
    tokio::select! {
        output = &mut running => return Ok(output?),
        () = until_cancelled(node, orders, order.id) => {}
    }
    node.out
        .tell_of_team("cancelled", team, "an order is cancelled");
    if let Some(pid) = pid {
        // It may have ended.
        let _ended = kill_process(pid, Signal::INT);
    }
    Ok(running.await?)
}

/// Resolves when the order is withdrawn or the node ends.
async fn until_cancelled(node: &Node<'_>, orders: &Orders, id: OrderId) {
    tokio::select! {
        () = until_withdrawn(orders, id) => {}
        () = node.stop.cancelled() => {}
    }
}

/// Resolves when the order is withdrawn. An error of the hub does not end the command.
async fn until_withdrawn(orders: &Orders, id: OrderId) {
    let mut changes = orders.watch();
    loop {
        match orders.order(id).await {
            Ok(None) => return,
            Ok(Some(order)) if matches!(order.state, OrderState::Withdrawn(_)) => return,
            Ok(Some(_)) | Err(_) => {}
        }
        changes.changed().await;
    }
}

fn outcome(output: &Output) -> Result<OrderOutcome> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let size = output.stdout.len() + output.stderr.len();
    if size > LONGEST {
        let message = format!("the output of {size} bytes is too long for the hub");
        return Err(Failure::new(ErrorKind::Refused, message).with_hint("run the command there"));
    }
    let code = output
        .status
        .code()
        .and_then(|code| u8::try_from(code).ok());
    Ok(OrderOutcome {
        code: code.unwrap_or(ErrorKind::Interrupted.exit_code().0),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    })
}

/// Says why a member was not spawned, by the error of the command, which is its last message.
fn not_spawned(name: &MemberName, code: u8, stderr: &str) -> String {
    let of_json = |line: &str| {
        let value: serde_json::Value = serde_json::from_str(line).ok()?;
        Some(value["error"]["message"].as_str()?.to_owned())
    };
    let of_text = |line: &str| line.strip_prefix("swarm: ").map(str::to_owned);
    let mut lines = stderr.lines().rev();
    match lines.find_map(|line| of_json(line).or_else(|| of_text(line))) {
        Some(why) if why.starts_with(name.as_str()) => why,
        Some(why) => format!("{name} was not spawned: {why}"),
        None => format!("{name} was not spawned (exit code {code})"),
    }
}

fn outcome_of(failure: &Failure, is_json: bool) -> OrderOutcome {
    OrderOutcome {
        code: failure.kind.exit_code().0,
        stdout: String::new(),
        stderr: if is_json {
            failure.to_json().to_string()
        } else {
            failure_text(failure)
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_node_says_why_a_member_was_not_spawned() {
        let name = MemberName::parse("rolf").unwrap();
        let said = |stderr: &str| not_spawned(&name, 7, stderr);
        let text = "swarm: a warning\nswarm: no key is set\n  set ANTHROPIC_API_KEY\n";
        assert_eq!(said(text), "rolf was not spawned: no key is set");
        let json = r#"{"error": {"code": 7, "message": "rolf was not spawned: it exited"}}"#;
        assert_eq!(said(json), "rolf was not spawned: it exited");
        assert_eq!(said(""), "rolf was not spawned (exit code 7)");
    }
}
