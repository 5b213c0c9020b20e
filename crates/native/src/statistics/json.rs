//! JSON form of values and histograms, as MySQL writes it.

use pelorus_chunk::Scalar;
use pelorus_functions::{Decimal, Value};
use pelorus_result::scalar::text_of;
use pelorus_store::{ColumnStatistics, Histogram};
use pelorus_types::temporal::{DateTime, write_datetime};
use pelorus_types::{ColumnType, WireType, number};

/// The histogram of a column as `information_schema.COLUMN_STATISTICS` shows it.
pub(super) fn histogram(column: &ColumnStatistics, histogram: &Histogram) -> String {
    let ty = &column.ty;
    let value = |value: &Scalar| match value {
        // 254 is the type that MySQL gives texts in histograms.
        Scalar::Bytes(bytes) => format!("\"base64:type254:{}\"", base64(bytes)),
        value => plain(value, ty),
    };
    let (kind, buckets): (_, Vec<String>) = match histogram {
        Histogram::Singleton { values, .. } => {
            let bucket =
                |(it, share): &(Scalar, f64)| format!("[{}, {}]", value(it), double(*share));
            ("singleton", values.iter().map(bucket).collect())
        }
        Histogram::EquiHeight { buckets, .. } => {
            let bucket = |it: &pelorus_store::Bucket| {
                let share = double(it.cumulative);
                format!("[{}, {}, {share}, {}]", value(&it.low), value(&it.high), it.distinct)
            };
            ("equi-height", buckets.iter().map(bucket).collect())
        }
    };
    // MySQL gives what is no text the collation of numbers, latin1_swedish_ci.
    let collation = if ty.is_string() { ty.collation.0 } else { 8 };
    let rate = if column.rows == 0 { 1.0 } else { column.sampled as f64 / column.rows as f64 };
    format!(
        "{{\"buckets\": [{}], \"data-type\": \"{}\", \"null-values\": {}, \"collation-id\": \
         {collation}, \"last-updated\": \"{}\", \"sampling-rate\": {}, \"histogram-type\": \
         \"{kind}\", \"number-of-buckets-specified\": {}}}",
        buckets.join(", "),
        data_type(ty),
        double(column.null_share),
        moment(column.taken),
        double(rate.min(1.0)),
        histogram.asked(),
    )
}

/// The most common values: pairs of a value and its share.
pub(super) fn common(column: &ColumnStatistics) -> String {
    let pair =
        |(it, share): &(Scalar, f64)| format!("[{}, {}]", plain(it, &column.ty), double(*share));
    let pairs: Vec<String> = column.common.iter().map(pair).collect();
    format!("[{}]", pairs.join(", "))
}

/// A moment in microseconds since 1970 as a DATETIME.
pub(super) fn moment(micros: u64) -> String {
    let mut out = String::new();
    let since = i64::try_from(micros).unwrap_or(i64::MAX);
    let moment = DateTime::date(1970, 1, 1).plus_micros(since);
    write_datetime(&mut out, moment.unwrap_or(DateTime::unpack(0)), 6);
    out
}

/// A value in JSON, texts as they are.
fn plain(value: &Scalar, ty: &ColumnType) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let scale = ty.decimals;
    let decimal = |units| text_of(&Value::Decimal(Decimal { units, scale }), ty);
    match value {
        Scalar::Int(it) if ty.is_decimal() => decimal(arrow::datatypes::i256::from_i128(*it)),
        Scalar::Wide(it) => decimal(*it),
        Scalar::Int(it) if ty.is_temporal() && ty.wire != WireType::Year => {
            let packed = i64::try_from(*it).unwrap_or_default();
            let value =
                if ty.wire == WireType::Time { Value::Time(packed) } else { Value::Date(packed) };
            quoted(&text_of(&value, &ColumnType { decimals: 6, ..*ty }))
        }
        Scalar::Int(it) => it.to_string(),
        Scalar::Float(it) => double(*it),
        Scalar::Bytes(bytes) => quoted(&String::from_utf8_lossy(bytes)),
    }
}

fn data_type(ty: &ColumnType) -> &'static str {
    match ty.wire {
        WireType::Date => "date",
        WireType::Time => "time",
        WireType::DateTime | WireType::Timestamp => "datetime",
        WireType::Float | WireType::Double => "double",
        WireType::Year => "int",
        _ if ty.is_decimal() => "decimal",
        _ if ty.is_string() => "string",
        _ if ty.is_unsigned() || ty.wire == WireType::Bit => "uint",
        _ => "int",
    }
}

/// A number with a point, as MySQL writes it in JSON.
fn double(value: f64) -> String {
    let mut out = String::new();
    number::write_double(&mut out, value);
    if !out.contains(['.', 'e']) {
        out.push_str(".0");
    }
    out
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let byte = |at: usize| three.get(at).copied().map_or(0, usize::from);
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let digit = DIGITS.get(bits >> (18 - 6 * at) & 63).filter(|_| at <= three.len());
            out.push(char::from(digit.copied().unwrap_or(b'=')));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use pelorus_store::Bucket;
    use pelorus_types::collation;

    use super::*;

    fn column(ty: ColumnType, common: Vec<(Scalar, f64)>) -> ColumnStatistics {
        ColumnStatistics {
            column: 0,
            ty,
            taken: 1_500_000_000_000_000,
            rows: 4,
            sampled: 2,
            null_share: 0.25,
            distinct: Some(2),
            common,
            histogram: None,
        }
    }

    #[test]
    fn histograms_are_written_as_mysql_does() {
        let ty = ColumnType::varchar(10, collation::UTF8MB4_0900_AI_CI);
        let values =
            vec![(Scalar::Bytes(b"ab".to_vec()), 0.25), (Scalar::Bytes(b"c".to_vec()), 0.75)];
        let made = histogram(&column(ty, Vec::new()), &Histogram::Singleton { asked: 100, values });
        assert_eq!(
            made,
            "{\"buckets\": [[\"base64:type254:YWI=\", 0.25], [\"base64:type254:Yw==\", 0.75]], \
             \"data-type\": \"string\", \"null-values\": 0.25, \"collation-id\": 255, \
             \"last-updated\": \"2017-07-14 02:40:00.000000\", \"sampling-rate\": 0.5, \
             \"histogram-type\": \"singleton\", \"number-of-buckets-specified\": 100}"
        );
        let bucket =
            Bucket { low: Scalar::Int(-150), high: Scalar::Int(25), cumulative: 1.0, distinct: 3 };
        let made = Histogram::EquiHeight { asked: 1, buckets: vec![bucket] };
        let made = histogram(&column(ColumnType::decimal(5, 2), Vec::new()), &made);
        assert!(
            made.starts_with("{\"buckets\": [[-1.50, 0.25, 1.0, 3]], \"data-type\": \"decimal\"")
        );
    }

    #[test]
    fn common_values_are_plain() {
        let ty = ColumnType::varchar(10, collation::UTF8MB4_0900_AI_CI);
        let values = vec![(Scalar::Bytes(b"a\"b".to_vec()), 0.5)];
        assert_eq!(common(&column(ty, values)), "[[\"a\\\"b\", 0.5]]");
        let day = Scalar::Int(DateTime::date(2024, 2, 29).pack().into());
        let ty = ColumnType { wire: WireType::Date, ..ColumnType::bigint() };
        assert_eq!(common(&column(ty, vec![(day, 1.0)])), "[[\"2024-02-29\", 1.0]]");
    }
}
