//! Frames: splits a stream of bytes into payloads, and payloads into frames.
//!
//! A frame is three bytes of length, one sequence number and at most 16 MiB - 1 of payload. A
//! payload that fills a frame continues in the next one. Both directions share one count of
//! sequence numbers, which starts again with every command; the owner passes it from reader to
//! writer.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use pelorus_error::{Code, Error, Result};

/// The most that one frame carries; a frame of exactly this length is followed by another.
pub const MAX_FRAME: usize = 0xFF_FFFF;
/// Length and sequence number.
pub const HEADER: usize = 4;

/// Cuts incoming bytes into payloads. Sans-I/O: feed it, then ask for payloads.
#[derive(Debug)]
pub struct FrameReader {
    buffer: BytesMut,
    /// Bytes at the front of `buffer` that a payload handed out by reference.
    lent: usize,
    /// The earlier frames of a payload beyond 16 MiB.
    joined: BytesMut,
    /// Whether `joined` was handed out by reference.
    joined_lent: bool,
    in_payload: bool,
    sequence: u8,
    max_payload: usize,
    /// Bytes of the frame at hand still to be dropped, because its payload is too large.
    skip: usize,
    /// The payload at hand is too large; it is dropped to its end.
    too_large: bool,
    /// The frame being skipped is the last of its payload.
    skip_is_last: bool,
}

enum Found {
    /// The payload is in `buffer`, after a header.
    Here(usize),
    /// The payload is in `joined`.
    Joined,
}

impl FrameReader {
    /// A reader that expects sequence number 0 and takes payloads of up to `max_payload` bytes.
    pub fn new(max_payload: usize) -> Self {
        Self {
            buffer: BytesMut::new(),
            lent: 0,
            joined: BytesMut::new(),
            joined_lent: false,
            in_payload: false,
            sequence: 0,
            max_payload,
            skip: 0,
            too_large: false,
            skip_is_last: false,
        }
    }

    /// Changes the largest payload (`max_allowed_packet`).
    pub fn set_max_payload(&mut self, bytes: usize) {
        self.max_payload = bytes;
    }

    /// The sequence number that the next frame must have.
    pub fn sequence(&self) -> u8 {
        self.sequence
    }

    /// Expects this sequence number next.
    pub fn set_sequence(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    /// Whether a payload has begun to arrive and not ended.
    pub fn is_mid_payload(&self) -> bool {
        self.in_payload || self.too_large || self.buffer.len() > self.lent
    }

    /// Bytes that have arrived and were not handed out.
    pub fn held(&self) -> usize {
        self.buffer.len() + self.joined.len()
    }

    /// Bytes that have arrived and belong to no payload yet: bytes after a request for TLS belong
    /// to the TLS layer.
    pub fn unread(&self) -> &[u8] {
        &self.buffer[self.lent..]
    }

    /// Where incoming bytes are to be appended, with room for `room` of them.
    pub fn buffer_mut(&mut self, room: usize) -> &mut BytesMut {
        self.reclaim();
        self.buffer.reserve(room);
        &mut self.buffer
    }

    /// Appends incoming bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer_mut(bytes.len()).put_slice(bytes);
    }

    /// The next complete payload, if it has arrived, valid until the next call.
    ///
    /// A frame out of order is error 1156, after which the stream is unusable. A payload that is
    /// too large is dropped to its end and then reported once as error 1153; the stream continues.
    #[expect(clippy::should_implement_trait, reason = "an iterator cannot lend its items")]
    #[inline]
    pub fn next(&mut self) -> Result<Option<&[u8]>> {
        match self.find()? {
            None => Ok(None),
            Some(Found::Here(length)) => {
                let start = self.lent + HEADER;
                self.lent = start + length;
                Ok(Some(&self.buffer[start..self.lent]))
            }
            Some(Found::Joined) => {
                self.joined_lent = true;
                Ok(Some(&self.joined))
            }
        }
    }

    /// Like [`Self::next`], as owned bytes.
    pub fn next_bytes(&mut self) -> Result<Option<Bytes>> {
        match self.find()? {
            None => Ok(None),
            Some(Found::Here(length)) => {
                self.reclaim();
                self.buffer.advance(HEADER);
                Ok(Some(self.buffer.split_to(length).freeze()))
            }
            Some(Found::Joined) => Ok(Some(std::mem::take(&mut self.joined).freeze())),
        }
    }

    /// Gives back what was lent.
    fn reclaim(&mut self) {
        if self.lent > 0 {
            self.buffer.advance(self.lent);
            self.lent = 0;
        }
        if self.joined_lent {
            self.joined = BytesMut::new();
            self.joined_lent = false;
        }
    }

