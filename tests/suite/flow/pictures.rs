//! Pictures and documents that agents look at.

use serde_json::{Value, json};
use swarm_tests::fake_api::{Ask, Reply};

use super::run_in_pane::RunInPane;
use crate::scene::{spawn_args, spawn_with, team_with};

/// A PNG of one pixel, in base64 and as bytes.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const PIXEL_BYTES: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\xdacd\xf8\xcfP\x0f\0\x03\x86\x01\x80Z4}k\0\0\0\0IEND\xaeB`\x82";

/// The content of the first result in a request.
fn result(ask: &Ask) -> Option<Value> {
    let blocks = ask
        .messages()
        .iter()
        .filter_map(|message| message["content"].as_array());
    let results = blocks
        .flatten()
        .find(|block| block["type"] == "tool_result");
    results.map(|block| block["content"].clone())
}

#[test]
fn a_picture_that_is_read_is_seen_by_the_model_in_this_process_and_the_next() {
    let (api, world) = team_with(|ask: &Ask| {
        if ask.news_has("look at it") {
            Reply::tool("t1", "Read", json!({"file_path": "shot.png"}))
        } else {
            Reply::text("seen")
        }
    });
    std::fs::write(world.project().join("shot.png"), PIXEL_BYTES).expect("a picture");
    let spawn = |more: &[&str]| {
        spawn_with(&world, "bob", more);
    };
    spawn(&["--prompt", "look at it"]);
    let shown = json!([
        {"type": "text", "text": "[png image, 1 x 1 pixels]"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}},
    ]);
    let with_mark = |ask: &Ask| {
        let mut content = result(ask)?;
        for block in content.as_array_mut()? {
            block.as_object_mut()?.remove("cache_control");
        }
        Some(content)
    };
    api.wait_for("the picture", "bob", |ask| {
        with_mark(ask) == Some(shown.clone())
    });
    world.swarm(&["kill", "bob"]).ok();
    // The conversation is carried on from its transcript.
    spawn(&["--prompt", "and again"]);
    api.wait_for("the picture again", "bob", |ask| {
        ask.news_has("and again") && with_mark(ask) == Some(shown.clone())
    });
    world.swarm(&["kill", "bob"]).ok();
}

/// A PDF file of one page without anything on it.
const PDF: &str = "%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj
trailer<</Root 1 0 R/Size 4>>
startxref
0
%%EOF
";

#[test]
fn a_pdf_file_that_is_read_is_a_document_for_the_model() {
    let (api, world) = team_with(|ask: &Ask| {
        if ask.news_has("look at it") {
            Reply::tool("t1", "Read", json!({"file_path": "paper.pdf"}))
        } else {
            Reply::text("seen")
        }
    });
    world.write("project/paper.pdf", PDF);
    let words = spawn_args("bob", "headless", &[]);
    let prompt = ["--prompt", "look at it"];
    world.swarm(&[&words[..], &prompt].concat()).ok();
    let ask = api.wait_for("the file", "bob", |ask| result(ask).is_some());
    let content = result(&ask.ask).expect("a result");
    assert_eq!(content[0]["text"], "[PDF file, 1 page]", "{content}");
    let (document, source) = (&content[1]["type"], &content[1]["source"]);
    assert_eq!(document, "document");
    assert_eq!(source["media_type"], "application/pdf");
    let data = source["data"].as_str().expect("data");
    assert!(data.starts_with("JVBERi0xLjQ"), "{data}");
    world.swarm(&["kill", "bob"]).ok();
}

/// Whether an image of the conversation is the one of one pixel.
fn has_pixel(ask: &Ask) -> bool {
    let messages = ask.messages().iter();
    let blocks = messages.filter_map(|message| message["content"].as_array());
    blocks
        .flatten()
        .any(|block| block["type"] == "image" && block["source"]["data"] == PIXEL)
}

#[test]
fn a_pasted_path_of_a_picture_attaches_it_to_the_prompt() {
    let run = RunInPane::shell("sh", |_| Reply::text("seen"));
    std::fs::write(run.world.project().join("shot.png"), PIXEL_BYTES).expect("a picture");
    run.line("unset TMUX TMUX_PANE; clear");
    run.swarm("lead --mode default; echo code $?");
    run.shows("team-lead >");
    let path = run.world.project().join("shot.png");
    let tmux = run.inside.tmux();
    tmux.run(&["set-buffer", &format!("{} ", path.display())]);
    tmux.run(&["paste-buffer", "-p", "-t", &run.pane]);
    run.ends_in("team-lead > [Image #1]");
    run.line("what is it?");
    let ask = run
        .api
        .wait_for("the prompt", "team-lead", |ask| ask.news_has("what is it?"));
    assert!(has_pixel(&ask.ask));
    assert!(
        ask.ask
            .news_has(&format!("[Image #1: {}] what is it?", path.display()))
    );
    run.press("C-d");
    run.shows("code 0");
}

#[test]
fn ctrl_v_attaches_the_image_in_the_clipboard_or_says_why_not() {
    let run = RunInPane::shell("sh", |_| Reply::text("seen"));
    let clipboard = run.world.directory().join("clipboard.png");
    let script = format!("#!/bin/sh\nexec cat '{}'\n", clipboard.display());
    let program = run.world.write("bin/wl-paste", &script);
    let bin = program.parent().expect("its directory").display();
    run.line(&format!("chmod +x '{}'", program.display()));
    run.line(&format!(
        "export WAYLAND_DISPLAY=wayland-0 PATH='{bin}':$PATH"
    ));
    run.line("unset TMUX TMUX_PANE; clear");
    run.swarm("lead --mode default; echo code $?");
    run.shows("team-lead >");
    run.press("C-v");
    run.shows("there is no image in the clipboard (wl-paste: cat:");
    std::fs::write(&clipboard, PIXEL_BYTES).expect("a picture");
    run.press("C-v");
    run.ends_in("team-lead > [Image #1]");
    run.line("what is it?");
    let ask = run
        .api
        .wait_for("the prompt", "team-lead", |ask| ask.news_has("what is it?"));
    assert!(has_pixel(&ask.ask));
    run.press("C-d");
    run.shows("code 0");
}

#[test]
fn ctrl_v_reads_no_clipboard_where_agents_can_type() {
    let run = RunInPane::shell("sh", |_| Reply::text("seen"));
    run.line("export SWARM_SANDBOX_BASH=off; clear");
    run.swarm("lead --mode default; echo code $?");
    run.shows("team-lead >");
    run.press("C-v");
    run.shows("the clipboard was not read: this terminal is in tmux");
    run.press("C-d");
    run.shows("code 0");
}
