// Node's mysql2 with text and prepared statements, streams, pools, transactions and errors.
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import callbacks from "mysql2";
import mysql from "mysql2/promise";

const login = {
  host: process.env.PELORUS_HOST,
  port: Number(process.env.PELORUS_PORT),
  user: process.env.PELORUS_USER,
  password: process.env.PELORUS_PASSWORD,
  database: process.env.PELORUS_DATABASE,
  timezone: "Z",
  supportBigNumbers: true,
};
const ROWS = Number(process.env.PELORUS_ROWS);

async function connected(more, work) {
  const connection = await mysql.createConnection({ ...login, ...more });
  try {
    await work(connection);
  } finally {
    await connection.end();
  }
}

for (const how of ["query", "execute"]) {
  for (const more of [{}, { ssl: { rejectUnauthorized: false } }]) {
    test(`types by ${how}${more.ssl ? ", encrypted" : ""}`, () =>
      connected(more, async (connection) => {
        const [rows, fields] = await connection[how]("SELECT * FROM item WHERE id = ?", [1]);
        assert.equal(rows.length, 1);
        const row = rows[0];
        assert.equal(row.name, "Grüße 😀");
        assert.equal(row.price, "12.50");
        assert.equal(row.weight, 0.25);
        assert.equal(row.born.toISOString(), "2024-02-29T00:00:00.000Z");
        assert.equal(row.seen.toISOString(), "2024-02-29T12:34:56.789Z");
        assert.equal(row.span, "12:30:01");
        assert.equal(row.big, "18446744073709551615");
        assert.deepEqual([...row.raw], [0, 255]);
        assert.equal(row.flag, 1);
        assert.equal(fields[0].name, "id");
        assert.equal(fields[0].table, "item");
        const [empty] = await connection[how]("SELECT price, seen, raw FROM item WHERE id = ?", [2]);
        assert.deepEqual({ ...empty[0] }, { price: null, seen: null, raw: null });
      }));
  }
}

test("groups, prepared and used again", () =>
  connected({}, async (connection) => {
    for (let round = 0; round < 3; round++) {
      const [rows] = await connection.execute(
        "SELECT grp, count(*) AS cnt FROM many WHERE n > ? GROUP BY grp ORDER BY grp", [0]);
      assert.deepEqual(rows.map((row) => [row.grp, row.cnt]),
        Array.from({ length: 10 }, (_, group) => [group, ROWS / 10]));
    }
  }));

test("a stream of rows", async () => {
  const connection = callbacks.createConnection(login);
  let sum = 0;
  const stream = connection.query("SELECT n FROM many").stream();
  stream.on("data", (row) => { sum += row.n; });
  await once(stream, "end");
  connection.end();
  assert.equal(sum, (ROWS * (ROWS + 1)) / 2);
});

test("several statements", () =>
  connected({ multipleStatements: true }, async (connection) => {
    const [results] = await connection.query("SELECT 1 AS a; SET @x = 2; SELECT @x AS b");
    assert.equal(results[0][0].a, 1);
    assert.equal(results[2][0].b, 2);
  }));

test("a transaction", () =>
  connected({}, async (connection) => {
    await connection.beginTransaction();
    const [done] = await connection.execute("INSERT INTO scratch VALUES (?, ?)", [801, "node"]);
    assert.equal(done.affectedRows, 1);
    const [rows] = await connection.execute("SELECT word FROM scratch WHERE id = ?", [801]);
    assert.equal(rows[0].word, "node");
    await connection.rollback();
    const [none] = await connection.execute("SELECT word FROM scratch WHERE id = ?", [801]);
    assert.equal(none.length, 0);
  }));

test("errors have numbers and keep the connection", () =>
  connected({}, async (connection) => {
    for (const how of ["query", "execute"]) {
      await assert.rejects(connection[how]("SELECT nope FROM item"), { errno: 1054, sqlState: "42S22" });
      await assert.rejects(connection[how]("SELECT * FROM nope"), { errno: 1146, sqlState: "42S02" });
    }
    const [rows] = await connection.query("SELECT count(*) AS c FROM item");
    assert.equal(rows[0].c, 2);
  }));

test("a wrong password", async () => {
  await assert.rejects(mysql.createConnection({ ...login, password: "wrong" }), { errno: 1045 });
});

test("a pool, another user and a ping", async () => {
  const pool = mysql.createPool({ ...login, connectionLimit: 10 });
  const answers = await Promise.all(Array.from({ length: 50 }, (_, at) =>
    pool.execute("SELECT id + ? AS s FROM item WHERE id = 1", [at])));
  answers.forEach(([rows], at) => assert.equal(Number(rows[0].s), at + 1));
  const connection = await pool.getConnection();
  await connection.ping();
  await connection.changeUser({ database: "information_schema" });
  const [rows] = await connection.query("SELECT DATABASE() AS d");
  assert.equal(rows[0].d, "information_schema");
  connection.release();
  await pool.end();
});
