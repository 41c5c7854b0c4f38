//! Skills on disk: `.claude/skills/<name>/SKILL.md` from the present folder upwards, then those of the user.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use swarm_protocol::Skill;

use crate::settings::repository_folders;

/// Bytes at the beginning of a file in which its description stands.
const FRONT: u64 = 16 * 1024;

/// Every skill that holds in `cwd`. Of two of one name the nearer is taken: the repository's folders from `cwd` upwards, then
/// those below `root`. Sorted by name.
pub fn find_skills(cwd: &Path, root: &Path) -> Vec<Skill> {
    let mut skills: Vec<Skill> = Vec::new();
    for folder in folders(cwd, root) {
        for skill in in_folder(&folder) {
            if !skills.iter().any(|known| known.name == skill.name) {
                skills.push(skill);
            }
        }
    }
    skills.sort_by(|one, other| one.name.cmp(&other.name));
    skills
}

fn folders(cwd: &Path, root: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = repository_folders(cwd)
        .map(|folder| folder.join(".claude/skills"))
        .collect();
    folders.push(root.join("skills"));
    folders
}

fn in_folder(folder: &Path) -> Vec<Skill> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let path = entry.path().join("SKILL.md");
            let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            (name.chars().all(fits) && path.is_file()).then(|| Skill {
                description: description(&path).unwrap_or_default(),
                name,
                path,
            })
        })
        .collect()
}

/// `description` of the YAML in front of the text, on one line.
fn description(path: &Path) -> Option<String> {
    let mut front = Vec::new();
    let file = fs::File::open(path).ok()?;
    file.take(FRONT).read_to_end(&mut front).ok()?;
    let front = String::from_utf8_lossy(&front);
    let mut lines = front.trim_start_matches('\u{feff}').lines();
    (lines.next()?.trim_end() == "---").then_some(())?;
    let mut lines = lines.take_while(|line| line.trim_end() != "---").peekable();
    while let Some(line) = lines.next() {
        let Some(value) = line.strip_prefix("description:") else {
            continue;
        };
        let mut words: Vec<&str> = match value.trim() {
            "" | ">" | "|" | ">-" | "|-" | ">+" | "|+" => Vec::new(),
            value => vec![value],
        };
        // Indented lines carry the value on.
        while let Some(more) =
            lines.next_if(|line| line.starts_with([' ', '\t']) || line.is_empty())
        {
            words.push(more.trim());
        }
        let text = words.join(" ");
        let text = text.trim();
        let quoted = |sign: char| {
            text.strip_prefix(sign)
                .and_then(|text| text.strip_suffix(sign))
        };
        let text = quoted('"').or_else(|| quoted('\'')).unwrap_or(text);
        return Some(swarm_ui::clean_line(text));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn put(folder: &Path, name: &str, text: &str) {
        let folder = folder.join(name);
        fs::create_dir_all(&folder).unwrap();
        let mut file = fs::File::create(folder.join("SKILL.md")).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn the_nearest_skill_of_a_name_is_taken_and_all_are_sorted() {
        let base = tempfile::tempdir().unwrap();
        let (repo, root) = (base.path().join("repo"), base.path().join("root"));
        let cwd = repo.join("sub/deep");
        fs::create_dir_all(&cwd).unwrap();
        fs::create_dir_all(repo.join(".git")).unwrap();
        put(&root.join("skills"), "zip", "no front");
        put(
            &root.join("skills"),
            "review",
            "---\ndescription: the user's\n---\nx",
        );
        put(
            &repo.join(".claude/skills"),
            "review",
            "---\nname: r\ndescription: 'the repository''s'\n---\nx",
        );
        put(
            &repo.join("sub/.claude/skills"),
            "deploy",
            "---\ndescription: >-\n  two\n  lines\nname: x\n---\n",
        );
        put(&base.path().join(".claude/skills"), "outside", "x");
        put(&repo.join(".claude/skills"), "bad name", "x");
        fs::create_dir_all(repo.join(".claude/skills/empty")).unwrap();
        let found = find_skills(&cwd, &root);
        let seen: Vec<(&str, &str)> = found
            .iter()
            .map(|skill| (skill.name.as_str(), skill.description.as_str()))
            .collect();
        assert_eq!(
            seen,
            [
                ("deploy", "two lines"),
                ("review", "the repository''s"),
                ("zip", "")
            ]
        );
    }
}
