//! The delimiter rules of `LOAD DATA`: ends of fields and lines, and escape sequences.

use pelorus_error::{Code, Error, Result};

use super::FileFormat;

/// The delimiter rules of a format.
#[derive(Clone)]
pub(super) struct Rules {
    terminated: Vec<u8>,
    lines_terminated: Vec<u8>,
    pub(super) lines_starting: Vec<u8>,
    enclosed: Option<u8>,
    escape: Option<u8>,
    /// Bytes at which something may end or begin in a field that is not enclosed.
    stops: [bool; 256],
    /// The same in an enclosed field.
    enclosed_stops: [bool; 256],
}

/// The location of a field: in the buffer, or in the bytes that had escapes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) unescaped: bool,
    pub(super) null: bool,
    pub(super) enclosed: bool,
}

/// More bytes are needed.
#[derive(Debug)]
pub(super) struct More;

/// A field with the delimiter after it.
pub(super) struct Scanned {
    pub(super) span: Span,
    pub(super) next: usize,
    pub(super) last: bool,
}

impl Rules {
    /// See [`super::Splitter::new`].
    pub(super) fn new(format: &FileFormat) -> Result<Self> {
        let one = |bytes: &[u8]| match *bytes {
            [] => Ok(None),
            [byte] => Ok(Some(byte)),
            _ => {
                let text = "Field separator argument is not what is expected; check the manual";
                Err(Error::new(Code::WrongFieldSeparator, text))
            }
        };
        let (enclosed, escape) = (one(&format.enclosed)?, one(&format.escaped)?);
        let (fields, lines) = (&format.terminated, &format.lines_terminated);
        let (Some(&field), Some(&line)) = (fields.first(), lines.first()) else {
            return Err(Error::unsupported("LOAD DATA without terminators"));
        };
        if fields == lines {
            return Err(Error::unsupported("LOAD DATA with one terminator for fields and lines"));
        }
        let mut stops = [false; 256];
        let mut enclosed_stops = [false; 256];
        for byte in [Some(field), Some(line), escape].into_iter().flatten() {
            stops[usize::from(byte)] = true;
        }
        for byte in [enclosed, escape].into_iter().flatten() {
            enclosed_stops[usize::from(byte)] = true;
        }
        Ok(Self {
            terminated: fields.clone(),
            lines_terminated: lines.clone(),
            lines_starting: format.lines_starting.clone(),
            enclosed,
            escape,
            stops,
            enclosed_stops,
        })
    }

    /// After the end of the line that a byte belongs to, for lines that are not looked at.
    pub(super) fn line_end(
        &self,
        bytes: &[u8],
        from: usize,
        finished: bool,
    ) -> Result<usize, More> {
        let mut at = from;
        while let Some(&byte) = bytes.get(at) {
            if Some(byte) == self.escape {
                at += 2;
            } else if begins(bytes, at, &self.lines_terminated, finished)? {
                return Ok(at + self.lines_terminated.len());
            } else {
                at += 1;
            }
        }
        if finished { Ok(bytes.len()) } else { Err(More) }
    }

    /// Whether a backslash and a byte after it are one character. An escape character that encloses
    /// as well only represents itself, when doubled.
    fn escapes(&self, next: u8) -> bool {
        self.escape != self.enclosed || Some(next) == self.escape
    }

    pub(super) fn field(
        &self,
        bytes: &[u8],
        start: usize,
        finished: bool,
        scratch: &mut Vec<u8>,
    ) -> Result<Scanned, More> {
        let mut scanned = match bytes.get(start) {
            first if first.is_some() && first.copied() == self.enclosed => {
                self.enclosed_field(bytes, start, finished, scratch)
            }
            _ => self.plain_field(bytes, start, finished, scratch),
        }?;
        let span = &mut scanned.span;
        let source = if span.unescaped { scratch.as_slice() } else { bytes };
        let value = source.get(span.start..span.end).unwrap_or_default();
        // Until here the flag says that there was a `\N`.
        span.null = (span.null && value.len() == 1)
            || (!span.enclosed && self.enclosed.is_some() && value == b"NULL");
        Ok(scanned)
    }

