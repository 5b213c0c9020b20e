//! Numbers in MySQL's text form, and decimals in Arrow.

use std::fmt::Write as _;

use arrow::datatypes::{DataType, i256};

/// Most digits that `Decimal128` holds.
pub const DECIMAL128_DIGITS: u8 = 38;

/// The Arrow type of DECIMAL(`precision`, `scale`): the widest of its kind, because Arrow's own
/// precision checks are not MySQL's.
pub fn decimal_arrow(precision: u8, scale: u8) -> DataType {
    let scale = i8::try_from(scale.min(38)).unwrap_or(38);
    if precision <= DECIMAL128_DIGITS {
        DataType::Decimal128(38, scale)
    } else {
        DataType::Decimal256(76, scale)
    }
}

/// Reads a decimal number as an integer of units of `10^-scale`. Digits beyond the scale must be
/// zero. `None` for anything that is not such a number.
pub fn parse_decimal(text: &[u8], scale: u8) -> Option<i256> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let mut seen_point = false;
    let mut fraction = 0_u8;
    // Up to 38 digits fit an i128, which is far quicker than 256 bits.
    let mut small: i128 = 0;
    let mut large: Option<i256> = None;
    let mut count = 0_usize;
    let ten = i256::from(10);
    let mut push = |digit: u8| -> Option<()> {
        count += 1;
        if count <= 37 {
            small = small * 10 + i128::from(digit);
        } else {
            let wide = large.unwrap_or_else(|| i256::from_i128(small));
            large = Some(wide.checked_mul(ten)?.checked_add(i256::from(i64::from(digit)))?);
        }
        Some(())
    };
    let mut any = false;
    for &byte in digits {
        match byte {
            b'.' if !seen_point => seen_point = true,
            b'0'..=b'9' if seen_point && fraction == scale => {
                if byte != b'0' {
                    return None;
                }
                any = true;
            }
            b'0'..=b'9' => {
                fraction += u8::from(seen_point);
                any = true;
                push(byte - b'0')?;
            }
            _ => return None,
        }
    }
    for _ in fraction..scale {
        push(0)?;
    }
    if !any {
        return None;
    }
    let value = large.unwrap_or_else(|| i256::from_i128(small));
    Some(if negative { value.wrapping_neg() } else { value })
}

/// Writes a decimal of `scale` digits after the point.
pub fn write_decimal(out: &mut String, units: i256, scale: u8) {
    let text = match units.to_i128() {
        Some(small) => small.unsigned_abs().to_string(),
        None => units.to_string().trim_start_matches('-').to_owned(),
    };
    if units < i256::ZERO {
        out.push('-');
    }
    let scale = usize::from(scale);
    if scale == 0 {
        out.push_str(&text);
        return;
    }
    if text.len() <= scale {
        out.push_str("0.");
        out.extend(std::iter::repeat_n('0', scale - text.len()));
        out.push_str(&text);
    } else {
        let (whole, fraction) = text.split_at(text.len() - scale);
        out.push_str(whole);
        out.push('.');
        out.push_str(fraction);
    }
}

/// Writes a DOUBLE as MySQL's text protocol does: the shortest digits that read back the same,
/// in plain notation for exponents from -15 to 14, else as `1.5e-16` or `1e20`. Of two that are
/// equally near it is the one whose last digit is even, as in the servers' `dtoa`.
pub fn write_double(out: &mut String, value: f64) {
    let shortest = format!("{value:e}");
    write_shortest(out, even_of_two(value, &shortest).as_deref().unwrap_or(&shortest));
}

/// The other one of two shortest forms between which a value lies in the middle, if that is the
/// even one.
fn even_of_two(value: f64, shortest: &str) -> Option<String> {
    let (mantissa, exponent) = shortest.split_once('e')?;
    let digits = mantissa.bytes().filter(u8::is_ascii_digit).count();
    // A value of `m * 2^-k` with an odd `m` has k decimals, of which the last is a five: it lies in
    // the middle where that is one more than are written.
    let bits = value.to_bits();
    let fraction = (bits & ((1 << 52) - 1)) | 1 << 52;
    let power =
        i64::try_from(bits >> 52 & 0x7FF).ok()? - 1075 + i64::from(fraction.trailing_zeros());
    let decimals = i64::try_from(digits).ok()? - 1 - exponent.parse::<i64>().ok()?;
    let is_odd = mantissa.as_bytes().last().is_some_and(|digit| digit % 2 == 1);
    if !is_odd || -power != decimals + 1 {
        return None;
    }
    // All digits, and without the five: the lower one of the two.
    let exact = format!("{value:.digits$e}");
    let lower = exact.split_once('e')?.0.strip_suffix('5')?;
    let last = lower.as_bytes().last()? - b'0';
    let even = match last % 2 {
        0 => lower.to_owned(),
        // A nine would carry; it cannot be the shortest then.
        _ if last == 9 => return None,
        _ => format!("{}{}", lower.strip_suffix(char::from(b'0' + last))?, last + 1),
    };
    let even = format!("{even}e{exponent}");
    (even.parse::<f64>() == Ok(value)).then_some(even)
}

