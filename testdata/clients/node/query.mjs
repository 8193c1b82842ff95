// Node client of the end-to-end tests: see ../README.md. The packages are looked up where NODE_CLIENT points.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(process.env.NODE_CLIENT + "/");
const load = async (name) => import(pathToFileURL(require.resolve(name)).href);

const chunks = [];
for await (const c of process.stdin) chunks.push(c);
const job = JSON.parse(Buffer.concat(chunks).toString());

const text = (v) => {
  if (v === null || v === undefined) return null;
  if (v instanceof Uint8Array) return Buffer.from(v).toString("hex");
  if (v instanceof Date) return v.toISOString();
  return String(v);
};

const rowsOf = (columns, objects) => objects.map((o) => columns.map((c) => text(o[c])));

async function gizmo() {
  const { FlightSQLClient } = await load("@gizmodata/gizmosql-client");
  const client = new FlightSQLClient({
    host: job.host, port: job.port, plaintext: true, username: job.user, password: job.password,
  });
  const out = [];
  for (const s of job.statements) {
    try {
      const table = await client.execute(s.sql);
      const columns = table.schema.fields.map((f) => f.name);
      out.push({ columns, rows: rowsOf(columns, table.toArray().map((r) => r.toJSON())) });
    } catch (e) {
      out.push({ error: String(e.message ?? e) });
    }
  }
  await client.close();
  return out;
}

async function lance() {
  const { Client } = await load("@lancedb/arrow-flight-sql-client");
  const out = [];
  let client;
  try {
    client = await Client.connect({ host: `${job.host}:${job.port}`, username: job.user, password: job.password, insecure: true });
  } catch (e) {
    return job.statements.map(() => ({ error: String(e.message ?? e) }));
  }
  for (const s of job.statements) {
    try {
      const result = await client.query(s.sql);
      const objects = await result.collectToObjects();
      const columns = objects.length ? Object.keys(objects[0]) : [];
      out.push({ columns, rows: rowsOf(columns, objects) });
    } catch (e) {
      out.push({ error: String(e.message ?? e) });
    }
  }
  return out;
}

const answers = JSON.stringify(await (job.client === "lance" ? lance() : gizmo()));
process.stdout.write(answers, () => process.exit(0));
