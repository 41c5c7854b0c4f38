//! A scratch directory and a context to call tools in.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use swarm_protocol::MemberName;
use swarm_tools::{Caller, ProtectedPaths, Tool, ToolContext, ToolOutput, builtin};
use tempfile::TempDir;

/// A working directory `work` and a state directory `root` next to it.
#[derive(Debug)]
pub(crate) struct Scene {
    scratch: TempDir,
    pub(crate) ctx: ToolContext,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let base = scratch.path().canonicalize().unwrap();
        let cwd = base.join("work");
        std::fs::create_dir_all(&cwd).unwrap();
        std::fs::create_dir_all(base.join("root")).unwrap();
        let env = BTreeMap::from([
            ("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ("LANG".to_owned(), "C.UTF-8".to_owned()),
        ]);
        let ctx = ToolContext {
            env: Arc::new(env),
            protected: Arc::new(ProtectedPaths::new(&base.join("root"))),
            tool_use_id: "toolu_1".into(),
            ..ToolContext::new(cwd, Caller::new(MemberName::lead()))
        };
        Self { scratch, ctx }
    }

    pub(crate) fn base(&self) -> PathBuf {
        self.scratch.path().canonicalize().unwrap()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.ctx.cwd.join(name)
    }

    pub(crate) fn text_path(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        put_at(&path, content);
        path
    }

    pub(crate) fn get(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    pub(crate) async fn call(&self, tool: &str, input: Value) -> ToolOutput {
        let tool = tool_named(tool);
        let output = tool.call(input, &self.ctx).await;
        let plain = |line: &str| !line.contains(char::is_control) && line.chars().count() < 120;
        assert!(plain(&output.one_line), "{:?}", output.one_line);
        output
    }

    pub(crate) async fn ok(&self, tool: &str, input: Value) -> String {
        let output = self.call(tool, input).await;
        assert!(!output.is_error, "{}", output.content);
        output.content
    }

    pub(crate) async fn refused(&self, tool: &str, input: Value) -> String {
        let output = self.call(tool, input).await;
        assert!(output.is_error, "{}", output.content);
        output.content
    }
}

pub(crate) fn put_at(path: &Path, content: impl AsRef<[u8]>) {
    use std::io::Write;
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::File::create(path)
        .unwrap()
        .write_all(content.as_ref())
        .unwrap();
}

pub(crate) fn tool_named(name: &str) -> Arc<dyn Tool> {
    builtin()
        .into_iter()
        .find(|tool| tool.name() == name)
        .unwrap()
}
