//! Programs whose clocks are wrong.

use std::path::PathBuf;

use super::world::World;

/// Settings with which members have the clock of the command that spawns them.
const PASSED: &str = "[env]\npass = [\"LD_PRELOAD\", \"FAKETIME\", \"FAKETIME_DONT_FAKE_MONOTONIC\", \"FAKETIME_NO_CACHE\"]\n";

/// The library libfaketime.
#[derive(Debug)]
pub struct Faketime(PathBuf);

impl Faketime {
    /// Finds it. `STRESS_FAKETIME` overrides the usual places.
    pub fn find() -> Option<Self> {
        let named = std::env::var_os("STRESS_FAKETIME").map(PathBuf::from);
        let usual = [
            "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
            "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
            "/usr/lib64/faketime/libfaketimeMT.so.1",
            "/usr/lib/faketime/libfaketimeMT.so.1",
        ];
        let places = named.into_iter().chain(usual.map(PathBuf::from));
        places.into_iter().find(|place| place.is_file()).map(Self)
    }

    /// Returns variables for a program with another time, in the syntax of the library.
    pub fn at(&self, time: &str) -> Vec<(String, String)> {
        [
            ("LD_PRELOAD", self.0.display().to_string()),
            ("FAKETIME", time.to_owned()),
            // Timeouts use the monotonic clock, which does not jump.
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
            ("FAKETIME_NO_CACHE", "1".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }
}

impl World {
    /// Lets members have the clock of the command that spawns them.
    pub fn pass_clocks(&self) {
        self.write("root/swarm.toml", PASSED);
    }

    /// Gives all programs started from now on another time.
    #[must_use]
    pub fn with_clock(self, faketime: &Faketime, time: &str) -> Self {
        self.pass_clocks();
        let variables = faketime.at(time).into_iter();
        variables.fold(self, |world, (name, value)| {
            world.with_variable(&name, &value)
        })
    }
}
