//! Team directories that are symlinks or not directories.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use swarm_protocol::{Event, SpawnId};
use swarm_store::{BlockOn as _, Draft, TeamStore};

use crate::files::world::{World, name, new_member, new_task};
use crate::values::life_record;

/// Operations that write to a team, one for each code path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writes {
    /// With the lock of an inbox.
    Mail,
    /// The same for an inbox without a sidecar, which is created.
    FirstMail,
    /// With the lock of the list.
    Tasks,
    /// With the lock of the roster.
    Roster,
    /// Without a lock.
    Journal,
    /// A file of a member.
    Life,
}

impl Writes {
    fn run(self, world: &World) -> swarm_store::Result<()> {
        let (store, team, alice) = (&world.store, &world.team, name("alice"));
        match self {
            Self::Mail | Self::FirstMail => store
                .team(team)
                .send(&alice, Draft::new("bob", "hello"))
                .block_on()
                .map(drop),
            Self::Tasks => store
                .team(team)
                .create_tasks(&[new_task("work", &[])], &world.person())
                .block_on()
                .map(drop),
            Self::Roster => store
                .team(team)
                .reserve(new_member("bob"))
                .block_on()
                .map(drop),
            Self::Journal => store
                .team(team)
                .journal(Event::TeamDeleted {
                    by: "a test".to_owned(),
                })
                .block_on(),
            Self::Life => store
                .team(team)
                .take_life(&alice, &life_record(SpawnId::random()))
                .block_on()
                .map(drop),
        }
    }
}

/// Returns every file below a directory.
fn contents(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else {
                let bytes = fs::read(&path).unwrap();
                found.insert(path, bytes);
            }
        }
    }
    found
}

#[test]
fn writes_through_a_symlinked_team_directory_are_rejected() {
    use Writes::{FirstMail, Journal, Life, Mail, Roster, Tasks};
    let cases: [(&str, &[Writes]); 6] = [
        (
            "teams/crew",
            &[Mail, FirstMail, Tasks, Roster, Journal, Life],
        ),
        (
            "teams/crew/swarm",
            &[Mail, FirstMail, Tasks, Roster, Journal, Life],
        ),
        ("teams/crew/swarm/locks", &[Mail, FirstMail, Tasks, Roster]),
        ("teams/crew/inboxes", &[Mail, FirstMail]),
        ("teams/crew/swarm/members/alice", &[Life]),
        ("tasks/crew", &[Tasks]),
    ];
    for (directory, doors) in cases {
        for door in doors {
            let world = World::with_member("alice");
            let path = world.root.join(directory);
            if *door == FirstMail {
                let sidecar = world.root.join("teams/crew/swarm/locks/inbox-alice");
                fs::remove_file(sidecar).unwrap();
            }
            let outside = world.root.with_extension("outside");
            fs::rename(&path, &outside).unwrap();
            symlink(&outside, &path).unwrap();
            let before = contents(&outside);
            let refused = door.run(&world).unwrap_err();
            let what = format!("{door:?} {directory}: {refused}");
            assert!(refused.to_string().contains("symbolic link"), "{what}");
            assert_eq!(contents(&outside), before, "{what}");
        }
    }
}

#[test]
fn a_directory_that_cannot_be_listed_is_not_taken_for_an_empty_one() {
    let world = World::new();
    let in_place_of = |directory: &str| {
        let path = world.root.join(directory);
        if path.exists() {
            fs::rename(&path, path.with_extension("moved")).unwrap();
        }
        fs::File::create(&path).unwrap();
    };
    in_place_of("teams/crew/swarm/requests");
    world.handle().requests().block_on().unwrap_err();
    in_place_of("tasks/crew");
    world.handle().tasks().block_on().unwrap_err();
    in_place_of("teams");
    world.store.teams().block_on().unwrap_err();
}
