//! What a command may touch: a policy, and the walls that hold it.
//!
//! Files are held by Landlock (`walls`), system calls by a filter (`calls`), and root gives up most
//! of what makes it root (`powers`). Where the kernel allows it, a command also has mounts, shared memory and,
//! if it is to have no network, an empty one of its own (`namespaces`): a supervisor founds them once for a
//! policy. All other walls are put on a
//! thread that starts one command and is gone (`behind`): whatever a thread starts inherits its walls, so
//! nothing runs between fork and exec, and the supervisor stays free. No wall can be taken down again, by nobody.
//!
//! This room does not know why a command runs. [`Rules`] say when there is a sandbox at all; a
//! [`Policy`] is what they mean at one place, and is recorded with the command.

mod behind;
mod calls;
mod carve;
mod cgroup;
mod grants;
mod kernel;
mod limits;
mod looks;
mod loopback;
mod mounts;
mod namespaces;
mod network;
mod policy;
mod powers;
pub(crate) mod probe;
mod protect;
mod rules;
mod sockets;
mod told;
mod variables;
mod walls;
mod written;

pub use self::behind::start_behind;
pub(crate) use self::behind::{confine, spawn, spawn_inner, spawn_outer};
pub(crate) use self::cgroup::Cgroup;
pub use self::cgroup::counted_together;
pub use self::kernel::Kernel;
pub use self::limits::Limits;
pub(crate) use self::namespaces::{Entered, enter};
pub(crate) use self::network::Network;
pub use self::policy::{Granted, Looks, Policy};
pub use self::probe::{Attempt, Looked, Tried, try_looking, try_namespaces, try_out};
pub(crate) use self::protect::{
    Named, Starred, Submodules, found, is_way, obeyed_by, other_name, submodules,
};
pub(crate) use self::rules::Lacking;
pub use self::rules::{Rules, When};
pub(crate) use self::told::RanCommand;
pub(crate) use self::walls::open as open_place;
pub use self::written::{Confinement, Openings, WrittenPlace};