    #[inline]
    fn find(&mut self) -> Result<Option<Found>> {
        if self.joined_lent {
            self.reclaim();
        }
        loop {
            if self.too_large {
                if !self.skip_frame()? {
                    return Ok(None);
                }
                continue;
            }
            let pending = &self.buffer[self.lent..];
            let Some(&[a, b, c, sequence]) = pending.first_chunk::<HEADER>() else {
                return Ok(None);
            };
            let length = u32::from_le_bytes([a, b, c, 0]) as usize;
            if sequence != self.sequence {
                return Err(out_of_order());
            }
            if self.joined.len() + length > self.max_payload {
                self.start_skipping(length);
                continue;
            }
            if pending.len() < HEADER + length {
                return Ok(None);
            }
            self.sequence = self.sequence.wrapping_add(1);
            let last = length < MAX_FRAME;
            if last && !self.in_payload {
                return Ok(Some(Found::Here(length)));
            }
            self.reclaim();
            self.buffer.advance(HEADER);
            self.joined.extend_from_slice(&self.buffer[..length]);
            self.buffer.advance(length);
            self.in_payload = !last;
            if last {
                return Ok(Some(Found::Joined));
            }
        }
    }

    fn start_skipping(&mut self, length: usize) {
        self.reclaim();
        self.too_large = true;
        self.in_payload = false;
        self.joined = BytesMut::new();
        self.skip = HEADER + length;
        self.skip_is_last = length < MAX_FRAME;
        self.sequence = self.sequence.wrapping_add(1);
    }

    /// Drops bytes of a payload that is too large: `false` when more must arrive first. Fails
    /// with the news once the payload has ended.
    fn skip_frame(&mut self) -> Result<bool> {
        if self.skip > 0 {
            let count = self.skip.min(self.buffer.len());
            self.buffer.advance(count);
            self.skip -= count;
            if self.skip > 0 {
                return Ok(false);
            }
        }
        if self.skip_is_last {
            self.too_large = false;
            return Err(Error::new(
                Code::PacketTooLarge,
                "Got a packet bigger than 'max_allowed_packet' bytes",
            ));
        }
        let Some(&[a, b, c, sequence]) = self.buffer.first_chunk::<HEADER>() else {
            return Ok(false);
        };
        if sequence != self.sequence {
            return Err(out_of_order());
        }
        self.start_skipping(u32::from_le_bytes([a, b, c, 0]) as usize);
        Ok(true)
    }
}

fn out_of_order() -> Error {
    Error::new(Code::PacketsOutOfOrder, "Got packets out of order")
}

/// Frames payloads into one buffer that is sent when it has grown enough.
#[derive(Debug, Default)]
pub struct FrameWriter {
    out: BytesMut,
    sequence: u8,
}

impl FrameWriter {
    /// A writer that starts at sequence number 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// The sequence number of the next frame.
    pub fn sequence(&self) -> u8 {
        self.sequence
    }

