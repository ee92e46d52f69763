//! Files whose text stands in another form: compressed with zstd, as Codex does with sessions of more
//! than a week ago, or in UTF-16, as editors and shells of Windows write it.

use std::error::Error;
use std::fs::File;
use std::io::{
    self, BufRead, BufReader, BufWriter, ErrorKind, IntoInnerError, Read, Seek, SeekFrom, Write,
};
use std::iter;

use ruzstd::decoding::StreamingDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};

use crate::plain_file::Refusal;

/// The bytes that a file may have after decoding. A small compressed file may hold any number.
const DECODED_BYTES_MAX: u64 = 1 << 30;
const BUFFER_BYTES: usize = 64 << 10;
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
/// Makes a unit of UTF-16 out of its two bytes.
type Unit = fn([u8; 2]) -> u16;
/// The byte order marks, each with the order that it announces.
const UTF_16: [(&[u8], Unit); 2] = [
    (b"\xff\xfe", u16::from_le_bytes),
    (b"\xfe\xff", u16::from_be_bytes),
];

/// Returns a file with the text of this one in UTF-8, and its bytes: itself, or one without a name
/// that vanishes when it is closed. Of a compressed file that was cut off, what the decoder gives.
///
/// # Errors
/// [`Refusal::TooLarge`] for more than 1 GiB after decoding, `InvalidData` if nothing can be decoded,
/// and whatever the system refuses.
pub(crate) fn decoded(mut file: File, bytes: u64) -> io::Result<(File, u64)> {
    let mut start = Vec::new();
    (&mut file).take(4).read_to_end(&mut start)?;
    file.seek(SeekFrom::Start(0))?;
    let utf_16 = UTF_16.iter().find(|(mark, _)| start.starts_with(mark));
    if start == ZSTD {
        written(|text| from_zstd(&mut BufReader::new(file), text))
    } else if let Some((mark, unit)) = utf_16 {
        file.seek(SeekFrom::Start(mark.len() as u64))?;
        written(|text| from_utf_16(&mut BufReader::new(file), *unit, text))
    } else {
        Ok((file, bytes))
    }
}

/// Returns the text of bytes in UTF-16 with a byte order mark; `None` if they have none.
pub(crate) fn utf_16(bytes: &[u8]) -> Option<String> {
    let (mark, unit) = UTF_16.iter().find(|(mark, _)| bytes.starts_with(mark))?;
    let units = bytes[mark.len()..].chunks_exact(2);
    let units: Vec<u16> = units.map(|pair| unit([pair[0], pair[1]])).collect();
    Some(String::from_utf16_lossy(&units))
}

fn written(
    write: impl FnOnce(&mut BoundedWriter<BufWriter<File>>) -> io::Result<()>,
) -> io::Result<(File, u64)> {
    let mut text = BoundedWriter {
        output: BufWriter::new(tempfile::tempfile()?),
        bytes: 0,
        bytes_max: DECODED_BYTES_MAX,
    };
    write(&mut text)?;
    let file = text
        .output
        .into_inner()
        .map_err(IntoInnerError::into_error)?;
    Ok((file, text.bytes))
}

/// Takes no more bytes than a file may have after decoding.
struct BoundedWriter<W> {
    output: W,
    bytes: u64,
    bytes_max: u64,
}

impl<W: Write> BoundedWriter<W> {
    fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        if self.bytes > self.bytes_max {
            return Err(Refusal::TooLarge(self.bytes_max).into());
        }
        self.output.write_all(bytes)
    }
}

/// Writes the text of all frames of a file.
fn from_zstd<W: Write>(input: &mut impl BufRead, text: &mut BoundedWriter<W>) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    while !input.fill_buf()?.is_empty() {
        let mut frame = match StreamingDecoder::new(&mut *input) {
            Ok(frame) => frame,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => {
                io::copy(&mut (&mut *input).take(u64::from(length)), &mut io::sink())?;
                continue;
            }
            Err(error) if text.bytes == 0 => return Err(invalid(error)),
            Err(_) => return Ok(()),
        };
        loop {
            match frame.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => text.add(&buffer[..count])?,
                Err(error) if text.bytes == 0 => return Err(invalid(error)),
                // It was cut off.
                Err(_) => return Ok(()),
            }
        }
    }
    Ok(())
}

