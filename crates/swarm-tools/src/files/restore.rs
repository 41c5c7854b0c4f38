//! Returns files to the contents that they had at an earlier position in the conversation.

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

use swarm_os::OsError;
use swarm_protocol::content_digest;

use super::history::{FileChange, FileHistory};
use super::{Target, load, replace};
use crate::ToolContext;

/// Id of the changes that restore earlier contents.
const REWIND: &str = "rewind";

/// A file that was changed since a position in the transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// The file, with symbolic links resolved.
    pub path: PathBuf,
    /// What restoring it means.
    pub restoration: Restoration,
    /// Digest of the earlier content, if the file existed.
    earlier: Option<String>,
}

/// What restoring a file means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Restoration {
    /// It gets its earlier content.
    Replace,
    /// It is removed, because it did not exist.
    Remove,
    /// It is left as it is, for this reason.
    Keep(String),
}

impl FileHistory {
    /// Returns the files that were changed since the transcript had `position` bytes, in order of
    /// their first change, and what restoring them means. Files that have their earlier content are
    /// left out.
    ///
    /// # Errors
    /// Returns an error if the journal cannot be read.
    pub fn changed_since(
        &self,
        position: u64,
        ctx: &ToolContext,
    ) -> Result<Vec<ChangedFile>, OsError> {
        let files = self.changes_since(position)?.into_iter();
        Ok(files.filter_map(|file| changed(&file, ctx)).collect())
    }

    /// Gives files their earlier contents. Returns them with what was done: a file that cannot be
    /// restored is left as it is.
    ///
    /// # Errors
    /// Returns an error if the journal cannot be read.
    pub fn restore(&self, position: u64, ctx: &ToolContext) -> Result<Vec<ChangedFile>, OsError> {
        let mut files = self.changed_since(position, ctx)?;
        for file in &mut files {
            if !matches!(file.restoration, Restoration::Keep(_))
                && let Err(why) = self.restore_file(file, ctx)
            {
                file.restoration = Restoration::Keep(why);
            }
        }
        Ok(files)
    }

    fn restore_file(&self, file: &ChangedFile, ctx: &ToolContext) -> Result<(), String> {
        let target = restorable(&file.path, ctx)?;
        let Some((present, stamp)) = load(&target)? else {
            return Err("it was removed meanwhile".to_owned());
        };
        let failed = |error: &dyn Display| format!("it cannot be restored: {error}");
        let earlier = match &file.earlier {
            None => None,
            Some(digest) => {
                let kept = self.kept(digest).map_err(|error| failed(&error))?;
                Some(kept.ok_or("its earlier content was not kept")?)
            }
        };
        self.record(REWIND, &target.real, Some(&present), earlier.as_deref())
            .map_err(|error| failed(&error))?;
        match earlier {
            Some(content) => replace(&target.real, &content, &stamp).map(drop),
            None => fs::remove_file(&target.real),
        }
        .map_err(|error| failed(&error))
    }
}

/// Returns what restoring a file with these changes means; `None` if it has its earlier content.
fn changed(changes: &[FileChange], ctx: &ToolContext) -> Option<ChangedFile> {
    let first = changes.first()?;
    let path = PathBuf::from(&first.path);
    let restoration = match present(&path, ctx) {
        Ok(present) if present == first.before => return None,
        Ok(present) if !is_own(changes, present.as_deref()) => {
            Restoration::Keep("changed since then by a person or another program".to_owned())
        }
        Ok(_) if first.before.is_none() => Restoration::Remove,
        Ok(_) => Restoration::Replace,
        Err(why) => Restoration::Keep(why),
    };
    Some(ChangedFile {
        path,
        restoration,
        earlier: first.before.clone(),
    })
}

/// Returns whether no other program changed a file between or after changes: each finds the content that
/// the one before left. A change may have failed after it was recorded.
fn is_own(changes: &[FileChange], present: Option<&str>) -> bool {
    let found = changes
        .iter()
        .skip(1)
        .map(|change| change.before.as_deref());
    let mut found = found.chain([present]).zip(changes);
    found.all(|(content, change)| {
        content == change.after.as_deref() || content == change.before.as_deref()
    })
}

fn present(path: &Path, ctx: &ToolContext) -> Result<Option<String>, String> {
    let loaded = load(&restorable(path, ctx)?)?;
    Ok(loaded.map(|(content, _)| content_digest(&content)))
}

/// Returns the target of a recorded path, if file tools may still write there.
fn restorable(path: &Path, ctx: &ToolContext) -> Result<Target, String> {
    let name = path.to_string_lossy();
    if ctx.protected.is_decision_log(path) {
        return Err("other members may have read these decisions".to_owned());
    }
    if Target::new(&name, &ctx.cwd)?.real != path {
        return Err("its path now leads through a symbolic link".to_owned());
    }
    // The refusals of file tools are advice for a model.
    Target::to_write(&name, ctx).map_err(|_refusal| "file tools may not write it".to_owned())
}

#[cfg(test)]
mod tests {
    use swarm_os::{append_durable, replace_alone};
    use swarm_protocol::MemberName;

    use super::*;
    use crate::Caller;

    /// A working directory whose changes by file tools are recorded.
    struct RecordedFiles {
        _scratch: tempfile::TempDir,
        ctx: ToolContext,
        history: FileHistory,
    }