/// Writes a FLOAT: six significant digits, as MySQL does.
pub fn write_float(out: &mut String, value: f32) {
    // MySQL rounds to FLT_DIG digits and then drops trailing zeros.
    let rounded = format!("{value:.5e}");
    let trimmed = match rounded.split_once('e') {
        Some((mantissa, exponent)) => {
            let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
            format!("{mantissa}e{exponent}")
        }
        None => rounded,
    };
    write_shortest(out, &trimmed);
}

/// The most characters of the plain form of a FLOAT or DOUBLE in a text (`MAX_FLOAT_STR_LENGTH` and
/// `MAX_DOUBLE_STR_LENGTH` of MySQL).
const FLOAT_WIDTH: usize = 12;
const DOUBLE_WIDTH: usize = 23;

/// Writes the text of a FLOAT as MySQL's functions take it: with an exponent where [`write_float`]
/// writes more than 12 characters.
pub fn write_float_text(out: &mut String, value: f32) {
    let mut plain = String::new();
    write_float(&mut plain, value);
    write_within(out, &plain, FLOAT_WIDTH);
}

/// Writes the text of a DOUBLE as MySQL's functions take it: with an exponent where [`write_double`]
/// writes more than 23 characters.
pub fn write_double_text(out: &mut String, value: f64) {
    let mut plain = String::new();
    write_double(&mut plain, value);
    write_within(out, &plain, DOUBLE_WIDTH);
}

/// Writes a number as it is where it has room, else with an exponent.
fn write_within(out: &mut String, plain: &str, width: usize) {
    if plain.len() <= width
        || plain.contains('e')
        || !plain.ends_with(|it: char| it.is_ascii_digit())
    {
        out.push_str(plain);
        return;
    }
    let (sign, size) = plain.strip_prefix('-').map_or(("", plain), |size| ("-", size));
    let (whole, fraction) = size.split_once('.').unwrap_or((size, ""));
    let all = format!("{whole}{fraction}");
    let zeros = all.len() - all.trim_start_matches('0').len();
    let digits = all.trim_matches('0');
    let (first, rest) = digits.split_at(1.min(digits.len()));
    let point = if rest.is_empty() { "" } else { "." };
    let exponent = i64::try_from(whole.len()).unwrap_or(0) - 1 - i64::try_from(zeros).unwrap_or(0);
    write!(out, "{sign}{first}{point}{rest}e{exponent}").ok();
}

/// Lays out `d.ddde±x` in MySQL's spelling (its `my_gcvt`).
fn write_shortest(out: &mut String, scientific: &str) {
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        // NaN and infinities cannot be stored in MySQL; say what it is.
        out.push_str(scientific);
        return;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let all: String = mantissa.chars().filter(|c| *c != '.').collect();
    let length = i32::try_from(all.len()).unwrap_or(i32::MAX);
    if all == "0" {
        out.push_str(sign);
        out.push('0');
        return;
    }
    out.push_str(sign);
    // MySQL writes the exponent only where the plain form would need zeros of its own.
    if exponent < -15 || (exponent >= 15 && length <= exponent + 1) {
        out.push_str(mantissa);
        write!(out, "e{exponent}").ok();
    } else if exponent < 0 {
        out.push_str("0.");
        out.extend(std::iter::repeat_n('0', usize::try_from(-exponent - 1).unwrap_or(0)));
        out.push_str(&all);
    } else if length <= exponent + 1 {
        out.push_str(&all);
        out.extend(std::iter::repeat_n('0', usize::try_from(exponent + 1 - length).unwrap_or(0)));
    } else {
        let (whole, fraction) = all.split_at(usize::try_from(exponent + 1).unwrap_or(0));
        out.push_str(whole);
        out.push('.');
        out.push_str(fraction);
    }
}

/// Significant digits of a number and where its point is: `0.digits * 10^point`.
struct Digits {
    digits: String,
    point: i32,
}

impl Digits {
    /// Of a number like `1.25e-3`.
    fn of_scientific(text: &str) -> Self {
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
        let exponent: i32 = exponent.parse().unwrap_or(0);
        Self { digits: digits.trim_end_matches('0').to_owned(), point: exponent + 1 }
    }

