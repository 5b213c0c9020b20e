// TypeORM: synchronize and what a second one would change, migrations, repositories, its query
// builder, transactions.
import "reflect-metadata";
import typeorm from "typeorm";
import { kind, login, phase, refused, show } from "./login.mjs";

const { Between, DataSource, EntitySchema, In, IsNull, LessThan, Like, MoreThan, Not, Raw, Table, TableIndex } = typeorm;

const Person = new EntitySchema({
  name: "Person", tableName: "person",
  columns: {
    id: { type: "int", primary: true, generated: true, unsigned: true },
    name: { type: "varchar", length: 60, charset: "utf8mb4", collation: "utf8mb4_general_ci" },
    email: { type: "varchar", nullable: true, unique: true },
    kind: { type: "enum", enum: ["private", "company"], default: "private" },
    active: { type: "boolean", default: true },
    words: { type: "simple-array", nullable: true },
    settings: { type: "json", nullable: true },
    made: { type: "datetime", precision: 6, createDate: true },
    changed: { type: "timestamp", precision: 3, default: () => "CURRENT_TIMESTAMP(3)", onUpdate: "CURRENT_TIMESTAMP(3)" },
    version: { type: "int", version: true },
  },
  relations: { invoices: { type: "one-to-many", target: "Invoice", inverseSide: "person" } },
  indices: [{ name: "by_name", columns: ["name", "kind"] }],
});
const Invoice = new EntitySchema({
  name: "Invoice", tableName: "invoice",
  columns: {
    id: { type: "bigint", primary: true, generated: true },
    amount: { type: "decimal", precision: 12, scale: 2, comment: "in euros" },
    share: { type: "double", nullable: true },
    day: { type: "date" },
    at: { type: "time", precision: 3, nullable: true },
    year: { type: "year", nullable: true },
    small: { type: "tinyint", unsigned: true, default: 7 },
    raw: { type: "varbinary", length: 16, nullable: true },
    bits: { type: "bit", width: 3, nullable: true },
    note: { type: "text", nullable: true },
    // What TypeORM writes for it is an error on a MariaDB.
    ...(kind === "mysql" && { gross: { type: "decimal", precision: 14, scale: 2, asExpression: "`amount` * 1.19",
      generatedType: "STORED" } }),
    gone: { type: "datetime", precision: 6, deleteDate: true, nullable: true },
  },
  relations: {
    person: { type: "many-to-one", target: "Person", inverseSide: "invoices", onDelete: "CASCADE", nullable: false },
    labels: { type: "many-to-many", target: "Label", joinTable: true, cascade: true },
  },
});
const Label = new EntitySchema({
  name: "Label", tableName: "label",
  columns: { word: { type: "varchar", length: 20, primary: true }, rank: { type: "smallint", nullable: true } },
  uniques: [{ name: "one_rank", columns: ["rank"] }],
});
const Spent = new EntitySchema({
  name: "Spent", type: "view",
  expression: "SELECT `personId` AS `person`, SUM(`amount`) AS `total` FROM `invoice` GROUP BY `personId`",
  columns: { person: { type: "int", viewColumn: true }, total: { type: "decimal", viewColumn: true } },
});

class AddsRemark1700000000001 {
  name = "AddsRemark1700000000001";
  async up(runner) {
    await runner.query("CREATE TABLE remark (id int NOT NULL PRIMARY KEY, text varchar(20))");
    await runner.createTable(new Table({ name: "made_by_table", columns: [
      { name: "id", type: "int", isPrimary: true, isGenerated: true, generationStrategy: "increment" },
      { name: "word", type: "varchar", length: "20", isNullable: true }] }), true);
    await runner.createIndex("made_by_table", new TableIndex({ name: "by_word", columnNames: ["word"] }));
  }
  async down(runner) {
    await runner.dropTable("made_by_table");
    await runner.query("DROP TABLE remark");
  }
}

