//! Rewinding: the conversation continues before an earlier prompt; nothing else is lost.

use serde_json::json;
use swarm_agent::{AgentError, Injected, RewindPoints, Session};
use swarm_model::Message;
use swarm_protocol::{Envelope, MessageId};

use crate::model::{call, say};
use crate::tools::echo;
use crate::valid::{assert_valid, texts};
use crate::world::{World, on};

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
async fn two_prompts(world: &World) -> Session {
    world.model.play([
        say("one"),
        call([
            ("a", "Echo", json!({"text": "x"})),
            ("b", "Bash", json!({"command": "git push"})),
        ]),
        say("two"),
    ]);
    let mut session = world.prompted();
    session.run_turn(on()).await;
    let second = Injected::message(MessageId::new("m2"), "the second".to_owned());
    let input = vec![mail("m1", "it is broken"), second];
    session.deliver(input).unwrap();
    session.run_turn(on()).await;
    session
}

fn said(messages: &[Message]) -> Vec<String> {
    let texts = messages.iter().flat_map(texts);
    texts.map(str::to_owned).collect()
}

fn line_of(world: &World, prompt: &str) -> String {
    let points = RewindPoints::open(&world.path()).unwrap();
    let mut points = points.points().iter();
    points
        .find(|point| point.prompt == prompt)
        .unwrap()
        .line
        .clone()
}

#[tokio::test]
async fn a_rewind_drops_a_prompt_and_keeps_mail_usage_and_the_prompt_cache() {
    let world = World::new(vec![echo()]);
    let mut session = two_prompts(&world).await;
    let before = session.totals();
    session.rewind(&line_of(&world, "the second")).unwrap();
    assert!(!session.needs_turn());
    assert!(session.has_message(&MessageId::new("m2")));
    assert_eq!(session.totals(), before);

    // The same conversation after a restart.
    drop(session);
    let mut session = world.open();
    assert!(!session.needs_turn());
    assert_eq!(session.totals(), before);
    let known = session.deliver(vec![mail("m1", "it is broken")]).unwrap();
    assert_eq!(known.known.len(), 1, "it is only acknowledged again");
    world.model.play([say("three")]);
    session.deliver(vec![Injected::prompt("instead")]).unwrap();
    session.run_turn(on()).await;
    let requests = world.model.requests();
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
    let world = World::new(vec![echo()]);
    let mut session = two_prompts(&world).await;
    let points = RewindPoints::open(&world.path()).unwrap();
    let listed = points.points().iter().map(|point| point.prompt.as_str());
    assert_eq!(listed.collect::<Vec<_>>(), ["do it", "the second"]);
    for point in points.points() {
        assert_eq!(points.effects(point), ["Bash git push"]);
    }
    let first = line_of(&world, "do it");
    session.rewind(&first).unwrap();
    assert!(
        RewindPoints::open(&world.path())
            .unwrap()
            .points()
            .is_empty()
    );
    let error = session.rewind(&first).unwrap_err();
    assert!(matches!(error, AgentError::NotRewound { .. }), "{error}");
}

#[tokio::test]
async fn a_rewind_before_a_compaction_restores_the_messages() {
    let world = World::new(vec![echo()]);
    let mut session = two_prompts(&world).await;
    let second = line_of(&world, "the second");
    session.clear().unwrap();
    session.rewind(&second).unwrap();
    world.model.play([say("three")]);
    session.deliver(vec![Injected::prompt("instead")]).unwrap();
    session.run_turn(on()).await;
    let said = said(&world.model.last_request().messages);
    assert_eq!(said[..2], ["do it", "one"], "{said:?}");
}
