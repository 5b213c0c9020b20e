//! Grouping by dictionary codes: the scan numbers the groups of low-cardinality text columns.
//!
//! If a block groups by text columns of a native table that have few distinct values, the scan
//! gives each row the number of its group instead of the texts. The sort key of a text is computed
//! once for each value of a chunk's dictionary.
//!
//! A number identifies one key of every column under its collation; NULL is a key as well. The text
//! of a group is that of its first row in the order of the scan, as in MySQL, whichever stream
//! comes first. If the plan removes rows after the scan, the text is that of the first remaining
//! row.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, DictionaryArray, StringArray, UInt32Array,
};
use arrow::datatypes::{DataType, UInt32Type};
use datafusion::common::{DataFusionError, ScalarValue};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use pelorus_env::Account;
use pelorus_error::{Error, Result};
use pelorus_functions::comparison_keys;
use pelorus_types::ColumnType;

use crate::datafusion_adapter::udf::{from_datafusion, into_datafusion};

/// The number of a row's group as a column of a plan.
#[derive(Clone, Debug)]
pub(crate) struct GroupNumbers {
    /// The number.
    pub(crate) number: Expr,
    /// The text columns whose values it represents.
    pub(crate) columns: Vec<Expr>,
    pub(crate) groups: Arc<TextGroups>,
    /// Some rows that have numbers are left out afterwards: the text of a group may be that of
    /// such a row.
    pub(crate) is_filtered: bool,
}

/// The groups of one scan, which all its streams number together.
#[derive(Debug)]
pub(crate) struct TextGroups {
    types: Vec<ColumnType>,
    /// The memory account of dictionary keys.
    keys: Account,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// By the keys of all columns, one after the other.
    numbers: HashMap<Vec<u8>, u32>,
    /// Of each group, in the order of their numbers.
    groups: Vec<Group>,
    /// What both take of the query's memory, and whose that is.
    memory: Option<(MemoryReservation, Arc<dyn MemoryPool>)>,
}

#[derive(Debug)]
struct Group {
    /// Where in the scan these texts are from.
    from: Turn,
    members: Vec<Member>,
}

/// The place of a batch in the order of a scan: that of its piece of work, and within that.
pub(crate) type Turn = (usize, usize);

/// The value of one column in a group: its text and its key; `None` for NULL.
type Member = Option<(String, Vec<u8>)>;

impl TextGroups {
    /// No groups yet, of columns of these types.
    pub(crate) fn new(types: Vec<ColumnType>, keys: &Account) -> Self {
        Self { types, keys: keys.clone(), known: Mutex::default() }
    }

    /// Counts the dictionaries that are built from now on as memory of a query. If the query runs
    /// once more with other memory, earlier dictionaries are reused.
    pub(crate) fn count_in(&self, pool: &Arc<dyn MemoryPool>) {
        let known = &mut *self.known();
        if known.memory.as_ref().is_some_and(|(_, of)| Arc::ptr_eq(of, pool)) {
            return;
        }
        let bytes = known.memory.as_ref().map_or(0, |(memory, _)| memory.size());
        let memory = MemoryConsumer::new("TextGroups").register(pool);
        memory.grow(bytes);
        known.memory = Some((memory, Arc::clone(pool)));
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn number(&self, members: Vec<Member>, turn: Turn) -> Result<u32> {
        let mut key = Vec::new();
        for member in &members {
            let bytes = member.as_ref().map(|(_, key)| key.as_slice());
            key.extend(bytes.map_or(0, |bytes| bytes.len() as u64 + 1).to_le_bytes());
            key.extend(bytes.unwrap_or_default());
        }
        let Known { numbers, groups, memory } = &mut *self.known();
        match numbers.entry(key) {
            Entry::Occupied(found) => {
                let number = *found.get();
                // Equal keys may be those of other texts; which stream is ahead is a matter of
                // chance, which answers are not.
                if let Some(group) = groups.get_mut(number as usize)
                    && turn < group.from
                {
                    *group = Group { from: turn, members };
                }
                Ok(number)
            }
            Entry::Vacant(free) => {
                let number = u32::try_from(groups.len()).ok().filter(|it| *it != NONE);
                let number = number.ok_or_else(|| Error::internal("more than 2^32 groups"))?;
                if let Some((memory, _)) = memory {
                    let bytes = bytes_of(free.key(), &members);
                    memory.try_grow(bytes).map_err(from_datafusion)?;
                }
                groups.push(Group { from: turn, members });
                Ok(*free.insert(number))
            }
        }
    }
}

/// About how many bytes a group takes.
fn bytes_of(key: &[u8], members: &[Member]) -> usize {
    /// Of the map and of the lists.
    const PLACES: usize = 96;
    let held = |(text, key): &(String, Vec<u8>)| text.len() + key.len();
    let member = |it: &Member| size_of::<Member>() + it.as_ref().map_or(0, held);
    PLACES + size_of::<Turn>() + key.len() + members.iter().map(member).sum::<usize>()
}

/// Numbers in a table: it stays close to the processor.
const TABLE: usize = 1 << 16;

/// No number of a group.
const NONE: u32 = u32::MAX;

/// Numbers the rows of one stream, and caches the mapping of the current chunk.
#[derive(Debug)]
pub(crate) struct Numberer {
    groups: Arc<TextGroups>,
    /// The values of each column in the batch before, and their keys.
    values: Vec<(ArrayRef, ArrayRef)>,
    /// Numbers by the codes of all columns, taken as the digits of one number.
    numbers: Numbers,
}

#[derive(Debug)]
enum Numbers {
    /// A power of two of them, no fewer than there are codes.
    Table(Vec<u32>),
    Map(HashMap<u64, u32>),
    /// There are more combinations of codes than a number has values: none are remembered.
    Unnumbered,
}

impl Numberer {
    pub(crate) fn new(groups: Arc<TextGroups>) -> Self {
        Self { groups, values: Vec::new(), numbers: Numbers::Map(HashMap::new()) }
    }

