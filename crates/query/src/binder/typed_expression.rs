//! [`TypedExpr`]: a bound expression with its MySQL type.

use std::sync::Arc;

use arrow::array::ArrayRef;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Expr;
use pelorus_error::{Error, Result};
use pelorus_expression::Form;
use pelorus_functions::aggregate::AggregateCall;
use pelorus_functions::{
    self as functions, Arg, Call, CastTarget, EqualityKey, EvalContext, Members, TextForm, Value,
};
use pelorus_types::{Column, ColumnType, WireType};

use crate::datafusion_adapter::form::form;
use crate::datafusion_adapter::udf;
use crate::operators::short_circuit;

mod forms;

use forms::Chosen;
pub(crate) use forms::Forms;

/// A bound expression.
#[derive(Clone, Debug)]
pub(crate) struct TypedExpr {
    /// The expression that DataFusion computes.
    pub(crate) expr: Expr,
    /// The MySQL type.
    pub(crate) ty: ColumnType,
    /// The properties that the resolution of functions needs.
    arg: Arg,
    /// An expression whose bytes group and order like the value under its collation, where a
    /// linked server computed it (`WEIGHT_STRING`).
    pub(crate) key: Option<Expr>,
    /// The column that the expression is nothing but a name for.
    pub(crate) origin: Option<Arc<Column>>,
    /// The list that it is sorted by where it is the value of an ENUM or SET column.
    listed: Option<Listed>,
    /// Whether it is a quotient that a MariaDB would have more digits of.
    quotient: bool,
    /// What chose it, where its number is not that of its text.
    chosen: Option<Arc<Chosen>>,
}

/// When a constant that leaves warnings is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Constants {
    /// Once, whether or not a row comes: so MySQL has it of a condition on rows.
    AtOnce,
    /// When a row that needs it is processed.
    WhenReached,
}

impl Constants {
    /// The value of a constant, and whether its warnings are still to come. `None` where it fails:
    /// whether it is needed shows when rows come.
    fn compute(
        self,
        context: &EvalContext,
        work: impl FnOnce() -> Option<ArrayRef>,
    ) -> Option<(ArrayRef, bool)> {
        let (array, waits) = match self {
            Self::AtOnce => (work(), false),
            Self::WhenReached => context.apart(work),
        };
        Some((array?, waits))
    }
}

/// Characters that an integer column can take, whatever width it is displayed in.
fn digits(ty: &ColumnType) -> u32 {
    let digits = match ty.wire {
        WireType::Tiny => 3,
        WireType::Short => 5,
        WireType::Int24 => 8,
        WireType::Long => 10,
        WireType::LongLong => return 20,
        _ => return 0,
    };
    digits + u32::from(!ty.is_unsigned())
}

/// The list that values are sorted by.
#[derive(Clone, Debug)]
enum Listed {
    Members(Arc<Members>),
    /// It is not known here, as with columns of linked servers.
    Unknown,
}

impl TypedExpr {
    /// A column of a plan, in the form of its type.
    pub(crate) fn column(expr: Expr, column: &Column) -> Self {
        let text: Vec<String> = [&column.schema, &column.table, &column.name]
            .into_iter()
            .filter(|part| !part.is_empty())
            .map(|part| format!("`{part}`"))
            .collect();
        let mut arg = Arg::column(column.ty, text.join("."));
        if !column.org_name.is_empty() {
            arg.ty.length = arg.ty.length.max(digits(&column.ty));
        }
        Self {
            expr,
            ty: column.ty,
            arg,
            key: None,
            origin: Some(Arc::new(column.clone())),
            listed: unknown(&column.ty),
            quotient: false,
            chosen: None,
        }
    }

    /// The same value of a column whose members are these.
    #[must_use]
    pub(crate) fn with_members(self, members: Option<&Arc<Members>>) -> Self {
        match members {
            Some(members) => Self { listed: Some(Listed::Members(Arc::clone(members))), ..self },
            None => self,
        }
    }

