//! Images that a person attaches by pasting their paths.

use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use swarm_protocol::image_mark;

/// File name extensions of images that models accept.
const EXTENSIONS: [&str; 5] = ["png", "jpg", "jpeg", "gif", "webp"];

/// The images of a session. A terminal pastes the path of a file that is dropped on it.
#[derive(Debug)]
pub(super) struct AttachedImages {
    cwd: PathBuf,
    home: Option<PathBuf>,
    paths: Mutex<Vec<PathBuf>>,
}

impl AttachedImages {
    pub(super) fn new(cwd: &Path, home: Option<PathBuf>) -> Self {
        Self {
            cwd: cwd.to_owned(),
            home,
            paths: Mutex::default(),
        }
    }

    /// Returns the marks that replace a pasted text, if it consists of paths of images.
    pub(super) fn attach(&self, pasted: &str) -> Option<String> {
        let words = shlex::split(pasted.trim())?;
        let found = words.iter().map(|word| self.image(word));
        let found: Vec<PathBuf> = found.collect::<Option<_>>()?;
        let mut paths = self.paths.lock();
        let marks = found.into_iter().map(|path| {
            paths.push(path);
            image_mark(paths.len(), None).map(|mark| mark + " ")
        });
        marks
            .collect::<Option<String>>()
            .filter(|marks| !marks.is_empty())
    }

    fn image(&self, word: &str) -> Option<PathBuf> {
        let word = word.strip_prefix("file://").unwrap_or(word);
        let path = match word.strip_prefix("~/") {
            Some(rest) => self.home.as_ref()?.join(rest),
            None => self.cwd.join(word),
        };
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        let is_image = EXTENSIONS.contains(&&*extension) && path.is_file();
        // A path that cannot be part of a mark stays text.
        (is_image && image_mark(1, Some(&path)).is_some()).then_some(path)
    }

    /// Adds the paths to the marks in a text, so that it can be sent and kept.
    pub(super) fn with_paths(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (at, path) in self.paths.lock().iter().enumerate() {
            let marks = (image_mark(at + 1, None), image_mark(at + 1, Some(path)));
            if let (Some(mark), Some(whole)) = marks {
                text = text.replace(&mark, &whole);
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "a file that only this test sees")]
    #[test]
    fn paths_of_images_become_marks_and_other_text_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        for name in ["a.png", "b c.JPG", "notes.txt", "x].png"] {
            std::fs::write(path(name), "").unwrap();
        }
        let images = AttachedImages::new(directory.path(), None);
        let attach = |text: &str| images.attach(text);
        assert_eq!(attach("a.png ").as_deref(), Some("[Image #1] "));
        let both = format!(
            "'{}' file://{}",
            path("b c.JPG").display(),
            path("a.png").display()
        );
        assert_eq!(attach(&both).as_deref(), Some("[Image #2] [Image #3] "));
        for text in [
            "notes.txt",
            "missing.png",
            "a.png and more",
            "x].png",
            "",
            "it's",
            "~/a.png",
        ] {
            assert_eq!(attach(text), None, "{text}");
        }
        assert_eq!(
            images.with_paths("see [Image #2] and [Image #9]"),
            format!(
                "see [Image #2: {}] and [Image #9]",
                path("b c.JPG").display()
            )
        );
    }
}
