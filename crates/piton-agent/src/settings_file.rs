//! The settings file `piton.toml`: models, standing rules, tools and servers of tools.

mod complaint;
mod text;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use piton::Delegation;
use piton::transport::Timeouts;
use piton_core::event::{PermissionMode, QUEUE_MAX};
use piton_mcp::WrittenServer;
use piton_tools::sandbox::WrittenPlace;
use schemars::JsonSchema;
use serde::Deserialize;

use self::complaint::complaint;
pub(crate) use self::text::{BOM, Unread, read_text};
use crate::ceilings::{Dollars, WrittenContext};
use crate::command_tools::WrittenTool;
use crate::hooks::WrittenHooks;
use crate::notify::{NOTIFY_SECONDS_DEFAULT, Notify};
use crate::providers::{IdleSeconds, WrittenEffort, WrittenProvider};
use crate::rules::WrittenRule;
use crate::sandbox::WrittenSandbox;
use crate::titles::Titles;
use crate::unattended::WrittenUnattended;
use crate::web::WrittenWeb;
use crate::words;

/// The form of the file that this build knows. A build that gives a key another meaning raises it.
pub(crate) const FORM: u32 = 1;

/// What the file says. Comments on the fields are what `piton config --schema` and
/// `piton help settings` say of them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SettingsFile {
    /// The form of this file. A build that does not know the form says so and changes nothing.
    #[schemars(extend("default" = FORM))]
    pub(crate) version: Option<u32>,
    /// The model of new conversations: provider/model, demo, or script:FILE.
    #[schemars(extend("x-variable" = "PITON_MODEL", "x-flag" = "--model"))]
    pub(crate) model: Option<String>,
    /// How much models should think.
    #[schemars(extend("x-variable" = "PITON_EFFORT", "x-flag" = "--effort"))]
    pub(crate) effort: Option<WrittenEffort>,
    /// Most tokens of one answer; 0 leaves it to the provider.
    #[schemars(extend("x-variable" = "PITON_MAX_TOKENS", "x-flag" = "--max-tokens"))]
    pub(crate) max_tokens: Option<u32>,
    /// Most tokens of one turn of a new conversation, requests and answers; then it stops and is kept. 0 is no limit.
    #[schemars(extend("x-variable" = "PITON_MAX_TURN_TOKENS", "x-flag" = "--max-turn-tokens"))]
    pub(crate) max_turn_tokens: Option<u64>,
    /// The most that one turn of a new conversation may cost, in dollars, by the table of prices; then it stops and is kept. A model whose price is not known is refused. 0 is no limit.
    #[schemars(extend("x-variable" = "PITON_MAX_TURN_COST", "x-flag" = "--max-cost"))]
    pub(crate) max_turn_cost: Option<Dollars>,
    /// Longest time of a `piton query`, in seconds; then its turn stops and is kept. 0 is no limit.
    #[schemars(extend("x-variable" = "PITON_MAX_TURN_SECONDS", "x-flag" = "--timeout"))]
    pub(crate) max_turn_seconds: Option<u64>,
    /// Most messages that wait in a conversation at once; 0 is no limit. Counts from the next turn on.
    #[schemars(extend("x-variable" = "PITON_QUEUE_MAX", "default" = QUEUE_MAX))]
    pub(crate) queue_max: Option<u32>,
    /// Where titles of conversations come from: `model` asks the model once after the first turn, `first-words` takes the first words of the first message. Unless it is set, the model is asked where a person is on the terminal. The demo model is never asked.
    #[schemars(extend("x-variable" = "PITON_TITLES"))]
    pub(crate) titles: Option<Titles>,
    /// After how many days without a turn a complete conversation is purged, when conversations are listed (`piton help find`); 0 is never.
    #[schemars(extend("default" = 0))]
    pub(crate) keep_days: Option<u32>,
    /// Longest wait for the first byte of an answer; 0 is for ever.
    #[schemars(extend("x-variable" = "PITON_FIRST_BYTE_SECONDS", "default" = seconds_of(|usual| usual.first_byte)))]
    pub(crate) first_byte_seconds: Option<u64>,
    /// Longest wait for the next byte of an answer: 10 or more; 0 is for ever.
    #[schemars(extend("x-variable" = "PITON_IDLE_SECONDS", "default" = seconds_of(|usual| usual.idle)))]
    pub(crate) idle_seconds: Option<IdleSeconds>,
    /// Longest wait for a network that is not there; 0 is not at all. Unless it is set, a terminal waits 600.
    #[schemars(extend("x-variable" = "PITON_OUTAGE_SECONDS", "default" = seconds_of(|usual| usual.outage)))]
    pub(crate) outage_seconds: Option<u64>,
    /// How you are called when a turn that took long is over, or asks you something.
    #[schemars(extend("x-variable" = "PITON_NOTIFY", "default" = "all"))]
    pub(crate) notify: Option<Notify>,
    /// How long a turn goes on before you are called; 0 is at once.
    #[schemars(extend("x-variable" = "PITON_NOTIFY_SECONDS", "default" = NOTIFY_SECONDS_DEFAULT))]
    pub(crate) notify_seconds: Option<u64>,
    /// Standing rules: what may run, what asks, what is denied.
    #[schemars(extend("default" = []))]
    pub(crate) permissions: Vec<WrittenRule>,
    /// Servers of tools by name, which speak the Model Context Protocol.
    pub(crate) mcp: BTreeMap<String, WrittenServer>,
    /// What commands may touch.
    pub(crate) sandbox: WrittenSandbox,
    /// What becomes of questions while nobody is there.
    pub(crate) unattended: WrittenUnattended,
    /// How a person is asked.
    pub(crate) ask: WrittenAsk,
    /// Commands of yours that are told what happens, and asked before a tool runs.
    pub(crate) hooks: WrittenHooks,
    /// Commands of yours that are tools, by name.
    pub(crate) tools: BTreeMap<String, WrittenTool>,
    /// Providers by name: other addresses, keys and limits for built-in ones, or new ones.
    pub(crate) providers: BTreeMap<String, WrittenProvider>,
    /// How large requests may become before room is made.
    pub(crate) context: WrittenContext,
    /// What workers are allowed.
    pub(crate) workers: WrittenWorkers,
    /// What `web_fetch` may reach.
    pub(crate) web: WrittenWeb,
    /// How `piton serve` serves.
    pub(crate) serve: WrittenServe,
}