    /// The numbers of the groups of a batch's rows, given as dictionaries.
    pub(crate) fn number(&mut self, columns: &[ArrayRef], turn: Turn) -> Result<UInt32Array> {
        let columns: Option<Vec<_>> =
            columns.iter().map(|column| column.as_dictionary_opt::<UInt32Type>()).collect();
        let columns = columns.ok_or_else(|| Error::internal("groups are found by codes"))?;
        let same = self.values.len() == columns.len()
            && self.values.iter().zip(&columns).all(|((a, _), b)| Arc::ptr_eq(a, b.values()));
        if !same {
            let values: Vec<ArrayRef> = columns.iter().map(|it| Arc::clone(it.values())).collect();
            self.begin(&values)?;
        }
        if matches!(self.numbers, Numbers::Unnumbered) {
            return self.of_rows(&columns, turn);
        }
        if let ([column], Numbers::Table(table)) = (columns.as_slice(), &self.numbers)
            && column.keys().nulls().is_none()
        {
            let mut is_new = false;
            let number = |key: &u32| {
                // A table has all codes; so written it needs no look at bounds.
                let number = table[*key as usize & (table.len() - 1)];
                is_new |= number == NONE;
                number
            };
            let numbers: Vec<u32> = column.keys().values().iter().map(number).collect();
            if !is_new {
                return Ok(UInt32Array::from(numbers));
            }
        }
        if let ([one, two], Numbers::Table(table)) = (columns.as_slice(), &self.numbers)
            && one.keys().nulls().is_none()
            && two.keys().nulls().is_none()
        {
            let (mut is_new, base) = (false, two.values().len() + 1);
            let keys = one.keys().values().iter().zip(two.keys().values().iter());
            let number = |(one, two): (&u32, &u32)| {
                let place = (*one as usize).wrapping_mul(base).wrapping_add(*two as usize);
                let number = table[place & (table.len() - 1)];
                is_new |= number == NONE;
                number
            };
            let numbers: Vec<u32> = keys.map(number).collect();
            if !is_new {
                return Ok(UInt32Array::from(numbers));
            }
        }
        let rows = columns.first().map_or(0, |column| column.len());
        let mut places = vec![0_u64; rows];
        for (column, (values, _)) in columns.iter().zip(&self.values) {
            let (keys, null) = (column.keys(), values.len() as u64);
            match keys.nulls() {
                None => {
                    for (place, key) in places.iter_mut().zip(keys.values()) {
                        *place = *place * (null + 1) + u64::from(*key);
                    }
                }
                // NULL comes after the values.
                Some(nulls) => {
                    for ((place, key), valid) in places.iter_mut().zip(keys.values()).zip(nulls) {
                        *place = *place * (null + 1) + if valid { u64::from(*key) } else { null };
                    }
                }
            }
        }
        let mut numbers: Vec<u32> = match &self.numbers {
            Numbers::Table(table) => {
                let known = |place: &u64| table.get(usize::try_from(*place).ok()?).copied();
                places.iter().map(|place| known(place).unwrap_or(NONE)).collect()
            }
            Numbers::Map(map) => {
                places.iter().map(|place| map.get(place).copied().unwrap_or(NONE)).collect()
            }
            Numbers::Unnumbered => vec![NONE; rows],
        };
        if numbers.contains(&NONE) {
            for (number, place) in numbers.iter_mut().zip(places) {
                if *number == NONE {
                    *number = self.at(place, turn)?;
                }
            }
        }
        Ok(UInt32Array::from(numbers))
    }

