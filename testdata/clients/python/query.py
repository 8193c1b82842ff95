"""ADBC client of the end-to-end tests: see ../README.md."""

import datetime
import decimal
import json
import sys

import adbc_driver_flightsql.dbapi as flightsql
import pyarrow


def text(value):
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ")
    return str(value)


def values(column):
    """The values of one column; dates and times outside of Python's years are numbers since 1970."""
    try:
        return [text(v) for v in column.to_pylist()]
    except (OverflowError, ValueError):
        width = pyarrow.int32() if pyarrow.types.is_date32(column.type) else pyarrow.int64()
        return [text(v) for v in column.cast(width).to_pylist()]


def run(connection, statement):
    with connection.cursor() as cursor:
        cursor.execute(statement["sql"], statement.get("params") or None)
        table = cursor.fetch_arrow_table()
        return {
            "columns": table.column_names,
            "types": [str(t) for t in table.schema.types],
            "rows": [list(row) for row in zip(*[values(c) for c in table.columns])],
        }


def main():
    job = json.load(sys.stdin)
    uri = f"grpc://{job['host']}:{job['port']}"
    out = []
    try:
        connection = flightsql.connect(
            uri,
            db_kwargs={"username": job["user"], "password": job["password"]},
            autocommit=True,
        )
    except Exception as e:
        json.dump([{"error": str(e)} for _ in job["statements"]], sys.stdout)
        return
    with connection:
        for statement in job["statements"]:
            try:
                if statement.get("call") == "objects":
                    objects = connection.adbc_get_objects(depth="all").read_all()
                    out.append({"columns": ["objects"], "rows": [[json.dumps(objects.to_pylist(), default=str)]]})
                else:
                    out.append(run(connection, statement))
            except Exception as e:
                out.append({"error": str(e)})
    json.dump(out, sys.stdout)


main()
