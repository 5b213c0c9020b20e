// Knex: migrations, the schema that it reads, queries of its builder, transactions.
import { once } from "node:events";
import knexOf from "knex";
import { login, phase, refused, show } from "./login.mjs";

const knex = knexOf({ client: "mysql2", connection: login, pool: { min: 0, max: 4 } });

const migrations = {
  first: {
    async up(db) {
      await db.schema.createTable("customer", (table) => {
        table.increments("id");
        table.string("name", 60).notNullable().index();
        table.string("email").unique();
        table.boolean("active").notNullable().defaultTo(true);
        table.enu("kind", ["private", "company"]).notNullable().defaultTo("private");
        table.json("settings");
        table.datetime("made", { precision: 3 });
        table.comment("who buys");
      });
      await db.schema.createTable("purchase", (table) => {
        table.bigIncrements("id");
        table.integer("customer_id").unsigned().notNullable()
          .references("id").inTable("customer").onDelete("CASCADE");
        table.decimal("amount", 12, 2).notNullable();
        table.float("weight");
        table.double("factor");
        table.date("day").notNullable();
        table.time("at");
        table.text("note");
        table.binary("raw", 16);
        table.uuid("mark");
        table.index(["day", "customer_id"], "by_day");
      });
    },
    async down(db) {
      await db.schema.dropTable("purchase").dropTable("customer");
    },
  },
  second: {
    async up(db) {
      await db.schema.alterTable("purchase", (table) => {
        table.string("state", 10).notNullable().defaultTo("new").after("amount");
        table.renameColumn("note", "remark");
      });
    },
    async down(db) {
      await db.schema.alterTable("purchase", (table) => {
        table.dropColumn("state");
        table.renameColumn("remark", "note");
      });
    },
  },
};
const source = {
  getMigrations: async () => Object.keys(migrations),
  getMigrationName: (name) => name,
  getMigration: async (name) => migrations[name],
};

async function schema() {
  show("current version before", await knex.migrate.currentVersion({ migrationSource: source }));
  show("migrated", await knex.migrate.latest({ migrationSource: source }));
  show("rolled back", await knex.migrate.rollback({ migrationSource: source }));
  show("migrated again", await knex.migrate.latest({ migrationSource: source }));
  show("current version", await knex.migrate.currentVersion({ migrationSource: source }));
  const [done, open] = await knex.migrate.list({ migrationSource: source });
  show("listed", [done.map((one) => one.name), open]);
  for (const table of ["customer", "purchase"]) {
    show(`columns of ${table}`, await knex(table).columnInfo());
  }
  show("has", [await knex.schema.hasTable("customer"), await knex.schema.hasTable("nothing"),
    await knex.schema.hasColumn("purchase", "state"), await knex.schema.hasColumn("purchase", "nothing")]);
  await knex.schema.createTableLike("purchase_old", "purchase");
  await knex.schema.renameTable("purchase_old", "purchase_new");
  show("copied", await knex.schema.hasTable("purchase_new"));
  await knex.schema.dropTableIfExists("purchase_new");
  await knex.schema.createViewOrReplace("paid", (view) => {
    view.columns(["id", "amount"]);
    view.as(knex("purchase").select("id", "amount").where("state", "paid"));
  });
}

async function write() {
  show("first key", await knex("customer").insert([
    { name: "Ada", email: "ada@example.com", settings: JSON.stringify({ a: [1, 2], b: "x" }),
      made: "2026-01-02 03:04:05.678" },
    { name: "Grüße 😀", email: "g@example.com", kind: "company", active: false },
    { name: "none" }]));
  await knex.batchInsert("purchase", Array.from({ length: 300 }, (_, at) => ({
    customer_id: 1 + (at % 2), amount: ((at * 137) % 1000) / 4, day: `2026-0${1 + (at % 6)}-1${at % 9}`,
    at: `0${at % 10}:30:00`, weight: at / 8, factor: at * 1.5, raw: Buffer.from([at % 256, 255]),
    remark: at % 3 ? null : `note ${at}`, state: at % 5 ? "new" : "paid" })), 100);
  await refused("a duplicate", () => knex("customer").insert({ name: "again", email: "ada@example.com" }));
  await refused("no parent", () => knex("purchase").insert({ customer_id: 99, amount: 1, day: "2026-01-01" }));
  await refused("too long", () => knex("customer").insert({ name: "x".repeat(61) }));
  show("ignored", await knex("customer").insert({ name: "again", email: "ada@example.com" })
    .onConflict("email").ignore());
  await knex("customer").insert({ name: "Ada L", email: "ada@example.com" }).onConflict("email").merge();
  show("updated", await knex("purchase").where("id", "<=", 10).update({ state: "sent" }));
  show("incremented", await knex("purchase").where({ id: 5 }).increment("amount", 2.5));
  show("joined update", await knex("purchase").join("customer", "customer.id", "purchase.customer_id")
    .where("customer.active", false).where("purchase.id", "<", 6).update({ "purchase.remark": "inactive" }));
  show("deleted", await knex("purchase").where("id", ">", 290).del());
  await knex.transaction(async (trx) => {
    await trx("customer").insert({ name: "in a transaction" });
    await trx.transaction(async (inner) => {
      await inner("customer").insert({ name: "in a savepoint" });
      throw new Error("back");
    }).catch((error) => show("inner", error.message));
    show("locked", await trx("purchase").where({ id: 1 }).forUpdate().select("id"));
    show("skipped", await trx("purchase").where({ id: 2 }).forUpdate().skipLocked().select("id"));
  }, { isolationLevel: "repeatable read" });
  await knex.transaction((trx) => trx("customer").del().then(() => { throw new Error("all back"); }))
    .catch((error) => show("outer", error.message));
  show("customers", await knex("customer").select().orderBy("id"));
}

