//! Pictures as models take them.

use std::io::Cursor;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::{DynamicImage, ImageFormat, ImageReader, Limits};

/// The longest side in pixels. The Messages API scales larger pictures down to it, which costs time and shows no more
/// (<https://docs.claude.com/en/docs/build-with-claude/vision>).
const LONGEST_SIDE: u32 = 1568;

/// Bytes of a picture: the API takes 5 MB of base64, which is a third longer.
const LARGEST: usize = 3_750_000;

/// Bytes of a file that is looked at at all.
pub(crate) const LARGEST_FILE: u64 = 64 * 1024 * 1024;

/// Memory that unpacking a picture may take, in bytes. A small file can hold a huge one.
const MEMORY: u64 = 512 * 1024 * 1024;

/// The quality of pictures that are packed again.
const QUALITY: u8 = 85;

/// A picture that a model can be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Its type, such as `image/png`.
    pub media_type: String,
    /// Its bytes in base64.
    pub base64: String,
}

/// A picture and what is said of it.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) picture: Picture,
    /// Its width and height in pixels.
    pub(crate) size: (u32, u32),
    /// The size that the model sees, where that is another.
    pub(crate) scaled: Option<(u32, u32)>,
}

/// Whether content that begins like this is a picture of a kind that models take.
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
    /// A picture of these bytes, scaled down where it is larger than models take.
    ///
    /// # Errors
    /// Why it is none, as half a sentence.
    pub fn of(bytes: &[u8]) -> Result<Self, String> {
        Ok(shown(bytes)?.picture)
    }

    /// The same for bytes in base64.
    ///
    /// # Errors
    /// As there.
    pub fn of_base64(base64: &str) -> Result<Self, String> {
        let bytes = STANDARD
            .decode(base64.trim())
            .map_err(|error| format!("it is not valid base64 ({error})"))?;
        Self::of(&bytes)
    }
}

/// The same with its size.
pub(crate) fn shown(bytes: &[u8]) -> Result<Shown, String> {
    let format = format(bytes).ok_or("it is not a PNG, JPEG, GIF or WebP picture")?;
    let damaged = |error: image::ImageError| format!("it is damaged or too large ({error})");
    let (width, height) = reader(bytes, format).into_dimensions().map_err(damaged)?;
    if width.max(height) <= LONGEST_SIDE && bytes.len() <= LARGEST {
        return Ok(Shown {
            picture: encoded(format, bytes),
            size: (width, height),
            scaled: None,
        });
    }
    let whole = reader(bytes, format).decode().map_err(damaged)?;
    let small = if width.max(height) > LONGEST_SIDE {
        whole.resize(LONGEST_SIDE, LONGEST_SIDE, FilterType::Triangle)
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
    limits.max_alloc = Some(MEMORY);
    reader.limits(limits);
    reader
}

/// As PNG, which keeps letters and lines sharp, unless that is too large.
fn packed(picture: &DynamicImage) -> Result<Picture, image::ImageError> {
    let mut bytes = Vec::new();
    picture.write_to(&mut Cursor::new(&mut bytes), ImageFormat::Png)?;
    if bytes.len() <= LARGEST {
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
    fn a_picture_that_models_take_is_passed_as_it_is() {
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
    fn a_large_picture_is_scaled_down_in_proportion() {
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
    fn a_small_file_that_unpacks_to_more_than_memory_is_refused() {
        let mut bytes = drawn(10, 10, ImageFormat::Png);
        // The width and height in the header, which says 60000 x 60000 then; its checksum comes behind.
        bytes[16..24].copy_from_slice(&[0, 0, 0xea, 0x60, 0, 0, 0xea, 0x60]);
        assert!(shown(&bytes).is_err());
    }

    proptest! {
        #[test]
        fn damaged_pictures_are_refused_without_a_panic(
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