    /// The same value that is sorted like another, of which it is a copy.
    #[must_use]
    pub(crate) fn listed_like(self, other: &Self) -> Self {
        Self { listed: other.listed.clone(), ..self }
    }

    /// The same column of a derived table, whose numeric form differs from that of its text if its
    /// value's does.
    #[must_use]
    pub(crate) fn hiding_like(mut self, other: &Self) -> Self {
        self.arg.hides_number |= other.arg.hides_number() || other.listed.is_some();
        self
    }

    /// A value that is neither a constant nor a column, in the form of its type.
    pub(crate) fn computed(expr: Expr, ty: ColumnType) -> Self {
        let arg = Arg::column(ty, String::new());
        Self {
            expr,
            ty,
            arg,
            key: None,
            origin: None,
            listed: unknown(&ty),
            quotient: false,
            chosen: None,
        }
    }

    /// A literal.
    pub(crate) fn literal(arg: Arg) -> Result<Self> {
        let value = arg.constant.clone().unwrap_or(Value::Null);
        let array = functions::array_of(&value, &arg.ty)?;
        let scalar = ScalarValue::try_from_array(&array, 0).map_err(udf::from_datafusion)?;
        let expr = Expr::Literal(scalar, None);
        let ty = arg.ty;
        Ok(Self {
            expr,
            ty,
            arg,
            key: None,
            origin: None,
            listed: None,
            quotient: false,
            chosen: None,
        })
    }

    /// The result of an aggregate, found in a column of a plan.
    pub(crate) fn of_aggregate(expr: Expr, call: &AggregateCall) -> Self {
        let ty = call.return_type();
        Self { arg: call.as_arg(), ..Self::computed(expr, ty) }
    }

    /// How the least or greatest of some values is sorted: MySQL keeps it in a column of the type
    /// that they have. (Which is the least is a matter of the text.)
    pub(crate) fn extreme_of(self, name: &str, args: &[TypedExpr]) -> Self {
        match args {
            [arg] if matches!(name, "MIN" | "MAX") => self.listed_like(arg),
            _ => self,
        }
    }

    /// The properties that the resolution of functions needs.
    pub(crate) fn arg(&self) -> Arg {
        self.arg.clone()
    }

    /// The same column somewhere else in the plan.
    #[must_use]
    pub(crate) fn at(&self, expr: Expr, key: Option<Expr>) -> Self {
        let mut arg = self.arg.clone();
        arg.constant = None;
        arg.is_fallible = false;
        let (origin, listed) = (self.origin.clone(), self.listed.clone());
        Self { expr, key, arg, ty: self.ty, origin, listed, quotient: self.quotient, chosen: None }
    }

    /// The same value by other names of columns.
    ///
    /// # Errors
    /// Those of `rename`.
    pub(crate) fn renamed(&self, rename: impl Fn(&Expr) -> Result<Expr>) -> Result<Self> {
        let key = self.key.as_ref().map(&rename).transpose()?;
        Ok(Self { expr: rename(&self.expr)?, key, chosen: None, ..self.clone() })
    }

    /// Says whether it is a quotient, or a text that may be one. Floating-point ones stay out.
    #[must_use]
    pub(crate) fn with_quotient(self, quotient: bool) -> Self {
        Self { quotient: quotient && (self.ty.is_decimal() || self.ty.is_string()), ..self }
    }

    /// Whether it is a quotient that a MariaDB would have more digits of.
    pub(crate) fn is_quotient(&self) -> bool {
        self.quotient
    }

    /// The same value without the key that a server made.
    #[must_use]
    pub(crate) fn without_key(self) -> Self {
        Self { key: None, ..self }
    }

    /// Says that an outer join may fill it with NULL.
    pub(crate) fn set_nullable(&mut self) {
        self.ty = self.ty.nullable();
        self.arg.ty = self.ty;
    }

    /// Describes the value as one of another type that is held in the same form.
    pub(crate) fn describe(&mut self, ty: ColumnType) {
        self.ty = ty;
        self.arg.ty = ty;
    }