async function read() {
  const purchase = () => knex("purchase");
  show("first", await purchase().where({ id: 3 }).first());
  show("pluck", await purchase().where("amount", ">", 240).orderBy("id").pluck("id"));
  show("count", await purchase().count({ n: "*" }).countDistinct({ days: "day" }).sum({ s: "amount" })
    .avg({ a: "amount" }).min({ least: "day" }).max({ most: "day" }));
  show("groups", await purchase().select("state").count("* as n").sum("amount as total").groupBy("state")
    .having("n", ">", 10).orderBy("state"));
  show("joined", await purchase().join("customer as c", "c.id", "purchase.customer_id")
    .leftJoin("customer as d", function () { this.on("d.id", "=", "c.id").andOnVal("d.kind", "company"); })
    .select("purchase.id", "c.name", { other: "d.name" }).orderBy("purchase.id", "desc").limit(5).offset(3));
  show("in", await purchase().whereIn("customer_id", knex("customer").select("id").where("kind", "company"))
    .whereNotNull("remark").whereBetween("day", ["2026-02-01", "2026-04-30"]).orderBy("id").select("id", "day", "remark"));
  show("tuples", await purchase().whereIn(["customer_id", "state"], [[1, "paid"], [2, "sent"]]).count("* as n"));
  show("exists", await knex("customer").whereExists(purchase().select(knex.raw("1"))
    .whereRaw("purchase.customer_id = customer.id").where("amount", ">", 200)).orderBy("id").select("id", "name"));
  show("not exists", await knex("customer").whereNotExists(purchase().select("*")
    .whereColumn("purchase.customer_id", "customer.id")).orderBy("id").select("id"));
  show("common table", await knex.with("spent", purchase().select("customer_id").sum("amount as s")
    .groupBy("customer_id")).select("customer.name", "s").from("spent")
    .join("customer", "customer.id", "customer_id").orderBy("s", "desc"));
  show("union", await knex("customer").select("name").where("id", 1)
    .unionAll([purchase().select("state").where("id", 1), purchase().select("remark").where("id", 1)]).orderBy("name"));
  show("ranks", await purchase().select("id", "customer_id").rank("r", ["amount"], "customer_id")
    .rowNumber("n", (over) => over.orderBy("amount", "desc").orderBy("id").partitionBy("state"))
    .orderBy("id").limit(12));
  show("months", await purchase().select(knex.raw("DATE_FORMAT(day, ?) AS month", ["%Y-%m"])).count("* as n")
    .groupByRaw("month").orderBy("month"));
  show("like", await knex("customer").where("name", "like", "%a%").orWhereILike("name", "GRÜ%").orderBy("id").select("name"));
  show("subselect", await knex("customer").select("name", purchase().count("*")
    .whereRaw("customer_id = customer.id").as("n")).orderBy("id"));
  show("derived", await knex.from(purchase().select("state", "amount").where("amount", "<", 100).as("small"))
    .select("state").max("amount as most").groupBy("state").orderBy("state"));
  show("distinct", await purchase().distinct("state", "customer_id").orderBy(["state", "customer_id"]));
  show("raw", (await knex.raw("SELECT ?? FROM ?? WHERE id = ?", ["name", "customer", 1]))[0]);
  show("bound", (await knex.raw("SELECT :a + 1 AS b, :c AS d", { a: 41, c: "text" }))[0]);
  show("json", await knex("customer").whereJsonPath("settings", "$.b", "=", "x").select("id"));
  show("view", await knex("paid").count("* as n"));
  let sum = 0;
  const stream = purchase().select("id").stream();
  stream.on("data", (row) => { sum += row.id; });
  await once(stream, "end");
  show("streamed", sum);
}

try {
  if (phase === "write") {
    await schema();
    await write();
  }
  await read();
} finally {
  await knex.destroy();
}
