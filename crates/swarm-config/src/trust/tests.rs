//! Trust in repositories.

use std::path::{Path, PathBuf};

use serde_json::json;
use swarm_protocol::{ErrorKind, UnixMs};

use super::{Project, TrustFile, is_trusted, project_directory, project_top, top_of};

struct Machine(tempfile::TempDir);

impl Machine {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in [
            "root",
            "repo/.git",
            "repo/src/deep",
            "other/.git",
            "plain/inner",
        ] {
            std::fs::create_dir_all(directory.path().join(name)).unwrap();
        }
        Self(directory)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    fn list(&self) -> TrustFile {
        TrustFile::of(&self.path("root"))
    }

    fn trust(&self, name: &str) -> bool {
        let top = top_of(&self.path(name)).unwrap();
        self.list().add(&top, UnixMs(0).iso()).unwrap()
    }

    fn is_trusted(&self, name: &str) -> bool {
        let trusted = is_trusted(&self.path("root"), &self.path(name)).unwrap();
        assert_eq!(self.project(name).is_trusted, trusted, "{name}");
        trusted
    }

    fn project_directory(&self, name: &str) -> PathBuf {
        let directory = project_directory(&self.path("root"), &self.path(name));
        assert_eq!(self.project(name).directory, directory);
        directory
    }

    fn project_top(&self, name: &str) -> PathBuf {
        let top = project_top(&self.path("root"), &self.path(name));
        assert_eq!(self.project(name).top, top);
        top
    }

    /// What is found at once is the same.
    fn project(&self, name: &str) -> Project {
        Project::of(&self.path("root"), &self.path(name)).unwrap()
    }

