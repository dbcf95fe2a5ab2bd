//! Tools of MCP servers: programs of others, reached over pipes or HTTP.
//!
//! Knows how servers are configured, started, asked and ended, and hands out their tools as
//! [`piton_tools::Tool`]s. Knows neither the model nor the journal.
//!
//! A call is sent at most once. What was never sent has failed; what was sent and not answered is
//! said to be unknown, unless a trusted server declared that a second run does no harm. Nothing here
//! repeats a call: after a crash of the agent the effect class of the tool decides, as for any tool,
//! unless the server had said how to ask about the call, or how to go on with it (`task`, `round`).
//!
//! Modules are listed in reading order.

mod settings;

mod expand;
mod project;

mod place;
mod servers;

mod connection;
mod server;

mod call;
mod ended;
mod round;
mod task;
mod tool;

mod answer;
mod elicit;
mod handler;
mod outcome;
mod printed;
mod process;
mod schema;
mod wire;

mod cache;
mod identity;
mod listing;
mod name;
mod text;

pub use self::connection::{About, ConnectFault};
pub use self::expand::{Expand, Missing};
pub use self::listing::Listed;
pub use self::name::is_tool_of;
pub use self::place::Place;
pub use self::project::{PROJECT_FILE, Project, ProjectFault};
pub use self::server::Server;
pub use self::servers::{Freshness, Offer, Servers};
pub use self::settings::{Launch, Origin, ServerSettings, WrittenServer};
pub use self::tool::McpTool;
