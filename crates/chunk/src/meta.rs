//! [`ChunkMeta`]: the metadata of a chunk in a manifest: offsets of its columns, checksums, zone
//! maps.
//!
//! The bytes of [`ChunkMeta::to_bytes`] have a version but no checksum: the manifest that holds
//! them has its own. Decoding is total: any bytes give a value or an error.

use arrow::buffer::Buffer;
use arrow::datatypes::i256;
use pelorus_error::{Code, Error, Result};

use crate::column::Column;
use crate::format::damaged;
use crate::zone::Zone;
use crate::{CHUNK_ROWS, Codec, vectors_of};

/// Version of the manifest's description of a chunk.
const VERSION: u8 = 1;

/// A chunk as its manifest knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct ChunkMeta {
    /// Rows of the chunk.
    pub rows: usize,
    /// Its columns, in the order in which they were given to `crate::encode`.
    pub columns: Vec<ColumnMeta>,
}

/// One column of a chunk as its manifest knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnMeta {
    /// First byte of the sub-block within the chunk, a multiple of 64.
    pub offset: u64,
    /// Bytes of the sub-block.
    pub length: u64,
    /// CRC-32C of the sub-block.
    pub checksum: u32,
    /// How the values are laid out.
    pub codec: Codec,
    /// Bytes of a code; 0 for codecs without codes.
    pub width: u8,
    /// Rows that are NULL.
    pub nulls: usize,
    /// Smallest and largest value.
    pub zone: Zone,
    /// Positions of each vector's smallest and largest value on the ruler of the zone (see
    /// module `zone`); empty if they would not help.
    pub vectors: Vec<[u16; 2]>,
}

impl ChunkMeta {
    /// Opens a column of a chunk whose bytes are all in memory.
    ///
    /// # Errors
    /// As [`Column::parse`]; `FileDamaged` also if the chunk is too short.
    ///
    /// # Panics
    /// If there is no column of this index.
    pub fn column(&self, chunk: &Buffer, index: usize) -> Result<Column> {
        let meta = &self.columns[index];
        let place = usize::try_from(meta.offset).ok().zip(usize::try_from(meta.length).ok());
        let inside = place.filter(|&(offset, length)| {
            offset.checked_add(length).is_some_and(|end| end <= chunk.len())
        });
        let Some((offset, length)) = inside else {
            let bytes = chunk.len();
            return Err(damaged(format!("column {index} lies outside a chunk of {bytes} bytes")));
        };
        let column = Column::parse(chunk.slice_with_length(offset, length), meta)?;
        if column.rows() != self.rows {
            let (has, should) = (column.rows(), self.rows);
            return Err(damaged(format!("column {index} has {has} rows, not {should}")));
        }
        Ok(column)
    }

    /// The bytes for a manifest.
    #[expect(clippy::cast_possible_truncation, reason = "rows and NULLs are at most 131,072")]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&(self.rows as u32).to_le_bytes());
        bytes.extend_from_slice(&(self.columns.len() as u32).to_le_bytes());
        for column in &self.columns {
            bytes.extend_from_slice(&column.offset.to_le_bytes());
            bytes.extend_from_slice(&column.length.to_le_bytes());
            bytes.extend_from_slice(&column.checksum.to_le_bytes());
            bytes.push(column.codec.tag());
            bytes.push(column.width);
            bytes.extend_from_slice(&(column.nulls as u32).to_le_bytes());
            write_zone(&mut bytes, &column.zone);
            bytes.push(column.vectors.len() as u8);
            for position in column.vectors.as_flattened() {
                bytes.extend_from_slice(&position.to_le_bytes());
            }
        }
        bytes
    }

    /// Reads the bytes of [`ChunkMeta::to_bytes`], all of them.
    ///
    /// # Errors
    /// `FileVersion` for a later format, `FileDamaged` for bytes that are none.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader(bytes);
        let [version] = reader.array()?;
        if version != VERSION {
            return Err(Error::new(
                Code::FileVersion,
                format!("chunk description version {version} is not {VERSION}"),
            ));
        }
        let rows = reader.count()?;
        if rows > CHUNK_ROWS {
            return Err(damaged(format!("{rows} rows in a chunk description")));
        }
        let count = reader.count()?;
        // The capacity is not taken from the count, which may be damaged.
        let mut columns = Vec::new();
        for _ in 0..count {
            columns.push(reader.column(rows)?);
        }
        if !reader.0.is_empty() {
            return Err(damaged(format!("{} bytes follow a chunk description", reader.0.len())));
        }
        Ok(Self { rows, columns })
    }
}