    impl RecordedFiles {
        fn new() -> Self {
            let scratch = tempfile::tempdir().unwrap();
            let base = scratch.path().canonicalize().unwrap();
            let (cwd, transcript) = (base.join("work"), base.join("session.jsonl"));
            fs::create_dir(&cwd).unwrap();
            let history = FileHistory::of_transcript(&transcript);
            let ctx = ToolContext::new(cwd, Caller::new(MemberName::lead()));
            let mut files = Self {
                _scratch: scratch,
                ctx,
                history,
            };
            files.prompt();
            files.ctx.history = Some(files.history.clone().into());
            files
        }

        /// Adds a line to the transcript and returns its position.
        fn prompt(&self) -> u64 {
            let path = &self.history.transcript;
            let position = fs::metadata(path).map_or(0, |file| file.len());
            append_durable(path, b"a line").unwrap();
            position
        }

        fn write(&self, name: &str, content: &str) {
            let target = Target::to_write(name, &self.ctx).unwrap();
            let existing = load(&target).unwrap();
            let content = content.as_bytes();
            super::super::change(&target, existing.as_ref(), content, &self.ctx).unwrap();
        }

        /// Changes a file as another program does.
        fn put(&self, name: &str, content: &str) {
            replace_alone(&self.ctx.cwd.join(name), content.as_bytes()).unwrap();
        }

        fn restore(&self, position: u64) -> Vec<Restoration> {
            let restored = self.history.restore(position, &self.ctx).unwrap();
            let restorations = restored.into_iter().map(|file| file.restoration);
            restorations.collect()
        }

        fn content(&self, name: &str) -> Option<String> {
            fs::read_to_string(self.ctx.cwd.join(name)).ok()
        }
    }

    fn kept() -> Restoration {
        Restoration::Keep("changed since then by a person or another program".to_owned())
    }

    #[test]
    fn files_return_to_their_contents_at_a_position() {
        let files = RecordedFiles::new();
        files.put("a", "one");
        files.write("a", "two");
        let second = files.prompt();
        files.write("a", "three");
        files.write("new", "text");
        files.write("a", "four");
        let restored = files.restore(second);
        assert_eq!(restored, [Restoration::Replace, Restoration::Remove]);
        assert_eq!(files.content("a").as_deref(), Some("two"));
        assert_eq!(files.content("new"), None);
        assert_eq!(files.restore(second), [], "nothing is left to restore");
        // What was restored is also known as this agent's write.
        assert_eq!(files.restore(0), [Restoration::Replace]);
        assert_eq!(files.content("a").as_deref(), Some("one"));
    }

    #[test]
    fn a_file_that_somebody_else_changed_after_or_between_is_kept() {
        let files = RecordedFiles::new();
        for name in ["after", "between", "removed"] {
            files.put(name, "one");
            files.write(name, "two");
        }
        files.put("after", "theirs");
        files.put("between", "theirs");
        files.write("between", "three");
        fs::remove_file(files.ctx.cwd.join("removed")).unwrap();
        assert_eq!(files.restore(0), [kept(), kept(), kept()]);
        assert_eq!(files.content("after").as_deref(), Some("theirs"));
        assert_eq!(files.content("between").as_deref(), Some("three"));
    }

    #[test]
    fn a_change_that_failed_after_it_was_recorded_does_not_count() {
        let files = RecordedFiles::new();
        files.put("a", "one");
        let path = files.ctx.cwd.join("a");
        let (history, one) = (&files.history, Some(&b"one"[..]));
        history.record("t", &path, one, Some(b"two")).unwrap();
        assert_eq!(files.restore(0), []);
        files.write("a", "three");
        assert_eq!(files.restore(0), [Restoration::Replace]);
        assert_eq!(files.content("a").as_deref(), Some("one"));
    }

    #[test]
    fn a_recorded_path_is_checked_again() {
        let files = RecordedFiles::new();
        fs::create_dir(files.ctx.cwd.join("dir")).unwrap();
        files.write("dir/a", "two");
        files.write(".env", "two");
        let elsewhere = files.ctx.cwd.with_file_name("elsewhere");
        fs::rename(files.ctx.cwd.join("dir"), &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, files.ctx.cwd.join("dir")).unwrap();
        let restored = files.restore(0);
        let [Restoration::Keep(why), Restoration::Remove] = &restored[..] else {
            panic!("{restored:?}");
        };
        assert_eq!(why, "its path now leads through a symbolic link");
        assert!(elsewhere.join("a").exists());
    }

    #[test]
    fn contents_are_private_and_a_change_that_cannot_be_recorded_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let files = RecordedFiles::new();
        files.put("a", "one");
        files.write("a", "two");
        let directory = &files.history.directory;
        let modes = fs::read_dir(directory).unwrap().map(|entry| {
            let mode = entry.unwrap().metadata().unwrap().permissions().mode();
            mode & 0o777
        });
        assert_eq!(modes.collect::<Vec<_>>(), [0o600, 0o600]);
        fs::remove_dir_all(directory).unwrap();
        std::os::unix::fs::symlink("/nowhere", directory).unwrap();
        let target = Target::to_write("a", &files.ctx).unwrap();
        let existing = load(&target).unwrap();
        let refused = super::super::change(&target, existing.as_ref(), b"three", &files.ctx);
        let refused = refused.unwrap_err();
        assert!(refused.contains("cannot be kept"), "{refused}");
        assert_eq!(files.content("a").as_deref(), Some("two"));
    }
}
