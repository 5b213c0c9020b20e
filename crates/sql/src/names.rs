//! What result columns are called when the query does not say.