    /// Begins with other values.
    fn begin(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.values.clear();
        let mut places = Some(1_u64);
        for (values, ty) in values.iter().zip(&self.groups.types) {
            let keys = comparison_keys(values, ty, &self.groups.keys)?;
            self.values.push((Arc::clone(values), keys));
            places = places.and_then(|places| places.checked_mul(values.len() as u64 + 1));
        }
        self.numbers = match places.map(usize::try_from) {
            None => Numbers::Unnumbered,
            Some(Ok(places)) if places <= TABLE => {
                Numbers::Table(vec![NONE; places.next_power_of_two()])
            }
            Some(_) => Numbers::Map(HashMap::new()),
        };
        Ok(())
    }

    /// The numbers of the groups of rows by their keys alone.
    fn of_rows(&self, columns: &[&DictionaryArray<UInt32Type>], turn: Turn) -> Result<UInt32Array> {
        let rows = columns.first().map_or(0, |column| column.len());
        let number = |row: usize| {
            let codes: Vec<_> = columns.iter().map(|column| column.key(row)).collect();
            self.groups.number(self.members(&codes)?, turn)
        };
        let numbers = (0..rows).map(number).collect::<Result<Vec<u32>>>()?;
        Ok(UInt32Array::from(numbers))
    }

    /// The number of a place, which may be new.
    fn at(&mut self, place: u64, turn: Turn) -> Result<u32> {
        let index = usize::try_from(place).unwrap_or(usize::MAX);
        let known = match &self.numbers {
            Numbers::Table(table) => table.get(index).copied().filter(|it| *it != NONE),
            Numbers::Map(map) => map.get(&place).copied(),
            Numbers::Unnumbered => None,
        };
        if let Some(number) = known {
            return Ok(number);
        }
        let number = self.groups.number(self.members(&self.codes(place))?, turn)?;
        match &mut self.numbers {
            Numbers::Table(table) => table[index] = number,
            Numbers::Map(map) => {
                map.insert(place, number);
            }
            Numbers::Unnumbered => {}
        }
        Ok(number)
    }

    /// The codes of a place, whose digits are taken from the last column on; `None` for NULL.
    fn codes(&self, mut place: u64) -> Vec<Option<usize>> {
        let mut codes = Vec::with_capacity(self.values.len());
        for (values, _) in self.values.iter().rev() {
            let base = values.len() as u64 + 1;
            let code = usize::try_from(place % base).ok();
            place /= base;
            codes.push(code.filter(|&code| code < values.len()));
        }
        codes.reverse();
        codes
    }

    /// The values of codes, one of each column.
    fn members(&self, codes: &[Option<usize>]) -> Result<Vec<Member>> {
        let mut members = Vec::with_capacity(self.values.len());
        for ((values, keys), code) in self.values.iter().zip(codes) {
            let (Some(texts), Some(keys)) =
                (values.as_string_opt::<i32>(), keys.as_binary_opt::<i32>())
            else {
                return Err(Error::internal("groups are made of texts"));
            };
            let code = code.filter(|&code| texts.is_valid(code));
            let member = |code| (texts.value(code).to_owned(), keys.value(code).to_vec());
            members.push(code.map(member));
        }
        Ok(members)
    }
}

/// The requested part of a group, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    Text,
    /// The sort key of the text.
    Key,
}

