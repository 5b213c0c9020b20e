//! Encodes Arrow arrays as a chunk: chooses a codec for each column by computed size.
//!
//! Scan speed decides before size, so a codec that is slower to read must save a good deal: runs,
//! deltas and number dictionaries are charged more than their bytes.
//!
//! 1. Columns whose values can be 64-bit integers (integers, decimals that fit, floats that are
//!    short decimals) become a *lane* of `i64`; module `frame` prices frames and deltas.
//! 2. Module `layout` prices runs and dictionaries over the lane, or over the values themselves.
//! 3. The cheapest is written; values of dictionaries and runs are always plain.
//! 4. Module `packed` makes it smaller for the disk.

mod frame;
mod keys;
mod lane;
mod layout;
mod values;

use arrow::array::{Array, ArrayRef, AsArray, UInt32Array};
use arrow::buffer::NullBuffer;
use arrow::compute::take;
use pelorus_error::{Error, Result};

use self::frame::Stats;
use self::keys::{Keys, Numbers, Texts};
use self::lane::Lane;
use self::layout::Layout;
use crate::format::{Header, assemble};
use crate::kind::{Kind, by_kind};
use crate::meta::{ChunkMeta, ColumnMeta};
use crate::scalar::value_at;
use crate::zone::{Ends, Zone};
use crate::{CHUNK_ROWS, Codec, packed};

/// Sub-blocks start at multiples of this, a cache line.
const COLUMN_ALIGN: usize = 64;

/// An encoded chunk.
#[derive(Clone, Debug)]
pub struct Encoded {
    /// The chunk: sub-blocks of columns, each from a multiple of 64 bytes.
    pub bytes: Vec<u8>,
    /// The metadata of the chunk: offsets of columns, checksums, zone maps.
    pub meta: ChunkMeta,
}

/// Encodes arrays of one length (at most [`CHUNK_ROWS`]) as a chunk. Arrays may be slices.
///
/// # Errors
/// `Internal` for arrays of other types than chunks hold, of different lengths, or too long: the
/// caller cuts chunks and maps types.
pub fn encode(columns: &[ArrayRef]) -> Result<Encoded> {
    let rows = columns.first().map_or(0, |column| column.len());
    if rows > CHUNK_ROWS {
        return Err(Error::internal(format!("{rows} rows do not fit a chunk")));
    }
    let mut bytes = Vec::new();
    let mut metas = Vec::with_capacity(columns.len());
    for (index, array) in columns.iter().enumerate() {
        if array.len() != rows {
            let other = array.len();
            return Err(Error::internal(format!("column {index} has {other} rows, not {rows}")));
        }
        let source = Source::new(array)?;
        bytes.resize(bytes.len().next_multiple_of(COLUMN_ALIGN), 0);
        let start = bytes.len();
        let block = source.encode(&mut bytes)?;
        if let Some(packed) = packed::pack(&bytes[start..], &block.header) {
            bytes.truncate(start);
            bytes.extend_from_slice(&packed);
        }
        metas.push(ColumnMeta {
            offset: start as u64,
            length: (bytes.len() - start) as u64,
            checksum: crc32c::crc32c(&bytes[start..]),
            codec: block.header.codec,
            width: block.header.width,
            nulls: block.header.nulls,
            zone: block.zone,
            vectors: block.vectors,
        });
    }
    Ok(Encoded { bytes, meta: ChunkMeta { rows, columns: metas } })
}

/// A column on its way into a chunk.
struct Source<'a> {
    array: &'a ArrayRef,
    kind: Kind,
    rows: usize,
    /// Absent if no row is NULL.
    nulls: Option<&'a NullBuffer>,
}

/// An encoded column; its bytes are in the chunk.
struct Block {
    header: Header,
    zone: Zone,
    vectors: Vec<[u16; 2]>,
}

/// The sections that differ between codecs, with their header.
struct Body {
    header: Header,
    bases: Vec<u8>,
    run_ends: Vec<u8>,
    codes: Vec<u8>,
    offsets: Vec<u8>,
    values: Vec<u8>,
}

impl<'a> Source<'a> {
    fn new(array: &'a ArrayRef) -> Result<Self> {
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
        Ok(Self { array, kind: Kind::of(array.data_type())?, rows: array.len(), nulls })
    }

    fn is_valid(&self, row: usize) -> bool {
        self.nulls.is_none_or(|nulls| nulls.is_valid(row))
    }

    fn null_count(&self) -> usize {
        self.nulls.map_or(0, NullBuffer::null_count)
    }

    /// Appends the sub-block to a chunk.
    fn encode(&self, chunk: &mut Vec<u8>) -> Result<Block> {
        if self.null_count() == self.rows {
            let header = self.header(Codec::Null);
            assemble(header, [&[]; 6], chunk);
            return Ok(Block { header, zone: Zone::Empty, vectors: Vec::new() });
        }
        let (body, zone, vectors) = match Lane::of(self) {
            Some(lane) => self.encode_lane(&lane)?,
            None => by_kind!(
                self.kind,
                T => self.encode_keys(&Numbers(self.array.as_primitive::<T>().values()))?,
                utf8 => self.encode_keys(&Texts::of(self.array.as_string::<i32>()))?,
                binary => self.encode_keys(&Texts::of(self.array.as_binary::<i32>()))?,
            ),
        };
        let validity = self.validity();
        assemble(
            body.header,
            [&validity, &body.bases, &body.run_ends, &body.codes, &body.offsets, &body.values],
            chunk,
        );
        Ok(Block { header: body.header, zone, vectors })
    }

