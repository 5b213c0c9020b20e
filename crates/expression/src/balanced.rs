//! Trees of an associative operator.

use pelorus_error::Result;

/// Joins parts by an operator that is associative, to a tree of logarithmic height in which they
/// keep their order; `None` of none.
///
/// # Errors
/// Those of `join`.
pub fn balanced<T>(mut parts: Vec<T>, join: impl Fn(T, T) -> Result<T>) -> Result<Option<T>> {
    while parts.len() > 1 {
        let mut next = Vec::with_capacity(parts.len().div_ceil(2));
        let mut rest = parts.into_iter();
        while let Some(left) = rest.next() {
            next.push(match rest.next() {
                Some(right) => join(left, right)?,
                None => left,
            });
        }
        parts = next;
    }
    Ok(parts.pop())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_are_balanced_and_keep_the_order() {
        let parts: Vec<String> = ["a", "b", "c", "d", "e"].map(str::to_owned).into();
        let join = |left: String, right: String| Ok(format!("({left}{right})"));
        assert_eq!(balanced(parts, join).unwrap().unwrap(), "(((ab)(cd))e)");
        assert_eq!(balanced(Vec::new(), join).unwrap(), None);
    }
}
