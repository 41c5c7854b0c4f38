//! Read, Write and Edit on real files.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use crate::scene::{self, Scene, put_at};
use serde_json::json;
use swarm_tools::Attachment;

#[tokio::test]
async fn an_image_is_shown_regardless_of_its_name_and_a_damaged_one_is_refused() {
    let scene = Scene::new();
    let mut png = Vec::new();
    let picture = image::DynamicImage::new_rgb8(30, 20);
    picture
        .write_to(&mut std::io::Cursor::new(&mut png), image::ImageFormat::Png)
        .unwrap();
    scene.put("shot.dat", &png);
    let input = json!({"file_path": scene.text_path("shot.dat")});
    let output = scene.call("Read", input).await;
    assert_eq!(output.content, "[png image, 30 x 20 pixels]");
    assert_eq!(output.one_line, "png, 30 x 20");
    let [Attachment::Picture(picture)] = &output.attachments[..] else {
        panic!("{:?}", output.attachments);
    };
    assert_eq!(picture.media_type, "image/png");
    scene.put("cut.png", &png[..20]);
    let input = json!({"file_path": scene.text_path("cut.png")});
    let refused = scene.refused("Read", input).await;
    assert!(
        refused.contains("cut.png cannot be shown: it is damaged"),
        "{refused}"
    );
}

#[tokio::test]
async fn a_file_is_read_with_line_numbers_and_in_ranges() {
    let scene = Scene::new();
    let path = scene.put("a.txt", "one\ntwo\nthree\n");
    assert_eq!(
        scene.ok("Read", json!({"file_path": path})).await,
        "     1\tone\n     2\ttwo\n     3\tthree\n"
    );
    let input = json!({"file_path": "a.txt", "offset": 2, "limit": "1"});
    let window = scene.ok("Read", input).await;
    assert_eq!(
        window,
        "     2\ttwo\n\n[lines 2 to 2 of 3; continue with offset 3]"
    );
    let input = json!({"file_path": path, "offset": 9});
    let beyond = scene.refused("Read", input).await;
    assert_eq!(beyond, "The file has only 3 lines: there is no line 9.");
}

#[tokio::test]
async fn the_defaults_show_two_thousand_lines_of_two_thousand_characters() {
    let scene = Scene::new();
    scene.put("long", "x\n".repeat(5_000));
    let shown = scene.ok("Read", json!({"file_path": "long"})).await;
    assert_eq!(shown.lines().count(), 2_002);
    assert!(shown.ends_with("[lines 1 to 2000 of 5000; continue with offset 2001]"));
    scene.put("wide", "q".repeat(5_000));
    let shown = scene.ok("Read", json!({"file_path": "wide"})).await;
    assert_eq!(shown.matches('q').count(), 2_000);
    assert!(shown.contains("[truncated: the line has 5000 bytes]"));
}

#[tokio::test]
async fn the_error_for_a_file_that_is_not_text_says_what_it_is() {
    let scene = Scene::new();
    scene.put("empty", "");
    assert_eq!(
        scene.ok("Read", json!({"file_path": "empty"})).await,
        "The file exists and is empty."
    );
    scene.put("binary", b"\x7fELF\0\x01");
    assert!(
        scene
            .refused("Read", json!({"file_path": "binary"}))
            .await
            .contains("binary file of 6 bytes")
    );
    assert!(
        scene
            .refused("Read", json!({"file_path": "."}))
            .await
            .contains("is a directory")
    );
    scene.put("main.rs", "x");
    let missing = scene.refused("Read", json!({"file_path": "Main.py"})).await;
    assert!(
        missing.contains("does not exist. Did you mean ") && missing.contains("main.rs?"),
        "{missing}"
    );
    let fifo = scene.path("fifo");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    assert!(
        scene
            .refused("Read", json!({"file_path": fifo}))
            .await
            .contains("device, pipe or socket")
    );
    assert!(
        scene
            .refused("Read", json!({"file_path": "~/x"}))
            .await
            .contains("not absolute")
    );
    assert!(
        scene
            .refused("Read", json!({"file_path": "a\0b"}))
            .await
            .contains("NUL")
    );
}