    /// Gives the next frame this sequence number.
    pub fn set_sequence(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    /// Bytes that wait to be sent.
    pub fn len(&self) -> usize {
        self.out.len()
    }

    /// Whether nothing waits to be sent.
    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// The bytes that wait to be sent; remove sent bytes from the front.
    pub fn buffer_mut(&mut self) -> &mut BytesMut {
        &mut self.out
    }

    /// Takes all bytes that wait to be sent.
    pub fn take(&mut self) -> Bytes {
        self.out.split().freeze()
    }

    /// Frames a finished payload.
    pub fn payload(&mut self, payload: &[u8]) {
        let mut rest = payload;
        loop {
            let (part, after) = rest.split_at(rest.len().min(MAX_FRAME));
            self.header(part.len());
            self.out.extend_from_slice(part);
            if part.len() < MAX_FRAME {
                return;
            }
            rest = after;
        }
    }

    /// Frames the payload that `write` appends, without copying it (unless it exceeds 16 MiB).
    #[inline]
    pub fn packet<R>(&mut self, write: impl FnOnce(&mut BytesMut) -> R) -> R {
        let start = self.out.len();
        self.out.put_slice(&[0; HEADER]);
        let result = write(&mut self.out);
        let length = self.out.len() - start - HEADER;
        if length < MAX_FRAME {
            let [a, b, c, ..] = length.to_le_bytes();
            self.out[start..start + HEADER].copy_from_slice(&[a, b, c, self.sequence]);
            self.sequence = self.sequence.wrapping_add(1);
        } else {
            let mut whole = self.out.split_off(start);
            whole.advance(HEADER);
            self.payload(&whole);
        }
        result
    }

    /// Like [`Self::packet`] for a payload that may turn out impossible: then nothing is left of it.
    #[inline]
    pub fn try_packet<E>(
        &mut self,
        write: impl FnOnce(&mut BytesMut) -> Result<(), E>,
    ) -> Result<(), E> {
        let (start, sequence) = (self.out.len(), self.sequence);
        let result = self.packet(write);
        if result.is_err() {
            self.out.truncate(start);
            self.sequence = sequence;
        }
        result
    }

    fn header(&mut self, length: usize) {
        let [a, b, c, ..] = length.to_le_bytes();
        self.out.put_slice(&[a, b, c, self.sequence]);
        self.sequence = self.sequence.wrapping_add(1);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read_all(reader: &mut FrameReader) -> Vec<Vec<u8>> {
        std::iter::from_fn(|| reader.next().unwrap().map(<[u8]>::to_vec)).collect()
    }

    proptest! {
        #[test]
        fn payloads_come_back_however_the_stream_is_cut(
            payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..20),
            cut in 1_usize..50,
            owned: bool,
        ) {
            let mut writer = FrameWriter::new();
            for (index, payload) in payloads.iter().enumerate() {
                if index % 2 == 0 {
                    writer.payload(payload);
                } else {
                    writer.packet(|out| out.extend_from_slice(payload));
                }
            }
            let mut reader = FrameReader::new(1 << 20);
            let mut seen = Vec::new();
            for piece in writer.take().chunks(cut) {
                reader.feed(piece);
                if owned {
                    while let Some(payload) = reader.next_bytes().unwrap() {
                        seen.push(payload.to_vec());
                    }
                } else {
                    seen.extend(read_all(&mut reader));
                }
            }
            prop_assert_eq!(seen, payloads);
            prop_assert!(!reader.is_mid_payload());
        }

        #[test]
        fn any_bytes_give_payloads_or_an_error(pieces: Vec<Vec<u8>>, max in 0_usize..200) {
            let mut reader = FrameReader::new(max);
            for piece in pieces {
                reader.feed(&piece);
                for _ in 0..piece.len() {
                    match reader.next() {
                        Ok(Some(payload)) => prop_assert!(payload.len() <= max),
                        Ok(None) => break,
                        Err(_) => {}
                    }
                }
            }
        }
    }

    #[test]
    fn payloads_beyond_16_mib_are_split_and_joined() {
        for extra in [0, 1, 7] {
            let payload: Vec<u8> = (0..=250).cycle().take(MAX_FRAME + extra).collect();
            let mut by_copy = FrameWriter::new();
            by_copy.payload(&payload);
            let mut in_place = FrameWriter::new();
            in_place.packet(|out| out.extend_from_slice(&payload));
            assert_eq!(by_copy.sequence(), 2);
            let bytes = by_copy.take();
            assert_eq!(bytes, in_place.take());
            let mut reader = FrameReader::new(64 << 20);
            reader.feed(&bytes[..1000]);
            assert!(reader.next().unwrap().is_none());
            assert!(reader.is_mid_payload());
            reader.feed(&bytes[1000..]);
            assert_eq!(reader.next_bytes().unwrap().unwrap(), payload);
            assert!(reader.next().unwrap().is_none());
            assert_eq!(reader.sequence(), 2);
        }
    }

    #[test]
    fn a_payload_that_is_too_large_is_dropped_and_the_next_one_read() {
        let mut writer = FrameWriter::new();
        writer.payload(&vec![1; MAX_FRAME + 100]);
        writer.payload(b"next");
        let mut reader = FrameReader::new(1000);
        let mut errors = 0;
        let mut seen = Vec::new();
        for piece in writer.take().chunks(100_000) {
            reader.feed(piece);
            loop {
                match reader.next() {
                    Ok(Some(payload)) => seen.push(payload.to_vec()),
                    Ok(None) => break,
                    Err(error) => {
                        assert_eq!(error.errno(), 1153);
                        errors += 1;
                    }
                }
            }
            assert!(reader.unread().len() <= 200_000);
        }
        assert_eq!((errors, seen), (1, vec![b"next".to_vec()]));
    }

    #[test]
    fn a_failed_packet_leaves_nothing() {
        let mut writer = FrameWriter::new();
        writer.payload(b"kept");
        let before = writer.len();
        let failed: Result<(), &str> = writer.try_packet(|out| {
            out.extend_from_slice(b"half");
            Err("no")
        });
        assert_eq!((failed, writer.len(), writer.sequence()), (Err("no"), before, 1));
    }

    #[test]
    fn a_wrong_sequence_number_is_an_error() {
        let mut reader = FrameReader::new(1000);
        reader.feed(&[1, 0, 0, 3, 0]);
        assert_eq!(reader.next().unwrap_err().errno(), 1156);
    }
}