/// How `piton serve` serves, as written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WrittenServe {
    /// The certificate of the server, in PEM form, with those that vouch for it. Begins with / or ~/.
    #[schemars(with = "Option<String>", extend("x-flag" = "--cert"))]
    pub(crate) cert: Option<WrittenPlace>,
    /// The private key of the certificate, in PEM form. Begins with / or ~/.
    #[schemars(with = "Option<String>", extend("x-flag" = "--key"))]
    pub(crate) key: Option<WrittenPlace>,
    /// Whether a server that starts goes on with turns that a process left, as far as no person is needed.
    pub(crate) resume: bool,
    /// Names under which the server is reached, beside those of the machine for itself.
    #[schemars(extend("default" = []))]
    pub(crate) names: Vec<String>,
    /// Time between two signs of life on a stream, in milliseconds. A page that hears nothing for two and a half of them opens its stream again. Less than what a proxy takes for idle.
    #[schemars(extend("default" = 10000))]
    pub(crate) beat_ms: Option<u32>,
}

/// How a person is asked, as written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WrittenAsk {
    /// Whether one answer of yours counts for all calls that a model's answer brings.
    pub(crate) batch: bool,
    /// What may run without asking in new conversations.
    #[schemars(schema_with = "words::modes")]
    #[schemars(extend("x-variable" = "PITON_PERMISSIONS", "x-flag" = "--permissions", "default" = "ask"))]
    pub(crate) permissions: Option<PermissionMode>,
}

/// What workers are allowed, as written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WrittenWorkers {
    /// Longest time that a worker is at work, in seconds.
    #[schemars(extend("default" = Delegation::default().limit.as_secs()))]
    seconds: Option<u64>,
    /// Most model answers of a worker; 0 is no limit.
    #[schemars(extend("default" = Delegation::default().steps_max))]
    steps: Option<u32>,
}

impl From<WrittenWorkers> for Delegation {
    fn from(written: WrittenWorkers) -> Self {
        let usual = Self::default();
        Self {
            limit: written.seconds.map_or(usual.limit, Duration::from_secs),
            steps_max: written.steps.unwrap_or(usual.steps_max),
        }
    }
}

/// A settings file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be read.
    #[error("cannot read the settings {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It makes no sense.
    #[error("cannot use the settings {}: {detail}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// What makes no sense, with its line.
        detail: String,
        /// The page of the documents that has the form of the table.
        page: &'static str,
    },
}

impl SettingsFile {
    /// Reads the file; no file says nothing.
    pub(crate) fn read(path: &Path) -> Result<Self, FileError> {
        let unclear = |detail, page| FileError::Parse { path: path.to_owned(), detail, page };
        // A home that is no directory is the store's to report.
        if !path.parent().is_some_and(Path::is_dir) {
            return Ok(Self::default());
        }
        let text = match read_text(path) {
            Ok(text) => text.unwrap_or_default(),
            Err(Unread::System(source)) => {
                return Err(FileError::Read { path: path.to_owned(), source });
            }
            Err(Unread::NoText(detail)) => return Err(unclear(detail, SETTINGS_PAGE)),
        };
        Self::strictly(&text).map_err(|(detail, at)| unclear(detail, page(&text, at)))
    }

