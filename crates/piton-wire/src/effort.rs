//! How much a model should think, and `OpenAI`'s words for it.

/// Families that do not reason: they reject everything about reasoning.
const NOT_REASONING: [&str; 4] = ["gpt-3", "gpt-4", "chatgpt", "gpt-5-chat"];

/// Whether a model of `OpenAI`'s can be told to think.
pub(crate) fn is_reasoning(model: &str) -> bool {
    let family = model.rsplit('/').next().unwrap_or(model);
    !NOT_REASONING.iter().any(|known| family.starts_with(known))
}

/// How much a model should think. Nothing at all is said where nobody asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Not at all, or as little as the model allows.
    None,
    /// Hardly.
    Minimal,
    /// A little.
    Low,
    /// As usual.
    Medium,
    /// Much.
    High,
    /// As much as it can.
    Max,
}

impl Effort {
    /// What a conversation says, for a request.
    pub fn of(recorded: piton_core::event::Effort) -> Option<Self> {
        use piton_core::event::Effort as Recorded;
        match recorded {
            Recorded::Auto => None,
            Recorded::None => Some(Self::None),
            Recorded::Minimal => Some(Self::Minimal),
            Recorded::Low => Some(Self::Low),
            Recorded::Medium => Some(Self::Medium),
            Recorded::High => Some(Self::High),
            Recorded::Max => Some(Self::Max),
        }
    }

    /// The nearest of the three words that every server knows.
    pub(crate) fn plain_word(self) -> &'static str {
        match self {
            Self::None | Self::Minimal | Self::Low => "low",
            Self::Medium => "medium",
            Self::High | Self::Max => "high",
        }
    }

    /// The nearest word that a model of `OpenAI`'s knows. A word that it does not know fails the
    /// request, and which ones it knows changed with every generation.
    pub(crate) fn openai_word(self, model: &str) -> &'static str {
        let model = model.rsplit('/').next().unwrap_or(model);
        let words = Words::of(model);
        match self {
            Self::None if words.none => "none",
            Self::None | Self::Minimal if words.minimal => "minimal",
            Self::Max if words.xhigh => "xhigh",
            Self::None | Self::Minimal | Self::Low => "low",
            Self::Medium => "medium",
            Self::High | Self::Max => "high",
        }
    }
}

/// Which words a model knows beside low, medium and high.
struct Words {
    none: bool,
    minimal: bool,
    xhigh: bool,
}

impl Words {
    fn of(model: &str) -> Self {
        let (none, minimal, xhigh) = match model.strip_prefix("gpt-5") {
            // The first generation, by any of its names.
            Some(rest) if !rest.starts_with('.') => (false, !rest.contains("codex"), false),
            Some(rest) => {
                let is_codex = rest.contains("codex");
                let is_second = rest.starts_with(".1");
                (!is_codex, false, !is_second || rest.contains("codex-max"))
            }
            None => (false, false, false),
        };
        Self { none, minimal, xhigh }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_gets_a_word_that_it_knows() {
        let all = [Effort::None, Effort::Minimal, Effort::Low, Effort::Medium, Effort::High];
        let words = |model: &str| {
            let words = all.iter().chain([&Effort::Max]).map(|effort| effort.openai_word(model));
            words.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(words("gpt-5"), "minimal minimal low medium high high");
        assert_eq!(words("gpt-5-mini-2025-08-07"), "minimal minimal low medium high high");
        assert_eq!(words("gpt-5-codex"), "low low low medium high high");
        assert_eq!(words("gpt-5.1"), "none low low medium high high");
        assert_eq!(words("gpt-5.1-codex-max"), "low low low medium high xhigh");
        assert_eq!(words("openai/gpt-5.2"), "none low low medium high xhigh");
        assert_eq!(words("gpt-5.3-codex"), "low low low medium high xhigh");
        assert_eq!(words("o3"), "low low low medium high high");
        assert_eq!(words("gpt-oss-120b"), "low low low medium high high");
    }
}
