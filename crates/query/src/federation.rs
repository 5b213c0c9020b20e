//! What linked servers do for a query.
//!
//! A query block whose tables all live on one server is sent there as SQL, so that the server
//! itself evaluates filters, joins, functions and collations. It goes **whole**, or it is **split**:
//! its largest table is cut into key ranges, every range runs as a fragment of its own, and the
//! parts are merged here.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`place`] | finds where the tables of a query live |
//! | [`render`] | writes a tree as text for a server |
//! | [`decide`] | whole or split, from the server's own estimate |
//! | [`remote`] | a query that one server could answer |
//! | `facts` | what the outputs of such a query determine |
//! | [`block`] | what a block must be like to be split |
//! | [`groups`] | fragments and merge of a grouped block |
//! | [`rows`] | fragments and merge of a block that returns rows |
//! | [`scan`] | a fragment as a leaf of a DataFusion plan |
//! | [`text`] | the text of a statement that goes as it was written |
//! | [`collations`] | under which collations the columns of a fragment compare |

pub(crate) mod block;
pub(crate) mod collations;
mod facts;
pub(crate) mod partial_aggregation;
pub(crate) mod passthrough_text;
pub(crate) mod placement;
pub(crate) mod remote;
pub(crate) mod routing;
pub(crate) mod row_fragments;
pub(crate) mod scan;
pub(crate) mod sql_writer;