#[tokio::test]
async fn an_existing_file_is_written_only_after_it_was_read() {
    let scene = Scene::new();
    scene.put("a", "old");
    let input = json!({"file_path": "a", "content": "new"});
    assert!(
        scene
            .refused("Write", input.clone())
            .await
            .contains("was not read in this session")
    );
    assert_eq!(scene.get("a"), b"old");
    scene.ok("Read", json!({"file_path": "a"})).await;
    scene.ok("Write", input.clone()).await;
    assert_eq!(scene.get("a"), b"new");
    scene
        .ok("Write", json!({"file_path": "a", "content": "newer"}))
        .await;
    assert_eq!(
        scene
            .call(
                "Write",
                json!({"file_path": "deep/er/b", "content": "x\ny"})
            )
            .await
            .one_line,
        "created, 2 lines"
    );
    assert_eq!(scene.get("deep/er/b"), b"x\ny");
    scene
        .ok(
            "Edit",
            json!({"file_path": "deep/er/b", "old_string": "x", "new_string": "z"}),
        )
        .await;
}

#[tokio::test]
async fn changes_by_others_are_not_overwritten() {
    let scene = Scene::new();
    scene.put("a", "one");
    scene.ok("Read", json!({"file_path": "a"})).await;
    let before = std::fs::metadata(scene.path("a")).unwrap();
    scene.put("a", "two");
    // Same length and restored time: only the content differs.
    let file = std::fs::File::options()
        .write(true)
        .open(scene.path("a"))
        .unwrap();
    file.set_modified(before.modified().unwrap()).unwrap();
    let write = json!({"file_path": "a", "content": "three"});
    assert!(
        scene
            .refused("Write", write)
            .await
            .contains("changed since you read it")
    );
    let edit = json!({"file_path": "a", "old_string": "two", "new_string": "three"});
    assert!(
        scene
            .refused("Edit", edit.clone())
            .await
            .contains("changed since you read it")
    );
    assert_eq!(scene.get("a"), b"two");
    scene.ok("Read", json!({"file_path": "a"})).await;
    scene.ok("Edit", edit).await;
    assert_eq!(scene.get("a"), b"three");
}

#[tokio::test]
async fn a_touched_file_with_unchanged_content_counts_as_read() {
    let scene = Scene::new();
    scene.put("a", "one");
    scene.ok("Read", json!({"file_path": "a"})).await;
    scene.put("a", "one");
    let input = json!({"file_path": "a", "old_string": "one", "new_string": "two"});
    scene.ok("Edit", input).await;
}

#[tokio::test]
async fn an_edit_needs_one_exact_match() {
    let scene = Scene::new();
    scene.put("a", "x = 1\ny = 1\n");
    scene.ok("Read", json!({"file_path": "a"})).await;
    let edit =
        |old: &str, new: &str| json!({"file_path": "a", "old_string": old, "new_string": new});
    assert!(
        scene
            .refused("Edit", edit("z", "w"))
            .await
            .contains("was not found in")
    );
    assert!(
        scene
            .refused("Edit", edit("1", "2"))
            .await
            .contains("occurs 2 times")
    );
    assert!(
        scene
            .refused("Edit", edit("1", "1"))
            .await
            .contains("are identical")
    );
    assert!(
        scene
            .refused("Edit", edit("", "2"))
            .await
            .contains("exists and is not empty")
    );
    assert_eq!(scene.get("a"), b"x = 1\ny = 1\n");
    let all = json!({"file_path": "a", "old_string": "1", "new_string": "2", "replace_all": true});
    assert_eq!(scene.call("Edit", all).await.one_line, "+2 -2 lines");
    assert_eq!(scene.get("a"), b"x = 2\ny = 2\n");
    let input = json!({"file_path": "new", "old_string": "", "new_string": "hello\n"});
    scene.ok("Edit", input).await;
    assert_eq!(scene.get("new"), b"hello\n");
    assert!(
        scene
            .refused(
                "Edit",
                json!({"file_path": "none", "old_string": "a", "new_string": "b"})
            )
            .await
            .contains("does not exist")
    );
}

