//! Files on the wire: which ones a model takes, and what it reads in the place of the others.
//!
//! A new message with a file that cannot be sent is refused before anything leaves. An old one is
//! sent with a note in its place: a conversation must be able to go on with any model.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use piton_core::attachment::{self, FILES_BYTES_MAX, INLINED_CHARS_MAX};
use piton_core::event::UserPart;
use piton_core::transcript::{CallResult, Files};

/// The images that most models take.
pub(crate) const IMAGES: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];
const PDF: &str = "application/pdf";

/// The files that a model takes. What is sent as text needs no leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Takes {
    /// Types of images.
    pub images: &'static [&'static str],
    /// Largest image, in bytes.
    pub image_bytes_max: u64,
    /// Whether it takes PDF documents.
    pub pdf: bool,
    /// Whether it takes texts as documents of their own; only those too long to be sent as text
    /// are.
    pub texts: bool,
}

impl Takes {
    /// Text only.
    pub const NOTHING: Self = Self { images: &[], image_bytes_max: 0, pdf: false, texts: false };

    /// Images of the usual types, as large as a request allows.
    pub(crate) const IMAGES: Self =
        Self { images: IMAGES, image_bytes_max: FILES_BYTES_MAX, pdf: false, texts: false };

    /// What a model of `OpenAI`'s takes: all but the oldest and some small ones see and read.
    pub(crate) fn openai(model: &str) -> Self {
        const TEXT_ONLY: [&str; 8] = [
            "gpt-3",
            "gpt-4-0",
            "gpt-4-32k",
            "gpt-oss",
            "o1-mini",
            "o1-preview",
            "o3-mini",
            "deepseek",
        ];
        let model = model.rsplit('/').next().unwrap_or(model);
        if model == "gpt-4" || TEXT_ONLY.iter().any(|known| model.starts_with(known)) {
            return Self::NOTHING;
        }
        Self { pdf: true, ..Self::IMAGES }
    }

    /// Why a file cannot be sent, if it cannot; goes behind "this model".
    pub fn refusal(&self, media_type: &str, bytes: u64) -> Option<String> {
        let is_large = |most: u64| most < bytes;
        if media_type.starts_with("image/") {
            if self.images.is_empty() {
                return Some("takes no images".into());
            }
            if !self.images.contains(&media_type) {
                return Some(format!("takes no {media_type}, only {}", self.images.join(", ")));
            }
            let (most, has) = (attachment::limit(self.image_bytes_max), attachment::size(bytes));
            return is_large(self.image_bytes_max)
                .then(|| format!("takes images of at most {most}, and this one has {has}"));
        }
        let is_taken = match media_type {
            PDF => self.pdf,
            text => self.texts && attachment::is_textual(text),
        };
        if is_taken {
            let most = attachment::limit(FILES_BYTES_MAX);
            return is_large(FILES_BYTES_MAX).then(|| format!("takes files of at most {most}"));
        }
        Some(match media_type {
            PDF => "takes no PDF documents".into(),
            text if attachment::is_textual(text) => {
                format!("takes no text files of more than {INLINED_CHARS_MAX} characters")
            }
            other => format!("takes no files of type {other}"),
        })
    }
}

/// A part of the user's message on its way.
pub(crate) enum Piece<'a> {
    Text(Cow<'a, str>),
    /// An image, in base64.
    Image {
        media_type: &'a str,
        data: String,
    },
    /// A PDF document, in base64.
    Pdf {
        name: &'a str,
        data: String,
    },
    /// A text that is a document of its own.
    LongText {
        name: &'a str,
        text: &'a str,
    },
}

impl<'a> Piece<'a> {
    /// What becomes of a part.
    pub(crate) fn of(part: &'a UserPart, files: &'a Files, takes: &Takes) -> Self {
        match part {
            UserPart::Text { text } => Self::Text(Cow::Borrowed(text)),
            UserPart::InlinedFile { name, media_type, text } => {
                Self::Text(format!("{}{text}", attachment::heading(name, media_type)).into())
            }
            UserPart::File { name, media_type, blob } => {
                let note = |why: &str| {
                    Self::Text(format!("{}({why}.)", attachment::heading(name, media_type)).into())
                };
                if let Some(why) = takes.refusal(media_type, blob.bytes) {
                    return note(&format!("Not sent: this model {why}"));
                }
                let Some(content) = files.get(&blob.digest) else {
                    return note("Its content is lost");
                };
                // Services take an empty text as no content, and an empty file as a broken one.
                if content.is_empty() {
                    return note("It is empty");
                }
                if media_type.starts_with("image/") {
                    return Self::Image { media_type, data: base64(content) };
                }
                match (media_type.as_str(), std::str::from_utf8(content)) {
                    (PDF, _) => Self::Pdf { name, data: base64(content) },
                    (_, Ok(text)) => Self::LongText { name, text },
                    (_, Err(_)) => note("Its content is no text"),
                }
            }
        }
    }
}

/// What becomes of the images that a call gave.
pub(crate) fn given<'a>(
    result: &'a CallResult,
    files: &'a Files,
    takes: &'a Takes,
) -> impl Iterator<Item = Piece<'a>> {
    result.files.iter().map(move |part| Piece::of(part, files, takes))
}

/// What stands in front of an image that cannot stand in the result itself.
pub(crate) fn given_by(result: &CallResult) -> String {
    format!("(From the result of {} above:)", result.name)
}

/// Bytes as letters.
pub(crate) fn base64(content: &[u8]) -> String {
    STANDARD.encode(content)
}

/// How chat formats write content: with its type in front.
pub(crate) fn data_url(media_type: &str, data: &str) -> String {
    format!("data:{media_type};base64,{data}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_that_only_read_text_are_known_by_name() {
        for (model, sees) in [
            ("gpt-5", true),
            ("gpt-4o", true),
            ("gpt-4-turbo", true),
            ("o3", true),
            ("gpt-4", false),
            ("gpt-4-0613", false),
            ("openai/gpt-3.5-turbo", false),
            ("o3-mini", false),
            ("gpt-oss-20b", false),
        ] {
            assert_eq!(Takes::openai(model) != Takes::NOTHING, sees, "{model}");
        }
    }

    #[test]
    fn a_refusal_says_what_would_be_taken() {
        let images = Takes { image_bytes_max: 1_000, ..Takes::IMAGES };
        let check = |takes: Takes, media_type, bytes, expected: Option<&str>| {
            assert_eq!(takes.refusal(media_type, bytes).as_deref(), expected);
        };
        check(images, "image/png", 1_000, None);
        let large = "takes images of at most 1 KB, and this one has 2 KB";
        check(images, "image/png", 1_001, Some(large));
        let other = "takes no image/tiff, only image/png, image/jpeg, image/gif, image/webp";
        check(images, "image/tiff", 1, Some(other));
        check(Takes::NOTHING, "image/png", 1, Some("takes no images"));
        check(images, "application/pdf", 1, Some("takes no PDF documents"));
        check(images, "application/zip", 1, Some("takes no files of type application/zip"));
        let long = "takes no text files of more than 200000 characters";
        check(images, "text/plain", 1, Some(long));
        let all = Takes { pdf: true, texts: true, ..images };
        check(all, "application/pdf", FILES_BYTES_MAX, None);
        check(all, "text/plain", FILES_BYTES_MAX + 1, Some("takes files of at most 14.6 MB"));
    }
}
