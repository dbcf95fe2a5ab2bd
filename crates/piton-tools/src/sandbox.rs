//! What a command may touch: a policy, and the walls that hold it.
//!
//! Files are held by Landlock (`walls`), system calls by a filter (`calls`), and root gives up most
//! of what makes it root (`powers`). All of that is put on a
//! thread of a supervisor that does nothing but start commands (`warden`): whatever a thread starts
//! inherits its walls, so nothing runs between fork and exec, and the rest of the supervisor stays
//! free. No wall can be taken down again, by nobody.
//!
//! This room does not know why a command runs. [`Rules`] say when there is a sandbox at all; a
//! [`Policy`] is what they mean at one place, and is recorded with the command.

mod calls;
mod carve;
mod kernel;
mod looks;
mod policy;
mod powers;
pub(crate) mod probe;
mod rules;
mod walls;
mod warden;

pub use self::kernel::Kernel;
pub use self::policy::{Looks, Policy};
pub use self::probe::{Attempt, Looked, Tried, try_looking, try_out};
pub use self::rules::{Rules, When};
pub(crate) use self::warden::{Wardens, spawn};