    /// The same value as one that is no column of a table.
    #[must_use]
    pub(crate) fn into_value(mut self) -> Self {
        let mut length = self.arg.ty.length;
        let is_column = self.origin.as_ref().is_some_and(|it| !it.org_name.is_empty());
        if is_column && self.ty.is_blob() {
            // Long texts are reported with their bytes taken for characters.
            length = length.saturating_mul(u32::from(self.ty.collation.bytes_per_char().max(1)));
        }
        self.describe(ColumnType { length, ..self.ty.as_value() });
        self.origin = None;
        self
    }

    /// Applies a function or operator by name.
    pub(crate) fn apply(
        name: &str,
        mut args: Vec<TypedExpr>,
        context: &Arc<EvalContext>,
        constants: Constants,
    ) -> Result<TypedExpr> {
        let mut described: Vec<Arg> = args.iter().map(TypedExpr::arg).collect();
        let hidden = functions::hidden_numbers(name, &described)?;
        if !hidden.is_empty() {
            let is_real = functions::asks_real(name);
            for at in hidden {
                if let Some(number) = args[at].number(is_real, context)? {
                    (described[at], args[at]) = (number.arg(), number);
                }
            }
        }
        for at in 0..args.len() {
            if described[at].text_form == TextForm::Chosen
                && functions::asks_text(name, at, described.len())
                && let Some(text) = args[at].text(context)?
            {
                (described[at], args[at]) = (text.arg(), text);
            }
        }
        let call = functions::resolve(name, &described, context)?;
        let is_chosen = call.text_form() == TextForm::Chosen;
        if !is_chosen && !call.mixes() && !call.hides_number() {
            return Ok(Self::of_call(call, args, constants));
        }
        let chosen = Choice { name: name.to_owned(), args: args.clone(), constants };
        let value = Self::of_call(call, args, constants);
        Ok(Self { chosen: Some(Arc::new(Chosen::Call(chosen))), ..value })
    }

    /// The result of a resolved call; of constants it is a constant, which MySQL's types depend on.
    pub(crate) fn of_call(call: Call, mut args: Vec<TypedExpr>, constants: Constants) -> TypedExpr {
        args.truncate(call.reads());
        let context = Arc::clone(call.context());
        let (ty, arg, name) = (call.return_type(), Arg::of(&call, None), call.name().to_owned());
        let literals = literals(&args).filter(|_| call.is_deterministic());
        let known = literals
            .and_then(|literals| constants.compute(&context, || call.evaluate(&literals, 1).ok()));
        if let Some(folded) = folded(known.as_ref(), &arg) {
            return folded;
        }
        let args = args.into_iter().map(|arg| arg.expr).collect();
        let expr = udf::call(&name, call, args, known.is_some());
        // A conditional may have chosen what it is among constants.
        let known = known
            .or_else(|| constants.compute(&context, || short_circuit::of_literals(&expr)?.ok()));
        if let Some(folded) = folded(known.as_ref(), &arg) {
            return folded;
        }
        let constant = known.and_then(|(array, _)| functions::value_at(&array, &ty, 0).ok());
        TypedExpr { arg: Arg { constant, ..arg }, ..TypedExpr::computed(expr, ty) }
    }

    /// The same value in another type, as in assignments and UNION.
    pub(crate) fn converted(self, to: ColumnType, context: &Arc<EvalContext>) -> TypedExpr {
        let decimals = self.arg.scale.min(to.decimals);
        let settled = match to.is_decimal() && self.ty.is_decimal() && decimals > self.ty.decimals {
            // A quotient brings the digits that the other type has room for.
            true => {
                let length = self.ty.length + u32::from(decimals - self.ty.decimals);
                let ty = ColumnType { length, decimals, ..self.ty };
                TypedExpr { ty, ..self }.settled(context)
            }
            false => self.settled(context),
        };
        if settled.ty.arrow() == to.arrow() && same_form(&settled.ty, &to) {
            let arg = Arg { ty: to, ..settled.arg };
            let listed = settled.listed.filter(|_| functions::is_listed(&to));
            return TypedExpr { ty: to, arg, listed, ..settled };
        }
        let what = Form::Convert { from: settled.ty, to };
        TypedExpr::computed(form(what, context, settled.expr), to)
    }

