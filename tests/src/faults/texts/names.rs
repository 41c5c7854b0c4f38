//! Texts as names: of teams, members, agent types, colours.

use serde_json::json;

use super::list::is_name;
use super::scene::Scene;
use crate::stage::MODEL;

/// As the name of a team, in an argument, an option and a variable.
pub(super) fn team(scene: &Scene, text: &str) {
    let flag = format!("--team={text}");
    let missing = if is_name(text) && text != "team-lead" {
        scene.swarm(&["team", "create", text]).ok();
        scene.shows(&["team", "show", text]);
        scene.swarm(&["team", "delete", text]).ok();
        3
    } else {
        scene.refused(&["team", "create", "--", text], &[2]);
        2
    };
    scene.refused(&["status", &flag], &[missing]);
    scene.refused(&["team", "delete", "--force", "--", text], &[missing]);
    let described = format!("--description={text}");
    scene.swarm(&["team", "create", "CON", &described]).ok();
    scene.shows(&["team", "show", "CON"]);
    scene.shows(&["team", "list"]);
    scene.swarm(&["team", "delete", "CON"]).ok();
}

/// As the name of a member in every command.
pub(super) fn member(scene: &Scene, number: usize) {
    let text = scene.texts[number].as_str();
    let usual = ["spawn", "--backend", "tmux", "--model", MODEL];
    let is_lead = text == "team-lead";
    if is_name(text) && !is_lead {
        let words = [&usual[..], &[text]].concat();
        scene.swarm(&words).ok();
        scene.terminal.wait_for_drawn(&format!(" {text} "));
        scene.show_all();
        scene.swarm(&["kill", text]).ok();
        scene.assert_panes();
    } else {
        let words = [&usual[..], &["--", text]].concat();
        scene.refused(&words, &[2]);
    }
    let owner = format!("--owner={text}");
    let wherever = [
        &["inbox", "--", text][..],
        &["logs", "--", text],
        &["peek", "--", text],
        &["attach", "--", text],
        &["shutdown", "--", text],
        &["kill", "--", text],
        &["approve", "--", text],
        &["task", "create", "x", &owner],
    ];
    // All of them parse names in the same way: two for each text cover all.
    for at in [number, number + 4] {
        // A running member has left its output.
        if !is_lead && !is_name(text) {
            scene.refused(wherever[at % wherever.len()], &[2, 3]);
        }
    }
    scene.refused(&["send", "--", text, "hi"], &[2, 3, 5]);
}

/// As the type and the description of a definition, in a file and on the command line.
pub(super) fn agent_types(scene: &Scene, numbers: &[usize]) {
    for number in numbers {
        let text = json!(scene.texts[*number]);
        let file = format!("root/agents/d{number}.md");
        let definition =
            format!("---\nname: {text}\ndescription: {text}\ntools: [{text}]\n---\n{text}\n");
        scene.world.write(&file, &definition);
    }
    scene.shows(&["agents", "list"]);
    for number in numbers {
        let text = scene.texts[*number].as_str();
        for words in [
            &["agents", "show", "--", text][..],
            &["agents", "show", "--effective", "--", text],
        ] {
            assert!(matches!(scene.swarm(words).code, Some(0 | 2 | 3)));
        }
        let flag = format!("--agent={text}");
        refused_or_there(scene, &[&flag]);
        let given = json!({ text: {"description": text, "prompt": text} }).to_string();
        refused_or_there(scene, &[&flag, "--agents", &given]);
    }
}

/// As the colour of a definition, and in all roster fields of another program.
pub(super) fn colors(scene: &Scene, numbers: &[usize]) {
    let path = scene.world.team("demo").directory().join("config.json");
    let before = std::fs::read_to_string(&path).expect("the roster");
    for number in numbers {
        let text = scene.texts[*number].as_str();
        let given = json!({"t": {"description": "d", "prompt": "p", "color": text}}).to_string();
        let words = ["spawn", "x", "--agents", &given, "--agent", "t"];
        scene.refused(&words, &[2]);
        let mut config = scene.world.team("demo").config();
        config["description"] = json!(text);
        config["members"].as_array_mut().expect("a roster").push(json!({
            "agentId": "carol@demo", "name": "carol", "color": text, "agentType": text, "model": text, "prompt": text,
            "joinedAt": 1_795_195_646_590_u64, "tmuxPaneId": text, "subscriptions": [text], "cwd": text, "mode": text,
            "backendType": text, "isActive": true, "worktreePath": text,
        }));
        std::fs::write(&path, config.to_string()).expect("the roster");
        for words in [&["status"][..], &["team", "show"], &["team", "list"]] {
            scene.shows(words);
        }
        for words in [
            &["attach", "carol"][..],
            &["peek", "carol"],
            &["kill", "carol"],
            &["send", "carol", "hello"],
        ] {
            scene.swarm(words);
        }
        std::fs::write(&path, &before).expect("the roster");
    }
}

/// A spawn that is rejected with a usage error, or creates a member in one pane.
fn refused_or_there(scene: &Scene, more: &[&str]) {
    let (name, told) = scene.spawn(more);
    if told.code == Some(0) {
        scene.terminal.wait_for_drawn(&format!(" {name} "));
    } else {
        assert!(matches!(told.code, Some(2 | 3 | 5)), "{}", told.story());
        assert!(told.stdout.is_empty(), "{}", told.story());
    }
}