#[tokio::test]
async fn mode_bits_line_ends_and_byte_order_mark_survive_an_edit() {
    let scene = Scene::new();
    let path = scene.put("a.sh", b"\xef\xbb\xbfone\r\ntwo\r\n");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o750)).unwrap();
    let inode = std::fs::metadata(&path).unwrap().ino();
    scene.ok("Read", json!({"file_path": path})).await;
    let input = json!({"file_path": path, "old_string": "one\ntwo", "new_string": "1\n2"});
    scene.ok("Edit", input).await;
    assert_eq!(scene.get("a.sh"), b"\xef\xbb\xbf1\r\n2\r\n");
    let after = std::fs::metadata(&path).unwrap();
    assert_eq!(after.permissions().mode() & 0o7777, 0o750);
    assert_ne!(
        after.ino(),
        inode,
        "replaced atomically, not modified in place"
    );
    let names: Vec<_> = std::fs::read_dir(&scene.ctx.cwd)
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    assert_eq!(names, ["a.sh"], "no temporary file remains");
}

#[tokio::test]
async fn a_link_within_the_working_directory_is_followed_and_preserved() {
    let scene = Scene::new();
    scene.put("real", "old");
    symlink("real", scene.path("link")).unwrap();
    scene.ok("Read", json!({"file_path": "link"})).await;
    let input = json!({"file_path": "link", "content": "new"});
    scene.ok("Write", input).await;
    assert!(
        std::fs::symlink_metadata(scene.path("link"))
            .unwrap()
            .is_symlink()
    );
    assert_eq!(scene.get("real"), b"new");
}

#[tokio::test]
async fn a_link_out_of_the_working_directory_is_not_written_through() {
    let scene = Scene::new();
    let outside = scene.base().join("outside");
    put_at(&outside, "old");
    symlink(&outside, scene.path("link")).unwrap();
    symlink(scene.base(), scene.path("up")).unwrap();
    symlink(scene.base().join("absent"), scene.path("dangling")).unwrap();
    scene.ok("Read", json!({"file_path": "link"})).await;
    for name in ["link", "up/outside", "up/fresh", "dangling"] {
        let input = json!({"file_path": name, "content": "new"});
        let why = scene.refused("Write", input).await;
        assert!(
            why.contains("outside the working directory"),
            "{name}: {why}"
        );
    }
    assert_eq!(std::fs::read(&outside).unwrap(), b"old");
    assert!(!scene.base().join("fresh").exists() && !scene.base().join("absent").exists());
    let input = json!({"file_path": outside, "content": "named itself"});
    scene.ok("Write", input).await;
}

#[tokio::test]
async fn protected_files_are_never_written_by_any_path() {
    let scene = Scene::new();
    let root = scene.base().join("root");
    put_at(&root.join("teams/t/config.json"), "{}");
    put_at(&scene.path(".git/config"), "[core]");
    symlink(root.join("teams"), scene.path("teams")).unwrap();
    symlink(".git", scene.path("g")).unwrap();
    symlink(root.join("tasks/t/1.json"), scene.path("dangling")).unwrap();
    let ways = [
        root.join("teams/t/config.json"),
        root.join("teams/t/inboxes/x.json"),
        root.join("tasks/t/1.json"),
        root.join("settings.json"),
        root.join("x/../teams/t/config.json"),
        scene.path("teams/t/config.json"),
        scene.path("teams/new"),
        scene.path("sub/../.git/config"),
        scene.path("g/config"),
        scene.path("g/hooks/pre-commit"),
        scene.path("dangling"),
        scene.path(".mcp.json"),
        scene.path(".claude/agents/x.md"),
        scene.path(".claude/settings.local.json"),
        scene.path(".claude/swarm.toml"),
    ];
    for path in ways {
        // The file was read, so that only the protection refuses the write.
        scene.call("Read", json!({"file_path": path})).await;
        let input = json!({"file_path": path, "content": "x"});
        let write = scene.refused("Write", input).await;
        assert!(
            write.contains("is protected"),
            "{}: {write}",
            path.display()
        );
        let edit = json!({"file_path": path, "old_string": "", "new_string": "x"});
        assert!(
            scene.refused("Edit", edit).await.contains("is protected"),
            "{}",
            path.display()
        );
    }
    assert_eq!(scene.get(".git/config"), b"[core]");
    assert!(!root.join("tasks").exists());
}