    /// At most so many digits of a positive number. From 15 on the shortest that read back the same
    /// are enough, as in the servers' `dtoa`.
    fn significant(value: f64, count: usize) -> Self {
        const SHORTEST_FROM: usize = 15;
        if count >= SHORTEST_FROM {
            let shortest = format!("{value:e}");
            let all = even_of_two(value, &shortest).unwrap_or(shortest);
            let all = Self::of_scientific(&all);
            if all.digits.len() <= count {
                return all;
            }
        }
        let decimals = count.max(1) - 1;
        Self::of_scientific(&format!("{value:.decimals$e}"))
    }

    /// The digits of a positive number up to a place after the point; none of what is rounded to zero.
    fn fixed(value: f64, decimals: usize) -> Self {
        let text = format!("{value:.decimals$}");
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        let all = format!("{}{fraction}", whole.trim_start_matches('0'));
        let zeros = all.len() - all.trim_start_matches('0').len();
        let before = whole.trim_start_matches('0').len();
        let place = |length: usize| i32::try_from(length).unwrap_or(i32::MAX);
        let point = place(before) - if before == 0 { place(zeros) } else { 0 };
        Self { digits: all.trim_matches('0').to_owned(), point }
    }

    fn count(&self) -> i32 {
        i32::try_from(self.digits.len()).unwrap_or(i32::MAX)
    }

    /// Characters of the plain form.
    fn plain_length(&self) -> i32 {
        match self.point {
            point if point <= 0 => self.count() - point + 2,
            point if point < self.count() => self.count() + 1,
            point => point,
        }
    }

    fn write_plain(&self, out: &mut String) {
        let zeros = |count: i32| std::iter::repeat_n('0', usize::try_from(count).unwrap_or(0));
        if self.digits.is_empty() {
            out.push('0');
        } else if self.point <= 0 {
            out.push_str("0.");
            out.extend(zeros(-self.point));
            out.push_str(&self.digits);
        } else if self.point < self.count() {
            let (whole, fraction) = self.digits.split_at(usize::try_from(self.point).unwrap_or(0));
            out.push_str(whole);
            out.push('.');
            out.push_str(fraction);
        } else {
            out.push_str(&self.digits);
            out.extend(zeros(self.point - self.count()));
        }
    }
}

/// Digits that every DOUBLE has.
const SURE_DIGITS: i32 = 15;

/// Writes a DOUBLE in at most `width` characters, as MySQL stores it in a text column: if not all
/// digits fit, in the form with more of them. Returns whether it fits; otherwise the beginning is
/// written.
pub fn write_double_within(out: &mut String, value: f64, width: usize) -> bool {
    let mut text = String::new();
    let fits = if value == 0.0 || !value.is_finite() {
        write_double(&mut text, value);
        text.len() <= width
    } else {
        if value < 0.0 {
            text.push('-');
        }
        let room = i32::try_from(width).unwrap_or(i32::MAX) - i32::from(value < 0.0);
        let all = Digits::significant(value.abs(), usize::try_from(room).unwrap_or(0));
        match is_plain_within(&all, room) {
            true => write_plain_within(&mut text, value.abs(), &all, room),
            false => write_scientific_within(&mut text, value.abs(), all, room),
        }
    };
    text.truncate(width);
    out.push_str(&text);
    fits
}

/// Digits of an exponent.
fn exponent_length(point: i32) -> i32 {
    match point {
        -8..=10 => 1,
        -98..=100 => 2,
        _ => 3,
    }
}

/// Whether a number is written without an exponent.
fn is_plain_within(all: &Digits, room: i32) -> bool {
    if all.plain_length() <= room {
        return all.point > -SURE_DIGITS && (all.point <= SURE_DIGITS || all.count() > all.point);
    }
    // In the plain form no digit would be left, in the other one all are.
    let is_scientific =
        all.point <= 0 && room <= 2 - all.point && room >= 3 + exponent_length(all.point);
    all.point <= room && all.point >= -2 && !is_scientific
}

fn write_plain_within(out: &mut String, size: f64, all: &Digits, room: i32) -> bool {
    let zeros = if all.point <= 0 { 1 - all.point } else { 0 };
    let left = room - i32::from(all.point < all.count()) - zeros;
    if left >= all.count() {
        all.write_plain(out);
        return true;
    }
    let decimals = usize::try_from(left.max(all.point) - all.point).unwrap_or(0);
    let cut = Digits::fixed(size, decimals);
    if cut.digits.is_empty() {
        out.clear();
    }
    cut.write_plain(out);
    left >= all.point
}

