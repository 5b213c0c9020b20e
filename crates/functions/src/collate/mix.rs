//! Which collation an operation on several texts uses.

use pelorus_error::{Code, Error, Result};
use pelorus_types::{Collation, collation};

use crate::context::EvalContext;
use crate::value::{Arg, Coercibility};

/// The collation of an operation and how strongly it insists on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mixed {
    pub(crate) collation: Collation,
    pub(crate) coercibility: Coercibility,
}

/// The collation an argument brings: numbers become text of the connection's collation.
fn brought(arg: &Arg, ctx: &EvalContext) -> Mixed {
    let collation = if arg.ty.is_string() || arg.ty.wire == pelorus_types::WireType::Bit {
        arg.ty.collation
    } else if arg.is_null() {
        collation::BINARY
    } else {
        ctx.collation
    };
    Mixed { collation, coercibility: arg.coercibility }
}

/// Unites the collations of arguments; `operation` names it in error 1267.
pub(crate) fn mix(args: &[&Arg], ctx: &EvalContext, operation: &str) -> Result<Mixed> {
    let mut all = args.iter().map(|arg| brought(arg, ctx));
    let Some(first) = all.next() else {
        return Ok(Mixed { collation: ctx.collation, coercibility: Coercibility::Coercible });
    };
    let mut mixed = first;
    for next in all {
        mixed = unite(mixed, next).ok_or_else(|| illegal_mix(mixed, next, operation))?;
    }
    if mixed.coercibility == Coercibility::Ignorable {
        mixed = Mixed { collation: collation::BINARY, coercibility: Coercibility::Ignorable };
    }
    Ok(mixed)
}

fn unite(a: Mixed, b: Mixed) -> Option<Mixed> {
    if a.collation == b.collation {
        return Some(Mixed { coercibility: a.coercibility.min(b.coercibility), ..a });
    }
    if a.coercibility == Coercibility::Ignorable {
        return Some(b);
    }
    if b.coercibility == Coercibility::Ignorable {
        return Some(a);
    }
    let (binary_a, binary_b) = (a.collation == collation::BINARY, b.collation == collation::BINARY);
    if binary_a || binary_b {
        // Bytes win unless the text insists more.
        let (bytes, text) = if binary_a { (a, b) } else { (b, a) };
        return Some(if bytes.coercibility <= text.coercibility { bytes } else { text });
    }
    if a.coercibility < b.coercibility {
        return Some(a);
    }
    if b.coercibility < a.coercibility {
        return Some(b);
    }
    if a.coercibility == Coercibility::Explicit {
        return None;
    }
    let same_charset = a.collation.charset() == b.collation.charset();
    if same_charset {
        // A `_bin` collation beats the others of its charset.
        return match (a.collation.is_binary_order(), b.collation.is_binary_order()) {
            (true, false) => Some(a),
            (false, true) => Some(b),
            _ => None,
        };
    }
    // A Unicode charset takes in the others.
    match (unicode_rank(a.collation), unicode_rank(b.collation)) {
        (x, y) if x > y => Some(a),
        (x, y) if y > x => Some(b),
        _ if a.coercibility >= Coercibility::Coercible => Some(a),
        _ => None,
    }
}

/// How much of Unicode the collation's charset holds.
fn unicode_rank(collation: Collation) -> u8 {
    match collation.charset() {
        "utf8mb4" | "utf16" | "utf16le" | "utf32" => 2,
        "utf8mb3" | "utf8" | "ucs2" => 1,
        _ => 0,
    }
}

fn illegal_mix(a: Mixed, b: Mixed, operation: &str) -> Error {
    let side = |side: Mixed| format!("({},{})", side.collation.name(), side.coercibility.word());
    Error::new(
        Code::CollationMix,
        format!(
            "Illegal mix of collations {} and {} for operation '{operation}'",
            side(a),
            side(b)
        ),
    )
}