/// The text or the key of a column of a group as an expression over the group's number.
pub(crate) fn part_of(groups: &Arc<TextGroups>, column: usize, part: Part, number: Expr) -> Expr {
    let signature = Signature::exact(vec![DataType::UInt32], Volatility::Immutable);
    let udf = PartOf { groups: Arc::clone(groups), column, part, signature };
    ScalarUDF::new_from_impl(udf).call(vec![number])
}

#[derive(Debug)]
struct PartOf {
    groups: Arc<TextGroups>,
    column: usize,
    part: Part,
    signature: Signature,
}

impl PartialEq for PartOf {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.groups, &other.groups)
            && (self.column, self.part) == (other.column, other.part)
    }
}

impl Eq for PartOf {}

impl Hash for PartOf {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (Arc::as_ptr(&self.groups), self.column, self.part).hash(state);
    }
}

impl ScalarUDFImpl for PartOf {
    fn name(&self) -> &'static str {
        match self.part {
            Part::Text => "group_text",
            Part::Key => "group_key",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> std::result::Result<DataType, DataFusionError> {
        Ok(match self.part {
            Part::Text => DataType::Utf8,
            Part::Key => DataType::Binary,
        })
    }

    fn invoke_with_args(
        &self,
        args: ScalarFunctionArgs,
    ) -> std::result::Result<ColumnarValue, DataFusionError> {
        let [number] = args.args.as_slice() else {
            return Err(into_datafusion(Error::internal("a group has one number")));
        };
        let (numbers, scalar) = match number {
            ColumnarValue::Array(array) => (Arc::clone(array), false),
            ColumnarValue::Scalar(value) => (value.to_array_of_size(1)?, true),
        };
        let numbers = numbers
            .as_primitive_opt::<UInt32Type>()
            .ok_or_else(|| into_datafusion(Error::internal("a group has a number")))?;
        let known = self.groups.known();
        let member = |number: Option<u32>| {
            let group = known.groups.get(usize::try_from(number?).ok()?)?;
            group.members.get(self.column)?.as_ref()
        };
        let members = numbers.iter().map(member);
        let array: ArrayRef = match self.part {
            Part::Text => {
                Arc::new(members.map(|it| it.map(|(text, _)| text)).collect::<StringArray>())
            }
            Part::Key => {
                Arc::new(members.map(|it| it.map(|(_, key)| key)).collect::<BinaryArray>())
            }
        };
        Ok(match scalar {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?),
            false => ColumnarValue::Array(array),
        })
    }
}

#[cfg(test)]
mod tests {
    use datafusion::execution::memory_pool::GreedyMemoryPool;
    use pelorus_chunk::coded;
    use pelorus_error::Code;
    use pelorus_types::{Collation, WireType};

    use super::*;

    fn texts(values: &[Option<&str>]) -> ArrayRef {
        coded(&(Arc::new(StringArray::from(values.to_vec())) as ArrayRef)).expect("codes")
    }

    fn groups(columns: usize) -> Arc<TextGroups> {
        let collation = Collation::default_of("utf8mb4").expect("a charset");
        let ty = ColumnType::new(WireType::VarString, collation, 80, 0);
        Arc::new(TextGroups::new(vec![ty; columns], &Account::unlimited()))
    }

    fn text(groups: &TextGroups, column: usize, number: usize) -> Option<String> {
        groups.known().groups[number].members[column].as_ref().map(|(text, _)| text.clone())
    }

    #[test]
    fn equal_texts_and_nulls_share_a_number_in_all_batches_and_streams() {
        let groups = groups(1);
        let mut streams = [Numberer::new(Arc::clone(&groups)), Numberer::new(Arc::clone(&groups))];
        let mut number = |stream: usize, column: &ArrayRef| {
            let numbers = streams[stream].number(&[Arc::clone(column)], (stream, 0));
            numbers.expect("numbers").values().to_vec()
        };
        let first = texts(&[Some("a"), None, Some("A"), Some("b"), Some("ä"), Some("")]);
        let second = texts(&[Some("B"), Some("c"), None, Some("a")]);
        assert_eq!(number(0, &first), [0, 1, 0, 2, 0, 3]);
        assert_eq!(number(1, &second), [2, 4, 1, 0]);
        assert_eq!(number(0, &second), [2, 4, 1, 0]);
        assert_eq!(text(&groups, 0, 0).as_deref(), Some("a"));
        assert_eq!(text(&groups, 0, 1), None);
    }

