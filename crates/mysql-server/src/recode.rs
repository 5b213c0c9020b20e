//! Converts text values of finished rows to the client's charset.

use bytes::{BufMut as _, BytesMut};
use pelorus_error::{Error, Result};
use pelorus_mysql_wire::charset::Encoder;
use pelorus_mysql_wire::lenenc::{Reader, put_lenenc_bytes, put_null};
use pelorus_mysql_wire::rows::Format;
use pelorus_types::{Collation, Column, WireType, collation};

/// Writes the text of rows again.
#[derive(Debug)]
pub(crate) struct Recoder {
    encoder: Encoder,
    format: Format,
    columns: Vec<Kind>,
}

/// How a value lies in a binary row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Text, to be written again.
    Text,
    /// Bytes with their length in front.
    Bytes,
    /// So many bytes.
    Fixed(usize),
    /// A date or time: one byte of length.
    Temporal,
    /// A NULL without a type.
    Null,
}

impl Recoder {
    /// Looks at the columns of a result and makes them say the client's charset; `None` when there
    /// is nothing to write again.
    pub(crate) fn for_client(
        client: Option<Collation>,
        format: Format,
        columns: &mut [Column],
    ) -> Result<Option<Self>> {
        let kinds: Vec<_> = columns.iter().map(kind).collect();
        if !kinds.contains(&Kind::Text) {
            return Ok(None);
        }
        let encoder = Encoder::of(client)?;
        let Some(client) = client.filter(|it| *it != collation::BINARY) else { return Ok(None) };
        let is_as_it_is = encoder == Encoder::AsIs;
        for (column, kind) in columns.iter_mut().zip(&kinds) {
            let is_said = is_as_it_is && column.ty.collation == client;
            if *kind == Kind::Text && !is_said {
                let (own, theirs) =
                    (column.ty.collation.bytes_per_char().max(1), client.bytes_per_char());
                if own != theirs {
                    let chars = column.ty.length / u32::from(own);
                    column.ty.length = chars.saturating_mul(theirs.into());
                }
                column.ty.collation = client;
            }
        }
        if is_as_it_is {
            return Ok(None);
        }
        Ok(Some(Self { encoder, format, columns: kinds }))
    }

    /// Writes a row again.
    pub(crate) fn row(&self, payload: &[u8], out: &mut BytesMut) -> Result<()> {
        let result = match self.format {
            Format::Text => self.text_row(payload, out),
            Format::Binary => self.binary_row(payload, out),
        };
        result.map_err(|error| {
            let malformed = error.code() == pelorus_error::Code::MalformedPacket;
            if malformed { Error::internal("a row is not of its columns") } else { error }
        })
    }

    fn text_row(&self, payload: &[u8], out: &mut BytesMut) -> Result<()> {
        let mut reader = Reader::new(payload);
        for kind in &self.columns {
            match reader.lenenc_bytes_or_null()? {
                None => put_null(out),
                Some(text) if *kind == Kind::Text => {
                    put_lenenc_bytes(out, &self.encoder.encode(text)?);
                }
                Some(bytes) => put_lenenc_bytes(out, bytes),
            }
        }
        Ok(())
    }

    fn binary_row(&self, payload: &[u8], out: &mut BytesMut) -> Result<()> {
        let mut reader = Reader::new(payload);
        let head = reader.bytes(1 + (self.columns.len() + 9) / 8)?;
        out.put_slice(head);
        let nulls = &head[1..];
        for (index, kind) in self.columns.iter().enumerate() {
            let bit = index + 2;
            if nulls[bit / 8] >> (bit % 8) & 1 == 1 {
                continue;
            }
            match *kind {
                Kind::Null => {}
                Kind::Fixed(length) => out.put_slice(reader.bytes(length)?),
                Kind::Temporal => {
                    let length = reader.u8()?;
                    out.put_u8(length);
                    out.put_slice(reader.bytes(length.into())?);
                }
                Kind::Bytes => put_lenenc_bytes(out, reader.lenenc_bytes()?),
                Kind::Text => put_lenenc_bytes(out, &self.encoder.encode(reader.lenenc_bytes()?)?),
            }
        }
        Ok(())
    }
}

