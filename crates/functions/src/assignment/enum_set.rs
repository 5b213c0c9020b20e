//! Assignment to ENUM and SET: values from a declared list, by name or by number.

use std::borrow::Cow;
use std::collections::HashMap;

use pelorus_error::{Error, Result};
use pelorus_types::Collation;

use super::conversion_error::{Failure, Reporter};
use super::text::plain_text;
use super::{Incoming, Target};
use crate::collation::charset;
use crate::collation::sort_weights::Rules;
use crate::parse;

/// The members of an ENUM or SET column.
#[derive(Debug)]
pub(crate) struct Listed {
    is_set: bool,
    members: Vec<String>,
    by_name: HashMap<String, usize>,
    rules: Rules,
    collation: Collation,
    /// Sort keys of the members, so that a name is found as its collation compares; `None` where that
    /// is not known.
    keys: Option<Vec<Vec<u8>>>,
}

impl Listed {
    pub(crate) fn of(target: &Target, is_set: bool) -> Self {
        let collation = target.ty.collation;
        let rules = Rules::of(collation);
        let mut by_name = HashMap::new();
        for (at, member) in target.members.iter().enumerate() {
            by_name.entry(member.clone()).or_insert(at);
        }
        let key = |member: &String| {
            let mut key = Vec::new();
            rules.key(member, &mut key).map(|()| key)
        };
        let keys = target.members.iter().map(key).collect::<Result<_>>().ok();
        Self { is_set, members: target.members.clone(), by_name, rules, collation, keys }
    }

    /// Whether a text is stored unchanged, by a quick test: the exact name of a member of an ENUM.
    pub(crate) fn holds(&self, text: &str) -> bool {
        !self.is_set && self.by_name.contains_key(text)
    }

    pub(crate) fn convert(
        &self,
        value: Incoming<'_>,
        report: &mut Reporter,
    ) -> Result<Cow<'_, str>, Failure> {
        let text = match value {
            Incoming::Text(text) => String::from_utf8_lossy(text),
            Incoming::Bytes(bytes) | Incoming::Hex(bytes) => {
                let decoded =
                    charset::decode(bytes, self.collation).map_err(|error| report.fail(error))?;
                match decoded.rest.is_empty() {
                    true => decoded.text,
                    // No member is like it.
                    false => Cow::Owned(format!("{}\u{fffd}", decoded.text)),
                }
            }
            Incoming::Date { .. } | Incoming::Time { .. } => Cow::Owned(plain_text(value)),
            #[expect(clippy::cast_sign_loss, reason = "negative numbers are beyond the list")]
            Incoming::Int(value) => return self.number(value as u64, report),
            Incoming::UInt(value) => return self.number(value, report),
            Incoming::Decimal(value) => return self.real(value.to_f64(), report),
            Incoming::Double(value) => return self.real(value, report),
        };
        if self.is_set { self.set(&text, report) } else { self.one(&text, report) }
    }

    fn real(&self, value: f64, report: &mut Reporter) -> Result<Cow<'_, str>, Failure> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        self.number(value as i64 as u64, report)
    }

    fn number(&self, value: u64, report: &mut Reporter) -> Result<Cow<'_, str>, Failure> {
        if self.is_set {
            let all = self.all_bits();
            if value & !all != 0 {
                report.truncated()?;
            }
            return Ok(self.join(value & all));
        }
        let member = value.checked_sub(1).and_then(|at| usize::try_from(at).ok());
        match member.and_then(|at| self.members.get(at)) {
            Some(member) => Ok(Cow::Borrowed(member)),
            None => {
                report.truncated()?;
                Ok(Cow::Borrowed(""))
            }
        }
    }

    fn find(&self, name: &str) -> Result<Option<usize>> {
        if let Some(at) = self.by_name.get(name) {
            return Ok(Some(*at));
        }
        let Some(keys) = &self.keys else {
            return Err(Error::unsupported(format_args!(
                "a value of an ENUM or SET under {} that is not written as its member is",
                self.collation.name()
            )));
        };
        let mut key = Vec::new();
        self.rules.key(name, &mut key)?;
        Ok(keys.iter().position(|member| *member == key))
    }

    fn one(&self, text: &str, report: &mut Reporter) -> Result<Cow<'_, str>, Failure> {
        // MySQL leaves trailing spaces out of account.
        let text = text.trim_end_matches(' ');
        if let Some(at) = self.find(text).map_err(|error| report.fail(error))? {
            return Ok(Cow::Borrowed(&self.members[at]));
        }
        // A number as text counts when it is short; 0 is the error value itself.
        let number = if text.len() < 6 { parse::exact_integer(text) } else { None };
        match number.and_then(|number| usize::try_from(number).ok()) {
            Some(0) => return Ok(Cow::Borrowed("")),
            Some(number) if number <= self.members.len() => {
                return Ok(Cow::Borrowed(&self.members[number - 1]));
            }
            _ => {}
        }
        report.truncated()?;
        Ok(Cow::Borrowed(""))
    }

    fn set(&self, text: &str, report: &mut Reporter) -> Result<Cow<'_, str>, Failure> {
        if text.is_empty() {
            return Ok(Cow::Borrowed(""));
        }
        let (mut bits, mut unknown) = (0_u64, false);
        let names = text.trim_end_matches(' ');
        // Spaces alone name nothing, but are no number either.
        for name in names.split(',').filter(|_| !names.is_empty()) {
            match self.find(name).map_err(|error| report.fail(error))? {
                Some(at) => bits |= 1 << at.min(63),
                None => unknown = true,
            }
        }
        if bits == 0 && text.len() < 22 {
            let number = if text.ends_with(' ') { None } else { parse::exact_integer(text) };
            let number = number.and_then(|number| u64::try_from(number).ok());
            match number.filter(|number| number & !self.all_bits() == 0) {
                Some(number) => return Ok(self.join(number)),
                None => report.truncated()?,
            }
        } else if unknown {
            report.truncated()?;
        }
        Ok(self.join(bits))
    }

    fn all_bits(&self) -> u64 {
        if self.members.len() >= 64 { u64::MAX } else { (1 << self.members.len()) - 1 }
    }

    /// The names of the members of some bits, in the order of the declaration.
    fn join(&self, bits: u64) -> Cow<'_, str> {
        let mut chosen =
            self.members.iter().take(64).enumerate().filter(|(at, _)| bits >> at & 1 == 1);
        let (Some((_, first)), second) = (chosen.next(), chosen.next()) else {
            return Cow::Borrowed("");
        };
        let Some((_, second)) = second else { return Cow::Borrowed(first) };
        let mut out = format!("{first},{second}");
        for (_, member) in chosen {
            out.push(',');
            out.push_str(member);
        }
        Cow::Owned(out)
    }
}
