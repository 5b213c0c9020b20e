//! MySQL's GTIDs and sets of them: `uuid:1-5:7,uuid:tag:1-3`.
//!
//! A set keeps the numbers of each [`Source`] as intervals that neither overlap nor touch, so a
//! server's whole history is one interval as a rule. Text and binary forms are MySQL's own.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound::{Excluded, Unbounded};
use std::str::FromStr;

use pelorus_error::{Code, Error, Result};

mod binary;

/// The largest number that a GTID can have.
pub const MAX_NUMBER: u64 = i64::MAX as u64 - 1;
/// The longest tag.
pub const MAX_TAG: usize = 32;

/// Whose transactions are counted: a server's UUID, and since MySQL 8.4 a tag (empty for none).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Source {
    /// The UUID's 16 bytes in the order in which they are printed.
    pub uuid: [u8; 16],
    /// Lower-case letters, digits and underscores; at most [`MAX_TAG`] of them.
    pub tag: String,
}

/// The name of one transaction.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gtid {
    /// Where it was first committed.
    pub source: Source,
    /// Which one of there, from 1 up to [`MAX_NUMBER`].
    pub number: u64,
}

/// A set of GTIDs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GtidSet {
    /// No entry is empty.
    sources: BTreeMap<Source, Intervals>,
}

/// First and last numbers, both included; neighbours are joined.
type Intervals = BTreeMap<u64, u64>;

impl GtidSet {
    /// The set without members.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether it has no members.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// All intervals, sorted: a source, the first number and the last.
    pub fn intervals(&self) -> impl Iterator<Item = (&Source, u64, u64)> {
        self.sources.iter().flat_map(|(source, intervals)| {
            intervals.iter().map(move |(first, last)| (source, *first, *last))
        })
    }

    /// How many members it has.
    pub fn len(&self) -> u64 {
        self.intervals()
            .map(|(_, first, last)| last - first + 1)
            .fold(0, |sum, count| sum.saturating_add(count))
    }

    /// Whether the transaction is in the set.
    pub fn contains(&self, gtid: &Gtid) -> bool {
        self.sources
            .get(&gtid.source)
            .is_some_and(|intervals| holds(intervals, gtid.number, gtid.number))
    }

    /// Adds a transaction; `false` if the set already contains it.
    pub fn add(&mut self, gtid: &Gtid) -> bool {
        // A source is known as a rule: its name is copied only the first time.
        match self.sources.get_mut(&gtid.source) {
            Some(intervals) if holds(intervals, gtid.number, gtid.number) => false,
            Some(intervals) => {
                join(intervals, gtid.number, gtid.number);
                true
            }
            None => {
                self.add_interval(gtid.source.clone(), gtid.number, gtid.number);
                true
            }
        }
    }

    /// Adds all numbers from `first` to `last`; nothing when `last` is smaller.
    pub fn add_interval(&mut self, source: Source, first: u64, last: u64) {
        if first <= last {
            join(self.sources.entry(source).or_default(), first, last);
        }
    }

    /// Whether all members are in `other`, too.
    pub fn is_subset(&self, other: &GtidSet) -> bool {
        self.sources.iter().all(|(source, mine)| {
            let theirs = other.sources.get(source);
            theirs.is_some_and(|all| mine.iter().all(|(first, last)| holds(all, *first, *last)))
        })
    }

    /// Adds all members of `other`.
    pub fn union(&mut self, other: &GtidSet) {
        for (source, first, last) in other.intervals() {
            match self.sources.get_mut(source) {
                Some(intervals) => join(intervals, first, last),
                None => self.add_interval(source.clone(), first, last),
            }
        }
    }

    /// Takes all members of `other` out.
    pub fn subtract(&mut self, other: &GtidSet) {
        for (source, theirs) in &other.sources {
            let Some(mine) = self.sources.get_mut(source) else { continue };
            for (first, last) in theirs {
                cut(mine, *first, *last);
            }
            if mine.is_empty() {
                self.sources.remove(source);
            }
        }
    }
}

/// Whether one interval holds all numbers from `first` to `last`.
fn holds(intervals: &Intervals, first: u64, last: u64) -> bool {
    intervals.range(..=first).next_back().is_some_and(|(_, end)| last <= *end)
}

/// Adds an interval and joins it with those that it meets.
fn join(intervals: &mut Intervals, first: u64, last: u64) {
    let (mut first, mut last) = (first, last);
    if let Some((start, end)) = intervals.range_mut(..=first).next_back()
        && end.saturating_add(1) >= first
    {
        // Mostly the next transaction of a server: the end moves on and nothing else changes.
        first = *start;
        last = last.max(*end);
        *end = last;
    } else {
        intervals.insert(first, last);
    }
    while let Some((start, end)) =
        intervals.range((Excluded(first), Unbounded)).next().map(|(s, e)| (*s, *e))
        && start <= last.saturating_add(1)
    {
        intervals.remove(&start);
        last = last.max(end);
        intervals.insert(first, last);
    }
}

