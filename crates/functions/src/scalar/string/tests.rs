//! Recorded answers of MySQL 9.7 that tests of whole statements cannot request, or only with much
//! memory.

use std::sync::Arc;

use pelorus_types::{Collation, collation};

use crate::registry::resolve::resolve;
use crate::scalar::cast::cast;
use crate::{Arg, CastTarget, EvalContext, Value, array_of, literal, value_at};

/// What a call gives for literals, and the numbers of its warnings.
fn run(call: &crate::Call, args: &[Arg], ctx: &EvalContext) -> (Value, Vec<u16>) {
    let array = |arg: &Arg| array_of(arg.constant.as_ref().unwrap(), &arg.ty).unwrap();
    let arrays: Vec<_> = args.iter().map(array).collect();
    let result = call.evaluate(&arrays, 1).unwrap();
    let value = value_at(&result, &call.return_type(), 0).unwrap();
    (value, ctx.take_warnings().into_iter().map(|(code, _)| code).collect())
}

fn of(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> (Value, Vec<u16>) {
    run(&resolve(name, args, ctx).unwrap(), args, ctx)
}

fn with_packet(bytes: u64) -> Arc<EvalContext> {
    let mut ctx = EvalContext::default();
    ctx.max_allowed_packet = bytes;
    Arc::new(ctx)
}

fn number(value: i64) -> Arg {
    let number = literal::number(&value.unsigned_abs().to_string()).unwrap();
    Arg { constant: Some(Value::Int(value)), ..number }
}

#[test]
fn texts_do_not_grow_beyond_a_packet() {
    let ctx = with_packet(1000);
    let text = |text: &str, count: usize| literal::text(text.repeat(count), &ctx);
    let cases: [(&str, Vec<Arg>, Vec<Arg>); 8] = [
        ("CONCAT", vec![text("a", 500), text("b", 500)], vec![text("a", 500), text("b", 501)]),
        (
            "CONCAT_WS",
            vec![text(",", 2), text("a", 499), text("b", 499)],
            vec![text(",", 2), text("a", 500), text("b", 499)],
        ),
        (
            "REPLACE",
            vec![text("a", 10), text("a", 1), text("b", 100)],
            vec![text("a", 10), text("a", 1), text("b", 101)],
        ),
        (
            "MAKE_SET",
            vec![number(3), text("a", 500), text("b", 499)],
            vec![number(3), text("a", 500), text("b", 500)],
        ),
        (
            // What it could be at the longest counts.
            "EXPORT_SET",
            vec![number(0), text("a", 99), text("b", 1), text(",", 1), number(10)],
            vec![number(0), text("a", 101), text("b", 1), text("", 1), number(10)],
        ),
        ("QUOTE", vec![text("'", 499)], vec![text("'", 500)]),
        ("TO_BASE64", vec![text("a", 738)], vec![text("a", 741)]),
        (
            // A character may take four bytes.
            "LPAD",
            vec![text("a", 1), number(250), text("b", 1)],
            vec![text("a", 1), number(251), text("b", 1)],
        ),
    ];
    for (name, fits, is_over) in cases {
        let (value, warnings) = of(name, &fits, &ctx);
        assert!(!value.is_null() && warnings.is_empty(), "{name}: {value:?} {warnings:?}");
        assert_eq!(of(name, &is_over, &ctx), (Value::Null, vec![1301]), "{name}");
    }
    let long = cast(CastTarget::Binary(Some(1001)), &text("a", 1), &ctx).unwrap();
    assert_eq!(run(&long, &[text("a", 1)], &ctx), (Value::Null, vec![1301]));
}

#[test]
fn a_terabyte_is_not_tried() {
    let ctx = with_packet(1 << 20);
    let million = |letter: &str| literal::text(letter.repeat(1_000_000), &ctx);
    let args = [million("a"), literal::text("a", &ctx), million("b")];
    assert_eq!(of("REPLACE", &args, &ctx), (Value::Null, vec![1301]));
    let bytes = |letter: u8| literal::bytes(vec![letter; 1_000_000]);
    let args = [bytes(b'a'), literal::bytes(b"a".to_vec()), bytes(b'b')];
    assert_eq!(of("REPLACE", &args, &ctx), (Value::Null, vec![1301]));
}

#[test]
fn replacing() {
    let ctx = with_packet(1000);
    let replaced = |text: &str, from: &str, to: &str| {
        let args = [text, from, to];
        let texts = args.map(|text| literal::text(text, &ctx));
        let bytes = args.map(|text| literal::bytes(text.as_bytes().to_vec()));
        let of_bytes = match of("REPLACE", &bytes, &ctx).0 {
            Value::Bytes(bytes) => Value::Text(String::from_utf8(bytes).unwrap()),
            other => other,
        };
        let of_text = of("REPLACE", &texts, &ctx).0;
        assert_eq!(of_text, of_bytes);
        of_text
    };
    let text = |text: &str| Value::Text(text.to_owned());
    assert_eq!(replaced("aaa", "aa", "b"), text("ba"));
    assert_eq!(replaced("äöä", "ä", ""), text("ö"));
    assert_eq!(replaced("abc", "", "x"), text("abc"));
    assert_eq!(replaced("abc", "d", "x"), text("abc"));
    assert_eq!(replaced("", "d", "x"), text(""));
}

#[test]
fn hits_from_the_end() {
    let ctx = with_packet(1000);
    let last = |text: &str, collation: Collation, count: i64| {
        let text = literal::text_of(text, collation);
        of("SUBSTRING_INDEX", &[text, literal::text_of("aa", collation), number(count)], &ctx).0
    };
    let (wide, latin1) = (collation::UTF8MB4_0900_AI_CI, Collation::default_of("latin1").unwrap());
    let text = |text: &str| Value::Text(text.to_owned());
    assert_eq!(last("aaa", wide, -1), text("a"));
    assert_eq!(last("aaa", latin1, -1), text(""));
    assert_eq!(last("aaaaaxaa", wide, -2), text("axaa"));
    assert_eq!(last("aaaaaxaa", latin1, -2), text("xaa"));
    assert_eq!(last("aaaaaxaa", wide, -4), text("aaaaaxaa"));
    assert_eq!(last("aaaaaxaa", wide, 2), text("aa"));
    assert_eq!(last("aaaaaxaa", wide, 9), text("aaaaaxaa"));
}

#[test]
fn spaces_at_the_end_of_a_set_s_members_count() {
    let ctx = with_packet(1000);
    for name in ["utf8mb4_general_ci", "utf8mb4_bin", "utf8mb4_0900_ai_ci", "latin1_swedish_ci"] {
        let collation = Collation::by_name(name).unwrap();
        let at = |wanted: &str, set: &str| {
            let args = [wanted, set].map(|text| literal::text_of(text, collation));
            of("FIND_IN_SET", &args, &ctx).0
        };
        assert_eq!(at("a", "a ,a"), Value::Int(2), "{name}");
        assert_eq!(at("a ", "a,b"), Value::Int(0), "{name}");
        assert_eq!(at("b ", "a,b "), Value::Int(2), "{name}");
        assert_eq!(at("", " ,"), Value::Int(2), "{name}");
    }
}

#[test]
fn numbers_in_other_forms() {
    let ctx = with_packet(1000);
    let text = |text: &str| Value::Text(text.to_owned());
    let conv = |digits: &str, from: i64, to: i64| {
        of("CONV", &[literal::text(digits, &ctx), number(from), number(to)], &ctx).0
    };
    assert_eq!(conv("--5", 10, 10), text("0"));
    assert_eq!(conv("+5", 10, 10), text("5"));
    assert_eq!(conv("-5", -10, -10), text("-5"));
    assert_eq!(conv("18446744073709551615", -10, 10), text("9223372036854775807"));
    assert_eq!(conv("-99999999999999999999", -10, -10), text("-9223372036854775808"));
    assert_eq!(conv("18446744073709551615", 10, 10), text("18446744073709551615"));
    let is = |name: &str, address: &str| of(name, &[literal::text(address, &ctx)], &ctx).0;
    for address in ["1.2.3.4", "01.002.0.255"] {
        assert_eq!(is("IS_IPV4", address), Value::Int(1), "{address}");
        assert_eq!(is("IS_IPV6", &format!("::ffff:{address}")), Value::Int(1), "{address}");
    }
    for address in ["0001.2.3.4", "1.2.3", "1.2.3.256", "1..3.4", "1.2.3.4.", "+1.2.3.4", ""] {
        assert_eq!(is("IS_IPV4", address), Value::Int(0), "{address}");
    }
    for (address, number) in [("1..2", 16_777_218), (".1", 1), ("127", 127)] {
        assert_eq!(is("INET_ATON", address), Value::UInt(number), "{address}");
    }
    assert_eq!(is("INET_ATON", "1.2."), Value::Null);
}
