//! Services that an agent provides to a running tool call.

use serde_json::json;
use swarm_permissions::PermissionOutcome;
use swarm_protocol::{AgentEvent, MemberState};

use crate::model::{call, say};
use crate::setup::{Setup, on};
use crate::tools::form;
use crate::valid::results;

#[tokio::test]
async fn a_call_asks_a_person_through_the_gate_and_reports_progress() {
    let questions = json!({"questions": [{"question": "How many?"}]});
    let answered = swarm_tools::answered(&questions, &["7".to_owned()]).unwrap();
    for (answer, result) in [
        (
            PermissionOutcome::allow(Some(answered)),
            r#"Answered({"How many?": String("7")})"#,
        ),
        (PermissionOutcome::allow(None), "Skipped"),
        (PermissionOutcome::deny("no"), r#"Refused("no")"#),
    ] {
        let setup = Setup::new(vec![form(questions.clone())]);
        setup.gate.answers.lock().push_back(answer);
        setup
            .model
            .play([call([("a", "Form", json!({}))]), say("done")]);
        setup.prompted().run_turn(on()).await;
        let asked = setup.gate.asked.lock().clone();
        assert_eq!(asked.len(), 1);
        assert_eq!(asked[0].tool, "AskUserQuestion");
        assert_eq!(asked[0].tool_use_id, "a");
        assert_eq!(asked[0].input, questions);
        assert_eq!(asked[0].why, "the form asks");
        let requests = setup.model.requests();
        let messages = &requests.last().unwrap().messages;
        let told: Vec<_> = messages.iter().flat_map(results).collect();
        assert_eq!(told[0].1, result);
        let half_way = AgentEvent::State {
            state: MemberState::Working,
            detail: Some("half way".to_owned()),
        };
        assert!(setup.watcher.events().contains(&half_way));
    }
}