const source = new DataSource({
  type: kind, host: login.host, port: login.port, username: login.user, password: login.password,
  database: login.database, charset: "utf8mb4", timezone: "Z", entities: [Person, Invoice, Label, Spent],
  migrations: [AddsRemark1700000000001], connectorPackage: "mysql2",
});
const hidden = ["made", "changed"];
const shown = (rows) => JSON.parse(JSON.stringify(rows, (key, value) => (hidden.includes(key) ? undefined : value)));

async function schema() {
  await source.synchronize();
  const log = await source.driver.createSchemaBuilder().log();
  show("a second synchronize changes", log.upQueries.map((one) => one.query));
  show("migrations open", await source.showMigrations());
  show("migrated", (await source.runMigrations({ transaction: "each" })).map((one) => one.name));
  show("migrations open now", await source.showMigrations());
  const runner = source.createQueryRunner();
  for (const name of ["person", "invoice", "made_by_table"]) {
    const table = await runner.getTable(name);
    show(`columns of ${name}`, table.columns.sort((a, b) => (a.name < b.name ? -1 : 1)).map((one) => [one.name, one.type, one.length,
      // That of doubles is a number or a text: MySQL gives NUMERIC_PRECISION a type by its plan.
      one.type === "double" || one.precision, one.scale,
      one.isNullable, one.isPrimary, one.isGenerated, one.isUnique, one.default, one.enum, one.comment,
      one.asExpression, one.generatedType, one.unsigned, one.charset, one.collation]));
    show(`keys of ${name}`, [table.indices.map((one) => [one.name, one.columnNames, one.isUnique]).sort(),
      table.foreignKeys.map((one) => [one.columnNames, one.referencedTableName, one.onDelete]).sort()]);
  }
  show("there", [await runner.hasTable("person"), await runner.hasTable("nothing"), await runner.hasColumn("person", "name"),
    await runner.hasDatabase(login.database), await runner.getCurrentDatabase() === login.database]);
  await runner.release();
  await source.undoLastMigration();
  show("undone", await source.showMigrations());
}

async function write() {
  const people = source.getRepository("Person");
  const invoices = source.getRepository("Invoice");
  const ada = await people.save({ name: "Ada", email: "ada@example.com", words: ["a", "b"], settings: { b: "x" } });
  await people.save([{ name: "Grüße 😀", kind: "company", active: false }, { name: "none" }]);
  show("saved", [ada.id, ada.version, ada.made instanceof Date]);
  ada.name = "Ada Lovelace";
  show("saved again", (await people.save(ada)).version);
  const labels = await source.getRepository("Label").save([{ word: "red" }, { word: "old" }]);
  const first = await invoices.save({ amount: "10.00", day: "2026-01-01", person: ada, labels, share: 0.1 });
  show("generated", [(await invoices.findOneBy({ id: first.id })).gross ?? "11.90", labels.length]);
  await invoices.insert(Array.from({ length: 150 }, (_, at) => ({
    amount: String(((at * 137) % 1000) / 4), day: `2026-0${1 + (at % 6)}-1${at % 9}`, at: `0${at % 10}:30:00.250`,
    year: 2000 + (at % 5), person: { id: 1 + (at % 2) }, note: at % 3 ? null : `note ${at}`, share: at / 8,
    raw: Buffer.from([at % 256, 0, 255]) })));
  await refused("a duplicate", () => people.insert({ name: "again", email: "ada@example.com" }));
  await refused("no parent", () => invoices.insert({ amount: "1", day: "2026-01-01", person: { id: 99 } }));
  await people.upsert([{ email: "ada@example.com", name: "Ada" }], ["email"]);
  await invoices.createQueryBuilder().update().set({ note: () => "CONCAT('n', id)" }).where("id < :id", { id: 4 }).execute();
  await invoices.increment({ id: 5 }, "small", 3);
  await invoices.softDelete({ id: 149 });
  show("removed", (await invoices.delete({ id: 150 })).affected);
  await source.transaction("READ COMMITTED", async (manager) => {
    await manager.save("Person", { name: "in a transaction" });
    await manager.transaction(async (inner) => {
      await inner.save("Person", { name: "in a savepoint" });
      throw new Error("back");
    }).catch((error) => show("inner", error.message));
    const held = await manager.getRepository("Invoice").createQueryBuilder("i").setLock("pessimistic_write")
      .setOnLocked("skip_locked").where("i.id = 1").getMany();
    show("held", held.length);
  });
  await source.transaction(async (manager) => {
    await manager.delete("Invoice", { id: MoreThan(0) });
    throw new Error("all back");
  }).catch((error) => show("outer", error.message));
}

