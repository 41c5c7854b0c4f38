//! Watches files for hooks: those named by matchers of `FileChanged`, settings files, and skills.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use futures::FutureExt as _;
use futures::future::select_all;
use serde_json::{Value, json};
use swarm_hooks::AgentHooks;
use swarm_os::{DirectoryWatcher, NameFilter, Subscription};
use swarm_permissions::HookEvent;
use swarm_protocol::Skill;
use tokio_util::sync::CancellationToken;

/// Managed settings of the machine, as in Claude Code.
const POLICY: &str = "/etc/claude-code/managed-settings.json";

/// Directories of the watched files.
pub(crate) struct Places<'a> {
    /// The member's working directory, the base of relative paths.
    pub(crate) cwd: &'a Path,
    /// The config directory.
    pub(crate) root: &'a Path,
    pub(crate) project: &'a Path,
    pub(crate) skills: &'a [Skill],
}

/// Runs hooks when files change.
pub(crate) struct HookWatch {
    hooks: AgentHooks,
    files: Vec<Watched>,
}

struct Watched {
    event: HookEvent,
    /// The value that matchers are compared with: the file name, or the settings source.
    matched: String,
    path: PathBuf,
    seen: Option<Stamp>,
    changes: Subscription,
}

/// Identifies the content of a file by its metadata.
#[derive(PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
    inode: u64,
}

impl HookWatch {
    /// Starts watching; `None` if no hook needs it.
    pub(crate) fn new(
        hooks: &AgentHooks,
        watcher: &DirectoryWatcher,
        places: &Places<'_>,
    ) -> Option<Self> {
        let event = HookEvent::FileChanged;
        let matchers = hooks.hooks().matchers(event);
        let names = matchers.iter().flat_map(|matcher| matcher.split('|'));
        let names = names.map(str::trim).filter(|name| !name.is_empty());
        let listed = names.map(|name| (event, name.to_owned(), places.cwd.join(name)));
        let settings = settings(places).into_iter();
        let settings = settings.map(|(source, path)| (HookEvent::ConfigChange, source, path));
        let all = listed.chain(settings);
        let wanted = all.filter(|(event, matched, _)| hooks.any(*event, Some(matched)));
        let files: Vec<Watched> = wanted
            .filter_map(|(event, matched, path)| {
                let name = path.file_name()?.to_owned();
                // Created before the first check, so that no change is missed.
                let changes = watcher.subscribe(path.parent()?, NameFilter::Exact(vec![name]));
                Some(Watched {
                    event,
                    matched,
                    seen: stamp(&path),
                    path,
                    changes,
                })
            })
            .collect();
        let hooks = hooks.clone();
        (!files.is_empty()).then_some(Self { hooks, files })
    }

    /// Runs until it is dropped.
    pub(crate) async fn run(mut self) {
        let never = CancellationToken::new();
        loop {
            let changes = self.files.iter_mut();
            select_all(changes.map(|one| one.changes.changed().boxed())).await;
            for one in &mut self.files {
                let Some(fields) = one.changed_fields() else {
                    continue;
                };
                let matched = Some(one.matched.as_str());
                self.hooks.fire(one.event, matched, fields, &never).await;
            }
        }
    }
}

impl Watched {
    /// Returns the fields of the event, if the file has changed since the last check.
    fn changed_fields(&mut self) -> Option<Value> {
        let now = stamp(&self.path);
        let before = std::mem::replace(&mut self.seen, now);
        let what = match (&before, &self.seen) {
            (before, now) if before == now => return None,
            (None, _) => "add",
            (_, None) => "unlink",
            _ => "change",
        };
        Some(if self.event == HookEvent::FileChanged {
            json!({"file_path": self.path, "event": what})
        } else {
            json!({"source": self.matched, "file_path": self.path})
        })
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let found = path.metadata().ok()?;
    Some(Stamp {
        modified: found.modified().ok(),
        length: found.len(),
        inode: found.ino(),
    })
}

/// Settings files and skills, each with the word of Claude Code's `ConfigChange`.
fn settings(places: &Places<'_>) -> Vec<(String, PathBuf)> {
    let project = places.project.join(".claude");
    let files = [
        ("user_settings", places.root.join("settings.json")),
        ("project_settings", project.join("settings.json")),
        ("local_settings", project.join("settings.local.json")),
        ("policy_settings", PathBuf::from(POLICY)),
    ];
    let skills = places
        .skills
        .iter()
        .map(|skill| ("skills", skill.path.clone()));
    let all = files.into_iter().chain(skills);
    all.map(|(source, path)| (source.to_owned(), path))
        .collect()
}
