//! How many files a supervisor may have open: four for each command, so the usual 1,024 end soon.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Takes all that this process may have; gives what it had, which commands should have too: some
/// programs close every number up to their limit, or cannot count further than 1,024.
pub(crate) fn raise() -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // If that is refused, there is room for fewer commands.
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).ok();
    current
}