    fn plain_field(
        &self,
        bytes: &[u8],
        start: usize,
        finished: bool,
        scratch: &mut Vec<u8>,
    ) -> Result<Scanned, More> {
        let mut text = Text::new(start, scratch);
        let mut at = start;
        loop {
            while bytes.get(at).is_some_and(|&byte| !self.stops[usize::from(byte)]) {
                at += 1;
            }
            let Some(&byte) = bytes.get(at) else {
                let span = text.span(bytes, at, false);
                return if finished {
                    Ok(Scanned { span, next: at, last: true })
                } else {
                    Err(More)
                };
            };
            if Some(byte) == self.escape {
                match bytes.get(at + 1) {
                    Some(&next) if self.escapes(next) => {
                        text.escape(bytes, at, next);
                        at += 2;
                        continue;
                    }
                    None if !finished => return Err(More),
                    _ => {}
                }
            }
            for (terminator, last) in [(&self.lines_terminated, true), (&self.terminated, false)] {
                if begins(bytes, at, terminator, finished)? {
                    let span = text.span(bytes, at, false);
                    return Ok(Scanned { span, next: at + terminator.len(), last });
                }
            }
            at += 1;
        }
    }

    fn enclosed_field(
        &self,
        bytes: &[u8],
        start: usize,
        finished: bool,
        scratch: &mut Vec<u8>,
    ) -> Result<Scanned, More> {
        let mut text = Text::new(start + 1, scratch);
        let mut at = start + 1;
        loop {
            while bytes.get(at).is_some_and(|&byte| !self.enclosed_stops[usize::from(byte)]) {
                at += 1;
            }
            let next = bytes.get(at + 1).copied();
            if next.is_none() && !finished {
                return Err(More);
            }
            let Some(&byte) = bytes.get(at) else {
                // It does not end: the opening character belongs to it.
                text.reopen(start, bytes);
                let span = text.span(bytes, at, false);
                return Ok(Scanned { span, next: at, last: true });
            };
            if let Some(next) = next.filter(|&next| Some(byte) == self.escape && self.escapes(next))
            {
                text.escape(bytes, at, next);
                at += 2;
                continue;
            }
            if Some(byte) != self.enclosed {
                at += 1;
                continue;
            }
            if next == Some(byte) {
                text.keep(bytes, at, byte);
                at += 2;
                continue;
            }
            if next.is_none() {
                let span = text.span(bytes, at, true);
                return Ok(Scanned { span, next: at + 1, last: true });
            }
            for (terminator, last) in [(&self.lines_terminated, true), (&self.terminated, false)] {
                if begins(bytes, at + 1, terminator, finished)? {
                    let span = text.span(bytes, at, true);
                    return Ok(Scanned { span, next: at + 1 + terminator.len(), last });
                }
            }
            at += 1;
        }
    }
}

/// The value of a field while it is read: a part of the bytes until the first escape, from there
/// on a copy.
struct Text<'s> {
    scratch: &'s mut Vec<u8>,
    scratch_start: usize,
    /// The first byte that is not copied.
    from: usize,
    copied: bool,
    null: bool,
}

impl<'s> Text<'s> {
    fn new(from: usize, scratch: &'s mut Vec<u8>) -> Self {
        let scratch_start = scratch.len();
        Self { scratch, scratch_start, from, copied: false, null: false }
    }

    /// Copies up to `at` and adds the byte that the two bytes there represent.
    fn keep(&mut self, bytes: &[u8], at: usize, byte: u8) {
        self.scratch.extend_from_slice(bytes.get(self.from..at).unwrap_or_default());
        self.scratch.push(byte);
        self.copied = true;
        self.from = at + 2;
    }

    /// Adds an escaped character.
    fn escape(&mut self, bytes: &[u8], at: usize, next: u8) {
        let byte = match next {
            b'0' => 0,
            b'b' => 8,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'Z' => 26,
            other => other,
        };
        self.null |= next == b'N';
        self.keep(bytes, at, byte);
    }

    /// Takes the opening character back in.
    fn reopen(&mut self, start: usize, bytes: &[u8]) {
        match (self.copied, bytes.get(start)) {
            (true, Some(&byte)) => self.scratch.insert(self.scratch_start, byte),
            _ => self.from = start,
        }
    }

    /// The location of the value that ends before `at`.
    fn span(&mut self, bytes: &[u8], at: usize, enclosed: bool) -> Span {
        let (mut start, mut end) = (self.from, at);
        if self.copied {
            self.scratch.extend_from_slice(bytes.get(self.from..at).unwrap_or_default());
            (start, end) = (self.scratch_start, self.scratch.len());
        }
        Span { start, end, unescaped: self.copied, null: self.null, enclosed }
    }
}

/// Whether a terminator is at a byte.
fn begins(bytes: &[u8], at: usize, terminator: &[u8], finished: bool) -> Result<bool, More> {
    if let [only] = terminator {
        return Ok(bytes.get(at) == Some(only));
    }
    let rest = bytes.get(at..).unwrap_or_default();
    if rest.starts_with(terminator) {
        return Ok(true);
    }
    if !finished && rest.len() < terminator.len() && terminator.starts_with(rest) {
        return Err(More);
    }
    Ok(false)
}
