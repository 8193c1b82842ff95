"""Writes tables into an object store. Reads one JSON object on standard input:

    {"endpoint": "http://127.0.0.1:7070", "key": "…", "secret": "…", "database": "/…/catalog.db", "warehouse": "s3://lake/warehouse"}

The SQLite file becomes the catalog "lake" with the namespace "shop": customers (partitioned, one column added and one renamed after the first
file), orders (merge-on-read: a file of positional deletes), empty (no snapshot).
"""

import json
import sys
import uuid

import pyarrow
import pyarrow.parquet
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import (
    DataFile, DataFileContent, FileFormat, ManifestContent, ManifestEntry, ManifestEntryStatus, ManifestWriterV2, write_manifest_list,
)
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.table.update import AddSnapshotUpdate, AssertRefSnapshotId, SetSnapshotRefUpdate
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import DoubleType, LongType, NestedField, StringType

COUNTRIES = ["EU", "US", "n/a", "a b+c"]


def main():
    to = json.load(sys.stdin)
    catalog = SqlCatalog(
        "lake",
        **{
            "uri": "sqlite:///" + to["database"],
            "warehouse": to["warehouse"],
            "s3.endpoint": to["endpoint"],
            "s3.access-key-id": to["key"],
            "s3.secret-access-key": to["secret"],
            "s3.region": "us-east-1",
        },
    )
    catalog.create_namespace("shop")
    customers(catalog)
    orders(catalog)
    catalog.create_table("shop.empty", Schema(NestedField(1, "id", LongType())))


def customers(catalog):
    schema = Schema(
        NestedField(1, "id", LongType()), NestedField(2, "name", StringType()), NestedField(3, "region", StringType()), NestedField(4, "tax_id", StringType())
    )
    by_region = PartitionSpec(PartitionField(source_id=3, field_id=1000, transform=IdentityTransform(), name="region"))
    table = catalog.create_table("shop.customers", schema, partition_spec=by_region)
    table.append(customer_rows(range(1, 41), "name"))
    with table.update_schema() as update:
        update.rename_column("name", "full_name")
        update.add_column("credit", DoubleType())
    rows = customer_rows(range(41, 81), "full_name")
    table.append(rows.append_column("credit", pyarrow.array([float(i) / 2 for i in range(41, 81)])))


def customer_rows(ids, name):
    return pyarrow.table({
        "id": pyarrow.array(ids, pyarrow.int64()),
        name: [f"customer {i}" for i in ids],
        "region": [COUNTRIES[i % 4] for i in ids],
        "tax_id": [f"{i:09d}" for i in ids],
    })


def orders(catalog):
    table = catalog.create_table("shop.orders", Schema(NestedField(1, "id", LongType()), NestedField(2, "customer", LongType()), NestedField(3, "amount", DoubleType())))
    n = 20_000
    table.append(pyarrow.table({
        "id": pyarrow.array(range(n), pyarrow.int64()),
        "customer": pyarrow.array([1 + i % 80 for i in range(n)], pyarrow.int64()),
        "amount": [i / 4 for i in range(n)],
    }))
    delete_positions(table, range(0, n, 10))


class DeletesWriter(ManifestWriterV2):
    def content(self):
        return ManifestContent.DELETES

    @property
    def _meta(self):
        return {**super()._meta, "content": "deletes"}


def delete_positions(table, positions):
    """Commits a file of positional deletes, which PyIceberg itself reads and does not write."""
    before, io = table.current_snapshot(), table.io
    [task] = table.scan().plan_files()
    data = task.file.file_path
    folder = table.location()
    path = f"{folder}/data/{uuid.uuid4()}-deletes.parquet"
    schema = pyarrow.schema([
        pyarrow.field("file_path", pyarrow.string(), False, {"PARQUET:field_id": "2147483546"}),
        pyarrow.field("pos", pyarrow.int64(), False, {"PARQUET:field_id": "2147483545"}),
    ])
    with io.new_output(path).create() as out:
        pyarrow.parquet.write_table(pyarrow.table([[data] * len(positions), list(positions)], schema=schema), out)
    file = DataFile.from_args(
        content=DataFileContent.POSITION_DELETES, file_path=path, file_format=FileFormat.PARQUET, partition=Record(),
        record_count=len(positions), file_size_in_bytes=len(io.new_input(path)),
    )
    file.spec_id = 0
    snapshot, sequence = table.metadata.new_snapshot_id(), table.metadata.last_sequence_number + 1
    with DeletesWriter(UNPARTITIONED_PARTITION_SPEC, table.schema(), io.new_output(f"{folder}/metadata/{uuid.uuid4()}-m0.avro"), snapshot, "null") as writer:
        writer.add_entry(ManifestEntry.from_args(status=ManifestEntryStatus.ADDED, snapshot_id=snapshot, data_file=file))
    deletes = writer.to_manifest_file()
    manifests = f"{folder}/metadata/snap-{snapshot}-0-{uuid.uuid4()}.avro"
    with write_manifest_list(2, io.new_output(manifests), snapshot, before.snapshot_id, sequence, "null") as writer:
        writer.add_manifests([*before.manifests(io), deletes])
    table.catalog.commit_table(table, (AssertRefSnapshotId(ref="main", snapshot_id=before.snapshot_id),), (
        AddSnapshotUpdate(snapshot=Snapshot(
            snapshot_id=snapshot, parent_snapshot_id=before.snapshot_id, sequence_number=sequence, timestamp_ms=before.timestamp_ms + 1,
            manifest_list=manifests, summary=Summary(Operation.DELETE), schema_id=table.schema().schema_id)),
        SetSnapshotRefUpdate(ref_name="main", type="branch", snapshot_id=snapshot),
    ))


main()