    /// The value as a condition: a Boolean, NULL for unknown. Of an ENUM or SET its number
    /// counts, which is known of columns.
    ///
    /// # Errors
    /// Error 1235 where the number is not known, and for JSON.
    pub(crate) fn truth(self, context: &Arc<EvalContext>) -> Result<Expr> {
        let (ty, expr) = match self.listed {
            Some(Listed::Members(members)) if self.origin.is_some() && !members.has_empty() => {
                let number = form(Form::Number(members), context, self.expr);
                (ColumnType::bigint_unsigned(), number)
            }
            None if !self.arg.hides_number() && !self.arg.mixes => (self.ty, self.expr),
            None if let Some(number) = self.number(true, context)? => (number.ty, number.expr),
            _ => return Err(Error::unsupported("ENUM, SET and JSON values as conditions")),
        };
        Ok(form(Form::Truth(ty), context, expr))
    }

    /// The value in the form of its type: decimals rounded to the digits that they show, as when
    /// MySQL sends or stores them.
    #[must_use]
    pub(crate) fn settled(self, context: &Arc<EvalContext>) -> TypedExpr {
        if !self.has_more_digits() {
            return self;
        }
        let expr = form(Form::Settle(self.ty), context, self.expr);
        TypedExpr { expr, arg: Arg { scale: self.ty.decimals, ..self.arg }, ..self }
    }

    /// Whether it is a decimal with other digits than its type shows.
    pub(crate) fn has_more_digits(&self) -> bool {
        self.ty.is_decimal() && self.arg.scale != self.ty.decimals
    }

    /// The result of a function as MySQL uses it in further computations: an AVG has more digits
    /// than it shows, a value computed from it does not. (MariaDB keeps them.)
    #[must_use]
    pub(crate) fn settled_by(self, name: &str, context: &Arc<EvalContext>) -> TypedExpr {
        let settles = matches!(
            name,
            "+" | "-" | "*" | "%" | "MOD" | "IFNULL" | "COALESCE" | "GREATEST" | "LEAST"
        );
        if settles { self.settled(context) } else { self }
    }

    /// The key for grouping, comparing and joining: equal exactly if MySQL calls the values equal,
    /// and ordered as MySQL compares them (except NULL).
    pub(crate) fn sort_key(&self, context: &Arc<EvalContext>) -> Expr {
        if let Some(key) = &self.key {
            return key.clone();
        }
        if self.ty.is_float() {
            return form(Form::Unsigned(self.ty), context, self.expr.clone());
        }
        if !functions::needs_key(&self.ty) {
            return self.clone().settled(context).expr;
        }
        form(Form::Key(self.ty), context, self.expr.clone())
    }

    /// Keys of two values of different types which a join can hash; see [`EqualityKey`]. `None`
    /// where one is a constant, and where more than a key decides.
    ///
    /// # Errors
    /// Those of binding `self = other`.
    pub(crate) fn equality_keys(
        &self,
        other: &Self,
        context: &Arc<EvalContext>,
    ) -> Result<Option<(EqualityKey, [Expr; 2])>> {
        let mut sides = [self.clone(), other.clone()];
        for at in functions::hidden_numbers("=", &[self.arg(), other.arg()])? {
            if let Some(number) = sides[at].number(true, context)? {
                sides[at] = number;
            }
        }
        let [left, right] = &sides;
        let Some(key) = EqualityKey::of(&left.arg, &right.arg, context)? else { return Ok(None) };
        let of = |side: &Self| form(Form::Equality(key, side.ty), context, side.expr.clone());
        Ok(Some((key, [of(left), of(right)])))
    }