fn write_scientific_within(out: &mut String, size: f64, all: Digits, room: i32) -> bool {
    let is_small = all.point <= 0;
    let taken = 1 + i32::from(is_small) + exponent_length(all.point);
    let left = room - taken - i32::from(all.count() > 1);
    let written = match left < all.count() {
        true => Digits::significant(size, usize::try_from(left).unwrap_or(0)),
        false => all,
    };
    let (first, rest) = written.digits.split_at(1.min(written.digits.len()));
    out.push_str(first);
    if !rest.is_empty() {
        out.push('.');
        out.push_str(rest);
    }
    let minus = if is_small { "-" } else { "" };
    write!(out, "e{minus}{}", (written.point - 1).abs()).ok();
    left > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decimal(text: &str, scale: u8) -> Option<String> {
        let mut out = String::new();
        write_decimal(&mut out, parse_decimal(text.as_bytes(), scale)?, scale);
        Some(out)
    }

    #[test]
    fn decimals_up_to_65_digits_come_back() {
        let widest = format!("-{}.{}", "9".repeat(35), "9".repeat(30));
        assert_eq!(decimal(&widest, 30).as_deref(), Some(widest.as_str()));
        assert_eq!(decimal("0.05", 2).as_deref(), Some("0.05"));
        assert_eq!(decimal("-.5", 3).as_deref(), Some("-0.500"));
        assert_eq!(decimal("1.250", 2).as_deref(), Some("1.25"));
        assert_eq!(decimal("1.251", 2), None);
        assert_eq!(decimal("", 2), None);
        assert_eq!(decimal("1e5", 2), None);
        assert_eq!(decimal(&"9".repeat(90), 0), None);
    }

    #[test]
    #[expect(clippy::excessive_precision, reason = "some lie exactly in the middle of two texts")]
    fn doubles_look_as_in_mysql() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.5, "1.5"),
            (100.0, "100"),
            (1e15, "1e15"),
            (1e15 + 0.5, "1000000000000000.5"),
            (-1_234_567_890_123_456.5, "-1234567890123456.5"),
            (123_456_789_012_345.0, "123456789012345"),
            (1e-5, "0.00001"),
            (1e20, "1e20"),
            (1.25e-20, "1.25e-20"),
            (0.1 + 0.2, "0.30000000000000004"),
            // In the middle of two: seen on MySQL 9.7 and MariaDB 10.11.
            (512.142_883_300_781_25, "512.1428833007812"),
            (512.285_705_566_406_25, "512.2857055664062"),
            (-128.142_852_783_203_125, "-128.14285278320312"),
            (0.5, "0.5"),
            (2.5, "2.5"),
            (0.25, "0.25"),
        ] {
            let mut out = String::new();
            write_double(&mut out, value);
            assert_eq!(out, text);
        }
    }

    #[test]
    fn doubles_read_back() {
        let mut seed = 7_u64;
        for _ in 0..200_000 {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            // Many have few bits, and so lie in the middle of two.
            let value = f64::from_bits(seed >> 2 & !((1 << (seed % 40)) - 1));
            if value.is_finite() {
                let mut out = String::new();
                write_double(&mut out, value);
                assert_eq!(out.parse::<f64>(), Ok(value), "{out}");
            }
        }
    }

    #[test]
    fn floats_have_six_digits() {
        for (value, text) in [
            (0.1_f32, "0.1"),
            (1.0 / 3.0, "0.333333"),
            (16_777_216.0, "16777200"),
            (1e10, "10000000000"),
        ] {
            let mut out = String::new();
            write_float(&mut out, value);
            assert_eq!(out, text);
        }
    }

    #[test]
    fn texts_of_floats_have_limited_room() {
        // CONCAT(CAST(x AS FLOAT)) and CONCAT(x) of MySQL 9.7.
        for (value, text) in [
            (1e11_f32, "100000000000"),
            (1e12, "1e12"),
            (-1e11, "-1e11"),
            (-1e10, "-10000000000"),
            (-123_456e6, "-1.23456e11"),
            (1.23456e-5, "0.0000123456"),
            (-1.23456e-5, "-1.23456e-5"),
            (1e-10, "0.0000000001"),
            (1.2e-10, "1.2e-10"),
            (2.024_02e13, "2.02402e13"),
            (0.0, "0"),
            (1e15, "1e15"),
            (f32::INFINITY, "inf"),
        ] {
            let mut out = String::new();
            write_float_text(&mut out, value);
            assert_eq!(out, text);
        }
        for (value, text) in [
            (1.234_567_890_123_456_7e-12, "1.2345678901234567e-12"),
            (-1.234_567_890_123_456_7e-7, "-1.2345678901234566e-7"),
            (1.234_567_890_123_456_7e-5, "0.000012345678901234568"),
            (-123_456_789_012_345.67, "-123456789012345.67"),
            (1.234_567_89e-12, "0.00000000000123456789"),
            (1.234_567_890_123_45e-10, "1.23456789012345e-10"),
        ] {
            let mut out = String::new();
            write_double_text(&mut out, value);
            assert_eq!(out, text);
        }
    }

    proptest! {
        #[test]
        fn decimals_round_trip(units: i128, scale in 0_u8..=30) {
            let mut out = String::new();
            write_decimal(&mut out, i256::from_i128(units), scale);
            prop_assert_eq!(parse_decimal(out.as_bytes(), scale), Some(i256::from_i128(units)));
        }
    }

    #[test]
    fn doubles_have_the_digits_that_a_column_has_room_for() {
        // As MySQL 9.7 stores them in VARCHAR columns of 1 to 10, 12 and 15 characters.
        const WIDTHS: [usize; 12] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15];
        for (value, texts) in [
            (
                -30_000_001_024.0,
                "- -3 -3e -3e1 -3e10 -3e10 -3e10 -3e10 -3e10 -3e10 -30000001024 -30000001024",
            ),
            (1e200, "1 1e 1e2 1e20 1e200 1e200 1e200 1e200 1e200 1e200 1e200 1e200"),
            (0.1, "0 0 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1"),
            (
                f64::from(0.1_f32),
                "0 0 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1000000015 0.1000000014901",
            ),
            (
                123_456.789_062_5,
                "1 1e 1e5 1e5 1.2e5 123457 123457 123456.8 123456.79 123456.789 123456.78906 123456.7890625",
            ),
            (
                999_999_986_991_104.0,
                "1 1e 1e1 1e15 1e15 1e15 1e15 1e15 1e15 1e15 9.9999999e14 999999986991104",
            ),
            (
                1.5e-7,
                "1 1e 1e- 1e-7 1e-7 1.5e-7 1.5e-7 1.5e-7 1.5e-7 0.00000015 0.00000015 0.00000015",
            ),
            (
                1.0 / 3.0,
                "0 0 0.3 0.33 0.333 0.3333 0.33333 0.333333 0.3333333 0.33333333 0.3333333333 0.3333333333333",
            ),
            (99_999.5, "1 1e 1e5 1e5 1e5 100000 99999.5 99999.5 99999.5 99999.5 99999.5 99999.5"),
            (
                -0.000_12,
                "- -1 -1e -1e- -1e-4 -1e-4 -1.2e-4 -0.00012 -0.00012 -0.00012 -0.00012 -0.00012",
            ),
            (
                12_345_678.0,
                "1 1e 1e7 1e7 1.2e7 1.23e7 1.235e7 12345678 12345678 12345678 12345678 12345678",
            ),
            (
                f64::MAX,
                "2 2e 2e3 2e30 2e308 2e308 1.8e308 1.8e308 1.798e308 1.7977e308 1.797693e308 1.797693135e308",
            ),
            (9.5, "1 10 9.5 9.5 9.5 9.5 9.5 9.5 9.5 9.5 9.5 9.5"),
            (9.96, "1 10 10 9.96 9.96 9.96 9.96 9.96 9.96 9.96 9.96 9.96"),
            (0.009_999_9, "0 0 0 0.01 0.01 0.01 0.01 0.01 0.0099999 0.0099999 0.0099999 0.0099999"),
            (
                5e-324,
                "5 5e 5e- 5e-3 5e-32 5e-324 5e-324 4.9e-324 4.94e-324 4.941e-324 4.94066e-324 5e-324",
            ),
            (-1e-10, "- -1 -1e -1e- -1e-1 -1e-10 -1e-10 -1e-10 -1e-10 -1e-10 -1e-10 -0.0000000001"),
            (120_000.0, "1 1e 1e5 1e5 1.2e5 120000 120000 120000 120000 120000 120000 120000"),
        ] {
            let written = WIDTHS.map(|width| {
                let mut out = String::new();
                write_double_within(&mut out, value, width);
                out
            });
            assert_eq!(written.join(" "), texts);
        }
        let fits = |value: f64, width: usize| write_double_within(&mut String::new(), value, width);
        assert!(fits(0.1, 2) && fits(9.5, 2) && fits(1e5, 3) && fits(-3e10, 5));
        assert!(!fits(f64::MAX, 4) && !fits(5e-324, 6) && !fits(9.5, 1) && !fits(-0.000_12, 5));
    }
}
