// Sequelize: sync with and without alter, the schema that it reads, associations, transactions.
import { DataTypes, Op, QueryTypes, Sequelize, Transaction } from "sequelize";
import { login, phase, refused, show } from "./login.mjs";

const db = new Sequelize(login.database, login.user, login.password, {
  dialect: "mysql", host: login.host, port: login.port, logging: false, timezone: "+00:00",
  define: { timestamps: true },
});

const Author = db.define("Author", {
  name: { type: DataTypes.STRING(60), allowNull: false },
  email: { type: DataTypes.STRING, unique: "email" },
  kind: { type: DataTypes.ENUM("private", "company"), defaultValue: "private" },
  active: { type: DataTypes.BOOLEAN, defaultValue: true },
  settings: DataTypes.JSON,
  born: DataTypes.DATEONLY,
});
const Book = db.define("Book", {
  id: { type: DataTypes.BIGINT, primaryKey: true, autoIncrement: true },
  title: { type: DataTypes.STRING(80), allowNull: false },
  price: DataTypes.DECIMAL(10, 2),
  weight: DataTypes.DOUBLE,
  pages: { type: DataTypes.INTEGER.UNSIGNED, defaultValue: 0 },
  at: DataTypes.TIME,
  note: DataTypes.TEXT("medium"),
  mark: { type: DataTypes.UUID },
}, { paranoid: true, indexes: [{ fields: ["title", "price"], name: "by_title" }] });
const Tag = db.define("Tag", { word: { type: DataTypes.STRING(20), primaryKey: true } }, { timestamps: false });
Author.hasMany(Book, { foreignKey: { name: "authorId", allowNull: false }, as: "books", onDelete: "CASCADE" });
Book.belongsTo(Author, { foreignKey: "authorId", as: "author" });
Book.belongsToMany(Tag, { through: "BookTag", timestamps: false });
Tag.belongsToMany(Book, { through: "BookTag", timestamps: false });

const MOMENT = new Date("2026-01-02T03:04:05Z");
const shown = (rows) => JSON.parse(JSON.stringify(rows, (key, value) =>
  ["createdAt", "updatedAt", "deletedAt"].includes(key) ? value !== null : value));

async function schema() {
  await db.sync();
  await db.sync();
  const asked = [];
  await db.sync({ alter: true, logging: (sql) => asked.push(sql) });
  show("altered", asked.filter((sql) => /ALTER|CREATE/.test(sql)).map((sql) => sql.replace(/^.*?: /, "")));
  const look = db.getQueryInterface();
  show("tables", (await look.showAllTables()).sort());
  for (const table of ["Authors", "Books", "BookTag"]) {
    show(`columns of ${table}`, await look.describeTable(table));
    show(`indexes of ${table}`, (await look.showIndex(table)).map((one) =>
      [one.name, one.primary, one.unique, one.fields.map((field) => field.attribute)]));
    show(`foreign keys of ${table}`, (await look.getForeignKeyReferencesForTable(table)).map((one) =>
      [one.columnName, one.referencedTableName, one.referencedColumnName]));
  }
  show("exists", [await look.tableExists("Books"), await look.tableExists("nothing")]);
  await look.addColumn("Books", "shelf", { type: DataTypes.STRING(10), defaultValue: "a" });
  await look.renameColumn("Books", "shelf", "place");
  await look.changeColumn("Books", "place", { type: DataTypes.STRING(20) });
  await look.addIndex("Books", ["place"], { name: "by_place" });
  show("changed", (await look.describeTable("Books")).place);
  await look.removeIndex("Books", "by_place");
  await look.removeColumn("Books", "place");
  show("schemas", (await db.showAllSchemas()).filter((name) => name === login.database));
  show("version", /^\d+\.\d+/.test(await db.databaseVersion()));
}

