//! Operators, and the functions that are like them: comparisons, logic, bits, choices.

use crate::registry::fallibility;
use crate::registry::function::{Chooses, Function, Places, function, operator};
use crate::registry::mariadb::{
    EXACT, Kind, NUMBERS, all, any, compares, has_positive, keeps_sign, one_text, texts_meet,
};
use crate::scalar::{arithmetic, bits, cast, compare, conditional, logic};
use crate::short_circuit::Flow;

/// The rows.
pub(super) static ROWS: &[Function] = &[
    operator(&["+"], arithmetic::binary)
        .numbers(Places::All)
        .reals()
        .mariadb(|args| !any(args, Kind::Bits))
        .infallible(fallibility::sum),
    operator(&["-"], arithmetic::minus)
        .partitions()
        .numbers(Places::All)
        .reals()
        .mariadb(|args| {
            !any(args, Kind::Bits) && (args.len() > 1 || all(args, &EXACT) || has_positive(args))
        })
        .infallible(fallibility::difference),
    operator(&["*"], arithmetic::binary)
        .numbers(Places::All)
        .reals()
        .mariadb(|args| !any(args, Kind::Bits) && keeps_sign(args))
        .infallible(fallibility::product),
    operator(&["/"], arithmetic::binary)
        .numbers(Places::All)
        .reals()
        .mariadb(|args| !any(args, Kind::Bits) && keeps_sign(args))
        .infallible(fallibility::quotient),
    operator(&["DIV"], arithmetic::binary)
        .numbers(Places::All)
        .mariadb(|args| !any(args, Kind::Bits))
        .infallible(fallibility::quotient),
    operator(&["%"], arithmetic::binary)
        .numbers(Places::All)
        .reals()
        .mariadb(|args| !any(args, Kind::Bits))
        .infallible(fallibility::quotient),
    function(&["MOD"], arithmetic::binary)
        .partitions()
        .filters()
        .grammar()
        .numbers(Places::All)
        .reals()
        .mariadb(|args| !any(args, Kind::Bits))
        .infallible(fallibility::quotient)
        .says(
            "MOD(number, divisor)",
            "The remainder of number divided by divisor, with the sign of number; NULL if \
             divisor is 0.",
        )
        .gives("MOD(-7, 3)", "-1"),
    operator(&["="], compare::binary)
        .flow(Flow::First)
        .reals()
        .mariadb(compares)
        .infallible(fallibility::alike),
    operator(&["<=>"], compare::binary).reals().mariadb(compares).infallible(fallibility::alike),
    operator(&["<>", "!="], compare::binary)
        .flow(Flow::First)
        .reals()
        .mariadb(compares)
        .infallible(fallibility::alike),
    operator(&["<"], compare::binary)
        .flow(Flow::First)
        .reals()
        .mariadb(compares)
        .infallible(fallibility::alike),
    operator(&["<="], compare::binary)
        .flow(Flow::First)
        .reals()
        .mariadb(compares)
        .infallible(fallibility::alike),
    operator(&[">"], compare::binary)
        .flow(Flow::First)
        .reals()
        .mariadb(compares)
        .infallible(fallibility::alike),
    operator(&[">="], compare::binary)
        .flow(Flow::First)
        .reals()
        .mariadb(compares)
        .infallible(fallibility::alike),
    operator(&["CASE ="], compare::binary)
        .flow(Flow::First)
        .reals()
        .mariadb(compares)
        .infallible(fallibility::alike),
    operator(&["BETWEEN"], compare::between)
        .flow(Flow::First)
        .reals()
        .mariadb(compares)
        .infallible(fallibility::alike),
    operator(&["NOT BETWEEN"], compare::between)
        .flow(Flow::First)
        .reals()
        .mariadb(compares)
        .infallible(fallibility::alike),
    operator(&["IN"], compare::within).reals().mariadb(compares).infallible(fallibility::alike),
    operator(&["NOT IN"], compare::within).reals().infallible(fallibility::alike),
    operator(&["AND"], logic::resolve)
        .flow(Flow::And)
        .numbers(Places::All)
        .reals()
        .infallible(fallibility::of_conditions),
    operator(&["OR"], logic::resolve)
        .flow(Flow::Or)
        .numbers(Places::All)
        .reals()
        .infallible(fallibility::of_conditions),
    operator(&["XOR"], logic::resolve)
        .numbers(Places::All)
        .reals()
        .infallible(fallibility::of_conditions),
    operator(&["NOT", "!"], logic::resolve)
        .numbers(Places::All)
        .reals()
        .infallible(fallibility::of_conditions),
    operator(&["IS NULL"], logic::resolve).bytes().infallible(fallibility::always),
    operator(&["IS NOT NULL"], logic::resolve).bytes().infallible(fallibility::always),
    operator(&["IS TRUE"], logic::resolve)
        .numbers(Places::All)
        .reals()
        .infallible(fallibility::of_conditions),
    operator(&["IS NOT TRUE"], logic::resolve)
        .numbers(Places::All)
        .reals()
        .infallible(fallibility::of_conditions),
    operator(&["IS FALSE"], logic::resolve)
        .numbers(Places::All)
        .reals()
        .infallible(fallibility::of_conditions),
    operator(&["IS NOT FALSE"], logic::resolve)
        .numbers(Places::All)
        .reals()
        .infallible(fallibility::of_conditions),
    operator(&["IS UNKNOWN"], logic::resolve).infallible(fallibility::always),
    operator(&["IS NOT UNKNOWN"], logic::resolve).infallible(fallibility::always),
    function(&["ISNULL"], logic::resolve)
        .own_nulls()
        .filters()
        .bytes()
        .infallible(fallibility::always)
        .says("ISNULL(value)", "1 if the value is NULL, otherwise 0.")
        .gives("ISNULL(1 / 0)", "1"),
    operator(&["&"], bits::binary)
        .flow(Flow::First)
        .numbers(Places::All)
        .mariadb(|args| all(args, &NUMBERS))
        .infallible(fallibility::of_integers),
    operator(&["|"], bits::binary)
        .numbers(Places::All)
        .mariadb(|args| all(args, &NUMBERS))
        .infallible(fallibility::of_integers),
    operator(&["^"], bits::binary)
        .flow(Flow::First)
        .numbers(Places::All)
        .mariadb(|args| all(args, &NUMBERS))
        .infallible(fallibility::of_integers),
    operator(&["<<"], bits::binary)
        .flow(Flow::First)
        .numbers(Places::All)
        .mariadb(|args| all(args, &NUMBERS))
        .infallible(fallibility::of_integers),
    operator(&[">>"], bits::binary)
        .numbers(Places::All)
        .mariadb(|args| all(args, &NUMBERS))
        .infallible(fallibility::of_integers),
    operator(&["~"], bits::unary)
        .numbers(Places::All)
        .mariadb(|args| all(args, &NUMBERS))
        .infallible(fallibility::of_integers),
    function(&["BIT_COUNT"], bits::unary)
        .numbers(Places::All)
        .mariadb(|args| all(args, &NUMBERS))
        .infallible(fallibility::of_integers)
        .says(
            "BIT_COUNT(value)",
            "The number of bits that are 1 in a number as a 64-bit integer, or in all bytes \
             of a binary string.",
        )
        .gives("BIT_COUNT(29)", "4"),
    function(&["IF"], conditional::if_else)
        .own_nulls()
        .grammar()
        .flow(Flow::If)
        .chooses(Chooses::Argument)
        .numbers(Places::At(&[0]))
        .reals()
        .mariadb(one_text)
        .infallible(fallibility::of_first_condition)
        .says(
            "IF(condition, value, other)",
            "The value if the condition is true, which means neither 0 nor NULL; otherwise \
             the other value.",
        )
        .gives("IF(2 > 1, 'yes', 'no')", "yes"),
    function(&["IFNULL"], conditional::coalesce)
        .own_nulls()
        .filters()
        .flow(Flow::Coalesce)
        .chooses(Chooses::Common)
        .mariadb(one_text)
        .infallible(fallibility::always)
        .says("IFNULL(value, other)", "The value if it is not NULL, otherwise the other value.")
        .gives("IFNULL(NULL, 'none')", "none"),
    function(&["COALESCE"], conditional::coalesce)
        .own_nulls()
        .filters()
        .grammar()
        .flow(Flow::Coalesce)
        .chooses(Chooses::Common)
        .mariadb(one_text)
        .infallible(fallibility::always)
        .says(
            "COALESCE(value, ...)",
            "The first value that is not NULL; NULL if all values are NULL.",
        )
        .gives("COALESCE(NULL, NULL, 3)", "3"),
    function(&["NULLIF"], conditional::null_if)
        .own_nulls()
        .flow(Flow::First)
        .chooses(Chooses::Argument)
        .mariadb(|args| compares(args) && !any(args, Kind::Bit))
        .infallible(fallibility::alike)
        .says("NULLIF(value, other)", "NULL if value and other are equal, otherwise the value.")
        .gives("NULLIF('a', 'a')", "NULL"),
    operator(&["CASE"], conditional::searched_case)
        .flow(Flow::Case)
        .chooses(Chooses::Argument)
        .numbers(Places::Conditions)
        .reals()
        .mariadb(one_text)
        .infallible(fallibility::of_case),
    operator(&["CASE WHEN"], conditional::simple_case).chooses(Chooses::Argument).mariadb(one_text),
    operator(&["COLLATE"], cast::collate).infallible(fallibility::of_texts),
    function(&["STRCMP"], compare::strcmp)
        .flow(Flow::First)
        .mariadb(texts_meet)
        .says(
            "STRCMP(text, other)",
            "0 if both texts are equal in their collation, -1 if the first sorts before the \
             second, 1 if it sorts after it.",
        )
        .gives("STRCMP('apple', 'banana')", "-1"),
];
