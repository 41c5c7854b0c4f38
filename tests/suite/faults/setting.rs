//! What all of these have in common.

use std::path::Path;

use swarm_tests::faults::dice::Seed;
use swarm_tests::faults::workers::Programs;

/// One seed for all, so that a run is like the last one as far as processes allow. `scripts/stress` takes others.
pub(super) const SEED: Seed = Seed(20_261_122);

pub(super) fn programs() -> Programs {
    Programs {
        worker: Path::new(env!("CARGO_BIN_EXE_works-on-a-team")).to_owned(),
        other: Path::new(env!("CARGO_BIN_EXE_writes-as-others-do")).to_owned(),
        swarm: Path::new(env!("CARGO_BIN_EXE_swarm-under-test")).to_owned(),
        links: Path::new(env!("CARGO_TARGET_TMPDIR")).to_owned(),
    }
}
