//! Trees and round trips.
