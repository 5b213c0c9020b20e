//! A part of a partition: immutable rows, and the delete marks of those that are dead.

use std::sync::Arc;

use pelorus_error::Result;

use crate::catalog::schema::Version;
use crate::catalog::schema_version::Layout;
use crate::key::Keys;
use crate::partition::chunk::Chunk;
use crate::partition::delete_marks::Deletes;
use crate::partition::delta::Delta;

/// A part.
#[derive(Debug)]
pub(crate) struct Part {
    /// The high bits of references to its rows.
    pub(crate) slot: u16,
    /// The schema that its rows were written under.
    pub(crate) layout: Arc<Layout>,
    /// The dead rows.
    pub(crate) deletes: Deletes,
    /// The rows.
    pub(crate) body: Body,
}

/// Where the rows of a part are.
#[derive(Debug)]
pub(crate) enum Body {
    /// In memory, as they came.
    Delta(Delta),
    /// Encoded and sorted, in a block of the data file.
    Chunk(Chunk),
}

impl Part {
    /// How many rows it has, dead ones included.
    pub(crate) fn rows(&self) -> u32 {
        match &self.body {
            Body::Delta(delta) => delta.rows(),
            Body::Chunk(chunk) => chunk.rows(),
        }
    }

    pub(crate) fn delta(&self) -> Option<&Delta> {
        match &self.body {
            Body::Delta(delta) => Some(delta),
            Body::Chunk(_) => None,
        }
    }

    pub(crate) fn chunk(&self) -> Option<&Chunk> {
        match &self.body {
            Body::Delta(_) => None,
            Body::Chunk(chunk) => Some(chunk),
        }
    }

    /// The version that wrote a row.
    pub(crate) fn version(&self, row: u32) -> Result<Version> {
        match &self.body {
            Body::Delta(delta) => Ok(delta.version(row)),
            Body::Chunk(chunk) => chunk.version(row),
        }
    }

    /// The primary keys of all rows.
    pub(crate) fn keys(&self) -> Result<Keys> {
        match &self.body {
            Body::Delta(delta) => Ok(delta.with_keys(|keys, _| keys.clone())),
            Body::Chunk(chunk) => {
                let columns = self
                    .layout
                    .schema
                    .key
                    .iter()
                    .map(|&at| chunk.column(at)?.decode(0..chunk.rows() as usize))
                    .collect::<Result<Vec<_>>>()?;
                self.layout.keys_of_keys(&columns)
            }
        }
    }
}
