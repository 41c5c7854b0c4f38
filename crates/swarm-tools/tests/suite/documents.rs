//! PDF files and notebooks.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lopdf::content::{Content, Operation};
use lopdf::{Document, Object, Stream, dictionary};
use serde_json::{Value, json};
use swarm_tools::Attachment;

use crate::scene::Scene;

/// Creates a PDF file whose pages contain their numbers.
fn pdf(pages: u32) -> Vec<u8> {
    let mut document = Document::with_version("1.5");
    let parent = document.new_object_id();
    let font = document.add_object(dictionary! {
        "Type" => "Font", "Subtype" => "Type1", "BaseFont" => "Courier",
    });
    let fonts = dictionary! {"Font" => dictionary! {"F1" => font}};
    let resources = document.add_object(fonts);
    let kids: Vec<Object> = (1..=pages)
        .map(|page| {
            let words = format!("words of page {page}");
            let operations = vec![
                Operation::new("BT", vec![]),
                Operation::new("Tf", vec!["F1".into(), 12.into()]),
                Operation::new("Tj", vec![Object::string_literal(words)]),
                Operation::new("ET", vec![]),
            ];
            let content = Content { operations }.encode().unwrap();
            let content = document.add_object(Stream::new(dictionary! {}, content));
            let page = dictionary! {"Type" => "Page", "Parent" => parent, "Contents" => content};
            document.add_object(page).into()
        })
        .collect();
    let tree = dictionary! {
        "Type" => "Pages", "Kids" => kids, "Count" => i64::from(pages), "Resources" => resources,
        "MediaBox" => vec![0.into(), 0.into(), 595.into(), 842.into()],
    };
    document.objects.insert(parent, Object::Dictionary(tree));
    let catalog = document.add_object(dictionary! {"Type" => "Catalog", "Pages" => parent});
    document.trailer.set("Root", catalog);
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).unwrap();
    bytes
}

#[tokio::test]
async fn a_pdf_file_is_a_document_for_models_that_accept_it_and_text_for_others() {
    let mut scene = Scene::new();
    let bytes = pdf(3);
    let path = scene.put("a.pdf", &bytes);
    scene.ctx.documents = true;
    let output = scene.call("Read", json!({"file_path": path})).await;
    assert_eq!(output.content, "[PDF file, 3 pages]");
    assert_eq!(
        output.attachments,
        [Attachment::Pdf(STANDARD.encode(&bytes))]
    );
    let input = json!({"file_path": path, "pages": "2-3"});
    let output = scene.call("Read", input.clone()).await;
    assert_eq!(output.content, "[PDF file, pages 2 to 3 of 3 pages]");
    let [Attachment::Pdf(part)] = &output.attachments[..] else {
        panic!("{output:?}");
    };
    let part = Document::load_mem(&STANDARD.decode(part).unwrap()).unwrap();
    assert_eq!(part.get_pages().len(), 2);
    let words = part.extract_text(&[1]).unwrap();
    assert!(words.contains("words of page 2"), "{words}");
    scene.ctx.documents = false;
    let output = scene.call("Read", input).await;
    assert!(output.attachments.is_empty());
    assert_eq!(
        output.content,
        "[PDF file, pages 2 to 3 of 3 pages. PDF files cannot be shown to you, so this is the text, without images and \
         layout.]\n--- page 2 ---\nwords of page 2\n--- page 3 ---\nwords of page 3\n"
    );
}

#[tokio::test]
async fn the_error_for_a_long_or_damaged_pdf_file_says_what_to_do() {
    let scene = Scene::new();
    let path = scene.put("long.pdf", pdf(11));
    let refused = |input: Value| scene.refused("Read", input);
    let why = refused(json!({"file_path": path})).await;
    assert!(
        why.contains("long.pdf cannot be shown: it has 11 pages; choose at most 20"),
        "{why}"
    );
    let why = refused(json!({"file_path": path, "limit": 5})).await;
    assert!(why.contains("use `pages`"), "{why}");
    let path = scene.put("broken.pdf", "%PDF-1.5\nnothing");
    let why = refused(json!({"file_path": path})).await;
    assert!(why.contains("it is damaged or password-protected"), "{why}");
    let path = scene.put("a.txt", "text");
    let why = refused(json!({"file_path": path, "pages": "1"})).await;
    assert!(why.contains("is not a PDF file"), "{why}");
}

