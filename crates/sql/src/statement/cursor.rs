//! A place in the tokens of a statement.
