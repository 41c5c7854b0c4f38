//! Invalid scenario files and the line and field in their errors.

use std::path::Path;

use super::load::load;
use super::scenario::ScenarioError;

fn refused(text: &str) -> (usize, String) {
    match load(text, Path::new("/s/demo.toml")) {
        Err(ScenarioError::Invalid {
            path,
            line,
            message,
        }) => {
            assert_eq!(path, Path::new("/s/demo.toml"));
            (line, message)
        }
        other => panic!("{other:?}"),
    }
}

/// Returns a turn with one step that has these keys; they begin on line 4.
fn step(keys: &str) -> String {
    format!("[[turn]]\nmatches = '(?<id>\\d+)'\n[[turn.step]]\n{keys}\n")
}

#[test]
fn unknown_keys_are_refused_with_their_line_at_every_level() {
    for (text, line, key) in [
        ("speed = 1\n".to_owned(), 1, "speed"),
        ("[[turn]]\nagnt = \"x\"\n".to_owned(), 2, "agnt"),
        (step("say = \"a\"\nsays = \"b\""), 5, "says"),
        (
            step("[[turn.step.call]]\ntool = \"Read\"\ninputs = {}"),
            6,
            "inputs",
        ),
        (
            step("fail = { kind = \"overloaded\", time = 1 }"),
            4,
            "time",
        ),
        (
            format!("{}[[turn.interrupt]]\ncontain = \"x\"", step("say = \"a\"")),
            6,
            "contain",
        ),
    ] {
        let (at, message) = refused(&text);
        assert_eq!(at, line, "{message}\n{text}");
        assert!(message.contains(key), "{message}");
    }
}

#[test]
fn an_error_contains_path_line_and_reason() {
    let error = load("\n\nx = = 1", Path::new("/s/demo.toml")).unwrap_err();
    assert!(error.to_string().starts_with("/s/demo.toml:3: "), "{error}");
}

#[test]
fn wrong_values_are_refused_with_their_line_and_field() {
    for (text, line, part) in [
        (step("say = 3"), 4, "string"),
        (
            step("say = \"hello ${who}\""),
            4,
            "say: unknown name `${who}`",
        ),
        (step("think = \"${\"\nsay = \"a\""), 4, "think: "),
        (step("say = \"a\"\ncapture = '('"), 5, "capture: "),
        (step("say = \"a\"\ncapture = '(?<result>x)'"), 5, "result"),
        (step("fail = { kind = \"lost\" }"), 4, "overloaded"),
        (
            step("say = \"a\"\nfail = { kind = \"auth\", times = 2 }"),
            5,
            "times",
        ),
        (step("stop = \"whenever\""), 4, "end_turn"),
        (step("wait_ms = 5"), 3, "say"),
        (step("wait_ms = -5"), 4, "-5"),
        (
            step("[[turn.step.call]]\ntool = \"Read\"\ninput = { a = [\"${x}\"] }"),
            4,
            "input of Read: unknown name `${x}`",
        ),
        (step("[[turn.step.call]]\ntool = \"\""), 4, "tool"),
        (
            step("[[turn.step.call]]\ntool = \"R\"\ninput = {a=1}\nbroken_input = \"{\""),
            4,
            "broken_input",
        ),
        (
            "[[turn]]\nnth = 0\n[[turn.step]]\nsay = \"a\"".into(),
            1,
            "nth",
        ),
        ("[[turn]]\nmatches = '['".into(), 2, "matches: "),
        (
            "[[turn]]\nsystem_matches = '['".into(),
            2,
            "system_matches: ",
        ),
        ("chunk_ms = 3".into(), 1, "[[turn]]"),
        ("[[turn]]\nagent = \"x\"".into(), 1, "step"),
    ] {
        let (at, message) = refused(&text);
        assert!(message.contains(part), "{message}\n{text}");
        assert_eq!(at, line, "{message}\n{text}");
    }
}

#[test]
fn steps_that_can_never_be_reached_or_answered_are_refused() {
    let call = "[[turn.step.call]]\ntool = \"Read\"";
    let cases = [
        (
            step("say = \"a\"\n[[turn.step]]\nsay = \"b\""),
            3,
            "never reached",
        ),
        (
            step("fail = { kind = \"auth\" }\n[[turn.step]]\nsay = \"b\""),
            3,
            "never reached",
        ),
        (step(call), 3, "calls a tool"),
        (
            format!(
                "{}[[turn.interrupt]]\ncontains = \"x\"\n[[turn.interrupt.step]]\n[[turn.interrupt.step.call]]\ntool = \"Read\"",
                step("say = \"a\"")
            ),
            7,
            "calls a tool",
        ),
        (
            format!(
                "{}[[turn.interrupt]]\ncontains = \"x\"\nresume = true\n[[turn.interrupt.step]]\nsay = \"b\"",
                step("say = \"a\"")
            ),
            8,
            "resume",
        ),
        (
            format!("{}[[turn.interrupt]]\nresume = true", step("say = \"a\"")),
            5,
            "contains",
        ),
        (
            format!(
                "{}[[turn.interrupt]]\ncontains = \"x\"",
                step("say = \"a\"")
            ),
            5,
            "step",
        ),
    ];
    for (text, line, part) in cases {
        let (at, message) = refused(&text);
        assert!(message.contains(part), "{message}\n{text}");
        assert_eq!(at, line, "{message}\n{text}");
    }
}

#[test]
fn groups_are_known_starting_with_the_step_that_captures_them() {
    let call = "[[turn.step.call]]\ntool = \"Read\"\n";
    let captures_first = step(&format!(
        "{call}[[turn.step]]\ncapture = '(?<n>.)'\nsay = \"${{n}} ${{id}} ${{agent}} ${{prompt}}\""
    ));
    load(&captures_first, Path::new("x")).unwrap();
    let too_early = step(&format!(
        "say = \"${{n}}\"\n{call}[[turn.step]]\ncapture = '(?<n>.)'\nsay = \"b\""
    ));
    assert!(refused(&too_early).1.contains("`${n}`"));
}

#[test]
fn the_example_of_the_documentation_is_a_valid_scenario() {
    let page = include_str!("../../../../docs/scenarios.md");
    let (_, rest) = page.split_once("```toml\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    load(example, Path::new("docs/scenarios.md")).unwrap();
}
