//! Expressions above the groups of a block: which columns they may name, and what these determine.
//!
//! Under `ONLY_FULL_GROUP_BY` an expression above groups names keys and the columns that the keys
//! determine ([`super::functional_dependency`]). Without the mode any column may be named, and any
//! of its values in the group is correct.

use pelorus_error::{Code, Error, Result};
use pelorus_sql::ast_analysis;
use sqlparser::ast::{self, NamedWindowExpr, WindowType};

use super::block::{Block, is_rollup};
use super::clause_names::Term;
use super::expression::canonical;
use super::facts::Facts;
use super::functional_dependency::spreading;
use super::named_columns::{all_columns, own_columns};
use super::scope::{Scope, path_of};
use super::select_list::Item;
use super::statement::Binder;
use super::typed_expression::TypedExpr;

/// The keys of a block's groups.
struct Keys {
    /// Their canonical texts.
    texts: Vec<String>,
    /// The columns of FROM that they are, if they are columns.
    places: Vec<Option<usize>>,
}

impl Keys {
    fn of(block: &Block<'_>, scope: &Scope) -> Self {
        let keys = &block.clauses.keys;
        let place = |expr: &ast::Expr| {
            let path = path_of(ast_analysis::unnested(expr))?;
            scope.place(&path, "").ok().flatten()
        };
        Self {
            texts: keys.iter().map(|key| canonical(&key.expr, scope)).collect(),
            places: keys.iter().map(|key| place(&key.expr)).collect(),
        }
    }

    /// Which columns of a scope they are.
    fn marked(&self, columns: usize) -> Vec<bool> {
        let mut known = vec![false; columns];
        self.places.iter().flatten().for_each(|&at| known[at] = true);
        known
    }
}

/// A name that the groups do not determine.
struct Failure {
    column: usize,
    /// The place of the expression in its clause, from 1.
    number: usize,
    clause: String,
}

impl Binder<'_> {
    /// The dependencies among the columns of a block after its WHERE.
    pub(crate) fn facts_of(&self, scope: &Scope, select: &ast::Select) -> Facts {
        let mut facts = scope.facts.clone();
        facts.add_conditions(&select.selection, scope, self.context.mode);
        facts
    }

    /// Checks that the expressions above groups are determined by the keys; returns the determined
    /// columns.
    ///
    /// # Errors
    /// 1055, or 1140 if there is no GROUP BY.
    pub(crate) fn check_groups(&self, scope: &Scope, block: &Block<'_>) -> Result<Vec<bool>> {
        let keys = Keys::of(block, scope);
        let mut known = keys.marked(scope.columns.len());
        if !is_rollup(block.select)? {
            self.facts_of(scope, block.select).close(&mut known, false);
        }
        let Some(failure) = failure(scope, block, &keys, &known) else { return Ok(known) };
        let column = scope.columns[failure.column].full_name();
        let Failure { number, clause, .. } = failure;
        let mode = "this is incompatible with sql_mode=only_full_group_by";
        if block.clauses.keys.is_empty() {
            let text = format!(
                "In aggregated query without GROUP BY, expression #{number} of {clause} contains \
                 nonaggregated column '{column}'; {mode}"
            );
            return Err(Error::new(Code::MixOfGroupFunctions, text));
        }
        let text = format!(
            "Expression #{number} of {clause} is not in GROUP BY clause and contains nonaggregated \
             column '{column}' which is not functionally dependent on columns in GROUP BY clause; \
             {mode}"
        );
        Err(Error::new(Code::WrongFieldWithGroup, text))
    }

    /// The dependencies among the outputs of a block, by position.
    pub(crate) fn outputs(
        &self,
        scope: &Scope,
        block: &Block<'_>,
        values: &[TypedExpr],
    ) -> Result<Facts> {
        let mut found = Facts::default();
        if is_rollup(block.select)? {
            // The NULLs of its groups obey nothing.
            return Ok(found);
        }
        let facts = self.facts_of(scope, block.select);
        let outputs = Outputs::of(scope, block, &facts);
        for (at, value) in values.iter().enumerate() {
            outputs.add(&mut found, vec![at], !value.ty.is_nullable());
        }
        let is_merged = !block.is_grouped() && !block.distinct && block.order.limit.is_none();
        for (at, output) in outputs.all.iter().enumerate() {
            // MySQL takes the constant of a merged table for one of the block around it.
            if is_merged && output.columns.is_empty() && !output.is_more {
                found.add(Vec::new(), vec![at], true);
            }
        }
        let is_never_null = |of: &[usize]| of.iter().any(|&at| !values[at].ty.is_nullable());
        for set in outputs.sets() {
            let never_null = is_never_null(&set);
            outputs.add(&mut found, set, never_null);
        }
        Ok(found)
    }
}