    /// The sort key of ORDER BY: [`TypedExpr::sort_key`], but the number of an ENUM or SET, which
    /// is compared as text.
    ///
    /// # Errors
    /// Error 1235 if its members are not known.
    pub(crate) fn order_key(&self, context: &Arc<EvalContext>) -> Result<Expr> {
        match &self.listed {
            None => Ok(self.sort_key(context)),
            Some(Listed::Members(members)) => {
                Ok(form(Form::Number(Arc::clone(members)), context, self.expr.clone()))
            }
            Some(Listed::Unknown) => Err(Error::unsupported(
                "the order of an ENUM or SET whose members are not known here; order by its text, \
                 CONCAT(x)",
            )),
        }
    }
}

/// The call that chose a value among several.
#[derive(Debug)]
struct Choice {
    name: String,
    args: Vec<TypedExpr>,
    constants: Constants,
}

impl Choice {
    /// The value that it chooses in another form, which is chosen among values of that form.
    fn among(
        &self,
        context: &Arc<EvalContext>,
        form: impl Fn(&TypedExpr) -> Result<Option<TypedExpr>>,
    ) -> Result<Option<TypedExpr>> {
        let name = self.name.to_ascii_uppercase();
        let count = self.args.len();
        let is_value = |at: usize| match name.as_str() {
            "IF" => at > 0,
            // The last of an odd number is the result of ELSE.
            "CASE" => !at.is_multiple_of(2) || at + 1 == count,
            _ => true,
        };
        let chooses = ["IF", "CASE", "GREATEST", "LEAST", "COALESCE", "IFNULL"];
        if !chooses.contains(&name.as_str()) {
            return Ok(None);
        }
        let mut args = self.args.clone();
        for (_, arg) in args.iter_mut().enumerate().filter(|(at, _)| is_value(*at)) {
            let Some(value) = form(arg)? else { return Ok(None) };
            *arg = value;
        }
        TypedExpr::apply(&name, args, context, self.constants).map(Some)
    }

    /// Whether the text of its result is the text of the value that it chose.
    fn keeps_text(&self) -> bool {
        !matches!(self.name.as_str(), "COALESCE" | "IFNULL" | "GREATEST" | "LEAST")
    }

    /// Whether it chooses among dates.
    fn is_of_dates(&self) -> bool {
        matches!(self.name.as_str(), "GREATEST" | "LEAST")
            && self.args.iter().any(|arg| arg.ty.is_date())
    }

    /// Whether one of its values has a time of day.
    fn has_time(&self) -> bool {
        self.args.iter().any(|arg| arg.ty.is_temporal() && arg.ty.wire != WireType::Date)
    }
}

impl TypedExpr {
    /// The numeric form of a value whose array holds text: of an ENUM or SET column, and of the
    /// value that IF and similar functions chose if numbers may have a fraction. `None` if it is
    /// not known.
    ///
    /// # Errors
    /// Those of the numbers among which it is chosen.
    pub(crate) fn number(
        &self,
        is_real: bool,
        context: &Arc<EvalContext>,
    ) -> Result<Option<TypedExpr>> {
        if let Some(Listed::Members(members)) = &self.listed
            && functions::is_listed(&self.ty)
            && !self.arg.hides_number
            && self.origin.is_some()
            && !members.has_empty()
        {
            let number = form(Form::Number(Arc::clone(members)), context, self.expr.clone());
            let nullable = if self.ty.is_nullable() {
                |it: ColumnType| it.nullable()
            } else {
                ColumnType::not_null
            };
            let number = Self::computed(number, nullable(ColumnType::bigint_unsigned()));
            return Ok(Some(number.converted(nullable(ColumnType::double()), context)));
        }
        let chosen = self.chosen.as_deref().filter(|_| is_real && !context.of_mariadb);
        let chosen = match chosen {
            Some(Chosen::Call(chosen)) => chosen,
            Some(Chosen::Columns { number, .. }) => return Ok(number.clone()),
            None => return Ok(None),
        };
        if self.ty.is_temporal() {
            return chosen.among(context, |arg| arg.exact(context));
        }
        if !chosen.is_of_dates() {
            return chosen.among(context, |arg| arg.real(context));
        }
        let target = if chosen.has_time() { CastTarget::DateTime(6) } else { CastTarget::Date };
        let call = functions::cast(target, &self.arg, context)?;
        let date = Self { chosen: None, ..self.clone() };
        Self::of_call(call, vec![date], chosen.constants).real(context)
    }

