//! Glob and Grep on a small tree.

use std::time::{Duration, SystemTime};

use crate::scene::Scene;
use serde_json::json;

fn tree() -> Scene {
    let scene = Scene::new();
    scene.put(".gitignore", "target/\n*.log\n");
    scene.put("src/lib.rs", "fn one() {}\nfn two() {}\n// end\n");
    scene.put("src/deep/mod.rs", "fn Three() {}\n");
    scene.put("target/debug/x.rs", "fn built() {}\n");
    scene.put("a.log", "fn logged\n");
    scene.put(".github/ci.yml", "on: hidden\n");
    scene.put(".git/HEAD.rs", "fn git() {}\n");
    scene.put("blob", b"fn bin\0");
    for (age, name) in [
        "src/lib.rs",
        "src/deep/mod.rs",
        "target/debug/x.rs",
        "a.log",
        ".github/ci.yml",
    ]
    .iter()
    .enumerate()
    {
        let file = std::fs::File::options()
            .write(true)
            .open(scene.path(name))
            .unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000 - age as u64))
            .unwrap();
    }
    scene
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

#[tokio::test]
async fn glob_finds_by_name_newest_first() {
    let scene = tree();
    let all = scene.ok("Glob", json!({"pattern": "**/*.rs"})).await;
    assert_eq!(
        all,
        format!(
            "{}\n{}",
            scene.text_path("src/lib.rs"),
            scene.text_path("src/deep/mod.rs")
        )
    );
    assert_eq!(scene.ok("Glob", json!({"pattern": "*.rs"})).await, all);
    assert_eq!(
        scene.ok("Glob", json!({"pattern": "src/*.rs"})).await,
        scene.text_path("src/lib.rs")
    );
    assert_eq!(
        scene
            .ok("Glob", json!({"pattern": "*.rs", "path": "src/deep"}))
            .await,
        scene.text_path("src/deep/mod.rs")
    );
    let absolute = scene.text_path("src/**/mod.{rs,ts}");
    assert_eq!(
        scene.ok("Glob", json!({"pattern": absolute})).await,
        scene.text_path("src/deep/mod.rs")
    );
    assert_eq!(
        scene.ok("Glob", json!({"pattern": "*.py"})).await,
        "No file matches."
    );
}

#[tokio::test]
async fn glob_falls_back_to_ignored_files_and_says_so() {
    let scene = tree();
    for (pattern, path) in [("*.log", "a.log"), ("target/**/*.rs", "target/debug/x.rs")] {
        let text = scene.ok("Glob", json!({"pattern": pattern})).await;
        assert_eq!(
            lines(&text),
            [&scene.text_path(path), "[only files ignored by git match]"]
        );
    }
    assert_eq!(
        scene.ok("Glob", json!({"pattern": "HEAD.rs"})).await,
        "No file matches."
    );
}

#[tokio::test]
async fn hidden_files_are_searched_except_those_of_git() {
    let scene = tree();
    scene.put("visible.yml", "fn: visible\n");
    scene.put(".gitlab-ci.yml", "ignored\n");
    scene.put(".gitignore", "target/\n*.log\n.gitlab-ci.yml\n");
    let both = scene.ok("Glob", json!({"pattern": "**/*.yml"})).await;
    assert_eq!(
        lines(&both),
        [
            scene.text_path("visible.yml"),
            scene.text_path(".github/ci.yml")
        ]
    );
    for extra in [
        json!({"pattern": "hidden"}),
        json!({"pattern": "hidden", "glob": "**/*.yml"}),
        json!({"pattern": "hidden", "glob": ".github/**"}),
        json!({"pattern": "hidden", "path": ".github"}),
    ] {
        assert_eq!(
            scene.ok("Grep", extra.clone()).await,
            ".github/ci.yml",
            "{extra}"
        );
    }
}

#[tokio::test]
async fn a_search_that_examined_no_file_says_so() {
    let scene = tree();
    std::fs::create_dir(scene.path("empty")).unwrap();
    for extra in [
        json!({"pattern": "x", "path": "empty"}),
        json!({"pattern": "x", "type": "py"}),
        json!({"pattern": "x", "glob": "*.nothing", "output_mode": "content"}),
        json!({"pattern": "x", "path": "empty", "output_mode": "count"}),
    ] {
        let text = scene.ok("Grep", extra.clone()).await;
        assert!(
            text.starts_with("No files were searched: "),
            "{extra}: {text}"
        );
    }
}

