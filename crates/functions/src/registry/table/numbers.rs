//! Functions of numbers.

use crate::registry::fallibility;
use crate::registry::function::{Function, Places, function};
use crate::registry::mariadb::{EXACT, first};
use crate::scalar::{math, round};
use crate::short_circuit::Flow;

/// The rows.
pub(super) static ROWS: &[Function] = &[
    function(&["ROUND"], round::round)
        .flow(Flow::First)
        .numbers(Places::All)
        .reals()
        .mariadb(|args| first(args, &EXACT))
        .infallible(fallibility::rounding)
        .says(
            "ROUND(number[, digits])",
            "The number rounded to digits decimals, 0 by default; a negative count rounds \
             before the decimal point. Exact numbers round half away from zero.",
        )
        .gives("ROUND(-2.45, 1)", "-2.5"),
    function(&["TRUNCATE"], round::round)
        .grammar()
        .flow(Flow::First)
        .numbers(Places::All)
        .reals()
        .mariadb(|args| first(args, &EXACT))
        .infallible(fallibility::truncation)
        .says(
            "TRUNCATE(number, digits)",
            "The number cut towards zero to digits decimals; a negative count replaces \
             digits before the decimal point by 0.",
        )
        .gives("TRUNCATE(1299.99, -2)", "1200"),
    function(&["ABS"], round::abs)
        .partitions()
        .numbers(Places::All)
        .reals()
        .mariadb(|args| !args.iter().any(|it| it.ty.is_temporal()))
        .infallible(fallibility::whole)
        .says("ABS(number)", "The number without its sign; error 1690 for the smallest BIGINT.")
        .gives("ABS(-3.5)", "3.5"),
    function(&["CEIL", "CEILING"], round::to_integer)
        .partitions()
        .numbers(Places::All)
        .reals()
        .mariadb(|args| first(args, &EXACT))
        .infallible(fallibility::whole)
        .says("CEIL(number)", "The smallest integer that is not less than the number.")
        .gives("CEIL(-1.5)", "-1"),
    function(&["FLOOR"], round::to_integer)
        .partitions()
        .numbers(Places::All)
        .reals()
        .mariadb(|args| first(args, &EXACT))
        .infallible(fallibility::whole)
        .says("FLOOR(number)", "The largest integer that is not greater than the number.")
        .gives("FLOOR(-1.5)", "-2"),
    function(&["SIGN"], round::sign)
        .numbers(Places::All)
        .reals()
        .infallible(fallibility::whole)
        .says("SIGN(number)", "-1 if the number is negative, 0 if it is 0, 1 if it is positive.")
        .gives("SIGN(-12)", "-1"),
    function(&["PI"], math::pi)
        .infallible(fallibility::always)
        .says("PI()", "The number pi as a DOUBLE, shown with six decimals.")
        .gives("PI()", "3.141593"),
    function(&["SQRT"], math::of_one)
        .numbers(Places::All)
        .reals()
        .says(
            "SQRT(number)",
            "The square root of the number as a DOUBLE; NULL if the number is negative.",
        )
        .gives("SQRT(2)", "1.4142135623730951"),
    function(&["EXP"], math::of_one)
        .numbers(Places::All)
        .reals()
        .says(
            "EXP(number)",
            "Euler's number e to the power of the number; error 1690 if the result exceeds \
             a DOUBLE.",
        )
        .gives("EXP(1)", "2.718281828459045"),
    function(&["LN"], math::of_one)
        .numbers(Places::All)
        .reals()
        .says(
            "LN(number)",
            "The natural logarithm of the number; NULL and a warning if the number is not \
             positive.",
        )
        .gives("LN(10)", "2.302585092994046"),
    function(&["LOG2"], math::of_one)
        .numbers(Places::All)
        .reals()
        .says(
            "LOG2(number)",
            "The logarithm of the number to base 2; NULL and a warning if the number is not \
             positive.",
        )
        .gives("LOG2(1024)", "10"),
    function(&["LOG10"], math::of_one)
        .numbers(Places::All)
        .reals()
        .says(
            "LOG10(number)",
            "The logarithm of the number to base 10; NULL and a warning if the number is \
             not positive.",
        )
        .gives("LOG10(1000)", "3"),
    function(&["SIN"], math::of_one)
        .numbers(Places::All)
        .reals()
        .says("SIN(angle)", "The sine of the angle, which is in radians.")
        .gives("SIN(1)", "0.8414709848078965"),
    function(&["COS"], math::of_one)
        .numbers(Places::All)
        .reals()
        .says("COS(angle)", "The cosine of the angle, which is in radians.")
        .gives("COS(1)", "0.5403023058681398"),
    function(&["TAN"], math::of_one)
        .numbers(Places::All)
        .reals()
        .says("TAN(angle)", "The tangent of the angle, which is in radians.")
        .gives("TAN(1)", "1.5574077246549023"),
    function(&["COT"], math::of_one)
        .numbers(Places::All)
        .reals()
        .says("COT(angle)", "The cotangent of the angle, which is in radians; error 1690 for 0.")
        .gives("COT(1)", "0.6420926159343306"),
    function(&["ASIN"], math::of_one)
        .numbers(Places::All)
        .reals()
        .says(
            "ASIN(number)",
            "The arc sine of the number in radians, from -pi/2 to pi/2; NULL if the number \
             is outside -1 to 1.",
        )
        .gives("ASIN(1)", "1.5707963267948966"),
    function(&["ACOS"], math::of_one)
        .numbers(Places::All)
        .reals()
        .says(
            "ACOS(number)",
            "The arc cosine of the number in radians, from 0 to pi; NULL if the number is \
             outside -1 to 1.",
        )
        .gives("ACOS(-1)", "3.141592653589793"),
    function(&["DEGREES"], math::of_one)
        .numbers(Places::All)
        .reals()
        .says("DEGREES(angle)", "The angle, which is in radians, in degrees.")
        .gives("DEGREES(PI())", "180"),
    function(&["RADIANS"], math::of_one)
        .numbers(Places::All)
        .reals()
        .says("RADIANS(angle)", "The angle, which is in degrees, in radians.")
        .gives("RADIANS(90)", "1.5707963267948966"),
    function(&["POW"], math::of_two)
        .flow(Flow::First)
        .numbers(Places::All)
        .reals()
        .says(
            "POW(base, exponent)",
            "The base to the power of the exponent as a DOUBLE; error 1690 if the result is \
             no number or out of range.",
        )
        .gives("POW(2, 10)", "1024"),
    function(&["POWER"], math::of_two)
        .numbers(Places::All)
        .reals()
        .says("POWER(base, exponent)", "The base to the power of the exponent; the same as POW.")
        .gives("POWER(9, 0.5)", "3"),
    function(&["ATAN2"], math::of_two)
        .numbers(Places::All)
        .reals()
        .says(
            "ATAN2(y, x)",
            "The angle in radians, from -pi to pi, between the x axis and the point at x \
             and y.",
        )
        .gives("ATAN2(1, -1)", "2.356194490192345"),
    function(&["LOG"], math::of_one_or_two)
        .numbers(Places::All)
        .reals()
        .says(
            "LOG([base, ]number)",
            "The logarithm of number to base, or the natural one without base; NULL if one \
             of them is not positive or base is 1.",
        )
        .gives("LOG(2, 8)", "3"),
    function(&["ATAN"], math::of_one_or_two)
        .numbers(Places::All)
        .reals()
        .says(
            "ATAN(y[, x])",
            "The arc tangent of y in radians, from -pi/2 to pi/2; with two arguments the \
             same as ATAN2.",
        )
        .gives("ATAN(1)", "0.7853981633974483"),
];
