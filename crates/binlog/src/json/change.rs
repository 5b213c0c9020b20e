//! Partial updates of a JSON document: each is an operation (1 byte: 0 replace, 1 insert, 2
//! remove), the path with its length, and unless it removes, the value with its length as a binary
//! document.

use std::borrow::Cow;

use pelorus_error::Result;

use super::path::{self, Leg};
use super::{Json, binary};
use crate::reader::{Reader, malformed};

/// Applies changes, in order.
pub(super) fn apply<'a>(json: &mut Json<'a>, changes: &'a [u8]) -> Result<()> {
    let mut reader = Reader::new(changes);
    while !reader.is_empty() {
        let what = reader.u8()?;
        let legs = path::read(reader.lenenc_bytes()?)?;
        match what {
            0 => *find(json, &legs)? = binary::read(reader.lenenc_bytes()?)?,
            1 => insert(json, legs, binary::read(reader.lenenc_bytes()?)?)?,
            2 => remove(json, &legs)?,
            other => return Err(malformed(format_args!("JSON change {other}"))),
        }
    }
    Ok(())
}

fn astray() -> pelorus_error::Error {
    malformed("a JSON change of what is not there")
}

/// The value at a path.
fn find<'j, 'a>(json: &'j mut Json<'a>, legs: &[Leg<'_>]) -> Result<&'j mut Json<'a>> {
    let mut at = json;
    for leg in legs {
        at = match (leg, at) {
            (leg, Json::Array(values)) => {
                let cell = leg.cell(values.len()).unwrap_or(usize::MAX);
                values.get_mut(cell)
            }
            (Leg::Member(name), Json::Object(members)) => {
                members.iter_mut().find(|(key, _)| key == name).map(|(_, value)| value)
            }
            _ => None,
        }
        .ok_or_else(astray)?;
    }
    Ok(at)
}

/// Puts a value in front of a cell (or after the last one), or adds a member.
fn insert<'a>(json: &mut Json<'a>, mut legs: Vec<Leg<'a>>, value: Json<'a>) -> Result<()> {
    let last = legs.pop().ok_or_else(astray)?;
    match (last, find(json, &legs)?) {
        (leg @ (Leg::Cell(_) | Leg::FromEnd(_)), Json::Array(values)) => {
            // What would be before the first comes to the front.
            let cell = leg.cell(values.len()).unwrap_or(0);
            values.insert(cell.min(values.len()), value);
        }
        (Leg::Member(name), Json::Object(members)) => {
            let order =
                |key: &Cow<'_, [u8]>| key.len().cmp(&name.len()).then_with(|| key.cmp(&name));
            match members.binary_search_by(|(key, _)| order(key)) {
                Ok(at) => members[at].1 = value,
                Err(at) => members.insert(at, (name, value)),
            }
        }
        _ => return Err(astray()),
    }
    Ok(())
}

fn remove(json: &mut Json<'_>, legs: &[Leg<'_>]) -> Result<()> {
    let (last, parents) = legs.split_last().ok_or_else(astray)?;
    match (last, find(json, parents)?) {
        (leg, Json::Array(values)) => {
            let cell = leg.cell(values.len()).filter(|cell| *cell < values.len());
            values.remove(cell.ok_or_else(astray)?);
        }
        (Leg::Member(name), Json::Object(members)) => {
            let at = members.iter().position(|(key, _)| key == name).ok_or_else(astray)?;
            members.remove(at);
        }
        _ => return Err(astray()),
    }
    Ok(())
}
