//! Rewinding: the conversation, the files, or both return to an earlier prompt; nothing else is lost.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;
use swarm_agent::{AgentError, Injected, RewindPoints, Rights, Session};
use swarm_model::Message;
use swarm_permissions::{Behavior, Rule, RuleSet};
use swarm_protocol::{Envelope, MessageId, PermissionMode, RewindScope};
use swarm_tools::{FileHistory, Restoration, builtin};

use crate::model::{call, say};
use crate::setup::{Setup, on};
use crate::tools::echo;
use crate::valid::{assert_valid, texts};

fn mail(id: &str, text: &str) -> Injected {
    let envelope = Envelope {
        from: "alice",
        color: None,
        summary: None,
        text,
    };
    Injected::message(MessageId::new(id), envelope.render())
}

/// A conversation with two prompts; a message of alice arrived together with the second one.
async fn two_prompts(setup: &Setup) -> Session {
    setup.model.play([
        say("one"),
        call([
            ("a", "Echo", json!({"text": "x"})),
            ("b", "Bash", json!({"command": "git push"})),
        ]),
        say("two"),
    ]);
    let mut session = setup.prompted();
    session.run_turn(on()).await;
    let second = Injected::message(MessageId::new("m2"), "the second".to_owned());
    let input = vec![mail("m1", "it is broken"), second];
    session.deliver(input).unwrap();
    session.run_turn(on()).await;
    session
}

fn rewind(session: &mut Session, line: &str) {
    session.rewind(line, RewindScope::Conversation).unwrap();
}

fn said(messages: &[Message]) -> Vec<String> {
    let texts = messages.iter().flat_map(texts);
    texts.map(str::to_owned).collect()
}

fn line_of(setup: &Setup, prompt: &str) -> String {
    let points = RewindPoints::open(&setup.path()).unwrap();
    let mut points = points.points().iter();
    points
        .find(|point| point.prompt == prompt)
        .unwrap()
        .line
        .clone()
}

#[tokio::test]
async fn a_rewind_drops_a_prompt_and_keeps_mail_usage_and_the_prompt_cache() {
    let setup = Setup::new(vec![echo()]);
    let mut session = two_prompts(&setup).await;
    let before = session.totals();
    rewind(&mut session, &line_of(&setup, "the second"));
    assert!(!session.needs_turn());
    assert!(session.has_message(&MessageId::new("m2")));
    assert_eq!(session.totals(), before);

    // The same conversation after a restart.
    drop(session);
    let mut session = setup.open();
    assert!(!session.needs_turn());
    assert_eq!(session.totals(), before);
    let known = session.deliver(vec![mail("m1", "it is broken")]).unwrap();
    assert_eq!(known.known.len(), 1, "it is only acknowledged again");
    setup.model.play([say("three")]);
    session.deliver(vec![Injected::prompt("instead")]).unwrap();
    session.run_turn(on()).await;
    let requests = setup.model.requests();
    let last = &requests[3].messages;
    assert_valid(last);
    assert_eq!(last[0], requests[0].messages[0], "the cached prefix");
    let said = said(last);
    assert_eq!(said[..2], ["do it", "one"]);
    assert!(said[2].contains("it is broken"), "{said:?}");
    assert_eq!(said[3..], ["instead"]);
}

#[tokio::test]
async fn prompts_are_listed_with_the_calls_that_stay_in_effect() {
    let setup = Setup::new(vec![echo()]);
    let mut session = two_prompts(&setup).await;
    let points = RewindPoints::open(&setup.path()).unwrap();
    let listed = points.points().iter().map(|point| point.prompt.as_str());
    assert_eq!(listed.collect::<Vec<_>>(), ["do it", "the second"]);
    for point in points.points() {
        assert_eq!(points.effects(point), ["Bash git push"]);
    }
    let first = line_of(&setup, "do it");
    rewind(&mut session, &first);
    assert!(
        RewindPoints::open(&setup.path())
            .unwrap()
            .points()
            .is_empty()
    );
    let error = session.rewind(&first, RewindScope::All).unwrap_err();
    assert!(matches!(error, AgentError::NotRewound(_)), "{error}");
}