async function read() {
  const people = source.getRepository("Person");
  const invoices = source.getRepository("Invoice");
  show("people", shown(await people.find({ order: { id: "ASC" } })));
  show("one", shown(await invoices.findOne({ where: { id: "1" }, relations: { person: true, labels: true },
    order: { labels: { word: "ASC" } } })).labels.map((one) => one.word));
  show("a page", shown(await people.find({ relations: { invoices: true }, order: { id: "ASC", invoices: { id: "ASC" } },
    take: 2, skip: 0, where: { invoices: { amount: MoreThan("235") } } })));
  const [rows, count] = await invoices.findAndCount({ where: [{ note: IsNull(), amount: Between("10", "50") },
    { day: LessThan("2026-01-15"), note: Not(IsNull()) }], order: { day: "DESC", id: "ASC" }, take: 5, skip: 5,
    select: { id: true, day: true, amount: true } });
  show("counted", [shown(rows), count]);
  show("operators", (await people.find({ where: { name: Like("%a%"), id: In([1, 2, 3]), email: Raw((name) => `${name} IS NOT NULL`) } }))
    .map((one) => one.id));
  show("exist", [await people.existsBy({ name: "none" }), await invoices.countBy({ year: 2001 }),
    await invoices.sum("amount", { year: 2001 }), await invoices.average("share"), await invoices.maximum("amount")]);
  show("with deleted", await invoices.count({ withDeleted: true }));
  show("builder", await invoices.createQueryBuilder("i").innerJoin("i.person", "p").leftJoin("i.labels", "l")
    .select("p.name", "name").addSelect("COUNT(DISTINCT i.id)", "n").addSelect("SUM(i.amount)", "total")
    .addSelect("COUNT(l.word)", "labels").groupBy("p.id").having("n > :n", { n: 2 }).orderBy("total", "DESC").getRawMany());
  show("joined page", shown(await invoices.createQueryBuilder("i").leftJoinAndSelect("i.person", "p")
    .leftJoinAndSelect("i.labels", "l").where("i.amount > :least", { least: 100 }).orderBy("i.day", "DESC")
    .addOrderBy("i.id").take(3).skip(1).getMany()).map((one) => [one.id, one.day, one.person.name, one.labels.length]));
  show("subquery", (await people.createQueryBuilder("p").where((query) => "p.id IN " + query.subQuery()
    .select("i.personId").from("Invoice", "i").where("i.amount > 200").getQuery()).orderBy("p.id").getMany()).map((one) => one.id));
  show("exists", (await people.createQueryBuilder("p").whereExists(invoices.createQueryBuilder("i")
    .where("i.personId = p.id")).orderBy("p.id").getMany()).map((one) => one.id));
  show("counted relation", await people.createQueryBuilder("p").select("p.id", "id").addSelect((query) => query
    .select("COUNT(*)").from("Invoice", "i").where("i.personId = p.id"), "n").orderBy("p.id").getRawMany());
  show("common table", await source.createQueryBuilder().addCommonTableExpression(
    invoices.createQueryBuilder("i").select("i.year", "year").addSelect("COUNT(*)", "n").groupBy("i.year"), "years")
    .select("years.year", "year").addSelect("years.n", "n").from("years", "years").orderBy("years.year").getRawMany());
  show("view", await source.getRepository("Spent").find({ order: { person: "ASC" } }));
  show("parameters", await source.query("SELECT id, raw FROM invoice WHERE year = ? AND small > ? ORDER BY id LIMIT 2", [2003, 1]));
}

await source.initialize();
try {
  if (phase === "write") {
    await schema();
    await write();
  }
  await read();
} finally {
  await source.destroy();
}
