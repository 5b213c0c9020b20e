//! Checks and converts the values that a system variable accepts.

use pelorus_error::{Code, Error, Result};
use pelorus_functions::TimeZone;
use pelorus_types::Collation;

use crate::variables::{Change, Kind, VarValue, Variable};

/// Makes a value of the variable's kind.
///
/// Integers beyond the bounds are cut to them, as MySQL does; the second part tells that it was
/// done, as the text of warning 1292.
///
/// # Errors
/// A value of the wrong type (1232), one that the variable cannot take (1231 and the codes of
/// charsets, collations and time zones), or one that is refused here (1235).
pub(crate) fn convert(variable: &Variable, value: &VarValue) -> Result<(VarValue, Option<String>)> {
    let mut note = None;
    let converted = match variable.kind {
        Kind::Bool => VarValue::Bool(boolean(variable, value)?),
        Kind::Int(low, high) => {
            let wanted = integer(variable, value)?;
            let cut = wanted.clamp(i128::from(low), i128::from(high));
            if cut != wanted {
                note = Some(format!("Truncated incorrect {} value: '{wanted}'", variable.name));
            }
            match u64::try_from(cut) {
                Ok(cut) if low >= 0 => VarValue::UInt(cut),
                _ => VarValue::Int(i64::try_from(cut).unwrap_or(i64::MAX)),
            }
        }
        Kind::Double(low, high) => VarValue::Double(double(variable, value)?.clamp(low, high)),
        Kind::Enum(words) => VarValue::Text(word(variable, words, value)?.to_owned()),
        Kind::NullableText if *value == VarValue::Null => VarValue::Null,
        Kind::Text | Kind::NullableText | Kind::Switches => match value {
            VarValue::Text(text) => VarValue::Text(text.clone()),
            VarValue::Null => return Err(wrong_value(variable, value)),
            _ => return Err(wrong_type(variable)),
        },
        Kind::NullableCharset if *value == VarValue::Null => VarValue::Null,
        Kind::Charset | Kind::NullableCharset => VarValue::Text(charset(variable, value)?),
        Kind::Collation => VarValue::Text(collation(variable, value)?),
        Kind::SqlMode => VarValue::Text(super::session::sql_mode(variable, value)?),
        Kind::TimeZone => VarValue::Text(time_zone(variable, value)?),
    };
    Ok((converted, note))
}

/// Refuses a value that has no meaning here, for variables that only keep their default.
pub(crate) fn allowed(variable: &Variable, old: &VarValue, new: &VarValue) -> Result<()> {
    match variable.change {
        Change::AtStart | Change::Never => Err(Error::new(
            Code::ReadOnlyVariable,
            format!("Variable '{}' is a read only variable", variable.name),
        )),
        Change::OnlyDefault if old != new => {
            Err(Error::unsupported(format_args!("SET {} = {}", variable.name, new.to_sql())))
        }
        _ => Ok(()),
    }
}

/// Error 1231.
pub(crate) fn wrong_value(variable: &Variable, value: &VarValue) -> Error {
    let shown = match value {
        VarValue::Null => "NULL".to_owned(),
        VarValue::Bool(value) => u8::from(*value).to_string(),
        other => other.show(),
    };
    Error::new(
        Code::WrongValueForVariable,
        format!("Variable '{}' can't be set to the value of '{shown}'", variable.name),
    )
}

fn wrong_type(variable: &Variable) -> Error {
    Error::new(
        Code::WrongTypeForVariable,
        format!("Incorrect argument type to variable '{}'", variable.name),
    )
}

fn boolean(variable: &Variable, value: &VarValue) -> Result<bool> {
    match value {
        VarValue::Bool(value) => Ok(*value),
        VarValue::Int(0) | VarValue::UInt(0) => Ok(false),
        VarValue::Int(1) | VarValue::UInt(1) => Ok(true),
        VarValue::Text(text) => match text.to_ascii_uppercase().as_str() {
            "ON" | "TRUE" | "YES" => Ok(true),
            "OFF" | "FALSE" | "NO" => Ok(false),
            _ => Err(wrong_value(variable, value)),
        },
        VarValue::Double(_) => Err(wrong_type(variable)),
        _ => Err(wrong_value(variable, value)),
    }
}