    /// Creates a worktree of the repository from a checkout and returns its path.
    fn tree(&self, slug: &str, from: &str) -> String {
        let at = format!("repo/.claude/worktrees/{slug}");
        let (path, from) = (self.path(&at), self.path(from));
        let record = json!({
            "version": 1, "slug": slug, "path": path, "branch": slug, "base": {"sha": "", "ahead": 0, "behind": 0},
            "from": from, "owner": {}, "createdAt": 1, "stage": "ready", "inUse": false, "gitDirectory": slug,
        });
        let entry = format!("repo/.git/worktrees/{slug}");
        self.file(
            &format!("repo/.git/swarm/worktrees/{slug}.json"),
            &record.to_string(),
        );
        self.file(
            &format!("{entry}/gitdir"),
            &path.join(".git").display().to_string(),
        );
        self.file(
            &format!("{at}/.git"),
            &format!("gitdir: {}\n", self.path(&entry).display()),
        );
        at
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "simulates a file written by another program"
    )]
    fn file(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

#[test]
fn trust_applies_to_a_whole_repository_and_to_no_other() {
    let machine = Machine::new();
    assert!(!machine.is_trusted("repo/src"));
    assert!(machine.trust("repo/src/deep"), "it is new");
    assert!(!machine.trust("repo"), "it is there");
    for inside in ["repo", "repo/src", "repo/src/deep"] {
        assert!(machine.is_trusted(inside), "{inside}");
    }
    for outside in ["other", "plain", "plain/inner", "missing"] {
        assert!(!machine.is_trusted(outside), "{outside}");
    }
    assert!(machine.list().remove(&machine.path("repo")).unwrap());
    assert!(!machine.is_trusted("repo"));
    assert!(!machine.list().remove(&machine.path("repo")).unwrap());
}

#[test]
fn outside_of_a_repository_trust_applies_to_one_directory() {
    let machine = Machine::new();
    machine.trust("plain");
    assert!(machine.is_trusted("plain"));
    assert!(!machine.is_trusted("plain/inner"));
}

#[test]
fn trust_follows_symbolic_links() {
    let machine = Machine::new();
    std::os::unix::fs::symlink(machine.path("repo"), machine.path("link")).unwrap();
    machine.trust("link");
    assert!(machine.is_trusted("repo/src"));
    assert!(machine.is_trusted("link/src"));
}

#[test]
fn a_worktree_is_trusted_with_its_repository_only_if_both_sides_confirm_it() {
    let machine = Machine::new();
    let entry = machine.path("repo/.git/worktrees/one");
    machine.file("away/.git", &format!("gitdir: {}\n", entry.display()));
    let back = machine.path("away/.git");
    machine.file(
        "repo/.git/worktrees/one/gitdir",
        &format!("{}\n", back.display()),
    );
    machine.file("repo/.git/worktrees/one/commondir", "../..\n");
    machine.trust("repo");
    assert!(machine.is_trusted("away"));
    // Another user's directory that claims to be a worktree of the repository.
    machine.file("forged/.git", &format!("gitdir: {}\n", entry.display()));
    assert!(!machine.is_trusted("forged"));
    // A submodule is a separate repository.
    machine.file("repo/.git/modules/part/gitdir", "../../../part/.git");
    machine.file("repo/part/.git", "gitdir: ../.git/modules/part");
    assert!(!machine.is_trusted("repo/part"));
}

#[test]
fn a_worktree_runs_the_items_of_the_main_checkout() {
    let machine = Machine::new();
    let entry = machine.path("repo/.git/worktrees/one");
    machine.file("away/.git", &format!("gitdir: {}\n", entry.display()));
    machine.file("away/src/lib.rs", "");
    let back = machine.path("away/.git").display().to_string();
    machine.file("repo/.git/worktrees/one/gitdir", &back);
    machine.file("repo/.git/worktrees/one/commondir", "../..\n");
    assert_eq!(
        machine.project_directory("away/src"),
        machine.path("repo/src")
    );
    assert_eq!(machine.project_directory("away"), machine.path("repo"));
    assert_eq!(machine.project_top("away/src"), machine.path("repo"));
    for own in ["repo", "repo/src/deep", "plain/inner", "missing"] {
        assert_eq!(machine.project_directory(own), machine.path(own));
    }
    assert_eq!(machine.project_top("repo/src/deep"), machine.path("repo"));
}

#[test]
fn a_nested_worktree_runs_the_items_of_the_main_checkout() {
    let machine = Machine::new();
    machine.file("repo/.git/HEAD", "ref: refs/heads/main\n");
    let first = machine.tree("w1", "repo");
    let second = machine.tree("w2", &first);
    machine.trust("repo");
    let inside = |name: &str| format!("{second}/{name}");
    machine.file(&inside("src/lib.rs"), "");
    machine.file(&inside("new/lib.rs"), "");
    // The agent of the first worktree can change files there.
    std::fs::remove_file(machine.path(&first).join(".git")).unwrap();
    std::os::unix::fs::symlink(machine.path("other"), machine.path(&first).join("src")).unwrap();
    for (directory, of_main) in [("src", "repo/src"), ("new", "repo/new"), ("", "repo")] {
        let directory = inside(directory);
        assert_eq!(machine.project_directory(&directory), machine.path(of_main));
        assert_eq!(machine.project_top(&directory), machine.path("repo"));
        assert!(machine.is_trusted(&directory), "{directory}");
    }
    assert_eq!(machine.project_directory(&first), machine.path("repo"));
}

#[test]
fn trust_is_checked_for_the_directory_whose_hooks_would_run() {
    let machine = Machine::new();
    machine.file("repo/.git/HEAD", "ref: refs/heads/main\n");
    let tree = machine.tree("w1", "other");
    machine.trust("repo");
    assert_eq!(machine.project_directory(&tree), machine.path("other"));
    assert!(!machine.is_trusted(&tree));
    machine.trust("other");
    assert!(machine.is_trusted(&tree));
}

#[test]
fn a_corrupt_list_trusts_nothing_and_is_not_changed() {
    let machine = Machine::new();
    machine.file("root/swarm/trust.json", "{\"repositories\": 7");
    let failure = is_trusted(&machine.path("root"), &machine.path("repo")).unwrap_err();
    assert_eq!(failure.kind(), ErrorKind::Damaged);
    assert!(
        failure.to_string().contains("trust.json"),
        "{}",
        failure.to_string()
    );
    let top = machine.path("repo");
    assert!(machine.list().add(&top, UnixMs(0).iso()).is_err());
    let text = std::fs::read_to_string(machine.path("root/swarm/trust.json")).unwrap();
    assert_eq!(text, "{\"repositories\": 7");
}

#[test]
fn the_list_is_private_to_its_owner() {
    use std::os::unix::fs::PermissionsExt as _;
    let machine = Machine::new();
    machine.trust("repo");
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&machine.path("root/swarm/trust.json")), 0o600);
    assert_eq!(mode(&machine.path("root/swarm")), 0o700);
}