    /// Encodes values that are 64-bit integers at heart.
    fn encode_lane(&self, lane: &Lane<'_>) -> Result<(Body, Zone, Vec<[u16; 2]>)> {
        let stats = Stats::of(&lane.values);
        let ends: Vec<Ends<'_>> = stats
            .ends
            .iter()
            .enumerate()
            .map(|(vector, &(low, high))| {
                let rows = vector * crate::VECTOR_ROWS..self.rows.min((vector + 1) * 2048);
                let any = rows.into_iter().any(|row| self.is_valid(row));
                any.then(|| (lane.value(low), lane.value(high)))
            })
            .collect();
        let zone = Zone::of(&ends, false);
        let positions = zone.positions(&ends);

        let plan = stats.plan(&lane.values);
        let plain_cost = self.kind.width().map_or(usize::MAX, |width| width * self.rows);
        // A frame that saves nothing is not worth its addition.
        let frame_cost = if plan.bytes >= plain_cost { usize::MAX } else { plan.cost };
        let best = frame_cost.min(plain_cost);
        let body = match Layout::choose(&Numbers(&lane.values), self, best) {
            Some(layout) => self.body(layout)?,
            None if frame_cost <= plain_cost => {
                let mut header = self.header(plan.codec);
                header.width = plan.width;
                header.group_shift = plan.group_shift;
                header.step = plan.step;
                header.exponent = lane.exponent.unwrap_or(0);
                let (bases, codes) = plan.write(&lane.values, lane.flip());
                Body { bases, codes, ..Body::new(header) }
            }
            None => self.plain(),
        };
        Ok((body, zone, positions))
    }

    /// Encodes values as they are.
    fn encode_keys(&self, keys: &impl Keys) -> Result<(Body, Zone, Vec<[u16; 2]>)> {
        let layout = Layout::choose(keys, self, self.plain_bytes());
        let (rows, nan) = match &layout {
            // Codes rise with the values and compare much faster, but do not show a NaN.
            Some(Layout::Dictionary { codes, .. }) if !self.kind.is_float() => {
                layout::ends(&Numbers(codes), self)
            }
            _ => layout::ends(keys, self),
        };
        let value = |row| value_at(self.array, self.kind, row);
        let ends: Vec<Ends<'_>> =
            rows.iter().map(|ends| ends.map(|(low, high)| (value(low), value(high)))).collect();
        let zone = Zone::of(&ends, nan);
        let positions = zone.positions(&ends);
        let body = match layout {
            Some(layout) => self.body(layout)?,
            None => self.plain(),
        };
        Ok((body, zone, positions))
    }

    fn header(&self, codec: Codec) -> Header {
        Header {
            kind: self.kind,
            codec,
            width: 0,
            exponent: 0,
            group_shift: 0,
            rows: self.rows,
            nulls: self.null_count(),
            entries: 0,
            text_bytes: 0,
            step: 0,
        }
    }

    /// One bit a row, set where there is a value, in whole words; empty without NULLs.
    fn validity(&self) -> Vec<u8> {
        let words = self.nulls.map(|nulls| nulls.inner().bit_chunks());
        // The padding word may come on top of complete ones.
        let words = words.iter().flat_map(|chunks| chunks.iter_padded());
        let length = if self.nulls.is_some() { self.rows.div_ceil(64) } else { 0 };
        words.take(length).flat_map(u64::to_le_bytes).collect()
    }

    /// Bytes of the column as plain values.
    fn plain_bytes(&self) -> usize {
        match self.kind.width() {
            Some(width) => width * self.rows,
            None => values::text_bytes(self.array) + 4 * (self.rows + 1),
        }
    }

    fn plain(&self) -> Body {
        let (offsets, values) = values::write(self.array, self.kind);
        let text_bytes = if self.kind.width().is_none() { values.len() } else { 0 };
        let header = Header { entries: self.rows, text_bytes, ..self.header(Codec::Plain) };
        Body { offsets, values, ..Body::new(header) }
    }

    fn body(&self, layout: Layout) -> Result<Body> {
        let (codec, width, run_ends, codes, reps) = match layout {
            Layout::Constant { row } => (Codec::Constant, 0, Vec::new(), Vec::new(), vec![row]),
            Layout::Runs { ends, reps } => {
                let ends = ends.iter().flat_map(|end| end.to_le_bytes()).collect();
                (Codec::Runs, 0, ends, Vec::new(), reps)
            }
            Layout::Dictionary { codes, reps } => {
                let width = layout::code_width(reps.len());
                let codes = layout::write_codes(&codes, width);
                (Codec::Dictionary, width, Vec::new(), codes, reps)
            }
        };
        let entries = take(self.array, &UInt32Array::from(reps), None)
            .map_err(|e| Error::internal("values of a dictionary").caused_by(e))?;
        let (offsets, values) = values::write(&entries, self.kind);
        let text_bytes = if self.kind.width().is_none() { values.len() } else { 0 };
        let header = Header { width, entries: entries.len(), text_bytes, ..self.header(codec) };
        Ok(Body { run_ends, codes, offsets, values, ..Body::new(header) })
    }
}

impl Body {
    fn new(header: Header) -> Self {
        Self {
            header,
            bases: Vec::new(),
            run_ends: Vec::new(),
            codes: Vec::new(),
            offsets: Vec::new(),
            values: Vec::new(),
        }
    }
}
