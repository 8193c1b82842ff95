"""Times a small statement, and connecting with it, through ADBC. Reads a job like query.py; writes lists of seconds."""

import json
import sys
import time

import adbc_driver_flightsql.dbapi as flightsql

job = json.load(sys.stdin)


def connect():
    return flightsql.connect(
        f"grpc://{job['host']}:{job['port']}",
        db_kwargs={"username": job["user"], "password": job["password"]},
        autocommit=True,
    )


def ask(connection):
    with connection.cursor() as cursor:
        cursor.execute(job["sql"])
        cursor.fetch_arrow_table()


def timed(times, skip, action):
    seconds = []
    for i in range(times + skip):
        start = time.perf_counter()
        action()
        if i >= skip:
            seconds.append(time.perf_counter() - start)
    return seconds


def first_answer():
    with connect() as connection:
        ask(connection)


with connect() as connection:
    statement = timed(300, 30, lambda: ask(connection))
json.dump({"statement": statement, "connect": timed(20, 3, first_answer)}, sys.stdout)
