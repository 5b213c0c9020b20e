//! Collation resolution: the collation of an operation on several texts, by MySQL's coercibility
//! rules.

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
    let collation = if arg.ty.wire == pelorus_types::WireType::Json {
        collation::UTF8MB4_BIN
    } else if arg.ty.is_string() || arg.ty.wire == pelorus_types::WireType::Bit {
        arg.ty.collation
    } else if arg.is_null() {
        collation::BINARY
    } else {
        ctx.collation
    };
    Mixed { collation, coercibility: arg.coercibility }
}

/// Unites the collations of arguments whose text becomes part of a result. Collations that
/// contradict each other give the charset's `_bin` collation, of no strength.
pub(crate) fn mix(args: &[&Arg], ctx: &EvalContext, operation: &str) -> Result<Mixed> {
    mix_all(args, ctx, operation).map(|(mixed, _)| mixed)
}

/// Unites the collations of arguments that are compared; contradictions are error 1267. An
/// argument within which collations contradict each other takes the collation of the others.
pub(crate) fn mix_to_compare(args: &[&Arg], ctx: &EvalContext, operation: &str) -> Result<Mixed> {
    match mix_all(args, ctx, operation)? {
        (mixed @ Mixed { coercibility: Coercibility::Explicit, .. }, _) => Ok(mixed),
        (_, Some((a, b))) => Err(illegal_mix(a, b, operation)),
        (mixed @ Mixed { coercibility: Coercibility::None, .. }, None) => {
            Err(illegal_mix(mixed, mixed, operation))
        }
        (mixed, None) => Ok(mixed),
    }
}

fn mix_all(
    args: &[&Arg],
    ctx: &EvalContext,
    operation: &str,
) -> Result<(Mixed, Option<(Mixed, Mixed)>)> {
    let mut all = args.iter().map(|arg| brought(arg, ctx));
    let Some(first) = all.next() else {
        let none = Mixed { collation: ctx.collation, coercibility: Coercibility::Coercible };
        return Ok((none, None));
    };
    let mut mixed = first;
    let mut contradiction = None;
    for next in all {
        // Among the arguments of one call a contradiction yields to columns, not to literals.
        if contradiction.is_some()
            && mixed.coercibility == Coercibility::None
            && next.coercibility > Coercibility::Implicit
        {
            continue;
        }
        let united = unite(mixed, next).ok_or_else(|| illegal_mix(mixed, next, operation))?;
        let were_none = [mixed, next].iter().any(|it| it.coercibility == Coercibility::None);
        if united.coercibility == Coercibility::None && !were_none {
            contradiction = contradiction.or(Some((mixed, next)));
        }
        mixed = united;
    }
    if mixed.coercibility == Coercibility::Ignorable {
        mixed = Mixed { collation: collation::BINARY, coercibility: Coercibility::Ignorable };
    }
    Ok((mixed, contradiction))
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
    if a.collation.charset() == b.collation.charset() {
        // A `_bin` collation beats the others of its charset.
        return match (a.collation.is_binary_order(), b.collation.is_binary_order()) {
            (true, false) => Some(a),
            (false, true) => Some(b),
            _ => {
                let bin = Collation::by_name(&format!("{}_bin", a.collation.charset()))?;
                Some(Mixed { collation: bin, coercibility: Coercibility::None })
            }
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

#[cfg(test)]
mod tests {
    use pelorus_types::ColumnType;

    use super::*;
    use crate::value::Value;

    fn of(name: &str, coercibility: Coercibility) -> Arg {
        let ty = ColumnType::varchar(4, Collation::by_name(name).unwrap());
        Arg { coercibility, ..Arg::literal(Value::Text("a".to_owned()), ty, "") }
    }

    fn mixed(args: &[Arg], compared: bool) -> Option<(String, Coercibility)> {
        let refs: Vec<&Arg> = args.iter().collect();
        let ctx = EvalContext::default();
        let unite = if compared { mix_to_compare } else { mix };
        unite(&refs, &ctx, "x").ok().map(|it| (it.collation.name(), it.coercibility))
    }

    /// As MySQL 9.7 says.
    #[test]
    fn contradictions_yield_to_columns_and_to_other_arguments() {
        use Coercibility::{Coercible, Explicit, Implicit, None as Nothing};
        let unicode = of("utf8mb4_unicode_ci", Implicit);
        let other = of("utf8mb4_0900_ai_ci", Implicit);
        let literal = of("utf8mb4_0900_ai_ci", Coercible);
        let none = of("utf8mb4_bin", Nothing);
        let found = |name: &str, coercibility| Some((name.to_owned(), coercibility));
        let two = [unicode.clone(), other.clone()];
        assert_eq!(mixed(&two, false), found("utf8mb4_bin", Nothing));
        assert_eq!(mixed(&two, true), None);
        let three = [unicode.clone(), other.clone(), literal.clone()];
        assert_eq!(mixed(&three, false), found("utf8mb4_bin", Nothing));
        assert_eq!(mixed(&three, true), None);
        let again = [unicode.clone(), other.clone(), unicode.clone()];
        assert_eq!(mixed(&again, false), found("utf8mb4_unicode_ci", Implicit));
        assert_eq!(mixed(&again, true), None);
        let said = [unicode, other, of("utf8mb4_bin", Explicit)];
        assert_eq!(mixed(&said, true), found("utf8mb4_bin", Explicit));
        let beside = [none.clone(), literal];
        assert_eq!(mixed(&beside, true), found("utf8mb4_0900_ai_ci", Coercible));
        assert_eq!(mixed(&[none.clone(), none], true), None);
    }

    #[test]
    fn bytes_win_where_the_text_insists_no_more() {
        let text = |coercibility| of("utf8mb4_general_ci", coercibility);
        let bytes = |coercibility| of("binary", coercibility);
        let collation = |a, b| mixed(&[a, b], true).unwrap().0;
        let (column, literal) = (Coercibility::Implicit, Coercibility::Coercible);
        assert_eq!(collation(text(column), bytes(column)), "binary");
        assert_eq!(collation(text(column), bytes(literal)), "utf8mb4_general_ci");
        assert_eq!(collation(text(literal), bytes(literal)), "binary");
    }
}