fn kind(column: &Column) -> Kind {
    use WireType::*;
    match column.ty.wire {
        Null => Kind::Null,
        Tiny => Kind::Fixed(1),
        Short | Year => Kind::Fixed(2),
        Long | Int24 | Float => Kind::Fixed(4),
        LongLong | Double => Kind::Fixed(8),
        Date | DateTime | Timestamp | Time => Kind::Temporal,
        // JSON stays in UTF-8, whatever the client's charset.
        Json => Kind::Bytes,
        _ if column.ty.is_string() && column.ty.collation != collation::BINARY => Kind::Text,
        _ => Kind::Bytes,
    }
}

#[cfg(test)]
mod tests {
    use pelorus_types::ColumnType;

    use super::*;

    const LATIN1: Collation = Collation(8);

    fn columns() -> Vec<Column> {
        let text = ColumnType::varchar(10, collation::UTF8MB4_0900_AI_CI);
        let bytes = ColumnType::varchar(10, collation::BINARY);
        let date = ColumnType::new(WireType::Date, collation::BINARY, 10, 0);
        [ColumnType::bigint(), text, bytes, date, text]
            .into_iter()
            .map(|ty| Column::computed("c", ty))
            .collect()
    }

    #[test]
    fn text_is_written_anew_and_all_else_kept() {
        let mut columns = columns();
        let recoder =
            Recoder::for_client(Some(LATIN1), Format::Text, &mut columns).unwrap().unwrap();
        assert_eq!((columns[1].ty.collation, columns[1].ty.length), (LATIN1, 10));
        assert_eq!(columns[2].ty.collation, collation::BINARY);
        let mut row = BytesMut::new();
        for value in ["1", "né", "né", "2024-01-02"] {
            put_lenenc_bytes(&mut row, value.as_bytes());
        }
        put_null(&mut row);
        let mut out = BytesMut::new();
        recoder.row(&row, &mut out).unwrap();
        assert_eq!(&out[..], b"\x011\x02n\xe9\x03n\xc3\xa9\x0a2024-01-02\xfb");
        assert_eq!(recoder.row(b"\x05x", &mut out).unwrap_err().errno(), 1105);

        let recoder = Recoder { format: Format::Binary, ..recoder };
        let row = [
            &b"\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x03n\xc3\xa9\x03n\xc3\xa9"[..],
            b"\x04\xe8\x07\x01\x02\x02\xc3\xa9",
        ]
        .concat();
        out.clear();
        recoder.row(&row, &mut out).unwrap();
        let expected = [
            &b"\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02n\xe9\x03n\xc3\xa9"[..],
            b"\x04\xe8\x07\x01\x02\x01\xe9",
        ]
        .concat();
        assert_eq!(out, expected);
    }

    #[test]
    fn nothing_is_done_where_nothing_is_to_do() {
        for client in [None, Some(collation::UTF8MB4_GENERAL_CI), Some(collation::BINARY)] {
            let found = Recoder::for_client(client, Format::Text, &mut columns()).unwrap();
            assert!(found.is_none());
        }
        // A text in another charset is still said to be in the client's.
        let name = ColumnType::varchar(64, collation::UTF8MB3_GENERAL_CI);
        let mut names = vec![Column::computed("n", name)];
        let client = Some(collation::UTF8MB4_0900_AI_CI);
        assert!(Recoder::for_client(client, Format::Text, &mut names).unwrap().is_none());
        assert_eq!(names[0].ty, ColumnType::varchar(64, collation::UTF8MB4_0900_AI_CI));
        let mut numbers = vec![Column::computed("n", ColumnType::bigint())];
        assert!(Recoder::for_client(Some(LATIN1), Format::Text, &mut numbers).unwrap().is_none());
    }
}