/// Finds the first expression above groups that the keys do not determine.
fn failure(scope: &Scope, block: &Block<'_>, keys: &Keys, known: &[bool]) -> Option<Failure> {
    let missing = |expr: &ast::Expr| {
        let is_key = keys.texts.contains(&canonical(expr, scope));
        if is_key { None } else { own_columns(expr, scope).into_iter().find(|&at| !known[at]) }
    };
    for (at, item) in block.items.iter().enumerate() {
        let column = match (item.place, &item.expr) {
            (Some(place), _) => (!known[place]).then_some(place),
            (None, Some(expr)) => missing(expr),
            (None, None) => None,
        };
        if let Some(column) = column {
            return Some(Failure { column, number: at + 1, clause: "SELECT list".to_owned() });
        }
    }
    let terms = block.clauses.order.iter().zip(&block.clauses.ordered_by);
    for (at, (term, columns)) in terms.enumerate() {
        let Term::Value(expr) = term else { continue };
        if block.clauses.keys.is_empty() {
            // One row has no order.
            break;
        }
        // Names that mean items are settled: those are looked at above.
        if !keys.texts.contains(&canonical(expr, scope))
            && let Some(&column) = columns.iter().find(|&&at| !known[at])
        {
            return Some(Failure { column, number: at + 1, clause: "ORDER BY clause".to_owned() });
        }
    }
    let mut found = None;
    for (name, terms) in windows(block) {
        for (at, term) in terms.into_iter().enumerate() {
            if found.is_none()
                && let Some(column) = missing(&term)
            {
                let clause = format!("PARTITION BY or ORDER BY clause of window '{name}'");
                found = Some(Failure { column, number: at + 1, clause });
            }
        }
    }
    found
}

/// The expressions by which the windows of a block are partitioned and ordered, with their names.
fn windows(block: &Block<'_>) -> Vec<(String, Vec<ast::Expr>)> {
    let mut found = Vec::new();
    let mut add = |name: &str, spec: &ast::WindowSpec| {
        let order = spec.order_by.iter().map(|term| term.expr.clone());
        found.push((name.to_owned(), spec.partition_by.clone()));
        found.push((name.to_owned(), order.collect()));
    };
    for function in block.windows() {
        if let Some(WindowType::WindowSpec(spec)) = &function.over {
            add("<unnamed window>", spec);
        }
    }
    for ast::NamedWindowDefinition(name, window) in &block.select.named_window {
        if let NamedWindowExpr::WindowSpec(spec) = window {
            add(&name.value, spec);
        }
    }
    found
}

/// The expressions by which the windows of a block are partitioned and ordered.
pub(crate) fn window_terms(block: &Block<'_>) -> Vec<ast::Expr> {
    windows(block).into_iter().flat_map(|(_, terms)| terms).collect()
}

/// The definition of an output of a block.
struct Output {
    /// The column of FROM that it is.
    place: Option<usize>,
    /// The key that it is.
    key: Option<usize>,
    /// The columns of FROM that it names outside of aggregates.
    columns: Vec<usize>,
    /// It is computed of more than such columns.
    is_more: bool,
    /// Whether it is NULL where its columns are.
    is_strict: bool,
}

