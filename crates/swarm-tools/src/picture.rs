//! Images in a form that models accept.

use std::io::Cursor;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::{DynamicImage, ImageFormat, ImageReader, Limits};

/// The maximum side length in pixels. The Messages API scales larger images down to it, which costs
/// time without adding detail (<https://docs.claude.com/en/docs/build-with-claude/vision>).
const MAX_SIDE: u32 = 1568;

/// Maximum size of an image in bytes: the API accepts 5 MB of base64, which is a third longer.
const MAX_IMAGE_BYTES: usize = 3_750_000;

/// Maximum size in bytes of a file that is decoded.
pub(crate) const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// Maximum memory for decoding an image in bytes. A small file can contain a huge image.
const MAX_DECODE_BYTES: u64 = 512 * 1024 * 1024;

/// JPEG quality of re-encoded images, from 1 to 100.
const QUALITY: u8 = 85;

/// An image that can be sent to a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Media type, such as `image/png`.
    pub media_type: String,
    /// Content in base64.
    pub base64: String,
}

/// An image with its dimensions.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) picture: Picture,
    /// Original width and height in pixels.
    pub(crate) size: (u32, u32),
    /// Width and height that the model sees, if the image was scaled.
    pub(crate) scaled: Option<(u32, u32)>,
}

/// Whether content that begins with these bytes is an image of a supported format.
pub(crate) fn is_picture(beginning: &[u8]) -> bool {
    format(beginning).is_some()
}

fn format(beginning: &[u8]) -> Option<ImageFormat> {
    image::guess_format(beginning).ok().filter(|format| {
        matches!(
            format,
            ImageFormat::Png | ImageFormat::Jpeg | ImageFormat::Gif | ImageFormat::WebP
        )
    })
}

impl Picture {
    /// Creates an image from bytes, scaled down if it exceeds the limits.
    ///
    /// # Errors
    /// The reason, as a clause for use in a sentence.
    pub fn of(bytes: &[u8]) -> Result<Self, String> {
        Ok(shown(bytes)?.picture)
    }

    /// Creates an image from base64, scaled down if it exceeds the limits.
    ///
    /// # Errors
    /// The reason, as a clause for use in a sentence.
    pub fn of_base64(base64: &str) -> Result<Self, String> {
        let bytes = STANDARD
            .decode(base64.trim())
            .map_err(|error| format!("it is not valid base64 ({error})"))?;
        Self::of(&bytes)
    }
}

/// Creates an image from bytes and returns it with its dimensions.
pub(crate) fn shown(bytes: &[u8]) -> Result<Shown, String> {
    let format = format(bytes).ok_or("it is not a PNG, JPEG, GIF or WebP image")?;
    let damaged = |error: image::ImageError| format!("it is damaged or too large ({error})");
    let (width, height) = reader(bytes, format).into_dimensions().map_err(damaged)?;
    if width.max(height) <= MAX_SIDE && bytes.len() <= MAX_IMAGE_BYTES {
        return Ok(Shown {
            picture: encoded(format, bytes),
            size: (width, height),
            scaled: None,
        });
    }
    let whole = reader(bytes, format).decode().map_err(damaged)?;
    let small = if width.max(height) > MAX_SIDE {
        whole.resize(MAX_SIDE, MAX_SIDE, FilterType::Triangle)
    } else {
        whole
    };
    Ok(Shown {
        picture: packed(&small).map_err(damaged)?,
        size: (width, height),
        scaled: Some((small.width(), small.height())),
    })
}

fn reader(bytes: &[u8], format: ImageFormat) -> ImageReader<Cursor<&[u8]>> {
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_DECODE_BYTES);
    reader.limits(limits);
    reader
}

/// Encodes as PNG, which keeps text and lines sharp, or as JPEG if the PNG is too large.
fn packed(picture: &DynamicImage) -> Result<Picture, image::ImageError> {
    let mut bytes = Vec::new();
    picture.write_to(&mut Cursor::new(&mut bytes), ImageFormat::Png)?;
    if bytes.len() <= MAX_IMAGE_BYTES {
        return Ok(encoded(ImageFormat::Png, &bytes));
    }
    let mut bytes = Vec::new();
    let encoder = JpegEncoder::new_with_quality(&mut bytes, QUALITY);
    picture.to_rgb8().write_with_encoder(encoder)?;
    Ok(encoded(ImageFormat::Jpeg, &bytes))
}

fn encoded(format: ImageFormat, bytes: &[u8]) -> Picture {
    Picture {
        media_type: format.to_mime_type().to_owned(),
        base64: STANDARD.encode(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn drawn(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
        let mut bytes = Vec::new();
        let picture = DynamicImage::new_rgb8(width, height);
        picture
            .write_to(&mut Cursor::new(&mut bytes), format)
            .unwrap();
        bytes
    }

    #[test]
    fn an_image_within_the_limits_is_unchanged() {
        for (format, media_type) in [
            (ImageFormat::Png, "image/png"),
            (ImageFormat::Jpeg, "image/jpeg"),
            (ImageFormat::Gif, "image/gif"),
            (ImageFormat::WebP, "image/webp"),
        ] {
            let bytes = drawn(30, 20, format);
            assert!(is_picture(&bytes));
            let shown = shown(&bytes).unwrap();
            assert_eq!((shown.size, shown.scaled), ((30, 20), None));
            assert_eq!(shown.picture.media_type, media_type);
            assert_eq!(STANDARD.decode(shown.picture.base64).unwrap(), bytes);
        }
    }

    #[test]
    fn a_large_image_is_scaled_down_proportionally() {
        let shown = shown(&drawn(4000, 1000, ImageFormat::Png)).unwrap();
        assert_eq!(
            (shown.size, shown.scaled),
            ((4000, 1000), Some((1568, 392)))
        );
        let bytes = STANDARD.decode(shown.picture.base64).unwrap();
        let again = reader(&bytes, ImageFormat::Png).into_dimensions().unwrap();
        assert_eq!(again, (1568, 392));
    }

    #[test]
    fn a_small_file_with_a_huge_image_is_refused() {
        let mut bytes = drawn(10, 10, ImageFormat::Png);
        // Set width and height in the header to 60000 x 60000; the checksum follows and becomes
        // invalid.
        bytes[16..24].copy_from_slice(&[0, 0, 0xea, 0x60, 0, 0, 0xea, 0x60]);
        assert!(shown(&bytes).is_err());
    }

    proptest! {
        #[test]
        fn damaged_images_are_refused_without_a_panic(
            format in prop_oneof![
                Just(ImageFormat::Png), Just(ImageFormat::Jpeg), Just(ImageFormat::Gif), Just(ImageFormat::WebP),
            ],
            cut in 0_usize..200,
            changes in prop::collection::vec((0_usize..400, any::<u8>()), 0..8),
        ) {
            let mut bytes = drawn(40, 40, format);
            for (at, byte) in changes {
                let length = bytes.len();
                bytes[at % length] = byte;
            }
            bytes.truncate(bytes.len().saturating_sub(cut));
            drop(shown(&bytes));
        }
    }
}
