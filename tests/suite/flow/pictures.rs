//! Pictures that agents look at.

use serde_json::{Value, json};
use swarm_tests::fake_api::{Ask, FakeApi, Reply};

use crate::scene::{MODEL, world_over};

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
    let api = FakeApi::start(|ask: &Ask| {
        if ask.news_has("look at it") {
            Reply::tool("t1", "Read", json!({"file_path": "shot.png"}))
        } else {
            Reply::text("seen")
        }
    });
    let world = world_over(&api);
    std::fs::write(world.project().join("shot.png"), PIXEL_BYTES).expect("a picture");
    let spawn = |more: &[&str]| {
        let words = ["spawn", "bob", "--backend", "headless", "--model", MODEL];
        world.swarm(&[&words[..], more].concat()).ok();
    };
    spawn(&["--prompt", "look at it"]);
    let shown = json!([
        {"type": "text", "text": "[png picture, 1 x 1 pixels]"},
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