    /// A date or time as an exact number.
    fn exact(&self, context: &Arc<EvalContext>) -> Result<Option<TypedExpr>> {
        if self.arg.mixes {
            return self.number(true, context);
        }
        if self.ty.wire == WireType::Null {
            return Ok(Some(self.clone()));
        }
        let zero = Self::literal(Arg::literal(Value::Int(0), ColumnType::bigint(), "0"))?;
        Self::apply("+", vec![self.clone(), zero], context, Constants::WhenReached).map(Some)
    }

    /// The text of a number that IF or CASE chose, which has the digits of the value that it is.
    /// `None` where it is not known.
    fn text(&self, context: &Arc<EvalContext>) -> Result<Option<TypedExpr>> {
        let chosen = match self.chosen.as_deref().filter(|_| !context.of_mariadb) {
            Some(Chosen::Call(chosen)) => chosen,
            Some(Chosen::Columns { text, .. }) => return Ok(text.clone()),
            None => return Ok(None),
        };
        let text = |value: &TypedExpr| {
            Self::apply("CONCAT", vec![value.clone()], context, Constants::WhenReached).map(Some)
        };
        if !chosen.keeps_text() {
            // What compares or passes on numbers has the text of the number.
            let number = chosen.among(context, |arg| arg.real(context))?;
            return number.as_ref().map_or(Ok(None), text);
        }
        chosen.among(context, |arg| match arg.ty.wire {
            WireType::Null => Ok(Some(arg.clone())),
            _ => text(arg),
        })
    }

    /// The same as a floating-point number.
    fn real(&self, context: &Arc<EvalContext>) -> Result<Option<TypedExpr>> {
        let value = match self.arg.hides_number() || self.arg.mixes {
            true => self.number(true, context)?,
            false => Some(self.clone()),
        };
        let Some(value) = value else { return Ok(None) };
        if value.ty.wire == WireType::Double || value.ty.wire == WireType::Null {
            return Ok(Some(value));
        }
        let zero = Self::literal(Arg::literal(Value::Double(0.0), ColumnType::double(), "0e0"))?;
        Self::apply("+", vec![value, zero], context, Constants::WhenReached).map(Some)
    }
}

/// How values of a type are sorted as long as nothing more is known of them.
fn unknown(ty: &ColumnType) -> Option<Listed> {
    functions::is_listed(ty).then_some(Listed::Unknown)
}

/// The values of arguments that are literals, all of them.
fn literals(args: &[TypedExpr]) -> Option<Vec<ArrayRef>> {
    let literal = |arg: &TypedExpr| match &arg.expr {
        Expr::Literal(value, _) if arg.arg.constant.is_some() => value.to_array_of_size(1).ok(),
        _ => None,
    };
    args.iter().map(literal).collect()
}

/// A known constant with its warnings, in place of the expression that computed it.
fn folded(known: Option<&(ArrayRef, bool)>, arg: &Arg) -> Option<TypedExpr> {
    let (array, _) = known.filter(|(_, waits)| !waits)?;
    let value = functions::value_at(array, &arg.ty, 0).ok()?;
    let scalar = ScalarValue::try_from_array(array, 0).ok()?;
    Some(TypedExpr {
        expr: Expr::Literal(scalar, None),
        ty: arg.ty,
        arg: Arg { constant: Some(value), is_fallible: false, ..arg.clone() },
        key: None,
        origin: None,
        listed: None,
        quotient: false,
        chosen: None,
    })
}

/// Whether values of both types look the same in their common Arrow form.
fn same_form(from: &ColumnType, to: &ColumnType) -> bool {
    if from.is_date() || to.is_date() {
        // A DATE fits a DATETIME as it is, not the other way round.
        return from.wire == to.wire
            || (from.is_date() && to.is_date() && to.wire != WireType::Date);
    }
    from.is_integer() && to.is_integer()
        || from.is_decimal() && to.is_decimal()
        || from.is_string() && to.is_string()
        || from.wire == to.wire
}
