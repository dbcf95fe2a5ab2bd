//! Images for a model to see: known by their first bytes, and whole.
//!
//! A provider refuses a request with a broken image, and every later request of the conversation would have
//! it too. So what is not certain to be an image that providers take is none here.

use piton_core::attachment::{media_type, size};

/// Largest image, in bytes: 5 MiB once it is written in base64, the smallest limit among providers.
pub const IMAGE_BYTES_MAX: u64 = 5 * 1024 * 1024 / 4 * 3;
/// Most pixels of an image in either direction, the smallest limit among providers.
pub const IMAGE_PIXELS_MAX: u32 = 8_000;

/// An image that a call gives back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// What it is called.
    pub name: String,
    /// What it is.
    pub media_type: &'static str,
    /// What it holds.
    pub content: Vec<u8>,
}

impl Image {
    /// The type of image that begins so; none if it is no image that models see.
    pub fn kind(first_bytes: &[u8]) -> Option<&'static str> {
        Some(media_type("", first_bytes)).filter(|kind| kind.starts_with("image/"))
    }

    /// An image that providers take; else why not, to stand behind its name.
    pub fn new(name: impl Into<String>, content: Vec<u8>) -> Result<Self, String> {
        let media_type = Self::kind(&content).ok_or("is no png, jpeg, gif or webp image")?;
        let bytes = u64::try_from(content.len()).unwrap_or(u64::MAX);
        if IMAGE_BYTES_MAX < bytes {
            let (has, most) = (size(bytes), size(IMAGE_BYTES_MAX));
            return Err(format!("is an image of {has}, and a model sees at most {most}"));
        }
        let (width, height) =
            dimensions(media_type, &content).ok_or("is an image that is broken or cut off")?;
        if width == 0 || height == 0 || IMAGE_PIXELS_MAX < width.max(height) {
            return Err(format!(
                "is an image of {width} x {height} pixels, and a model sees at most \
                 {IMAGE_PIXELS_MAX} in either direction"
            ));
        }
        Ok(Self { name: name.into(), media_type, content })
    }

    /// One line that says what the model sees.
    pub fn label(&self) -> String {
        let (width, height) = dimensions(self.media_type, &self.content).unwrap_or_default();
        let (name, bytes) = (&self.name, self.content.len() as u64);
        format!("[image `{name}`, {}, {width} x {height}, {}]", self.media_type, size(bytes))
    }
}

/// Width and height, if the image is whole as far as its frame tells.
fn dimensions(media_type: &str, content: &[u8]) -> Option<(u32, u32)> {
    match media_type {
        "image/png" => png(content),
        "image/jpeg" => jpeg(content),
        "image/gif" => {
            let ends = content.last() == Some(&0x3B);
            ends.then_some((little(content, 6, 2)?, little(content, 8, 2)?))
        }
        _ => webp(content),
    }
}

fn png(content: &[u8]) -> Option<(u32, u32)> {
    let is_whole = content.get(12..16) == Some(b"IHDR")
        && content.windows(4).rev().take(4_096).any(|four| four == b"IEND");
    is_whole.then_some((big(content, 16, 4)?, big(content, 20, 4)?))
}

/// Goes from segment to segment until one tells the size.
fn jpeg(content: &[u8]) -> Option<(u32, u32)> {
    if !content.windows(2).rev().take(4_096).any(|two| two == [0xFF, 0xD9]) {
        return None;
    }
    let mut at = 2;
    loop {
        if content.get(at) != Some(&0xFF) {
            return None;
        }
        let kind = *content.get(at + 1)?;
        match kind {
            // Filling bytes.
            0xFF => at += 1,
            // Frames say how large it is: all of these but those for tables and extensions.
            0xC0..=0xCF if ![0xC4, 0xC8, 0xCC].contains(&kind) => {
                return Some((big(content, at + 7, 2)?, big(content, at + 5, 2)?));
            }
            0x01 | 0xD0..=0xD9 => at += 2,
            _ => at += 2 + usize::try_from(big(content, at + 2, 2)?).ok()?.max(2),
        }
    }
}

fn webp(content: &[u8]) -> Option<(u32, u32)> {
    let length = usize::try_from(little(content, 4, 4)?).ok()?;
    if content.len() < length.checked_add(8)? {
        return None;
    }
    match content.get(12..16)? {
        b"VP8X" => Some((little(content, 24, 3)? + 1, little(content, 27, 3)? + 1)),
        b"VP8L" => {
            let bits = little(content, 21, 4)?;
            Some(((bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1))
        }
        b"VP8 " => Some((little(content, 26, 2)? & 0x3FFF, little(content, 28, 2)? & 0x3FFF)),
        _ => None,
    }
}

fn big(content: &[u8], at: usize, count: usize) -> Option<u32> {
    let bytes = content.get(at..at.checked_add(count)?)?;
    Some(bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
}

fn little(content: &[u8], at: usize, count: usize) -> Option<u32> {
    let bytes = content.get(at..at.checked_add(count)?)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png_of(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes.extend(b"\x08\x02\0\0\0\0\0\0\0\0\0\0\0IEND\xaeB`\x82");
        bytes
    }

    fn told(content: &[u8]) -> String {
        Image::new("a", content.to_vec()).map_or_else(|why| why, |image| image.label())
    }

    #[test]
    fn an_image_is_known_by_its_bytes_and_its_size_is_told() {
        assert_eq!(told(&png_of(3, 4)), "[image `a`, image/png, 3 x 4, 45 bytes]");
        let gif = b"GIF89a\x05\0\x06\0\0\0\0\x3B";
        assert_eq!(told(gif), "[image `a`, image/gif, 5 x 6, 14 bytes]");
        let jpeg =
            b"\xff\xd8\xff\xe0\0\x04ab\xff\xc4\0\x02\xff\xc0\0\x11\x08\0\x07\0\x08\x03\xff\xd9";
        assert_eq!(told(jpeg), "[image `a`, image/jpeg, 8 x 7, 24 bytes]");
        let webp = b"RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x08\0\0\x09\0\0";
        assert_eq!(told(webp), "[image `a`, image/webp, 9 x 10, 30 bytes]");
    }

    #[test]
    fn what_a_provider_would_refuse_is_no_image() {
        assert!(told(b"text").contains("is no png"));
        let png = png_of(3, 4);
        for content in [&png[..20], &png[..30], b"\xff\xd8\xff\xe0\0\x04", b"GIF89a\x05\0\x06\0"] {
            assert_eq!(told(content), "is an image that is broken or cut off");
        }
        assert!(told(&png_of(0, 4)).contains("0 x 4 pixels"));
        assert!(told(&png_of(8_001, 4)).contains("8001 x 4 pixels"));
        let mut large = png_of(3, 4);
        large.resize(4_000_000, 0);
        assert!(told(&large).contains("a model sees at most 4.0 MB"), "{}", told(&large));
    }
}