#[expect(clippy::cast_possible_truncation, reason = "zones keep at most 32 bytes")]
fn write_zone(bytes: &mut Vec<u8>, zone: &Zone) {
    match zone {
        Zone::Empty => bytes.push(0),
        Zone::Int { min, max } => {
            bytes.push(1);
            bytes.extend_from_slice(&min.to_le_bytes());
            bytes.extend_from_slice(&max.to_le_bytes());
        }
        Zone::Wide { min, max } => {
            bytes.push(2);
            bytes.extend_from_slice(&min.to_le_bytes());
            bytes.extend_from_slice(&max.to_le_bytes());
        }
        Zone::Float { min, max, nan } => {
            bytes.push(3);
            bytes.push(u8::from(*nan));
            bytes.extend_from_slice(&min.to_bits().to_le_bytes());
            bytes.extend_from_slice(&max.to_bits().to_le_bytes());
        }
        Zone::Bytes { min, max, min_cut, max_cut } => {
            bytes.push(4);
            bytes.push(u8::from(*min_cut) | u8::from(*max_cut) << 1);
            for end in [min, max] {
                bytes.push(end.len() as u8);
                bytes.extend_from_slice(end);
            }
        }
    }
}

/// The bytes that are still to be read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, length: usize) -> Result<&'a [u8]> {
        let Some((head, rest)) = self.0.split_at_checked(length) else {
            return Err(damaged("a chunk description ends too early"));
        };
        self.0 = rest;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.bytes(N)?);
        Ok(array)
    }

    fn count(&mut self) -> Result<usize> {
        Ok(u32::from_le_bytes(self.array()?) as usize)
    }

    fn column(&mut self, rows: usize) -> Result<ColumnMeta> {
        let offset = u64::from_le_bytes(self.array()?);
        let length = u64::from_le_bytes(self.array()?);
        let checksum = u32::from_le_bytes(self.array()?);
        let [codec, width] = self.array()?;
        let nulls = self.count()?;
        let zone = self.zone()?;
        let [vectors] = self.array()?;
        let vectors = usize::from(vectors);
        if nulls > rows || vectors > 0 && vectors != vectors_of(rows) {
            return Err(damaged(format!("{nulls} NULLs and {vectors} vectors in {rows} rows")));
        }
        let mut positions = Vec::with_capacity(vectors);
        for _ in 0..vectors {
            let [a, b, c, d] = self.array()?;
            positions.push([u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d])]);
        }
        let codec = Codec::from_tag(codec)?;
        Ok(ColumnMeta { offset, length, checksum, codec, width, nulls, zone, vectors: positions })
    }

    fn zone(&mut self) -> Result<Zone> {
        let [tag] = self.array()?;
        let zone = match tag {
            0 => Zone::Empty,
            1 => Zone::Int {
                min: i128::from_le_bytes(self.array()?),
                max: i128::from_le_bytes(self.array()?),
            },
            2 => Zone::Wide {
                min: i256::from_le_bytes(self.array()?),
                max: i256::from_le_bytes(self.array()?),
            },
            3 => {
                let [nan] = self.array()?;
                let min = f64::from_bits(u64::from_le_bytes(self.array()?));
                let max = f64::from_bits(u64::from_le_bytes(self.array()?));
                Zone::Float { min, max, nan: nan != 0 }
            }
            4 => {
                let [flags] = self.array()?;
                let [length] = self.array()?;
                let min = self.bytes(length.into())?.to_vec();
                let [length] = self.array()?;
                let max = self.bytes(length.into())?.to_vec();
                Zone::Bytes { min, max, min_cut: flags & 1 != 0, max_cut: flags & 2 != 0 }
            }
            _ => return Err(damaged(format!("unknown zone {tag}"))),
        };
        let ordered = match &zone {
            Zone::Empty => true,
            Zone::Int { min, max } => min <= max,
            Zone::Wide { min, max } => min <= max,
            Zone::Float { min, max, nan } => *nan || min <= max,
            Zone::Bytes { min, max, .. } => min <= max,
        };
        if ordered { Ok(zone) } else { Err(damaged("the ends of a zone are in the wrong order")) }
    }
}