#[tokio::test]
async fn a_search_skips_hard_links_if_some_files_must_not_be_read() {
    let mut scene = tree();
    let secret = scene.put(".env", "KEY=1\n");
    scene.put("plain", "KEY=2\n");
    std::fs::hard_link(&secret, scene.path("copy")).unwrap();
    let search = json!({"pattern": "KEY"});
    assert_eq!(lines(&scene.ok("Grep", search.clone()).await).len(), 3);
    let hidden = secret.clone();
    let protected = (*scene.ctx.protected)
        .clone()
        .hide_where(move |path| path == hidden);
    scene.ctx.protected = std::sync::Arc::new(protected);
    let note =
        "1 file with several hard links not searched, because rules forbid reading some files";
    for mode in ["files_with_matches", "content", "count"] {
        let input = json!({"pattern": "KEY", "output_mode": mode});
        let text = scene.ok("Grep", input).await;
        assert!(
            text.starts_with("plain")
                && !text.contains("copy")
                && text.contains(&format!("\n[{note}]")),
            "{text}"
        );
    }
    // Permission was given for this file.
    let input = json!({"pattern": "KEY", "path": "copy"});
    let named = scene.ok("Grep", input).await;
    assert_eq!(named, "copy");
}

#[tokio::test]
async fn glob_shows_a_hundred_files_and_the_total() {
    let scene = Scene::new();
    for n in 0..130 {
        scene.put(&format!("f{n}.txt"), "");
    }
    let output = scene.call("Glob", json!({"pattern": "*.txt"})).await;
    assert_eq!(output.content.lines().count(), 101);
    assert!(
        output
            .content
            .ends_with("[the newest 100 of 130; narrow the pattern or the path]")
    );
    assert_eq!(output.one_line, "130 files");
}

#[tokio::test]
async fn glob_errors_name_the_problem() {
    let scene = tree();
    assert!(
        scene
            .refused("Glob", json!({"pattern": "a["}))
            .await
            .contains("is not a valid pattern")
    );
    assert!(
        scene
            .refused("Glob", json!({"pattern": "*", "path": "nowhere"}))
            .await
            .contains("is not a directory")
    );
    assert!(
        scene
            .refused("Glob", json!({"pattern": "**/../x"}))
            .await
            .contains("`..`")
    );
}

#[tokio::test]
async fn grep_lists_files_by_default() {
    let scene = tree();
    assert_eq!(
        scene.ok("Grep", json!({"pattern": "fn \\w+\\("})).await,
        "src/lib.rs\nsrc/deep/mod.rs"
    );
    assert_eq!(
        scene.ok("Grep", json!({"pattern": "nothing at all"})).await,
        "No matches."
    );
    let input = json!({"pattern": "fn ", "head_limit": 1});
    let output = scene.call("Grep", input).await;
    assert_eq!(
        output.content,
        "src/lib.rs\n[more results: continue with offset 1, or narrow the search]"
    );
    assert_eq!(output.one_line, "2 files");
    assert_eq!(
        scene
            .ok("Grep", json!({"pattern": "fn ", "offset": 1}))
            .await,
        "src/deep/mod.rs"
    );
}

#[tokio::test]
async fn grep_shows_lines_with_context() {
    let scene = tree();
    let content = |extra: serde_json::Value| {
        let mut input = json!({"pattern": "two", "output_mode": "content"});
        input
            .as_object_mut()
            .unwrap()
            .extend(extra.as_object().unwrap().clone());
        input
    };
    assert_eq!(
        scene.ok("Grep", content(json!({}))).await,
        "src/lib.rs:2:fn two() {}"
    );
    assert_eq!(
        scene.ok("Grep", content(json!({"-n": false}))).await,
        "src/lib.rs:fn two() {}"
    );
    let around = "src/lib.rs-1-fn one() {}\nsrc/lib.rs:2:fn two() {}\nsrc/lib.rs-3-// end";
    for extra in [
        json!({"-C": 1}),
        json!({"context": 1}),
        json!({"-A": 1, "-B": 1}),
    ] {
        assert_eq!(scene.ok("Grep", content(extra)).await, around);
    }
    assert_eq!(
        scene.ok("Grep", content(json!({"-A": 1}))).await,
        around.split_once('\n').unwrap().1
    );
    let every = json!({"pattern": "(?i)three|one", "output_mode": "content", "-A": 0, "-C": 1});
    let text = scene.ok("Grep", every).await;
    assert_eq!(
        lines(&text),
        [
            "src/deep/mod.rs:1:fn Three() {}",
            "--",
            "src/lib.rs:1:fn one() {}"
        ]
    );
}