async function write() {
  const ada = await Author.create({ name: "Ada", email: "ada@example.com", settings: { a: [1], b: "x" },
    born: "1815-12-10", createdAt: MOMENT });
  show("key", ada.id);
  await Author.bulkCreate([{ name: "Grüße 😀", kind: "company", active: false }, { name: "none" }]);
  await Book.bulkCreate(Array.from({ length: 120 }, (_, at) => ({
    title: `title ${at % 40}`, price: ((at * 137) % 1000) / 4, weight: at / 8, pages: at, authorId: 1 + (at % 2),
    at: `0${at % 10}:00:00`, note: at % 3 ? null : `note ${at}` })));
  await Tag.bulkCreate([{ word: "old" }, { word: "new" }, { word: "red" }]);
  await refused("a duplicate", () => Author.create({ name: "again", email: "ada@example.com" }));
  await refused("no parent", () => Book.create({ title: "x", authorId: 99 }));
  await Author.bulkCreate([{ id: 1, name: "Ada Lovelace", email: "ada@example.com" }], { updateOnDuplicate: ["name"] });
  const [, made] = await Author.upsert({ id: 3, name: "upserted" });
  show("upserted", made);
  const [found, isNew] = await Author.findOrCreate({ where: { name: "found" }, defaults: { kind: "company" } });
  show("found or made", [found.id, isNew, (await Author.findOrCreate({ where: { name: "found" } }))[1]]);
  const book = await Book.findByPk(1);
  await book.addTags(["old", "red"]);
  await (await Book.findByPk(2)).setTags(["new"]);
  await book.increment({ pages: 3 });
  await book.reload();
  show("incremented", book.pages);
  await (await Book.findByPk(120)).destroy();
  show("destroyed", await Book.count());
  show("all of them", await Book.count({ paranoid: false }));
  await Book.restore({ where: { id: 120 } });
  show("updated", await Book.update({ note: "cheap" }, { where: { price: { [Op.lt]: 20 } } }));
  await db.transaction({ isolationLevel: Transaction.ISOLATION_LEVELS.READ_COMMITTED }, async (transaction) => {
    await Author.create({ name: "in a transaction" }, { transaction });
    const held = await Book.findAll({ where: { id: [1, 2] }, lock: transaction.LOCK.UPDATE, skipLocked: true,
      transaction, order: ["id"] });
    show("held", held.map((one) => one.id));
    const inner = await db.transaction({ transaction });
    await Author.create({ name: "in a savepoint" }, { transaction: inner });
    await inner.rollback();
  });
  await db.transaction(async (transaction) => {
    await Book.destroy({ where: {}, force: true, transaction });
    throw new Error("back");
  }).catch((error) => show("rolled back", error.message));
}

async function read() {
  show("authors", shown(await Author.findAll({ order: ["id"] })));
  show("one", shown(await Book.findOne({ where: { title: "title 7" }, order: [["id", "DESC"]] })));
  show("with books", shown(await Author.findAll({ order: [["id", "ASC"], [{ model: Book, as: "books" }, "id", "ASC"]],
    include: [{ model: Book, as: "books", where: { price: { [Op.gte]: 230 } }, required: false,
      attributes: ["id", "price"] }] })));
  show("a page with tags", shown(await Book.findAll({ limit: 3, order: [["id", "ASC"], [Tag, "word", "ASC"]],
    attributes: ["id", "title"], include: [Tag, { model: Author, as: "author", attributes: ["name"] }] })));
  show("tagged", shown(await Book.findAll({ limit: 5, order: ["id"], attributes: ["id"],
    include: [{ model: Tag, where: { word: "red" } }] })));
  show("counted", shown(await Book.findAndCountAll({ where: { [Op.or]: [{ note: null }, { pages: { [Op.between]: [10, 20] } }] },
    limit: 4, offset: 2, order: ["id"], attributes: ["id"] })));
  show("groups", shown(await Book.findAll({ group: ["authorId"], order: ["authorId"], raw: true,
    attributes: ["authorId", [db.fn("COUNT", db.col("id")), "n"], [db.fn("SUM", db.col("price")), "total"],
      [db.fn("AVG", db.col("weight")), "mean"]],
    having: db.where(db.fn("COUNT", db.col("id")), Op.gt, 10) })));
  show("joined groups", shown(await Author.findAll({ raw: true, group: ["Author.id"], order: [["id", "ASC"]],
    attributes: ["id", "name", [db.fn("COUNT", db.col("books.id")), "n"]],
    include: [{ model: Book, as: "books", attributes: [] }] })));
  show("sums", [await Book.sum("price"), await Book.max("pages"), await Book.min("title"),
    await Book.count({ distinct: true, col: "title" })]);
  show("like", (await Book.findAll({ where: { title: { [Op.like]: "%3_", [Op.notLike]: "%9" },
    id: { [Op.notIn]: [31, 33] } }, order: ["id"] })).map((one) => one.id));
  show("literal", shown(await Author.findAll({ order: ["id"], attributes: ["id", [db.literal(
    "(SELECT COUNT(*) FROM Books AS b WHERE b.authorId = Author.id AND b.deletedAt IS NULL)"), "books"]] })));
  show("json", (await Author.findAll({ where: { settings: { b: "x" } } })).map((one) => one.id));
  show("replaced", await db.query("SELECT id, title FROM Books WHERE pages > :least ORDER BY id LIMIT 2",
    { replacements: { least: 100 }, type: QueryTypes.SELECT }));
  show("bound", await db.query("SELECT COUNT(*) AS n FROM Books WHERE pages > $1 AND authorId = $2",
    { bind: [50, 1], type: QueryTypes.SELECT }));
}

try {
  await db.authenticate();
  if (phase === "write") {
    await schema();
    await write();
  }
  await read();
} finally {
  await db.close();
}