fn notebook() -> String {
    "{\n \"cells\": [\n  {\n   \"cell_type\": \"code\",\n   \"execution_count\": 1,\n   \"id\": \"a\",\n   \"metadata\": {},\n   \
     \"outputs\": [],\n   \"source\": [\n    \"x = 1\"\n   ]\n  }\n ],\n \"metadata\": {},\n \"nbformat\": 4,\n \
     \"nbformat_minor\": 5\n}\n"
        .to_owned()
}

#[tokio::test]
async fn a_notebook_is_read_as_cells_or_as_lines_if_requested() {
    let scene = Scene::new();
    let path = scene.put("n.ipynb", notebook());
    let shown = scene.ok("Read", json!({"file_path": path})).await;
    assert_eq!(shown, "<cell id=\"a\">x = 1</cell id=\"a\">\n");
    let lines = json!({"file_path": path, "limit": 1});
    let shown = scene.ok("Read", lines).await;
    assert!(shown.starts_with("     1\t{\n"), "{shown}");
    let path = scene.put("broken.ipynb", "{\"cells\": [");
    let shown = scene.ok("Read", json!({"file_path": path})).await;
    assert_eq!(shown, "     1\t{\"cells\": [\n");
}

#[tokio::test]
async fn a_cell_is_edited_only_if_the_notebook_was_read_and_is_unchanged() {
    let scene = Scene::new();
    let path = scene.put("n.ipynb", notebook());
    let edit = json!({"notebook_path": path, "cell_id": "a", "new_source": "x = 2"});
    let why = scene.refused("NotebookEdit", edit.clone()).await;
    assert!(why.contains("was not read in this session"), "{why}");
    scene.ok("Read", json!({"file_path": path})).await;
    let done = scene.ok("NotebookEdit", edit.clone()).await;
    assert!(done.starts_with("The cell \"a\" was changed in "), "{done}");
    let expected = notebook()
        .replace("x = 1", "x = 2")
        .replace("\"execution_count\": 1", "\"execution_count\": null");
    assert_eq!(String::from_utf8(scene.get("n.ipynb")).unwrap(), expected);
    // Its own changes count as read.
    let insert = json!({"notebook_path": path, "cell_id": "a", "new_source": "# End", "cell_type": "markdown",
        "edit_mode": "insert"});
    scene.ok("NotebookEdit", insert).await;
    let shown = scene.ok("Read", json!({"file_path": path})).await;
    assert!(
        shown.contains("<cell_type>markdown</cell_type># End</cell id="),
        "{shown}"
    );
    scene.put("n.ipynb", notebook());
    let delete =
        json!({"notebook_path": path, "cell_id": "a", "new_source": "", "edit_mode": "delete"});
    let why = scene.refused("NotebookEdit", delete.clone()).await;
    assert!(why.contains("changed since you read it"), "{why}");
    scene.ok("Read", json!({"file_path": path})).await;
    scene.ok("NotebookEdit", delete).await;
    let left: Value = serde_json::from_slice(&scene.get("n.ipynb")).unwrap();
    assert_eq!(left["cells"], json!([]));
}

#[tokio::test]
async fn the_error_for_an_incomplete_notebook_edit_says_what_is_missing() {
    let scene = Scene::new();
    let path = scene.put("n.ipynb", notebook());
    scene.ok("Read", json!({"file_path": path})).await;
    for (input, words) in [
        (json!({"new_source": "x"}), "`cell_id` is required"),
        (
            json!({"new_source": "x", "edit_mode": "insert"}),
            "`cell_type` is required",
        ),
        (
            json!({"new_source": "x", "cell_id": "b"}),
            "it has no cell with the id \"b\"",
        ),
    ] {
        let mut input = input;
        input["notebook_path"] = json!(path);
        let why = scene.refused("NotebookEdit", input).await;
        assert!(why.contains(words), "{why}");
    }
}
