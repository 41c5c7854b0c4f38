//! Answering a request.

use std::process::ExitCode;

use swarm_protocol::{
    AnsweredBy, ErrorKind, Event, RequestId, RequestKind, RequestRecord, RequestState, TeamName,
    UnixMs,
};
use swarm_store::StoreError;

use super::text::{self, granted, what};
use super::which::{Named, named};
use crate::app::App;
use crate::commands::acting::team_to_answer;
use crate::commands::members::age;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  swarm approve                      the only pending request
  swarm approve bob --always         bob's request and similar ones
  swarm approve 3nun9be --answer 2   answer a question")]
pub(crate) struct ApproveArgs {
    /// Request ID or a unique part of it, or the name of the requesting member [default: the only pending request].
    pub(crate) id: Option<String>,
    /// Also allow similar requests while the member runs.
    #[arg(long)]
    pub(crate) always: bool,
    /// Answer to a question: the number of an option, or your own text (`other: 7` for a literal number); repeat for each question.
    #[arg(long, value_name = "TEXT", conflicts_with = "always")]
    pub(crate) answer: Vec<String>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  swarm deny bob
  swarm deny 3nun9be --why \"use the staging database\"")]
pub(crate) struct DenyArgs {
    /// Request ID or a unique part of it, or the name of the requesting member [default: the only pending request].
    pub(crate) id: Option<String>,
    /// Reason, shown to the member's model.
    #[arg(long, value_name = "TEXT")]
    pub(crate) why: Option<String>,
}

pub(in crate::commands) fn approve(app: &App, args: &ApproveArgs) -> Result<ExitCode, Failure> {
    let team = team_to_answer(app, "approve")?;
    let asked = shown(app, &team, args.id.as_deref(), "approve")?;
    if asked.state == RequestState::Open && (text::asks(&asked) || !args.answer.is_empty()) {
        return answer(app, &team, &asked, &args.answer);
    }
    let answered = swarm_team::approve(&*app.store.team(&team), &asked, args.always, person(app));
    let record = answered.map_err(|error| explained(app, &team, error))?;
    let granted = granted(&record).filter(|_| args.always);
    let more = granted.map_or_else(String::new, |granted| {
        format!("\n  and without a question until it ends: {granted}")
    });
    show(app, &record, "may make this call once", &more)
}

/// A person's words to questions.
fn answer(
    app: &App,
    team: &TeamName,
    asked: &RequestRecord,
    answers: &[String],
) -> Result<ExitCode, Failure> {
    let id = &asked.id;
    let RequestKind::Permission { input, .. } = &asked.request;
    if !text::asks(asked) {
        let message = format!("request `{id}` asks no question: {}", what(asked));
        let hint = format!("leave `--answer` out: swarm approve {}", id.short());
        return Err(Failure::usage(message).with_hint(hint));
    }
    if let Err(why) = swarm_tools::answered(input, answers) {
        let message = format!("request `{id}` was not answered: {why}");
        let hint = format!(
            "`swarm requests` shows them; swarm approve {} --answer TEXT, once for each",
            id.short()
        );
        return Err(Failure::usage(message).with_hint(hint));
    }
    let answered = swarm_team::answer(&*app.store.team(team), asked, answers.to_vec(), person(app));
    let record = answered.map_err(|error| explained(app, team, error))?;
    show(app, &record, "has your answer", "")
}

pub(in crate::commands) fn deny(app: &App, args: DenyArgs) -> Result<ExitCode, Failure> {
    let team = team_to_answer(app, "deny")?;
    let asked = shown(app, &team, args.id.as_deref(), "deny")?;
    let answered = swarm_team::deny(&*app.store.team(&team), &asked, args.why, person(app));
    let record = answered.map_err(|error| explained(app, &team, error))?;
    show(app, &record, "may not make this call", "")
}

/// The request that is meant, as it is on file. The answer is given to this one alone, whatever is asked meanwhile.
fn shown(
    app: &App,
    team: &TeamName,
    word: Option<&str>,
    verb: &str,
) -> Result<RequestRecord, Failure> {
    match named(app, team, word, verb)? {
        Named::Open(request) => Ok(*request),
        Named::Id(id) => app
            .store
            .team(team)
            .request(&id)
            .map_err(|error| explained(app, team, error)),
    }
}

/// Who answers, as the journal names it.
fn person(app: &App) -> AnsweredBy {
    let user = app.env.get("USER").or_else(|| app.env.get("LOGNAME"));
    AnsweredBy::person(std::process::id(), user)
}

/// Of several answers one wins. Who comes later is told which, also when it was heard and is no longer on file.
fn explained(app: &App, team: &TeamName, error: StoreError) -> Failure {
    let (StoreError::RequestNotFound { id, .. } | StoreError::RequestAnswered { id, .. }) = &error
    else {
        return error.into();
    };
    let Some((answer, at)) = earlier_answer(app, team, id) else {
        return error.into();
    };
    let ago = age(app.clock.now(), at);
    let message = if answer == "expired" {
        format!("request `{id}` was withdrawn {ago} ago: its time was over, or nobody waits for it")
    } else {
        format!(
            "request `{id}` was already {answer} {ago} ago, by somebody else or from another shell"
        )
    };
    Failure::new(ErrorKind::Conflict, message)
        .with_hint("nothing was changed; `swarm requests` shows those that still wait")
}

/// The answer that won, and when.
fn earlier_answer(app: &App, team: &TeamName, id: &RequestId) -> Option<(String, UnixMs)> {
    let events = app.store.team(team).events().ok()?;
    events.entries.into_iter().rev().find_map(|entry| {
        let at = entry.at;
        match entry.event {
            Event::RequestAnswered {
                request, answer, ..
            } if &request == id || request.short() == id.as_str() => Some((answer, at)),
            _ => None,
        }
    })
}

fn show(app: &App, record: &RequestRecord, verdict: &str, more: &str) -> Result<ExitCode, Failure> {
    if app.out.json {
        app.out.json(record)?;
    } else {
        let id = record.id.short();
        let line = format!("{} {verdict}: {} ({id}){more}", record.from, what(record));
        app.out.data(&line)?;
    }
    Ok(ExitCode::SUCCESS)
}