    /// What a text says, or what makes no sense in it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        Self::strictly(text).map_err(|(detail, _)| detail)
    }

    /// The same, with the place of what makes no sense.
    fn strictly(text: &str) -> Result<Self, (String, usize)> {
        let text = text.strip_prefix(BOM).unwrap_or(text);
        let read: Result<Self, toml::de::Error> = toml::from_str(text);
        let version = match &read {
            Ok(file) => file.version,
            // What a newer build wrote may have keys that this one does not know.
            Err(_) => toml::from_str::<FormOnly>(text).ok().and_then(|form| form.version),
        };
        if let Some(version) = version.filter(|version| FORM < *version) {
            let detail = format!(
                "a newer piton wrote it (version {version}; this one knows {FORM}); use that one: nothing was changed"
            );
            return Err((detail, 0));
        }
        read.map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            (complaint(&error, text), at)
        })
    }
}

/// The form of a file, whatever else it says.
#[derive(Deserialize)]
struct FormOnly {
    version: Option<u32>,
}

/// A wait that counts where nothing is set, in seconds.
fn seconds_of(wait: impl Fn(Timeouts) -> Duration) -> u64 {
    wait(Timeouts::default()).as_secs()
}

/// The page of the documents that has every key.
const SETTINGS_PAGE: &str = "piton help settings";

/// Where the form of the table is told that has something at `at`.
fn page(text: &str, at: usize) -> &'static str {
    let end = text.get(at..).and_then(|rest| rest.find('\n')).map_or(text.len(), |end| at + end);
    let before = text.get(..end).unwrap_or(text);
    let header = before.lines().rev().find(|line| line.trim_start().starts_with('['));
    let line = header.or_else(|| before.lines().next_back()).unwrap_or_default();
    let name = line.trim_start_matches(['[', ' ', '\t']);
    match name.split(['.', ']', '=', ' ']).next().unwrap_or_default() {
        "permissions" | "unattended" => "piton help permissions",
        "sandbox" => "piton help sandbox",
        "hooks" | "notify" | "notify_seconds" => "piton help hooks",
        "tools" | "web" => "piton help tools",
        "mcp" => "piton help mcp",
        "workers" => "piton help subagents",
        "context" => "piton help context",
        "providers" | "model" | "effort" => "piton help models",
        _ => SETTINGS_PAGE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::{KeyFrom, Speaks};

    #[test]
    fn a_provider_is_a_few_lines() {
        let file = SettingsFile::parse(
            r#"
            model = "work/large"

            [providers.work]
            dialect = "openai-chat"
            base_url = "https://models.example.invalid/v1/"
            key_command = ["pass", "show", "models"]
            headers = { x-team = "climbers" }
            "#,
        )
        .unwrap();
        let provider = file.providers["work"].provider(None).unwrap();
        assert_eq!(file.model.as_deref(), Some("work/large"));
        assert_eq!(provider.speaks, Speaks::OpenaiChat);
        assert_eq!(provider.base_url, "https://models.example.invalid/v1");
        assert_eq!(
            provider.key,
            KeyFrom::Command(vec!["pass".into(), "show".into(), "models".into()])
        );
        assert_eq!(provider.headers["x-team"], "climbers");
    }

    #[test]
    fn what_is_misspelled_is_named() {
        let text = "[providers.work]\ndialect = \"klingon\"\nbase_url = \"x\"\n";
        assert!(SettingsFile::parse(text).unwrap_err().contains("klingon"));
        let text = "[providers.work]\ndialect = \"gemini\"\nbase = \"x\"\n";
        assert!(SettingsFile::parse(text).unwrap_err().contains("base"));
        let text = "effort = \"heroic\"\n";
        assert!(SettingsFile::parse(text).unwrap_err().contains("one of auto, none, minimal"));
        let text = "[providers.openai]\nmax_tokens = -1\n";
        assert!(SettingsFile::parse(text).unwrap_err().contains("max_tokens"));
    }

    // Whoever goes back to an older build must not lose what the newer one knows.
    #[test]
    fn a_file_of_a_newer_build_is_named_as_one() {
        for text in ["version = 2\n", "version = 7\nmodle = { a = 1 }\n[new]\nx = 1\n"] {
            let fault = SettingsFile::parse(text).unwrap_err();
            assert!(fault.starts_with("a newer piton wrote it (version "), "{fault}");
        }
        assert_eq!(SettingsFile::parse("version = 1\n").unwrap().version, Some(1));
    }

    #[test]
    fn a_byte_order_mark_is_passed_over() {
        let file = SettingsFile::parse("\u{feff}model = \"demo\"\r\n").unwrap();
        assert_eq!(file.model.as_deref(), Some("demo"));
    }
}