fn invalid(error: impl Into<Box<dyn Error + Send + Sync>>) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, error)
}

/// Writes a text that is in UTF-16, behind its mark.
fn from_utf_16<W: Write>(
    input: &mut impl BufRead,
    unit: Unit,
    text: &mut BoundedWriter<W>,
) -> io::Result<()> {
    let mut bytes = input.bytes();
    let units = iter::from_fn(|| match (bytes.next()?, bytes.next()?) {
        (Ok(first), Ok(second)) => Some(unit([first, second])),
        _ => None,
    });
    for letter in char::decode_utf16(units) {
        let letter = letter.unwrap_or(char::REPLACEMENT_CHARACTER);
        text.add(letter.encode_utf8(&mut [0; 4]).as_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(bytes: &[u8]) -> io::Result<String> {
        let mut file = tempfile::tempfile()?;
        file.write_all(bytes)?;
        file.seek(SeekFrom::Start(0))?;
        let (mut file, length) = decoded(file, bytes.len() as u64)?;
        file.seek(SeekFrom::Start(0))?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        assert_eq!(text.len() as u64, length);
        Ok(text)
    }

    /// A frame as `zstd` writes it: a raw block of these bytes, and no checksum.
    fn frame(text: &[u8]) -> Vec<u8> {
        let mut frame = ZSTD.to_vec();
        let length = u32::try_from(text.len()).unwrap();
        // A single segment, whose size takes four bytes.
        frame.push(0b1010_0000);
        frame.extend(length.to_le_bytes());
        frame.extend(&((length << 3) | 1).to_le_bytes()[..3]);
        frame.extend(text);
        frame
    }

    #[test]
    fn every_form_becomes_utf_8() {
        let plain = "Tee um vier, für Søren 🍵\n";
        let units =
            |unit: fn(u16) -> [u8; 2]| plain.encode_utf16().flat_map(unit).collect::<Vec<_>>();
        let two = [frame(b"Tee um vier,"), frame(" für Søren 🍵\n".as_bytes())].concat();
        for bytes in [
            plain.as_bytes().to_vec(),
            [&b"\xff\xfe"[..], &units(u16::to_le_bytes)].concat(),
            [&b"\xfe\xff"[..], &units(u16::to_be_bytes)].concat(),
            frame(plain.as_bytes()),
            two,
        ] {
            assert_eq!(text_of(&bytes).unwrap(), plain);
        }
        assert_eq!(text_of(b"").unwrap(), "");
    }

    #[test]
    fn what_is_cut_off_is_read_up_to_there() {
        let whole = [frame(b"one\n"), frame(b"two\n")].concat();
        for cut in 0..whole.len() {
            match text_of(&whole[..cut]) {
                Ok(text) if cut < 4 => assert_eq!(text.as_bytes(), &whole[..cut]),
                Ok(text) => assert!("one\ntwo\n".starts_with(&text)),
                Err(error) => assert_eq!(error.kind(), ErrorKind::InvalidData, "{cut}"),
            }
        }
    }

    /// Blocks of one byte that is repeated take a few bytes.
    #[test]
    fn a_small_file_of_any_size_is_refused() {
        let mut bomb = ZSTD.to_vec();
        bomb.extend([0, 0x58]);
        let (length, repeated) = (128_u32 << 10, 0b10);
        for _ in 0..64 {
            bomb.extend(&((length << 3) | repeated).to_le_bytes()[..3]);
            bomb.push(b'x');
        }
        let mut text = BoundedWriter {
            output: io::sink(),
            bytes: 0,
            bytes_max: 1 << 20,
        };
        let error = from_zstd(&mut bomb.as_slice(), &mut text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
    }
}
