//! What a tool is: the trait, and all that passes between a tool and the engine.
//!
//! A tool gets a [`Job`] at a [`Site`], may say how far it is ([`Progress`]) or ask a person
//! ([`Job::ask`]), and returns [`Finished`]. Whatever it writes is bounded (`excerpt`), and what may
//! block runs on a thread of its own (`blocking`). This room imports no other room of the crate.

pub(crate) mod arguments;
mod ask;
pub(crate) mod blocking;
mod closed;
mod defaults;
pub(crate) mod excerpt;
mod finished;
mod image;
mod job;
mod prepared;
mod progress;
pub(crate) mod real_path;
mod refusal;
mod site;
mod tool;
mod toolbox;

pub use self::arguments::{Arguments, parse_arguments, refuse_unfit};
pub use self::ask::{Ask, Asker, Response, Responses, Track, Word};
pub use self::closed::Closed;
pub use self::finished::{Finished, OUTPUT_BYTES_MAX, Quotes, WITHHELD_TEXT};
pub use self::image::{IMAGE_BYTES_MAX, IMAGE_PIXELS_MAX, Image};
pub use self::job::{Consent, Job};
pub use self::prepared::{Prepared, Settled};
pub use self::progress::{Progress, Shown};
pub use self::refusal::Refusal;
pub use self::site::Site;
pub use self::tool::{Ran, Tidying, Tool};
pub use self::toolbox::Toolbox;