#[tokio::test]
async fn hidden_files_are_not_read() {
    let mut scene = Scene::new();
    let secret = scene.put("run/secret", "key");
    let protected = (*scene.ctx.protected).clone().hide(&scene.path("run"));
    scene.ctx.protected = std::sync::Arc::new(protected);
    symlink(&secret, scene.path("link")).unwrap();
    for path in [secret, scene.path("link"), "/proc/self/environ".into()] {
        assert!(
            scene
                .refused("Read", json!({"file_path": path}))
                .await
                .contains("must not be read")
        );
    }
}

#[tokio::test]
async fn a_write_that_fails_leaves_the_old_file() {
    let scene = Scene::new();
    scene.put("dir/a", "old");
    scene.ok("Read", json!({"file_path": "dir/a"})).await;
    assert!(
        scene
            .refused("Write", json!({"file_path": "dir", "content": "x"}))
            .await
            .contains("is a directory")
    );
    assert!(
        scene
            .refused("Write", json!({"file_path": "dir/a/b", "content": "x"}))
            .await
            .contains("cannot read")
    );
    assert_eq!(scene.get("dir/a"), b"old");
}

#[tokio::test]
async fn the_paths_of_a_call_are_known_before_it_runs() {
    let scene = Scene::new();
    symlink("/etc", scene.path("link")).unwrap();
    let touches = |tool: &str, input| scene::tool_named(tool).touches(&input, &scene.ctx.cwd);
    let etc = std::path::PathBuf::from("/etc");
    assert_eq!(
        touches("Write", json!({"file_path": "link/x"})),
        [etc.join("x")]
    );
    assert_eq!(
        touches("Read", json!({"file_path": "link/../y"})),
        [scene.path("y")]
    );
    assert_eq!(
        touches("Grep", json!({"pattern": "x"})),
        vec![scene.ctx.cwd.clone()]
    );
    assert_eq!(
        touches("Grep", json!({"pattern": "x", "path": "link"})),
        vec![etc.clone()]
    );
    assert_eq!(touches("Glob", json!({"pattern": "/etc/**/*.conf"})), [etc]);
}

#[test]
fn the_tools_have_the_names_and_parameters_that_models_know() {
    let tools: Vec<_> = swarm_tools::builtin()
        .iter()
        .map(|tool| {
            let schema = tool.input_schema();
            let names = schema["properties"]
                .as_object()
                .unwrap()
                .keys()
                .cloned()
                .collect::<Vec<_>>();
            (
                tool.name().to_owned(),
                names.join(" "),
                schema["required"].clone(),
            )
        })
        .collect();
    let expected = [
        ("Read", "file_path offset limit pages", json!(["file_path"])),
        (
            "Write",
            "file_path content",
            json!(["file_path", "content"]),
        ),
        (
            "Edit",
            "file_path old_string new_string replace_all",
            json!(["file_path", "old_string", "new_string"]),
        ),
        (
            "NotebookEdit",
            "notebook_path cell_id new_source cell_type edit_mode",
            json!(["notebook_path", "new_source"]),
        ),
        ("Glob", "pattern path", json!(["pattern"])),
        (
            "Grep",
            "pattern path glob type output_mode -A -B -C context -n -i multiline head_limit offset",
            json!(["pattern"]),
        ),
        (
            "Bash",
            "command timeout description run_in_background",
            json!(["command"]),
        ),
        ("TodoWrite", "todos", json!(["todos"])),
        ("AskUserQuestion", "questions", json!(["questions"])),
        ("EnterPlanMode", "", json!(null)),
        ("ExitPlanMode", "plan", json!(["plan"])),
    ];
    assert_eq!(
        tools,
        expected.map(|(name, parameters, required)| (
            name.to_owned(),
            parameters.to_owned(),
            required
        ))
    );
}
