//! Skills on disk: `.claude/skills/<name>/SKILL.md` from the working directory upwards, then the
//! user's.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use swarm_permissions::SkillFile;
use swarm_protocol::Skill;

use crate::plugins::ActivePlugin;
use crate::settings::repository_directories;

/// Maximum bytes of a file's frontmatter.
const FRONT: u64 = 16 * 1024;

/// The skills found, and problems in their files.
#[derive(Debug, Default)]
pub struct FoundSkills {
    /// The effective skills, sorted by name.
    pub skills: Vec<Skill>,
    /// Format errors, each with its file; also of shadowed files.
    pub problems: Vec<String>,
}

/// Finds the skills that apply in `cwd`. If two share a name, the nearest wins: the repository's
/// directories from `cwd` upwards, then `root`. Those of plugins are named `PLUGIN:SKILL`. Skills of
/// an untrusted repository cannot allow tool calls.
pub fn find_skills(
    cwd: &Path,
    root: &Path,
    trusted: bool,
    plugins: &[&ActivePlugin],
) -> FoundSkills {
    let mut found = FoundSkills::default();
    let own = root.join("skills");
    let of_repository =
        repository_directories(cwd).map(|directory| directory.join(".claude/skills"));
    let own_directories = of_repository.chain([own.clone()]);
    let of_plugins = plugins.iter().flat_map(|plugin| {
        let directories = plugin.locations("skills").into_iter();
        directories.map(move |directory| (directory, Some(*plugin)))
    });
    let all = own_directories.map(|directory| (directory, None));
    for (directory, plugin) in all.chain(of_plugins) {
        let may_grant = trusted || directory == own || plugin.is_some();
        for (mut skill, problems) in in_directory(&directory) {
            if let Some(plugin) = plugin {
                skill.name = format!("{}:{}", plugin.name(), skill.name);
                skill.plugin = Some(plugin.directory().to_owned());
            }
            let path = skill.path.display();
            let messages = problems.iter().map(|what| format!("{path}: {what}"));
            found.problems.extend(messages);
            if !may_grant {
                skill.allowed_tools.clear();
            }
            if !found.skills.iter().any(|known| known.name == skill.name) {
                found.skills.push(skill);
            }
        }
    }
    found.skills.sort_by(|one, other| one.name.cmp(&other.name));
    found.problems.sort();
    found
}

/// Reads the skills in a directory, each with the problems in its file.
pub(crate) fn in_directory(directory: &Path) -> Vec<(Skill, Vec<String>)> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let path = entry.path().join("SKILL.md");
            let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            (name.chars().all(fits) && path.is_file()).then(|| skill(name, path))
        })
        .collect()
}

fn skill(name: String, path: PathBuf) -> (Skill, Vec<String>) {
    let file = match front(&path) {
        Ok(text) => SkillFile::parse(&text, &name),
        Err(error) => SkillFile {
            problems: vec![format!("cannot read the file: {error}")],
            ..SkillFile::default()
        },
    };
    let skill = Skill {
        name,
        description: swarm_ui::clean_line(&file.skill.description),
        path,
        ..file.skill
    };
    (skill, file.problems)
}

fn front(path: &Path) -> std::io::Result<String> {
    let mut front = Vec::new();
    let file = fs::File::open(path)?;
    file.take(FRONT).read_to_end(&mut front)?;
    Ok(String::from_utf8_lossy(&front).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn put(directory: &Path, name: &str, text: &str) {
        let directory = directory.join(name);
        fs::create_dir_all(&directory).unwrap();
        let mut file = fs::File::create(directory.join("SKILL.md")).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn the_nearest_skill_of_a_name_wins_and_all_are_sorted() {
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
        let found = find_skills(&cwd, &root, true, &[]).skills;
        let seen: Vec<(&str, &str)> = found
            .iter()
            .map(|skill| (skill.name.as_str(), skill.description.as_str()))
            .collect();
        assert_eq!(
            seen,
            [
                ("deploy", "two lines"),
                ("review", "the repository's"),
                ("zip", "")
            ]
        );
    }

    #[test]
    fn only_skills_of_the_user_and_trusted_repositories_allow_calls() {
        let base = tempfile::tempdir().unwrap();
        let (repo, root) = (base.path().join("repo"), base.path().join("root"));
        fs::create_dir_all(repo.join(".git")).unwrap();
        let text = |name: &str| {
            format!("---\nname: {name}\ndescription: d\nallowed-tools: Bash(make *)\n---\nx")
        };
        put(&root.join("skills"), "own", &text("own"));
        put(&repo.join(".claude/skills"), "theirs", &text("theirs"));
        for (trusted, granted) in [(false, 0), (true, 1)] {
            let found = find_skills(&repo, &root, trusted, &[]);
            assert_eq!(found.problems, [""; 0]);
            assert_eq!(found.skills[0].allowed_tools, ["Bash(make *)"]);
            assert_eq!(found.skills[1].allowed_tools.len(), granted);
        }
    }

    #[test]
    fn a_problem_in_a_file_is_reported_with_its_path() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().join("root");
        put(&root.join("skills"), "Deploy", "---\nname: Deploy\n---\nx");
        let found = find_skills(base.path(), &root, true, &[]);
        assert_eq!(found.skills[0].name, "Deploy");
        assert_eq!(found.problems.len(), 2, "{:?}", found.problems);
        assert!(found.problems[0].contains("Deploy/SKILL.md: `description` is missing"));
    }
}