/// An integer; text is none, except in the table's own defaults and in configuration files.
fn integer(variable: &Variable, value: &VarValue) -> Result<i128> {
    match value {
        VarValue::Int(value) => Ok(i128::from(*value)),
        VarValue::UInt(value) => Ok(i128::from(*value)),
        VarValue::Bool(value) => Ok(i128::from(*value)),
        VarValue::Text(text) => text.parse().map_err(|_| wrong_type(variable)),
        VarValue::Null | VarValue::Double(_) => Err(wrong_type(variable)),
    }
}

fn double(variable: &Variable, value: &VarValue) -> Result<f64> {
    match value {
        VarValue::Double(value) => Ok(*value),
        VarValue::Text(text) => text.parse().map_err(|_| wrong_type(variable)),
        #[expect(clippy::cast_precision_loss, reason = "moments and seconds are far below 2^53")]
        other => integer(variable, other).map(|value| value as f64),
    }
}

fn word(
    variable: &Variable,
    words: &'static [&'static str],
    value: &VarValue,
) -> Result<&'static str> {
    let found = match value {
        VarValue::Text(text) => words.iter().find(|word| word.eq_ignore_ascii_case(text)),
        VarValue::Int(_) | VarValue::UInt(_) | VarValue::Bool(_) => {
            integer(variable, value).ok().and_then(|at| words.get(usize::try_from(at).ok()?))
        }
        VarValue::Double(_) => return Err(wrong_type(variable)),
        VarValue::Null => None,
    };
    found.copied().ok_or_else(|| wrong_value(variable, value))
}

/// Charsets that clients may use: those that MySQL allows, that is, whose ASCII is one byte.
fn charset(variable: &Variable, value: &VarValue) -> Result<String> {
    let name = match value {
        VarValue::Text(name) => name.to_ascii_lowercase(),
        VarValue::Null => return Err(wrong_value(variable, value)),
        _ => return Err(wrong_type(variable)),
    };
    let name = if name == "utf8" { "utf8mb3".to_owned() } else { name };
    check_charset(&name)?;
    if matches!(name.as_str(), "ucs2" | "utf16" | "utf16le" | "utf32")
        && variable.name == "character_set_client"
    {
        return Err(wrong_value(variable, value));
    }
    Ok(name)
}

/// Refuses a charset that does not exist (1115).
pub(crate) fn check_charset(name: &str) -> Result<Collation> {
    let known = if name == "binary" {
        Some(pelorus_types::collation::BINARY)
    } else {
        Collation::default_of(name)
    };
    known
        .ok_or_else(|| Error::new(Code::UnknownCharset, format!("Unknown character set: '{name}'")))
}

fn collation(variable: &Variable, value: &VarValue) -> Result<String> {
    match value {
        VarValue::Text(name) => find_collation(name).map(Collation::name),
        VarValue::Null => Err(wrong_value(variable, value)),
        _ => Err(wrong_type(variable)),
    }
}

/// Finds a collation or gives error 1273.
pub(crate) fn find_collation(name: &str) -> Result<Collation> {
    Collation::by_name(name)
        .ok_or_else(|| Error::new(Code::UnknownCollation, format!("Unknown collation: '{name}'")))
}

/// `SYSTEM`, an offset, or the name of a zone, as the database of zones writes it.
fn time_zone(variable: &Variable, value: &VarValue) -> Result<String> {
    let VarValue::Text(text) = value else {
        return Err(if *value == VarValue::Null {
            unknown_zone("NULL")
        } else {
            wrong_type(variable)
        });
    };
    if text.eq_ignore_ascii_case("SYSTEM") {
        return Ok("SYSTEM".to_owned());
    }
    // Servers know `UTC` only with zone tables; as an offset all of them do.
    if text.eq_ignore_ascii_case("UTC") {
        return Ok("+00:00".to_owned());
    }
    if let Some(offset) = zone_offset(text) {
        return Ok(offset_text(offset));
    }
    TimeZone::name_of(text).ok_or_else(|| unknown_zone(text))
}