#[tokio::test]
async fn a_rewind_before_a_compaction_restores_the_messages() {
    let setup = Setup::new(vec![echo()]);
    let mut session = two_prompts(&setup).await;
    let second = line_of(&setup, "the second");
    session.clear().unwrap();
    rewind(&mut session, &second);
    setup.model.play([say("three")]);
    session.deliver(vec![Injected::prompt("instead")]).unwrap();
    session.run_turn(on()).await;
    let said = said(&setup.model.last_request().messages);
    assert_eq!(said[..2], ["do it", "one"], "{said:?}");
}

/// A conversation with two prompts, after which files were written in the returned directory.
async fn two_writes(setup: &Setup) -> (Session, PathBuf) {
    let directory = setup.scratch.path().canonicalize().unwrap().join("work");
    fs::create_dir(&directory).unwrap();
    let mut parts = setup.parts();
    parts.tool_context.cwd = directory.clone();
    parts.tool_context.history = Some(FileHistory::of_transcript(&setup.path()).into());
    let write =
        |name: &str, content: &str| json!({"file_path": directory.join(name), "content": content});
    setup.model.play([
        call([("a", "Write", write("kept", "one"))]),
        say("one"),
        call([
            ("b", "Write", write("kept", "two")),
            ("c", "Write", write("new", "two")),
            ("d", "Bash", json!({"command": "git push"})),
            ("e", "Bash", json!({"command": "false"})),
        ]),
        say("two"),
    ]);
    let mut session = Session::open(setup.transcript(), parts).unwrap();
    for prompt in ["the first", "the second"] {
        session.deliver(vec![Injected::prompt(prompt)]).unwrap();
        session.run_turn(on()).await;
    }
    (session, directory)
}

fn denying_push() -> Setup {
    let mut rules = RuleSet::default();
    let rule = Rule::parse("Bash(git push:*)").unwrap();
    rules.add(Behavior::Deny, rule, "test");
    let mode = PermissionMode::BypassPermissions;
    let mut setup = Setup::new(builtin());
    setup.rights = Arc::new(Rights::new(mode, rules, mode));
    setup
}

#[tokio::test]
async fn files_return_with_the_conversation_or_without_it() {
    for scope in [RewindScope::All, RewindScope::Files] {
        let setup = denying_push();
        let (mut session, directory) = two_writes(&setup).await;
        let line = line_of(&setup, "the second");
        let files = session.rewind(&line, scope).unwrap();
        let done = files.iter().map(|file| &file.restoration);
        assert_eq!(
            done.collect::<Vec<_>>(),
            [&Restoration::Replace, &Restoration::Remove]
        );
        assert_eq!(fs::read_to_string(directory.join("kept")).unwrap(), "one");
        assert!(!directory.join("new").exists());
        let is_listed = RewindPoints::open(&setup.path())
            .unwrap()
            .points()
            .iter()
            .any(|point| point.prompt == "the second");
        assert_eq!(is_listed, scope == RewindScope::Files);
    }
}

#[tokio::test]
async fn refused_calls_and_changes_of_files_are_no_lasting_effects() {
    let setup = denying_push();
    let _session = two_writes(&setup).await;
    let points = RewindPoints::open(&setup.path()).unwrap();
    assert_eq!(points.effects(&points.points()[0]), ["Bash false"]);
}

#[tokio::test]
async fn a_prompt_that_arrived_as_mail_is_listed_and_not_kept() {
    let setup = Setup::new(vec![echo()]);
    setup.model.play([say("one"), say("two")]);
    let mut session = setup.prompted();
    session.run_turn(on()).await;
    let envelope = Envelope {
        from: "user",
        color: None,
        summary: None,
        text: "by mail",
    };
    let typed = Injected::message(MessageId::new("m1"), envelope.render());
    let input = vec![typed, mail("m2", "it is broken")];
    session.deliver(input).unwrap();
    session.run_turn(on()).await;
    rewind(&mut session, &line_of(&setup, "by mail"));
    setup.model.play([say("three")]);
    session.deliver(vec![Injected::prompt("instead")]).unwrap();
    session.run_turn(on()).await;
    let said = said(&setup.model.last_request().messages).join("\n");
    assert!(
        said.contains("it is broken") && !said.contains("by mail"),
        "{said}"
    );
}
