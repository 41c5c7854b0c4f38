//! `swarm requests`: the pending requests.

use serde_json::json;
use swarm_protocol::{Event, RequestRecord, RequestState, TeamName, UnixMs};
use swarm_store::{BlockOn as _, RequestList, StoreError, Team};
use swarm_supervisor::{LeadStanding, lead_standing};

use super::text;
use crate::app::App;
use crate::failure::{Failure, Result};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
With --watch the terminal shows one request after the other; a key answers it.

Examples:
  swarm requests --team parser
  swarm requests --watch                answer them with single keys
  swarm requests --all                  of every team
  swarm requests --json | jq -r '.[].id'")]
pub(crate) struct RequestsArgs {
    /// List the requests of all teams, those of this directory first.
    #[arg(long)]
    pub(crate) all: bool,
    /// Answer requests with single keys, as they arrive, until Ctrl-C.
    #[arg(short, long, conflicts_with = "all")]
    pub(crate) watch: bool,
}

pub(in crate::commands) fn run(app: &App, args: &RequestsArgs) -> Result<()> {
    if args.all {
        return all(app);
    }
    let (team, others) = app.team_and_others()?;
    let team = app.in_line(&team)?;
    let (list, now) = open_requests_now(app, &*team)?;
    let open = list.requests;
    if app.out.json {
        app.out.json(&open)?;
    } else if open.is_empty() {
        app.out.say("no pending requests");
    } else {
        let blocks: Vec<String> = open
            .iter()
            .map(|request| text::in_full(request, None, now, app.command_prefix()))
            .collect();
        let blocks = with_ignored_answers(&*team, &open, blocks);
        app.out.data(&blocks.join("\n\n"))?;
    }
    app.out.left_out(&list.broken);
    if let Some(line) = waiting_elsewhere(app, &others) {
        app.out.say(&line);
    }
    Ok(())
}

fn all(app: &App) -> Result<()> {
    let teams = app.all_teams()?;
    let (mut records, mut blocks) = (Vec::new(), Vec::new());
    let mut damaged = Vec::new();
    for team in &teams {
        let files = app.store.team(team);
        let (list, now) = match open_requests_now(app, &*files) {
            Ok(found) => found,
            Err(failure) => {
                damaged.push(failure);
                continue;
            }
        };
        for request in &list.requests {
            let mut record = serde_json::to_value(request)?;
            record["team"] = json!(team);
            records.push(record);
        }
        let of_team = list
            .requests
            .iter()
            .map(|request| text::in_full(request, Some(team), now, app.command_prefix()))
            .collect();
        blocks.extend(with_ignored_answers(&*files, &list.requests, of_team));
        app.out.left_out(&list.broken);
    }
    if app.out.json {
        app.out.json(&records)?;
    } else if blocks.is_empty() {
        app.out.say("no pending requests in any team");
    } else {
        app.out.data(&blocks.join("\n\n"))?;
    }
    Failure::worst(damaged).map_or(Ok(()), Err)
}

/// Returns the pending requests of a team, and the time by which theirs are given.
fn open_requests_now(app: &App, team: &dyn Team) -> Result<(RequestList, UnixMs)> {
    adopt(app, team)?;
    let list = open_requests(team).block_on()?;
    Ok((list, team.server_time().block_on()?))
}

/// Adds to the text of each request why its member ignored an answer. Without a readable journal
/// nothing is added: the request can be answered in any case.
fn with_ignored_answers(
    team: &dyn Team,
    open: &[RequestRecord],
    mut blocks: Vec<String>,
) -> Vec<String> {
    if open.is_empty() {
        return blocks;
    }
    let events = team.events().block_on();
    for entry in events.map_or_else(|_| Vec::new(), |events| events.entries) {
        let Event::AnswerIgnored {
            request, reason, ..
        } = entry.event
        else {
            continue;
        };
        let mut texts = open.iter().zip(&mut blocks);
        if let Some((_, block)) = texts.find(|(open, _)| open.id == request) {
            block.push('\n');
            block.push_str(&text::ignored_answer(&reason));
        }
    }
    blocks
}

/// Adds requests of other programs' members to the queue if no lead process does.
pub(in crate::commands) fn adopt(app: &App, team: &dyn Team) -> Result<()> {
    if !team.is_foreign().block_on()
        && lead_standing(&*app.store, &team.known_config().block_on()?)? == LeadStanding::ByHand
    {
        swarm_team::adopt_requests(team, app.clock.now()).block_on()?;
    }
    Ok(())
}

pub(in crate::commands) fn is_open(request: &RequestRecord) -> bool {
    request.state == RequestState::Open
}

/// Returns the pending requests, and the files that cannot be read. Requests of leads that have
/// ended are withdrawn before.
pub(in crate::commands) async fn open_requests(team: &dyn Team) -> Result<RequestList, StoreError> {
    let mut list = match swarm_team::end_requests_of_former_leads(team).await {
        Err(error) if error.prevents_only_changes() => {
            tracing::warn!(team = %team.name(), %error, "requests of former leads not withdrawn");
            team.requests().await?
        }
        others => others?,
    };
    list.requests.retain(is_open);
    Ok(list)
}

pub(in crate::commands) fn pending(team: &dyn Team) -> Result<Vec<RequestRecord>, StoreError> {
    Ok(open_requests(team).block_on()?.requests)
}

/// Returns the members that wait for an answer, each once, in the order of their requests.
pub(in crate::commands) fn who_waits(requests: &[RequestRecord]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for request in requests {
        if !names.contains(&request.from.as_str()) {
            names.push(request.from.as_str());
        }
    }
    names
}

/// Returns a notice about members of other teams that wait for an answer. Teams that cannot be read
/// are left out; `swarm requests --all` reports them.
pub(in crate::commands) fn waiting_elsewhere(app: &App, others: &[TeamName]) -> Option<String> {
    let mut waiting = Vec::new();
    for other in others {
        let Ok(requests) = pending(&*app.store.team(other)) else {
            continue;
        };
        let names = who_waits(&requests);
        if !names.is_empty() {
            waiting.push(format!("{} of {other}", names.join(", ")));
        }
    }
    (!waiting.is_empty()).then(|| {
        format!(
            "also waiting for an answer: {} (`swarm requests --all`)",
            waiting.join("; ")
        )
    })
}