#[tokio::test]
async fn grep_counts_filters_and_spans_lines() {
    let scene = tree();
    let input = json!({"pattern": "^fn", "output_mode": "count"});
    let count = scene.ok("Grep", input).await;
    assert_eq!(count, "src/deep/mod.rs:1\nsrc/lib.rs:2\n3 lines in 2 files");
    for (extra, found) in [
        (json!({"pattern": "THREE", "-i": true}), "src/deep/mod.rs"),
        (json!({"pattern": "fn", "glob": "src/*.rs"}), "src/lib.rs"),
        (
            json!({"pattern": "fn", "glob": "*.rs,!**/lib.rs"}),
            "src/deep/mod.rs",
        ),
        (
            json!({"pattern": "fn", "type": "rust", "path": "src/deep"}),
            "src/deep/mod.rs",
        ),
        (
            json!({"pattern": "one.*two", "multiline": true}),
            "src/lib.rs",
        ),
        (json!({"pattern": "one.*two"}), "No matches."),
        (json!({"pattern": "fn", "path": "src/lib.rs"}), "src/lib.rs"),
        (
            json!({"pattern": "\\$|\\{\\}", "glob": "lib.rs"}),
            "src/lib.rs",
        ),
    ] {
        assert_eq!(scene.ok("Grep", extra.clone()).await, found, "{extra}");
    }
}

#[tokio::test]
async fn grep_excludes_what_ripgrep_excludes_unless_it_is_named() {
    let scene = tree();
    for (extra, found) in [
        (json!({"pattern": "built|logged|git|bin"}), "No matches."),
        (
            json!({"pattern": "built", "path": "target"}),
            "target/debug/x.rs",
        ),
        (json!({"pattern": "logged", "path": "a.log"}), "a.log"),
    ] {
        assert_eq!(scene.ok("Grep", extra.clone()).await, found, "{extra}");
    }
}

#[tokio::test]
async fn grep_errors_name_the_problem() {
    let scene = tree();
    assert!(
        scene
            .refused("Grep", json!({"pattern": "a("}))
            .await
            .contains("is not a valid regular expression")
    );
    assert!(
        scene
            .refused("Grep", json!({"pattern": "a", "path": "nowhere"}))
            .await
            .contains("does not exist")
    );
    assert!(
        scene
            .refused("Grep", json!({"pattern": "a", "type": "klingon"}))
            .await
            .contains("klingon")
    );
    assert!(
        scene
            .refused("Grep", json!({"pattern": "a", "output_mode": "lines"}))
            .await
            .contains("files_with_matches")
    );
    assert!(
        scene
            .refused("Grep", json!({"pattern": "a", "glob": "a["}))
            .await
            .contains("is not a valid glob")
    );
    assert!(
        scene
            .refused("Grep", json!({"patern": "a"}))
            .await
            .contains("unknown parameter `patern`")
    );
}

#[tokio::test]
async fn long_lines_and_large_results_are_truncated() {
    let scene = Scene::new();
    scene.put("wide", "x".repeat(3_000));
    let input = json!({"pattern": "x", "output_mode": "content"});
    let wide = scene.ok("Grep", input).await;
    assert!(wide.len() < 600 && wide.ends_with(" [truncated]"));
    scene.put("many", "x\n".repeat(10_000));
    let input = json!({"pattern": "x", "output_mode": "content", "path": "many"});
    let many = scene.ok("Grep", input).await;
    assert_eq!(many.lines().count(), 251);
    let input = json!({"pattern": "x", "output_mode": "content", "head_limit": 0});
    let all = scene.ok("Grep", input).await;
    assert!(all.len() < 41_000 && all.contains("more results"));
}

#[tokio::test]
async fn a_search_does_not_show_files_that_must_not_be_read() {
    let mut scene = tree();
    let secret = scene.path("src/deep");
    let protected = (*scene.ctx.protected)
        .clone()
        .hide_where(move |path| path.starts_with(&secret));
    scene.ctx.protected = std::sync::Arc::new(protected);
    assert_eq!(
        scene.ok("Grep", json!({"pattern": "fn"})).await,
        "src/lib.rs"
    );
    assert_eq!(
        scene.ok("Glob", json!({"pattern": "*.rs"})).await,
        scene.text_path("src/lib.rs")
    );
    assert!(
        scene
            .refused("Grep", json!({"pattern": "fn", "path": "src/deep"}))
            .await
            .contains("must not be read")
    );
}

#[tokio::test]
async fn an_interrupted_search_stops() {
    let scene = tree();
    scene.ctx.cancel.cancel();
    assert!(
        scene
            .refused("Grep", json!({"pattern": "fn"}))
            .await
            .contains("interrupted")
    );
    assert!(
        scene
            .refused("Glob", json!({"pattern": "*"}))
            .await
            .contains("interrupted")
    );
}