    #[test]
    fn texts_are_those_of_the_first_row_whichever_stream_comes_first() {
        let groups = groups(1);
        for (turn, word) in [((1, 7), "a"), ((1, 2), "A"), ((2, 0), "ä"), ((0, 9), "Ä")] {
            let mut stream = Numberer::new(Arc::clone(&groups));
            let numbers = stream.number(&[texts(&[Some(word), Some("á")])], turn);
            assert_eq!(numbers.expect("numbers").values(), &[0, 0]);
        }
        assert_eq!(text(&groups, 0, 0).as_deref(), Some("Ä"));
    }

    #[test]
    fn combinations_have_numbers_whether_they_fit_a_table_or_not() {
        let words: Vec<String> = (0..300).map(|number| format!("w{number}")).collect();
        let many: Vec<Option<&str>> = words.iter().map(|word| Some(word.as_str())).collect();
        let few: Vec<Option<&str>> = (0..300).map(|at| [Some("x"), None][at % 2]).collect();
        // 301 * 301 combinations are more than a table has, 301 * 2 are not.
        for other in [&many, &few] {
            let groups = groups(2);
            let mut numberer = Numberer::new(Arc::clone(&groups));
            let numbers = numberer.number(&[texts(&many), texts(other)], (0, 0)).expect("numbers");
            assert!(numbers.values().iter().copied().eq(0..300));
            for row in 0..300 {
                assert_eq!(text(&groups, 0, row).as_deref(), many[row]);
                assert_eq!(text(&groups, 1, row).as_deref(), other[row]);
            }
        }
    }

    #[test]
    fn combinations_beyond_all_numbers_have_groups() {
        let words: Vec<String> = (0..300).map(|number| format!("w{number}")).collect();
        let many: Vec<Option<&str>> = words.iter().map(|word| Some(word.as_str())).collect();
        let few: Vec<Option<&str>> = (0..300).map(|at| [Some("x"), None][at % 2]).collect();
        // 301^8 * 2 are more than 64 bits say.
        let groups = groups(9);
        let mut numberer = Numberer::new(Arc::clone(&groups));
        let columns = [vec![texts(&many); 8], vec![texts(&few)]].concat();
        for _ in 0..2 {
            let numbers = numberer.number(&columns, (0, 0)).expect("numbers");
            assert!(numbers.values().iter().copied().eq(0..300));
        }
        for row in 0..300 {
            assert_eq!(text(&groups, 7, row).as_deref(), many[row]);
            assert_eq!(text(&groups, 8, row).as_deref(), few[row]);
        }
    }

    #[test]
    fn groups_are_memory_of_the_query() {
        let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(4096));
        let groups = groups(1);
        groups.count_in(&pool);
        let mut numberer = Numberer::new(Arc::clone(&groups));
        numberer.number(&[texts(&[Some("a"), Some("b")])], (0, 0)).expect("numbers");
        let before = pool.reserved();
        assert!(before > 0);
        numberer.number(&[texts(&[Some("b"), Some("a")])], (0, 0)).expect("numbers");
        assert_eq!(pool.reserved(), before);
        let words: Vec<String> = (0..300).map(|number| format!("w{number}")).collect();
        let many: Vec<Option<&str>> = words.iter().map(|word| Some(word.as_str())).collect();
        let error = numberer.number(&[texts(&many)], (0, 0)).expect_err("no memory");
        assert_eq!(error.code(), Code::OutOfMemory);
        drop((numberer, groups));
        assert_eq!(pool.reserved(), 0);
    }

    #[test]
    fn groups_move_to_the_memory_of_the_query_that_runs_once_more() {
        let pools: [Arc<dyn MemoryPool>; 2] =
            [Arc::new(GreedyMemoryPool::new(4096)), Arc::new(GreedyMemoryPool::new(4096))];
        let groups = groups(1);
        groups.count_in(&pools[0]);
        let mut numberer = Numberer::new(Arc::clone(&groups));
        numberer.number(&[texts(&[Some("a"), Some("b")])], (0, 0)).expect("numbers");
        let held = pools[0].reserved();
        groups.count_in(&pools[1]);
        groups.count_in(&pools[1]);
        assert!(held > 0);
        assert_eq!([pools[0].reserved(), pools[1].reserved()], [0, held]);
        numberer.number(&[texts(&[Some("c")])], (0, 0)).expect("numbers");
        assert!(pools[1].reserved() > held);
    }
}
