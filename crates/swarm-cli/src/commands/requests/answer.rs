//! `swarm approve` and `swarm deny`.

use serde_json::Value;
use swarm_protocol::{Answer, AnsweredBy, ErrorKind, RequestKind, RequestRecord, RequestState};
use swarm_store::{BlockOn as _, StoreError, Team};
use swarm_team::{answer_request, earlier_answer};

use super::edit::{changed_call, edited};
use super::list::pending;
use super::text::{self, granted, what};
use super::which::{Named, named};
use crate::app::App;
use crate::commands::acting::team_to_answer;
use crate::commands::members::age;
use crate::failure::{Failure, Result};
use crate::own_process::host_name;

/// What `--always` reports for a request without a suggestion.
const NO_GRANT: &str = "--always had no effect: no rule covers similar requests";

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  swarm approve                      the only pending request
  swarm approve bob --always         bob's request and similar ones
  swarm approve p3 --answer 2        answer a question
  swarm approve p3 --edit            change the call, then allow it
  swarm approve --all")]
pub(crate) struct ApproveArgs {
    /// Request (`p3`), an ID or a unique part of it, or the requesting member [default: the only pending request].
    #[arg(conflicts_with = "all")]
    pub(crate) id: Option<String>,
    /// Also grant the rule, mode or directory that is shown.
    #[arg(long)]
    pub(crate) always: bool,
    /// Answer to a question: the number of an option, or your own text (`other: 7` for a literal number); repeat for each question. For a plan, a remark.
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["always", "all", "edit", "input"])]
    pub(crate) answer: Vec<String>,
    /// Change the call or the plan in $EDITOR before it is allowed.
    #[arg(long, conflicts_with_all = ["always", "all"])]
    pub(crate) edit: bool,
    /// Allow the call with this input instead.
    #[arg(long, value_name = "JSON", conflicts_with_all = ["always", "all", "edit"])]
    pub(crate) input: Option<String>,
    /// Allow every pending request, except questions.
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  swarm deny bob
  swarm deny p3 --why \"use the staging database\"
  swarm deny --all")]
pub(crate) struct DenyArgs {
    /// Request (`p3`), an ID or a unique part of it, or the requesting member [default: the only pending request].
    #[arg(conflicts_with = "all")]
    pub(crate) id: Option<String>,
    /// Deny every pending request.
    #[arg(long)]
    pub(crate) all: bool,
    /// Reason, shown to the member's model.
    #[arg(long, value_name = "TEXT")]
    pub(crate) why: Option<String>,
}

pub(in crate::commands) fn approve(app: &App, args: &ApproveArgs) -> Result<()> {
    let team = team_to_answer(app, "approve")?;
    if args.all {
        return each(app, &*team, |asked| {
            if text::asks(asked) {
                let line = format!("{}: {} asks a question", asked.short(), asked.from);
                app.out.say(&format!("{line}; answer it separately"));
                return Ok(());
            }
            approve_one(app, &*team, asked, args.always, None)
        });
    }
    let asked = shown(app, &*team, args.id.as_deref(), "approve")?;
    if asked.state == RequestState::Open && (text::asks(&asked) || !args.answer.is_empty()) {
        return answer(app, &*team, &asked, &args.answer);
    }
    let input = if args.edit || args.input.is_some() {
        edited(app, &asked, args.input.as_deref())?
    } else {
        None
    };
    approve_one(app, &*team, &asked, args.always, input)
}

/// Approves a request, with changed input if given.
fn approve_one(
    app: &App,
    team: &dyn Team,
    asked: &RequestRecord,
    always: bool,
    input: Option<Value>,
) -> Result<()> {
    let is_edited = input.is_some();
    // A team that cannot be read may have teammates.
    let has_teammates =
        (team.known_config().block_on()).map_or(true, |config| config.teammates().next().is_some());
    let granted = granted(asked, has_teammates).filter(|_| always);
    let more = match &granted {
        Some(granted) => format!("\n  and without asking, {granted}"),
        None if always => format!("\n  {NO_GRANT}"),
        None => String::new(),
    };
    let answer = Answer::Approved {
        always: granted.is_some(),
        updated_input: input,
    };
    let record = record(app, team, asked, answer)?;
    let verdict = match &record.request {
        RequestKind::Plan { .. } if is_edited => "may carry out the plan as you changed it",
        RequestKind::Plan { .. } => "may carry out its plan",
        RequestKind::Sandbox { .. } => "may reach this host until it exits",
        RequestKind::Permission { .. } if is_edited => "may make this call as you changed it",
        RequestKind::Permission { .. } => "may make this call once",
    };
    show(app, &record, verdict, &more)
}

/// Answers a request as the person.
fn record(
    app: &App,
    team: &dyn Team,
    asked: &RequestRecord,
    answer: Answer,
) -> Result<RequestRecord> {
    let answered = answer_request(team, asked, answer, person(app, team)).block_on();
    answered.map_err(|error| explained(app, team, error))
}

