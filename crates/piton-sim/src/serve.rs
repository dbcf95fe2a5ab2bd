//! The scripted model as a provider: an HTTP server on loopback that speaks every dialect.
//!
//! One server, one script; the path of a request says who is played. Each request is held against
//! the rules of the dialect it is written in and refused in the provider's own words when it breaks
//! one. Which step answers is read off the request, by the same rule as in process, so a killed and
//! restarted client goes on in the right place. Signed reasoning carries a seal on itself and on all
//! that stood before it; both are checked when it comes back.
//!
//! Knows nothing of the engine or of any client: it reads JSON and writes bytes. It is not a model
//! and keeps no conversation.

mod asked;
mod body;
mod book;
mod fault;
mod heard;
mod openai;
mod options;
mod part;
mod refusal;
mod reply;
mod route;
mod seal;
mod server;
mod stage;
mod voice;

mod anthropic;
mod chat;
mod gemini;
mod responses;

pub use self::book::Seen;
pub use self::options::Options;
pub use self::part::Part;
pub use self::route::PATHS;
pub use self::server::Server;
