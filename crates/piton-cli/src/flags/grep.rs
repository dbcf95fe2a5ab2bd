//! The flags of `piton grep`.

use clap::{Args, ValueEnum};
use piton::search;

/// Most hits that are shown unless told otherwise.
const GREP_HITS: usize = 200;

/// The flags of `piton grep`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct Grep {
    /// What to look for, exactly as it is; upper and lower case alike, unless it has a letter in upper case
    #[arg(value_name = "PATTERN", allow_hyphen_values = true)]
    pub(crate) pattern: String,
    /// The pattern is a regular expression; every text is looked at
    #[arg(short = 'e', long)]
    pub(crate) regex: bool,
    /// In conversations of all directories, and of workers
    #[arg(long)]
    pub(crate) all: bool,
    /// Only in this conversation, or the beginning of its id
    #[arg(long, value_name = "ID", conflicts_with = "all")]
    pub(crate) id: Option<String>,
    /// Only what these said, separated by commas
    #[arg(long, value_name = "SCOPE", value_delimiter = ',', default_value = "all")]
    pub(crate) scope: Vec<GrepScope>,
    /// So many lines around each hit
    #[arg(short = 'C', long, value_name = "N", default_value_t = 0)]
    pub(crate) context: usize,
    /// What to show of the hits
    #[arg(long, value_name = "FORM", default_value = "hits")]
    pub(crate) output: GrepOutput,
    /// At most so many hits in one conversation
    #[arg(short, long, value_name = "N")]
    pub(crate) max_count: Option<usize>,
    /// At most so many hits in all, the newest; 0 is no limit [default: 200 where hits are shown]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Also in what does not count any more: turns that were discarded, attempts before a retry
    #[arg(long)]
    pub(crate) discarded: bool,
    /// One JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Who said a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GrepScope {
    /// You: messages, files in them, answers to questions
    User,
    /// The model: its answers
    Assistant,
    /// The model, before it answered
    Thinking,
    /// Calls, and what they gave
    Tool,
    /// Titles
    Title,
    /// All of these
    All,
}

/// What is shown of hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GrepOutput {
    /// Each line that matches, as ID:TURN:SCOPE:KIND:TEXT
    Hits,
    /// The conversations
    Ids,
    /// The conversations, and how many hits each has, as ID:COUNT
    Count,
    /// The lines alone
    Text,
}

impl Grep {
    /// Most hits in all.
    pub(crate) fn hits_max(&self) -> usize {
        match (self.limit, self.output) {
            (Some(0), _) | (None, GrepOutput::Ids | GrepOutput::Count) => usize::MAX,
            (Some(limit), _) => limit,
            (None, GrepOutput::Hits | GrepOutput::Text) => GREP_HITS,
        }
    }

    /// Most hits in one conversation.
    pub(crate) fn each_max(&self) -> usize {
        match (self.max_count, self.output) {
            (Some(max), _) => max.max(1),
            // One is enough to name the conversation.
            (None, GrepOutput::Ids) => 1,
            (None, _) => usize::MAX,
        }
    }

    /// Who said what is looked for; nobody is everybody.
    pub(crate) fn scopes(&self) -> Vec<search::Scope> {
        if self.scope.contains(&GrepScope::All) {
            return Vec::new();
        }
        let scope = |scope: &GrepScope| match scope {
            GrepScope::User => Some(search::Scope::User),
            GrepScope::Assistant => Some(search::Scope::Assistant),
            GrepScope::Thinking => Some(search::Scope::Thinking),
            GrepScope::Tool => Some(search::Scope::Tool),
            GrepScope::Title => Some(search::Scope::Title),
            GrepScope::All => None,
        };
        self.scope.iter().filter_map(scope).collect()
    }
}
