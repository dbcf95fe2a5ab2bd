//! What is known about models: the files they take, and how they think.

use crate::Takes;

/// All models take the same, and none takes GIF.
pub(super) const TAKES: Takes = Takes {
    images: &["image/png", "image/jpeg", "image/webp"],
    pdf: true,
    texts: true,
    ..Takes::IMAGES
};

/// What a model's name says about how it thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Generation {
    /// Does not think, or we do not know: nothing about thinking is sent.
    Plain,
    /// 2.5: thinks within a budget of tokens.
    Budget,
    /// 3 and later: thinks at a level and rejects calls without their signature.
    Level,
}

impl Generation {
    pub(super) fn of(model: &str) -> Self {
        let Some((_, version)) = model.rsplit_once("gemini-") else {
            return Self::Plain;
        };
        let (major, rest) =
            version.split_at(version.bytes().take_while(u8::is_ascii_digit).count());
        match major.parse::<u32>() {
            Ok(3..) => Self::Level,
            Ok(2) if rest.starts_with(".5") => Self::Budget,
            // `gemini-flash-latest` and its kin move; they are past 3.
            Err(_) if version.ends_with("-latest") => Self::Level,
            Ok(_) | Err(_) => Self::Plain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_name_tells_how_it_thinks() {
        for (model, generation) in [
            ("gemini-1.5-pro", Generation::Plain),
            ("gemini-2.0-flash", Generation::Plain),
            ("gemini-2.5-flash-lite", Generation::Budget),
            ("gemini-3-pro-preview", Generation::Level),
            ("publishers/google/models/gemini-3.1-pro", Generation::Level),
            ("gemini-12-pro", Generation::Level),
            ("gemini-flash-latest", Generation::Level),
            ("gemini-99999999999999999999", Generation::Plain),
            ("gemma-3-27b", Generation::Plain),
        ] {
            assert_eq!(Generation::of(model), generation, "{model}");
        }
    }
}