/// The outputs of a block.
struct Outputs<'a> {
    facts: &'a Facts,
    all: Vec<Output>,
    keys: Keys,
    /// Rows are groups.
    grouped: bool,
    columns: usize,
}

impl<'a> Outputs<'a> {
    fn of(scope: &Scope, block: &Block<'_>, facts: &'a Facts) -> Self {
        let keys = Keys::of(block, scope);
        let output = |item: &Item| {
            let Some(expr) = item.expr.as_ref().filter(|_| item.place.is_none()) else {
                let key = keys.places.iter().position(|key| key.is_some() && *key == item.place);
                let columns = item.place.into_iter().collect();
                return Output { place: item.place, key, columns, is_more: false, is_strict: true };
            };
            let text = canonical(expr, scope);
            let mut strict = Vec::new();
            spreading(expr, &mut strict);
            Output {
                place: None,
                key: keys.texts.iter().position(|key| *key == text),
                columns: all_columns(expr, scope),
                is_more: ast_analysis::has_aggregate(expr) || ast_analysis::has_window(expr),
                is_strict: !strict.is_empty(),
            }
        };
        Self {
            facts,
            all: block.items.iter().map(output).collect(),
            grouped: block.is_grouped(),
            columns: scope.columns.len(),
            keys,
        }
    }

    /// The columns that some outputs determine, by dependencies that hold for rows filled with NULL
    /// only or for all.
    fn determined(&self, by: &[usize], surviving: bool) -> Vec<usize> {
        let mut known = vec![false; self.columns];
        let mut keys = vec![false; self.keys.texts.len()];
        for &at in by {
            let output = &self.all[at];
            output.place.into_iter().for_each(|place| known[place] = true);
            output.key.into_iter().for_each(|key| keys[key] = true);
        }
        self.facts.close(&mut known, surviving);
        let is_key_known = |(at, place): (usize, &Option<usize>)| {
            keys[at] || place.is_some_and(|place| known[place])
        };
        let all = self.grouped
            && !by.is_empty()
            && !surviving
            && self.keys.places.iter().enumerate().all(is_key_known);
        let is_determined = |output: &Output| {
            let of_columns = !output.is_more
                && output.columns.iter().all(|&at| known[at])
                && (output.is_strict || !surviving);
            all || of_columns || output.key.is_some_and(|key| keys[key])
        };
        let places = self.all.iter().enumerate();
        places.filter(|(_, output)| is_determined(output)).map(|(at, _)| at).collect()
    }

    /// Adds what some outputs determine.
    fn add(&self, facts: &mut Facts, by: Vec<usize>, never_null: bool) {
        let others = |surviving| {
            let mut to = self.determined(&by, surviving);
            to.retain(|at| !by.contains(at));
            to
        };
        let all = others(false);
        if all.is_empty() {
            return;
        }
        if !never_null {
            let surviving = others(true);
            if !surviving.is_empty() {
                facts.add(by.clone(), surviving, true);
            }
        }
        facts.add(by, all, never_null);
    }

    /// Sets of several outputs that may determine others, and the empty one.
    fn sets(&self) -> Vec<Vec<usize>> {
        let output = |place: usize| self.all.iter().position(|it| it.place == Some(place));
        let of_key = |key: usize| self.all.iter().position(|it| it.key == Some(key));
        let mut sets = vec![Vec::new()];
        let keys: Option<Vec<usize>> = (0..self.keys.texts.len()).map(of_key).collect();
        let facts = self.facts.iter().map(|fact| fact.from.iter().map(|&at| output(at)).collect());
        let several = |set: &Vec<usize>| set.len() > 1;
        sets.extend(facts.chain([keys]).flatten().filter(several));
        sets
    }
}
