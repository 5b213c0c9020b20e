//! Federation: the parts of a query that run on linked servers.
//!
//! A query block whose tables all live on one server is sent there as SQL, so that the server
//! itself evaluates filters, joins, functions and collations. It goes **whole**, or it is
//! **split**: its largest table is cut into key ranges, every range runs as a fragment of its own,
//! and the parts are merged here.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`placement`] | finds the servers that store the tables of a query |
//! | [`sql_writer`] | writes a tree as SQL text for a server |
//! | [`routing`] | whole or split, from the server's own estimate |
//! | [`remote`] | a query that one server could answer |
//! | [`facts`] | functional dependencies among the outputs of such a query |
//! | [`block`] | which blocks can be split |
//! | [`partial_aggregation`] | fragments and merge of a grouped block |
//! | [`row_fragments`] | fragments and merge of a block that returns rows |
//! | [`scan`] | a fragment as a leaf of a DataFusion plan |
//! | [`passthrough_text`] | the text of a statement that runs unchanged on a server |
//! | [`collations`] | the collations under which the columns of a fragment compare |

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