/// Takes the numbers from `first` to `last` out.
fn cut(intervals: &mut Intervals, first: u64, last: u64) {
    while let Some((start, end)) =
        intervals.range(..=last).next_back().map(|(start, end)| (*start, *end))
        && end >= first
    {
        intervals.remove(&start);
        if end > last {
            intervals.insert(last + 1, end);
        }
        if start < first {
            intervals.insert(start, first - 1);
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_uuid(f, &self.uuid)?;
        if self.tag.is_empty() { Ok(()) } else { write!(f, ":{}", self.tag) }
    }
}

impl fmt::Display for Gtid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.source, self.number)
    }
}

/// As `@@gtid_executed` shows it: one line for each UUID.
impl fmt::Display for GtidSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before: Option<&[u8; 16]> = None;
        for (source, intervals) in &self.sources {
            if before != Some(&source.uuid) {
                if before.is_some() {
                    f.write_str(",\n")?;
                }
                write_uuid(f, &source.uuid)?;
                before = Some(&source.uuid);
            }
            if !source.tag.is_empty() {
                write!(f, ":{}", source.tag)?;
            }
            for (first, last) in intervals {
                write!(f, ":{first}")?;
                if first != last {
                    write!(f, "-{last}")?;
                }
            }
        }
        Ok(())
    }
}

fn write_uuid(f: &mut fmt::Formatter<'_>, uuid: &[u8; 16]) -> fmt::Result {
    for (at, byte) in uuid.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            f.write_str("-")?;
        }
        write!(f, "{byte:02x}")?;
    }
    Ok(())
}

impl FromStr for Gtid {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let set: GtidSet = text.parse()?;
        let mut intervals = set.intervals();
        match (intervals.next(), intervals.next()) {
            (Some((source, first, last)), None) if first == last => {
                Ok(Gtid { source: source.clone(), number: first })
            }
            _ => Err(malformed(text)),
        }
    }
}

impl FromStr for GtidSet {
    type Err = Error;

    /// Reads what MySQL reads: white space is of no account, intervals come in any order, a tag
    /// holds for the intervals after it.
    fn from_str(text: &str) -> Result<Self> {
        let mut set = GtidSet::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let mut words = part.split(':').map(str::trim);
            let uuid = words.next().and_then(parse_uuid).ok_or_else(|| malformed(text))?;
            let mut source = Source { uuid, tag: String::new() };
            for word in words.filter(|word| !word.is_empty()) {
                if word.starts_with(|c: char| c.is_ascii_digit()) {
                    let (first, last) = parse_interval(word).ok_or_else(|| malformed(text))?;
                    set.add_interval(source.clone(), first, last);
                } else {
                    source.tag = parse_tag(word).ok_or_else(|| malformed(text))?;
                }
            }
        }
        Ok(set)
    }
}

fn malformed(text: &str) -> Error {
    let start: String = text.chars().take(100).collect();
    Error::new(Code::WrongArguments, format!("malformed GTID set '{start}'"))
}

/// Reads a UUID, with its dashes or without, in braces or not.
fn parse_uuid(text: &str) -> Option<[u8; 16]> {
    let inner = text.strip_prefix('{').and_then(|t| t.strip_suffix('}')).unwrap_or(text);
    let dashes = inner.bytes().filter(|byte| *byte == b'-').count();
    let placed = [8, 13, 18, 23].iter().all(|at| inner.as_bytes().get(*at) == Some(&b'-'));
    if dashes != 0 && !(dashes == 4 && placed) {
        return None;
    }
    let digits: Vec<u8> = inner.bytes().filter(|byte| *byte != b'-').collect();
    let mut uuid = [0; 16];
    if digits.len() != 32 {
        return None;
    }
    for (byte, pair) in uuid.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |digit: u8| char::from(digit).to_digit(16).and_then(|d| u8::try_from(d).ok());
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(uuid)
}

fn parse_interval(text: &str) -> Option<(u64, u64)> {
    let number = |digits: &str| -> Option<u64> {
        let digits = digits.trim();
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse().ok().filter(|number| plain && *number <= MAX_NUMBER)
    };
    let (first, last) = match text.split_once('-') {
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(text)?, number(text)?),
    };
    (first > 0).then_some((first, last))
}

fn parse_tag(text: &str) -> Option<String> {
    let tag = text.to_ascii_lowercase();
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let starts = !tag.starts_with(|c: char| c.is_ascii_digit());
    (starts && !tag.is_empty() && tag.len() <= MAX_TAG && tag.chars().all(fits)).then_some(tag)
}

#[cfg(test)]
mod tests;
