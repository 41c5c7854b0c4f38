//! Output styles: instructions for the lead in Claude Code's files.

use std::path::{Path, PathBuf};

use swarm_config::{ClaudeSettings, repository_directories};
use swarm_protocol::split_frontmatter;

use crate::app::App;
use crate::failure::Result;

/// Directory of the files, in the config directory and in `.claude` of a repository.
const DIRECTORY: &str = "output-styles";

/// Returns the instructions of the output style that the settings choose, if any. A style that does
/// not exist is reported.
pub(crate) fn output_style(app: &App) -> Result<Option<String>> {
    let trusted = app.is_trusted()?;
    let claude = ClaudeSettings::load(&app.root, &app.env.cwd, app.env.home().as_deref())?;
    let Some(name) = claude.output_style(trusted) else {
        return Ok(None);
    };
    let own = repository_directories(&app.env.cwd)
        .filter(|_| trusted)
        .map(|directory| directory.join(".claude").join(DIRECTORY));
    let mut places: Vec<PathBuf> = own.collect();
    places.push(app.root.join(DIRECTORY));
    let text = places.iter().find_map(|place| style_in(place, name));
    if text.is_none() {
        let name = name.escape_debug();
        app.out.remark(&format!(
            "output style `{name}` not found: add {}/{name}.md, or remove `outputStyle` from settings.json",
            app.root.join(DIRECTORY).display()
        ));
    }
    Ok(text.map(|text| format!("# Output style: {name}\n\n{text}")))
}

/// Returns the text of the style with this name: that in the frontmatter, or else that of the file.
fn style_in(place: &Path, name: &str) -> Option<String> {
    let entries = std::fs::read_dir(place).ok()?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    paths.sort();
    paths.iter().find_map(|path| {
        let text = std::fs::read_to_string(path).ok()?;
        let (front, body) = split_frontmatter(&text).unwrap_or_else(|| (String::new(), text));
        let given = front.lines().find_map(|line| line.strip_prefix("name:"));
        let given = given.map(|name| name.trim().trim_matches(['"', '\'']));
        let given = given.filter(|name| !name.is_empty());
        let file = path.file_stem()?.to_str()?;
        (given.unwrap_or(file).eq_ignore_ascii_case(name)).then(|| body.trim().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "files that only this test sees")]
    fn a_style_is_found_by_its_name_or_that_of_its_file() {
        let directory = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            std::fs::write(directory.path().join(file), text).unwrap();
        };
        write(
            "a.md",
            "---\nname: \"Very Terse\"\ndescription: x\n---\nOne line.\n",
        );
        write("plain.md", "Plain words.");
        write("other.txt", "no");
        let style = |name: &str| style_in(directory.path(), name);
        assert_eq!(style("very terse").as_deref(), Some("One line."));
        assert_eq!(style("plain").as_deref(), Some("Plain words."));
        assert_eq!((style("a"), style("other")), (None, None));
    }
}
