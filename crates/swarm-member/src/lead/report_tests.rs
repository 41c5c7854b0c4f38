//! The report of a run for programs.

use serde_json::json;
use swarm_protocol::{ErrorKind, Usage};

use super::{Outcome, RunReport};

fn report(outcome: Outcome) -> RunReport {
    RunReport {
        outcome,
        stop_reason: None,
        structured_output: None,
        result: "done".to_owned(),
        session: "00000000-0000-0000-0000-000000000001".parse().unwrap(),
        model: "anthropic/claude".to_owned(),
        team: None,
        tasks: Vec::new(),
        worktrees: Vec::new(),
        members: Vec::new(),
        unrecorded: None,
        usage: Usage::default(),
        usd: None,
        unpriced_tokens: 0,
        duration_ms: 5,
    }
}

#[test]
fn each_outcome_has_its_kind_its_word_and_its_sentence() {
    let failed = || Outcome::LeadFailed("no key".to_owned());
    let cases = [
        (Outcome::Completed, None, json!("completed")),
        (
            Outcome::TasksFailed,
            Some(ErrorKind::AgentFailed),
            json!("tasks_failed"),
        ),
        (failed(), Some(ErrorKind::AgentFailed), json!("lead_failed")),
        (
            Outcome::Stalled,
            Some(ErrorKind::AgentFailed),
            json!("stalled"),
        ),
        (
            Outcome::StoppedByHook("enough".to_owned()),
            Some(ErrorKind::Refused),
            json!("stopped_by_hook"),
        ),
        (
            Outcome::TimedOut,
            Some(ErrorKind::TimedOut),
            json!("timed_out"),
        ),
        (
            Outcome::Interrupted,
            Some(ErrorKind::Interrupted),
            json!("interrupted"),
        ),
    ];
    for (outcome, kind, word) in cases {
        assert_eq!(outcome.error_kind(), kind);
        let sentence = outcome.sentence();
        assert!(
            sentence.starts_with(char::is_lowercase) && !sentence.ends_with('.'),
            "{sentence}"
        );
        let written = serde_json::to_value(report(outcome.clone())).unwrap();
        assert_eq!(written["outcome"], word);
        let read: RunReport = serde_json::from_value(written).unwrap();
        assert_eq!(read.outcome, outcome);
    }
    let written = serde_json::to_value(report(failed())).unwrap();
    assert_eq!(written["detail"], "no key");
    assert!(failed().sentence().contains("no key"));
}

#[test]
fn an_end_that_is_not_recorded_is_a_failure_only_of_a_run_without_one() {
    let kind = |outcome| {
        let unrecorded = Some("tasks.lock is held".to_owned());
        let report = RunReport {
            unrecorded,
            ..report(outcome)
        };
        report.error_kind()
    };
    assert_eq!(kind(Outcome::Completed), Some(ErrorKind::TimedOut));
    assert_eq!(kind(Outcome::Interrupted), Some(ErrorKind::Interrupted));
}
