// Where the programs of this folder log in, and how they show what they found: a line of JSON for
// each step, so that what they found on a server can be compared with what they found elsewhere.

export const login = {
  host: process.env.PELORUS_HOST,
  port: Number(process.env.PELORUS_PORT),
  user: process.env.PELORUS_USER,
  password: process.env.PELORUS_PASSWORD,
  database: process.env.PELORUS_DATABASE,
  charset: "utf8mb4",
  timezone: "Z",
};

// "mysql" or "mariadb".
export const kind = process.env.PELORUS_KIND;

// "write" for everything, "read" for the queries alone.
export const phase = process.argv[2];

function plain(key, value) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    return typeof value === "bigint" ? String(value) : value;
  }
  if (value.type === "Buffer") {
    return Buffer.from(value.data).toString("hex");
  }
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

export function show(what, found) {
  console.log(`${what}: ${JSON.stringify(found, plain)}`);
}

// The number of the error that a step is to end with.
export async function refused(what, work) {
  try {
    show(what, ["no error", await work()]);
  } catch (error) {
    const cause = error.original ?? error.driverError ?? error;
    show(what, [cause.errno, cause.code, cause.sqlState]);
  }
}