/// Answers every pending request, oldest first. Requests that another person answers meanwhile are
/// skipped.
fn each(app: &App, team: &dyn Team, answer: impl Fn(&RequestRecord) -> Result<()>) -> Result<()> {
    let open = pending(team)?;
    if open.is_empty() {
        app.out.say("no pending requests");
    }
    let mut failed = None;
    for asked in &open {
        match answer(asked) {
            Err(failure) if failure.kind == ErrorKind::Conflict => {
                app.out
                    .say(&format!("{}: {}", asked.short(), failure.message));
            }
            Err(failure) => failed = Some(failure),
            Ok(()) => {}
        }
    }
    failed.map_or(Ok(()), Err)
}

/// Answers a question with a person's text.
fn answer(app: &App, team: &dyn Team, asked: &RequestRecord, answers: &[String]) -> Result<()> {
    let (prefix, id) = (app.command_prefix(), asked.short());
    let is_plan = matches!(asked.request, RequestKind::Plan { .. });
    if !is_plan && !text::asks(asked) {
        let message = format!("request `{id}` asks no question: {}", what(asked));
        let hint = format!("omit `--answer`: {prefix}approve {id}");
        return Err(Failure::usage(message).with_hint(hint));
    }
    if !is_plan && let Err(why) = swarm_tools::answered(&asked.request.input(), answers) {
        let message = format!("request `{id}` was not answered: {why}");
        let hint = format!(
            "`{prefix}requests` shows them; {prefix}approve {id} --answer TEXT, once for each"
        );
        return Err(Failure::usage(message).with_hint(hint));
    }
    let answers = answers.to_vec();
    let record = record(app, team, asked, Answer::Answered { answers })?;
    let verdict = if is_plan {
        "may carry out its plan, with your comment"
    } else {
        "has your answer"
    };
    show(app, &record, verdict, "")
}

pub(in crate::commands) fn deny(app: &App, args: &DenyArgs) -> Result<()> {
    let team = team_to_answer(app, "deny")?;
    let no = |asked: &RequestRecord| {
        let why = args.why.clone();
        let record = record(app, &*team, asked, Answer::Denied { why })?;
        let verdict = match &record.request {
            RequestKind::Plan { .. } => "has to revise its plan",
            RequestKind::Sandbox { .. } => "may not reach this host until it exits",
            RequestKind::Permission { .. } => "may not make this call",
        };
        show(app, &record, verdict, "")
    };
    if args.all {
        return each(app, &*team, no);
    }
    no(&shown(app, &*team, args.id.as_deref(), "deny")?)
}

/// Returns the selected request from the queue. Only this one is answered, even if new requests
/// arrive.
fn shown(app: &App, team: &dyn Team, word: Option<&str>, verb: &str) -> Result<RequestRecord> {
    match named(app, team, word, verb)? {
        Named::Open(request) => Ok(*request),
        Named::Id(id) => {
            let request = team.request(&id).block_on();
            request.map_err(|error| explained(app, team, error))
        }
    }
}

/// Returns who answers, for the journal.
pub(in crate::commands) fn person(app: &App, team: &dyn Team) -> AnsweredBy {
    let user = app.env.get("USER").or_else(|| app.env.get("LOGNAME"));
    AnsweredBy {
        host: team.is_remote().then(host_name),
        ..AnsweredBy::person(std::process::id(), user)
    }
}

/// Returns the error for a request that was already answered: the first answer wins. Also covers
/// requests that are no longer in the queue.
fn explained(app: &App, team: &dyn Team, error: StoreError) -> Failure {
    let (StoreError::RequestNotFound { id, .. } | StoreError::RequestAnswered { id, .. }) = &error
    else {
        return error.into();
    };
    let Some(earlier) = earlier_answer(team, id).block_on() else {
        return error.into();
    };
    let ago = age(app.clock.now(), earlier.at);
    let message = match (earlier.answer.as_str(), earlier.why) {
        ("expired", _) => format!("request `{id}` timed out {ago} ago"),
        ("withdrawn", why) => {
            let why = why.unwrap_or_else(|| "nobody waits for an answer".to_owned());
            format!("request `{id}` was withdrawn {ago} ago: {why}")
        }
        (answer, _) => format!("request `{id}` was already {answer} {ago} ago"),
    };
    Failure::conflict(message).with_hint(format!(
        "nothing was changed; run `{}requests` to list pending requests",
        app.command_prefix()
    ))
}

fn show(app: &App, record: &RequestRecord, verdict: &str, more: &str) -> Result<()> {
    let id = record.short();
    let call = match &record.state {
        RequestState::Answered {
            answer:
                Answer::Approved {
                    updated_input: Some(input),
                    ..
                },
            ..
        } => changed_call(&record.request, input),
        _ => what(record),
    };
    let line = format!("{} {verdict}: {call} ({id}){more}", record.from);
    app.out.result(record, &line)
}
