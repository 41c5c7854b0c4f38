//! Selection of the request to answer.

use swarm_protocol::{RequestId, RequestRecord};
use swarm_store::{BlockOn as _, Team};

use super::list::{adopt, pending};
use super::text::what;
use crate::app::App;
use crate::failure::{Failure, Result};

/// The result of the selection.
pub(super) enum Named {
    /// A pending request.
    Open(Box<RequestRecord>),
    /// Not a pending request; the journal may contain an earlier answer.
    Id(RequestId),
}

/// Selects a request by id, by a prefix of the id or of its random suffix, or by the name of a
/// member with one pending request. Without a word it selects the only pending one. Any other word
/// is treated as an id, so that an earlier answer can be reported.
pub(super) fn named(app: &App, team: &dyn Team, word: Option<&str>, verb: &str) -> Result<Named> {
    adopt(app, team)?;
    let open = pending(team)?;
    let meant: Vec<&RequestRecord> = match word {
        None => open.iter().collect(),
        Some(word) => matching(&open, word),
    };
    match (&meant[..], word) {
        ([only], _) => Ok(Named::Open(Box::new((*only).clone()))),
        ([], Some(word)) if is_member(team, word)? => {
            let message = format!("{word} of team {} has no pending request", team.name());
            let requests = format!("{}requests", app.command_prefix());
            Err(Failure::not_found(message)
                .with_hint(format!("run `{requests}` to list pending requests")))
        }
        ([], Some(word)) => Ok(Named::Id(RequestId::new(word))),
        ([], None) => {
            let message = format!("no pending requests in team {}", team.name());
            Err(Failure::not_found(message))
        }
        (several, _) => {
            let command = format!("{}{verb}", app.command_prefix());
            Err(ambiguous(several, word, &command))
        }
    }
}

fn is_member(team: &dyn Team, word: &str) -> Result<bool> {
    let members = team.known_config().block_on()?.members;
    Ok(members.iter().any(|member| member.name.as_str() == word))
}

/// A full id takes precedence over prefixes, and a member over ids.
fn matching<'a>(open: &'a [RequestRecord], word: &str) -> Vec<&'a RequestRecord> {
    let by = |is_meant: &dyn Fn(&RequestRecord) -> bool| -> Vec<&'a RequestRecord> {
        open.iter().filter(|request| is_meant(request)).collect()
    };
    if word.is_empty() {
        return Vec::new();
    }
    let exact =
        by(&|request| [request.id.as_str(), request.id.short(), &*request.short()].contains(&word));
    if !exact.is_empty() {
        return exact;
    }
    let of_member = by(&|request| request.from.as_str() == word);
    if !of_member.is_empty() {
        return of_member;
    }
    by(&|request| request.id.as_str().starts_with(word) || request.id.short().starts_with(word))
}

fn ambiguous(several: &[&RequestRecord], word: Option<&str>, command: &str) -> Failure {
    let count = several.len();
    let message = match word {
        None => format!("{count} requests are pending: specify one"),
        Some(word) => format!(
            "`{}` matches {count} pending requests: specify one",
            word.escape_debug()
        ),
    };
    let lines: Vec<String> = several
        .iter()
        .map(|request| {
            format!(
                "{command} {}   {}: {}",
                request.short(),
                request.from,
                what(request)
            )
        })
        .collect();
    Failure::usage(message).with_hint(lines.join("\n"))
}
