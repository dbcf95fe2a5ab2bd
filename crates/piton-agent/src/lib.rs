//! The assembly of a coding agent: settings become an engine and, at each turn's start, a [`Profile`].
//!
//! ```text
//! Environment ─► Settings ─► Agent ─► engine, tools, models
//!                              └────► Profile: frozen with the turn │ live at each driver's start
//! ```
//!
//! Knows where settings are and what they mean. Does not know terminals, flags, rendering or exit
//! codes: what a person should hear is handed out as data.
//!
//! Modules are listed in reading order.

mod environment;
mod keyless;
mod programs;
mod settings;
mod trust;
mod workspace;

mod added;

mod settings_edit;
mod settings_file;

pub mod config;
mod near;
mod words;

mod agent;
mod context;
pub mod custom_commands;
mod front_matter;
pub mod init;
mod instructions;
pub mod mentions;
mod notify;
mod overrides;
mod profile;
mod profiles;
mod prompt;
mod skills;
mod titles;

mod models;
mod providers;

mod offers;
mod tools;

mod ceilings;
mod command_tools;
mod commands;
mod hooks;
mod mcp;
mod web;

mod engine;
mod one_shot;
mod titling;

pub mod rules;
mod sandbox;
mod trial;
mod unattended;
mod window;

pub use self::added::{ADDED_DIRECTORIES_MAX, AddedError};
pub use self::agent::{Agent, LoadError};
pub use self::ceilings::{Ceilings, Dollars, NoDollars};
pub use self::commands::Commands;
pub use self::context::moment;
pub use self::engine::{EngineParts, engine_to_write};
pub use self::environment::Environment;
pub use self::instructions::InstructionNote;
pub use self::keyless::keyless_environment;
pub use self::mcp::{CodeInWords, FoundServers, ServerNotice, add_server, remove_server};
pub use self::models::{Catalogue, Loaded, ModelError, is_demo, read_script, typed};
pub use self::models::{known, listed};
pub use self::near::{near, with_near};
pub use self::notify::{NotAWayToNotify, Notify};
pub use self::offers::{Brought, Offered, OfferedKind, OfferedState};
pub use self::one_shot::OneShotError;
pub use self::overrides::Overrides;
pub use self::profile::{Frozen, Live, Profile, ProfileError, ProfileRequest, Standing, TurnStart};
pub use self::profiles::{AgentProfiles, FlagsError, ProfileNote};
pub use self::providers::{
    KeyFrom, Provider, ProviderError, RequestDefaults, Speaks, client as http_client,
    client_builder as http_client_builder,
};
pub use self::sandbox::{SandboxGap, SandboxMode};
pub use self::settings::{BroughtBack, Settings, SettingsError, make_private};
pub use self::settings_edit::EditError;
pub use self::settings_file::FileError;
pub use self::skills::SkillNote;
pub use self::titles::{NoTitles, Titles};
pub use self::titling::Reader;
pub use self::tools::{AgentTools, ToolNote};
pub use self::trial::{Trial, Wall, Why};
pub use self::trust::{Exact, Given, ServersRun, Trust, TrustFault};
pub use self::unattended::UnattendedPolicy;
pub use self::workspace::workspace_around;
