//! Files with the credentials of hubs: which there are, and who can read them.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use swarm_config::{Environment, Settings};
use swarm_store::{BlockOn as _, TeamStore as _};

use crate::app::store_at;
use crate::output::quoted;

/// Permission bits with which other users can read or change a file.
const OTHERS: u32 = 0o077;

/// Returns the credentials files of this machine's teams, and that of the settings.
pub(crate) fn credentials_files(
    env: &Environment,
    settings: &Settings,
    root: &Path,
) -> Vec<PathBuf> {
    let setting = Some(settings.hub_credentials.as_str()).filter(|text| !text.is_empty());
    let setting = setting.and_then(|text| env.path_of(text));
    let store = store_at(root);
    let teams = store.teams().block_on().unwrap_or_default();
    // A damaged `hub.json` is reported when its team is used.
    let hubs = teams
        .iter()
        .filter_map(|team| store.hub_of(team).ok().flatten());
    let mut files: Vec<PathBuf> = hubs
        .filter_map(|hub| hub.credentials)
        .chain(setting)
        .collect();
    files.sort();
    files.dedup();
    files
}

/// Returns what is wrong with the permissions of a credentials file, and how to correct it.
pub(crate) fn exposure(file: &Path) -> Option<(String, String)> {
    let found = file.metadata().ok()?;
    let is_exposed = found.is_file() && found.permissions().mode() & OTHERS != 0;
    is_exposed.then(|| {
        let file = file.to_string_lossy();
        (
            format!("other users of this machine can use the hub's credentials in {file}"),
            format!("run `chmod 600 {}`", quoted(&file)),
        )
    })
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, set_permissions};

    use super::*;

    #[test]
    fn credentials_of_teams_and_settings_are_known() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path();
        for (team, file) in [("one", "/k/b"), ("two", "/k/b"), ("three", "/k/c")] {
            let own = root.join("teams").join(team).join("swarm");
            std::fs::create_dir_all(&own).unwrap();
            let hub = serde_json::json!({"url": "nats://127.0.0.1:9", "credentials": file});
            let written =
                swarm_os::replace_alone(&own.join("hub.json"), hub.to_string().as_bytes());
            written.unwrap();
        }
        let env = Environment::new([("HOME", "/home/dev")], Path::new("/work"));
        let mut settings = Settings::built_in().unwrap();
        let found = |settings: &Settings| credentials_files(&env, settings, root);
        assert_eq!(found(&settings), [Path::new("/k/b"), Path::new("/k/c")]);
        settings.hub_credentials = "~/hub".to_owned();
        assert_eq!(found(&settings)[0], Path::new("/home/dev/hub"));
    }

    #[test]
    fn a_file_that_others_can_read_is_named() {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("my credentials");
        assert_eq!(exposure(&file), None);
        set_permissions(scratch.path(), Permissions::from_mode(0o755)).unwrap();
        assert_eq!(exposure(scratch.path()), None, "a directory");
        swarm_os::replace_alone(&file, b"swarm:x").unwrap();
        set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        assert_eq!(exposure(&file), None);
        for mode in [0o640, 0o604] {
            set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            let (what, how) = exposure(&file).unwrap();
            assert!(what.contains("other users"), "{what}");
            assert_eq!(how, format!("run `chmod 600 '{}'`", file.display()));
        }
    }
}