/// The zone of a value of the variable `time_zone`; `None` for `SYSTEM`.
pub(crate) fn zone(text: &str) -> Option<TimeZone> {
    if text.eq_ignore_ascii_case("SYSTEM") {
        return None;
    }
    zone_offset(text).map(TimeZone::fixed).or_else(|| TimeZone::named(text))
}

fn unknown_zone(text: &str) -> Error {
    Error::new(Code::UnknownTimeZone, format!("Unknown or incorrect time zone: '{text}'"))
}

/// Seconds east of universal time of `[+-]h:mm`, within MySQL's bounds of -13:59 and +14:00.
pub(crate) fn zone_offset(text: &str) -> Option<i32> {
    let (sign, rest) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    let digits = |text: &str| -> Option<i32> {
        let fits = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        fits.then(|| text.parse().ok())?
    };
    let (hours, minutes) = (digits(hours)?, digits(minutes)?);
    let seconds = sign * (hours * 3600 + minutes * 60);
    (minutes < 60 && (-50_340..=50_400).contains(&seconds)).then_some(seconds)
}

/// An offset as MySQL shows it: `+02:00`.
pub(crate) fn offset_text(seconds: i32) -> String {
    let sign = if seconds < 0 { '-' } else { '+' };
    let minutes = seconds.unsigned_abs() / 60;
    format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variables::find;

    fn set(name: &str, value: VarValue) -> Result<VarValue> {
        convert(find(name).unwrap(), &value).map(|(value, _)| value)
    }

    fn text(text: &str) -> VarValue {
        VarValue::Text(text.to_owned())
    }

    #[test]
    fn values_become_those_of_the_variable() {
        assert_eq!(set("autocommit", text("off")).unwrap(), VarValue::Bool(false));
        assert_eq!(set("autocommit", VarValue::Int(1)).unwrap(), VarValue::Bool(true));
        assert_eq!(set("wait_timeout", VarValue::Int(60)).unwrap(), VarValue::UInt(60));
        assert_eq!(set("time_zone", text("+5:30")).unwrap(), text("+05:30"));
        assert_eq!(set("time_zone", text("-00:00")).unwrap(), text("+00:00"));
        assert_eq!(set("time_zone", text("europe/BERLIN")).unwrap(), text("Europe/Berlin"));
        assert_eq!(set("time_zone", text("system")).unwrap(), text("SYSTEM"));
        assert_eq!(
            set("transaction_isolation", text("read-committed")).unwrap(),
            text("READ-COMMITTED")
        );
        assert_eq!(set("character_set_results", VarValue::Null).unwrap(), VarValue::Null);
        assert_eq!(set("character_set_client", text("UTF8")).unwrap(), text("utf8mb3"));
    }

    #[test]
    fn numbers_beyond_the_bounds_are_cut_with_a_warning() {
        let variable = find("wait_timeout").unwrap();
        let (value, note) = convert(variable, &VarValue::Int(0)).unwrap();
        assert_eq!(value, VarValue::UInt(1));
        assert_eq!(note.as_deref(), Some("Truncated incorrect wait_timeout value: '0'"));
    }

    #[test]
    fn wrong_values_get_the_errors_of_mysql() {
        for (name, value, errno) in [
            ("autocommit", text("maybe"), 1231),
            ("autocommit", VarValue::Int(2), 1231),
            ("autocommit", VarValue::Double(1.0), 1232),
            ("wait_timeout", text("x"), 1232),
            ("transaction_isolation", text("SOMETIMES"), 1231),
            ("character_set_client", text("klingon"), 1115),
            ("character_set_client", text("utf16"), 1231),
            ("character_set_client", VarValue::Null, 1231),
            ("collation_connection", text("klingon_ci"), 1273),
            ("time_zone", text("Mars/Olympus"), 1298),
            ("time_zone", text(""), 1298),
            ("time_zone", text("+14:01"), 1298),
            ("sql_mode", text("NONSENSE"), 1231),
        ] {
            assert_eq!(set(name, value.clone()).unwrap_err().errno(), errno, "{name} {value:?}");
        }
    }
}
